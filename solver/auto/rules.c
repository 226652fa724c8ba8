/* rules.c - which preconditioner, level and ordering fit a matrix: rules from measuring 40 systems with each fixed
 * choice, which doc/manual.md tells to users.
 *
 * What tells most is how much ILU(1) grows beyond the pattern: little in two dimensions and where rows are short, so
 * that higher levels are cheap and worth it; nearly twice on 7-point grids; more where each cell couples to its
 * corners, so that no level above 0 pays; and many times where some rows couple to a large part of the others. */
#include "config.h"

#include "solver/auto/auto.h"
#include "solver/auto/look.h"
#include "lib/base/number.h"
#include "solver/auto/order.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { HIGHEST_LEVEL = 5, LARGE_BLOCK = 4, SMALL = 1500 };
enum { DENSE = 4 }; /* beyond this growth some rows are much longer than others */
#define CUBIC 1.77  /* from this growth on a grid has three dimensions or couples to its corners */

#ifdef HAVE_AMD
static const char little_fill[] = "amd";
#else
static const char little_fill[] = "rcm";
#endif

struct rule {
  double growth;    /* the rule is for less than this */
  karst_index rows; /* and for fewer block rows than this; 0: any number */
  int level;
  const char *ordering, *because;
};

/* The first that fits is taken. */
static const struct rule host_rules[] = {
    {1.5, 8000, 2, "rcm", "higher levels are cheap"},
    {1.5, 0, HIGHEST_LEVEL, "rcm", "higher levels are cheap, and many rows need them"},
    {CUBIC, 0, 2, "rcm", "level 2 is still cheap"},
    {2.02, 0, 1, "natural", "level 2 would cost more than it saves"},
    {DENSE, 0, 0, "natural", "any level above 0 would cost more than it saves"},
    {INFINITY, 0, 0, little_fill, "some rows couple to very many others"},
};

/* Those of a GPU, where set-up is the host's and each level set takes its time, from measuring 13 systems: for what
 * neither fgbilu nor block Jacobi suits. */
static const struct rule device_rules[] = {
    {CUBIC, 0, 3, little_fill, "higher levels are cheap, with few level sets"},
    {DENSE, 0, 0, "natural", "a higher level takes the host longer than it saves"},
    {INFINITY, 0, 0, little_fill, "some rows couple to very many others"},
};

/* On a GPU, for grids of 7 points, in the place of level 0. */
static const struct rule faces_rule = {0, 0, 0, "natural", "a 7-point grid, of which fgbilu knows the level sets"};
/* Instead of level 0 where many couplings are not those of a diffusion, as in structural mechanics. */
static const struct rule structure_rule = {0, 0, 2, little_fill, "strong couplings need level 2"};
/* For few block rows on few diagonals, where another rule would order them. */
static const struct rule small_rule = {0, 0, 1, "natural", "an ordering would cost more than it saves"};
/* Where a diagonal is 0 and rows are of like length. An ordering for little fill moves such a row before those that
 * would fill it in. */
static const struct rule gaps_rule = {0, 0, 2, "natural", "diagonals of 0 are filled in by rows before them"};
/* Instead of levels 0 and 1. */
static const struct rule block_rule = {0, 0, 0, "natural", "levels are dear for large blocks"};

static void add(karst_auto_ladder *ladder, const char *precond, int level, const char *ordering)
{
  ladder->rung[ladder->count++] = (karst_auto_rung){precond, ordering, level};
}

/* Its upper rungs are for the matrix that it fails for all the same. */
static void make_rrb(karst_auto_ladder *ladder)
{
  add(ladder, "rrb", -1, "natural");
  for (int level = 1; level <= HIGHEST_LEVEL; level += 2) add(ladder, "iluk", level, "rcm");
  snprintf(ladder->reason, sizeof ladder->reason, "symmetric diffusion on a grid of two dimensions");
}

/* From block Jacobi to the highest level; lowest: what stands for level 0. */
static void make_levels(const karst_auto_freedom *freedom, const struct rule *rule, const char *lowest,
                        karst_auto_ladder *ladder)
{
  ladder->climbs = true;
  if (!freedom->level) {
    add(ladder, "iluk", -1, rule->ordering);
    return;
  }
  if (freedom->precond) add(ladder, "jacobi", -1, "natural");
  for (int level = 0; level <= HIGHEST_LEVEL; level++) {
    if (level == rule->level) ladder->start = ladder->count;
    if (level == 0 && strcmp(lowest, "iluk") != 0)
      add(ladder, lowest, -1, rule->ordering);
    else
      add(ladder, "iluk", level, rule->ordering);
  }
}

/* Begins with block Jacobi, and goes on with the level of the rule. */
static void make_jacobi(const struct rule *rule, karst_auto_ladder *ladder)
{
  ladder->climbs = true;
  add(ladder, "jacobi", -1, "natural");
  for (int level = rule->level; level <= HIGHEST_LEVEL; level++) add(ladder, "iluk", level, rule->ordering);
  snprintf(ladder->reason, sizeof ladder->reason, "diagonals dominate, and block Jacobi waits for no level set");
}

/* Whether block Jacobi costs less than waiting for level sets: diagonals dominate, and either some rows couple to very
 * many others, or couplings are much alike and many iterations would not be many restarts. */
static bool suits_jacobi(const karst_auto_look *look, const karst_auto_freedom *freedom)
{
  if (!freedom->precond || !freedom->level || !look->dominated) return false;
  return look->growth >= DENSE || (!look->rough && !look->uneven && (look->growth >= CUBIC || freedom->recurs));
}

static const struct rule *find_rule(const struct rule *rule, const karst_matrix *A, double growth)
{
  while (growth >= rule->growth || (rule->rows > 0 && A->block_rows >= rule->rows)) rule++;
  return rule;
}

static const struct rule *choose_on_device(const karst_matrix *A, const karst_auto_look *look,
                                           const karst_auto_freedom *freedom, karst_auto_ladder *ladder)
{
  const struct rule *rule = find_rule(device_rules, A, look->growth);
  if (freedom->grid && freedom->level && (look->box == 3 || (look->box == 2 && A->block_size > 1))) {
    rule = &faces_rule;
    make_levels(freedom, rule, "fgbilu", ladder);
  } else if (suits_jacobi(look, freedom)) {
    make_jacobi(rule, ladder);
    return NULL;
  } else {
    make_levels(freedom, rule, "iluk", ladder);
  }
  return rule;
}

static const struct rule *choose_on_host(const karst_matrix *A, const karst_auto_look *look,
                                         const karst_auto_freedom *freedom, karst_auto_ladder *ladder)
{
  const struct rule *rule = find_rule(host_rules, A, look->growth);
  const bool dense = look->growth >= DENSE;
  if (!dense && strcmp(rule->ordering, "rcm") == 0 && A->block_rows < SMALL && look->regular) rule = &small_rule;
  if (rule->level == 0 && !dense && A->block_size == 1 && !look->diffusion) rule = &structure_rule;
  const bool dilu = freedom->precond && freedom->level && A->block_size >= LARGE_BLOCK && rule->level <= 1;
  if (dilu) rule = &block_rule;
  make_levels(freedom, rule, dilu ? "dilu" : "iluk", ladder);
  return rule;
}

static const struct rule *choose(const karst_matrix *A, const karst_machine *machine, const karst_auto_look *look,
                                 const karst_auto_freedom *freedom, karst_auto_ladder *ladder)
{
  if (look->gaps && look->growth < DENSE) {
    make_levels(freedom, &gaps_rule, "iluk", ladder);
    return &gaps_rule;
  }
  return machine->host ? choose_on_host(A, look, freedom, ladder) : choose_on_device(A, look, freedom, ladder);
}

/* On a GPU iluk is in tiles instead of natural order where its lowest level would be faster so; more fill has more
 * level sets. */
static karst_status choose_tiles(const karst_matrix *A, const karst_machine *machine, const karst_auto_freedom *freedom,
                                 karst_auto_ladder *ladder)
{
  char reason[KARST_REPORT_TEXT];
  bool pay = freedom->by_tiles;
  int lowest = 0;
  while (lowest < ladder->count && strcmp(ladder->rung[lowest].precond, "iluk") != 0) lowest++;
  if (lowest == ladder->count) return KARST_SUCCESS;
  const karst_auto_rung *rung = &ladder->rung[lowest];
  if (!pay && !machine->host && freedom->tiles && strcmp(rung->ordering, "natural") == 0) {
    const int level = rung->level >= 0 ? rung->level : freedom->given_level;
    const int distance = level < INT_MAX ? level + 1 : level;
    const karst_status status =
        karst_order_tiles_pay(A, machine, distance, freedom->tile_size, freedom->level_sets, &pay, reason);
    if (status) return status;
  }
  for (int i = lowest; pay && i < ladder->count; i++) ladder->rung[i].ordering = "tiles";
  if (freedom->by_tiles) snprintf(ladder->reason, sizeof ladder->reason, "trisolve tiles asks for tiles");
  return KARST_SUCCESS;
}

karst_status karst_auto_rules(const karst_matrix *A, const karst_machine *machine, const karst_auto_freedom *freedom,
                              karst_auto_ladder *ladder)
{
  karst_auto_look look;
  *ladder = (karst_auto_ladder){.count = 0};
  const karst_status status = karst_auto_look_at(A, &look);
  if (status) return status;
  if (freedom->grid && freedom->rrb && look.plane && look.diffusion && !(look.rough && machine->host)) {
    make_rrb(ladder);
    return KARST_SUCCESS;
  }
  const struct rule *rule = choose(A, machine, &look, freedom, ladder);
  if (!freedom->level)
    snprintf(ladder->reason, sizeof ladder->reason, "the level is given");
  else if (rule)
    karst_print(ladder->reason, sizeof ladder->reason, "ILU(1) has %.2f times the entries of A: %s", look.growth,
                rule->because);
  return choose_tiles(A, machine, freedom, ladder);
}
