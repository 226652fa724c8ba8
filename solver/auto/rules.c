/* rules.c - the rules that choose preconditioner, level and ordering for a matrix. They come from measuring systems
 * with each fixed choice; doc/manual.md explains them to users.
 *
 * The most telling number is the growth: the entries of ILU(1) over those of the matrix. It is small in two dimensions
 * and with short rows, where higher levels are cheap and pay. It is nearly 2 on 7-point grids, larger where each cell
 * couples to its corners, so that no level above 0 pays, and many times that where some rows couple to very many. */
#include "config.h"

#include "lib/backend/machine.h"
#include "lib/base/number.h"
#include "solver/auto/auto.h"
#include "solver/auto/look.h"
#include "solver/auto/order.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { HIGHEST_LEVEL = 5, LARGE_BLOCK = 4 };
enum { FEW = 1500, MANY = 8000 }; /* block rows */

/* The block rows from which multigrid may have a trial, and from which it is the first choice: on a GPU; on a CPU if
 * one unknown is a pressure and the tolerance is tight, else trials find it soon enough; and alone on a CPU, where its
 * levels take as long to make as several solves. */
enum { MULTIGRID_TRIED = 1000, FIRST_ON_DEVICE = 20000, FIRST_IN_BLOCKS = 2000 };
enum { FIRST_ALONE = 3000000, FIRST_ALONE_UNEVEN = 100000 };

/* The growth is below FLAT in two dimensions. From CUBIC on a grid has three dimensions or couples to its corners. From
 * DENSE on some rows are much longer than others. */
#define FLAT 1.5
#define CUBIC 1.77
#define DENSE 4

#ifdef HAVE_AMD
static const char little_fill[] = "amd";
#else
static const char little_fill[] = "rcm";
#endif

/* The input of the rules. */
struct subject {
  const karst_matrix *A;
  const karst_auto_freedom *freedom;
  karst_auto_look look;
};

/* The choice of a rule. With block Jacobi, level and ordering are those of the rungs above it. */
struct rule {
  const struct karst_precond_ops *precond;
  int level;
  const char *ordering, *because;
};

#define ILUK(level, ordering, because) ((struct rule){&karst_precond_iluk, level, ordering, because})
#define IN_PLACE_OF_ILU0(precond, because) ((struct rule){&karst_precond_##precond, 0, "natural", because})

/* Whether a diagonal entry is 0, as in a saddle point problem, and rows have similar lengths. An ordering for little
 * fill would move such a row before those that fill it in. */
static bool has_gaps(const struct subject *s) { return s->look.gaps && s->look.growth < DENSE; }
#define GAPS ILUK(2, "natural", "diagonals of 0 are filled in by rows before them")

/* The rules of a CPU, from measuring 40 systems; the first that fits is taken. Couplings that are not a diffusion are
 * like those of structural mechanics. */
static struct rule choose_on_host(const struct subject *s)
{
  const double growth = s->look.growth;
  const int b = s->A->block_size;
  const karst_index rows = s->A->block_rows;
  const bool any = s->freedom->precond && s->freedom->level;
  if (has_gaps(s)) return GAPS;
  if (any && b >= LARGE_BLOCK) return IN_PLACE_OF_ILU0(dilu, "levels are dear for large blocks");
  if (any && b > 1 && s->look.elliptic >= 0) return ILUK(0, "natural", "a level above 0 has to prove itself");
  if (growth < FLAT && rows >= MANY)
    return ILUK(HIGHEST_LEVEL, "rcm", "higher levels are cheap, and many rows need them");
  if (growth < CUBIC && rows >= FEW) return ILUK(2, "rcm", "level 2 is cheap");
  if (growth < 2.02) return ILUK(1, "natural", "an ordering or a higher level would not pay");
  if (growth < DENSE && b == 1 && !s->look.diffusion) return ILUK(2, little_fill, "strong couplings need level 2");
  if (growth < DENSE) return ILUK(0, "natural", "any level above 0 would cost more than it saves");
  return ILUK(0, little_fill, "some rows couple to very many others");
}

/* Whether the matrix has the couplings of a 7-point grid and fgbilu may be chosen. */
static bool suits_fgbilu(const struct subject *s)
{
  const int axes = s->look.box;
  return s->freedom->grid && s->freedom->level && (axes == 3 || (axes == 2 && s->A->block_size > 1));
}

/* Whether lines may be chosen, and couplings along one axis are so strong that they take less time than fgbilu: on an
 * H100 an iteration with them takes 0.45 of the time, because all lines are solved at once (doc/benchmarks.md). */
static bool suits_lines(const struct subject *s) { return s->look.directed && suits_fgbilu(s); }

/* Whether block Jacobi costs less than waiting for level sets. Diagonals must dominate, and either some rows couple to
 * very many others, or couplings are similar in size and many iterations do not mean many restarts. */
static bool suits_jacobi(const struct subject *s)
{
  const karst_auto_look *look = &s->look;
  if (!s->freedom->precond || !s->freedom->level || !look->dominated) return false;
  return look->growth >= DENSE || (!look->rough && !look->uneven && (look->growth >= CUBIC || s->freedom->recurs));
}

/* The rules of a GPU, where set-up runs on the host and each level set takes time; from measuring 13 systems. */
static struct rule choose_on_device(const struct subject *s)
{
  const double growth = s->look.growth;
  struct rule rule = ILUK(0, little_fill, "some rows couple to very many others");
  if (has_gaps(s)) return GAPS;
  if (suits_lines(s)) return IN_PLACE_OF_ILU0(lines, "couplings along one axis of a grid are far the strongest");
  if (suits_fgbilu(s)) return IN_PLACE_OF_ILU0(fgbilu, "a 7-point grid, whose level sets fgbilu knows");
  if (growth < CUBIC)
    rule = ILUK(3, little_fill, "higher levels are cheap, with few level sets");
  else if (growth < DENSE)
    rule = ILUK(0, "natural", "a higher level takes the host longer than it saves");
  if (suits_jacobi(s)) {
    rule.precond = &karst_precond_jacobi;
    rule.because = "diagonals dominate, and block Jacobi waits for no level set";
  }
  return rule;
}

/* Returns multigrid for an elliptic equation, of a matrix or of the pressures in its blocks, or NULL. Scaled rows spoil
 * the sums of cpr, and those of amg if they are scaled very differently. cpr is not symmetric. */
static const struct karst_precond_ops *find_multigrid(const struct subject *s)
{
  const karst_auto_freedom *freedom = s->freedom;
  const bool alike = freedom->whole || !s->look.uneven;
  if (!freedom->precond || s->look.elliptic < 0 || karst_matrix_all_block_rows(s->A) < MULTIGRID_TRIED) return NULL;
  if (s->A->block_size == 1) return s->look.dominated && s->look.growth < DENSE && alike ? &karst_precond_amg : NULL;
  return freedom->symmetric || !freedom->whole ? NULL : &karst_precond_cpr;
}

static void add(karst_auto_ladder *ladder, const struct karst_precond_ops *precond, int level, const char *ordering)
{
  ladder->rung[ladder->count++] = (karst_auto_rung){precond, ordering, level};
}

/* The ladder of rrb; its upper rungs are used if rrb fails. */
static void make_rrb(karst_auto_ladder *ladder)
{
  add(ladder, &karst_precond_rrb, -1, "natural");
  for (int level = 1; level <= HIGHEST_LEVEL; level += 2) add(ladder, &karst_precond_iluk, level, "rcm");
  snprintf(ladder->reason, sizeof ladder->reason, "symmetric diffusion on a grid of two dimensions");
}

/* Whether multigrid is the first choice, because there are enough rows. */
static bool is_first(const struct subject *s, const struct karst_precond_ops *multigrid, bool host)
{
  const bool alone = multigrid == &karst_precond_amg;
  const karst_index first = !host            ? FIRST_ON_DEVICE
                            : !alone         ? FIRST_IN_BLOCKS
                            : s->look.uneven ? FIRST_ALONE_UNEVEN
                                             : FIRST_ALONE;
  return multigrid && karst_matrix_all_block_rows(s->A) >= first && (!host || alone || s->freedom->tight);
}

/* Begins with multigrid, the top of the ladder. */
static void begin_above(const struct subject *s, karst_auto_ladder *ladder)
{
  ladder->start = ladder->count - 1;
  if (ladder->rung[ladder->start].precond == &karst_precond_amg)
    snprintf(ladder->reason, sizeof ladder->reason, "an elliptic equation of many rows");
  else
    snprintf(ladder->reason, sizeof ladder->reason, "unknown %d of a block is a pressure, with an elliptic equation",
             s->look.elliptic);
}

/* The ladder from block Jacobi to the highest level, or to the rule's level and multigrid. If block Jacobi is chosen,
 * the next rung is the rule's level. It is not below multigrid as the first choice, where it never paid. */
static void make_levels(const struct subject *s, const struct rule *rule, bool host, karst_auto_ladder *ladder)
{
  const bool jacobi = rule->precond == &karst_precond_jacobi;
  const struct karst_precond_ops *multigrid = find_multigrid(s);
  const bool above = is_first(s, multigrid, host);
  const int highest = multigrid ? (rule->level > 1 ? rule->level : 1) : HIGHEST_LEVEL;
  ladder->climbs = true;
  if (!s->freedom->level) {
    add(ladder, &karst_precond_iluk, -1, rule->ordering);
    snprintf(ladder->reason, sizeof ladder->reason, "the level is given");
    return;
  }
  if (s->freedom->precond && !above) add(ladder, &karst_precond_jacobi, -1, "natural");
  for (int level = jacobi ? rule->level : 0; level <= highest; level++) {
    const bool other = level == 0 && rule->precond->automatic == KARST_AUTO_LEVEL_0;
    if (level == rule->level && !jacobi) ladder->start = ladder->count;
    add(ladder, other ? rule->precond : &karst_precond_iluk, other ? -1 : level, rule->ordering);
  }
  if (jacobi)
    snprintf(ladder->reason, sizeof ladder->reason, "%s", rule->because);
  else
    karst_print(ladder->reason, sizeof ladder->reason, "ILU(1) has %.2f times the entries of A: %s", s->look.growth,
                rule->because);
  if (multigrid) add(ladder, multigrid, -1, "natural");
  if (above) begin_above(s, ladder);
}

/* Whether tiles may speed up the sweeps of a rung: those of iluk, alone or as a stage. */
static bool may_have_tiles(const karst_auto_rung *rung)
{
  return rung->precond == &karst_precond_iluk || rung->precond == &karst_precond_cpr;
}

/* On a GPU, replaces natural order by tiles for the rungs with sweeps if the lowest of them is then predicted to be
 * faster; higher levels have still more level sets. */
static karst_status choose_tiles(const karst_matrix *A, const karst_machine *machine, const karst_auto_freedom *freedom,
                                 karst_auto_ladder *ladder)
{
  karst_order_choice order = {.tiles = freedom->by_tiles};
  int lowest = 0;
  while (lowest < ladder->count && !may_have_tiles(&ladder->rung[lowest])) lowest++;
  if (lowest == ladder->count) return KARST_SUCCESS;
  const karst_auto_rung *rung = &ladder->rung[lowest];
  if (!order.tiles && !machine->host && freedom->tiles && strcmp(rung->ordering, "natural") == 0) {
    const int level = rung->level >= 0 ? rung->level : freedom->given_level;
    const int distance = level < INT_MAX ? level + 1 : level;
    const karst_status status =
        karst_order_compare(A, machine, distance, freedom->tile_size, freedom->level_sets, &order);
    if (status) return status;
  }
  for (int i = lowest; order.tiles && i < ladder->count; i++)
    if (may_have_tiles(&ladder->rung[i])) ladder->rung[i].ordering = "tiles";
  if (freedom->by_tiles) snprintf(ladder->reason, sizeof ladder->reason, "trisolve tiles asks for tiles");
  return KARST_SUCCESS;
}

karst_status karst_auto_rules(const karst_matrix *A, const karst_machine *machine, const karst_auto_freedom *freedom,
                              karst_auto_ladder *ladder)
{
  struct subject s = {.A = A, .freedom = freedom};
  *ladder = (karst_auto_ladder){.count = 0};
  const karst_status status = karst_auto_look_at(A, &s.look);
  if (status) return status;
  ladder->growth = s.look.growth;
  if (freedom->grid && freedom->rrb && s.look.plane && s.look.diffusion && !(s.look.rough && machine->host)) {
    make_rrb(ladder);
    return KARST_SUCCESS;
  }
  const struct rule rule = machine->host ? choose_on_host(&s) : choose_on_device(&s);
  make_levels(&s, &rule, machine->host, ladder);
  return choose_tiles(A, machine, freedom, ladder);
}
