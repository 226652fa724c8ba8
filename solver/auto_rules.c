/* auto_rules.c - which preconditioner, level and ordering fit a matrix: rules from measuring 40 systems with each fixed
 * choice, which doc/manual.md tells to users.
 *
 * What tells most is how much ILU(1) grows beyond the pattern: little in two dimensions and where rows are short, so
 * that higher levels are cheap and worth it; nearly twice on 7-point grids; more where each cell couples to its
 * corners, so that no level above 0 pays; and many times where some rows couple to a large part of the others. */
#include "config.h"

#include "auto.h"
#include "grid.h"
#include "search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLES = 400, HIGHEST_LEVEL = 5, LARGE_BLOCK = 4, SMALL = 1500, DIAGONALS = 16 };
enum { DENSE = 4 }; /* beyond this growth some rows are much longer than others */

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
    {1.77, 0, 2, "rcm", "level 2 is still cheap"},
    {2.02, 0, 1, "natural", "level 2 would cost more than it saves"},
    {DENSE, 0, 0, "natural", "any level above 0 would cost more than it saves"},
    {INFINITY, 0, 0, little_fill, "some rows couple to very many others"},
};

/* Those of a GPU, where set-up is the host's and each level set takes its time, follow from the figures in
 * doc/benchmarks.md. */
static const struct rule device_rules[] = {
    {1.77, 0, 3, little_fill, "higher levels are cheap, with few level sets"},
    {DENSE, 0, 0, "natural", "a higher level takes the host longer than it saves"},
    {INFINITY, 0, 0, little_fill, "some rows couple to very many others"},
};

/* Instead of level 0 where many couplings are not those of a diffusion, as in structural mechanics. */
static const struct rule structure_rule = {0, 0, 2, little_fill, "strong couplings need level 2"};
/* For few block rows on few diagonals, where another rule would order them. */
static const struct rule small_rule = {0, 0, 1, "natural", "an ordering would cost more than it saves"};
/* Instead of levels 0 and 1. */
static const struct rule block_rule = {0, 0, 0, "natural", "levels are dear for large blocks"};

/* Entries that elimination by one step adds to block row i. mark[j] is 1 + the last row that has been found to have
 * column j. */
static int64_t count_added(const karst_matrix *A, karst_index i, karst_index *mark)
{
  int64_t added = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) mark[A->column[k]] = i + 1;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1] && A->column[k] < i; k++) {
    const karst_index row = A->column[k];
    for (karst_index m = A->row_start[row + 1] - 1; m >= A->row_start[row] && A->column[m] > row; m--) {
      added += mark[A->column[m]] != i + 1;
      mark[A->column[m]] = i + 1;
    }
  }
  return added;
}

/* Sample number i of so many block rows: spread over all of them, and out of step with whatever repeats in them. */
static karst_index sample_row(karst_index rows, int i)
{
  const double golden = 0.6180339887498949 * i;
  return rows <= SAMPLES ? i : (karst_index)((golden - floor(golden)) * (double)rows);
}

static int count_samples(karst_index rows) { return rows < SAMPLES ? (int)rows : SAMPLES; }

/* Whether nearly all couplings lie on a few diagonals, as in a grid that is numbered line by line. */
static bool is_regular(const karst_matrix *A)
{
  karst_index offset[DIAGONALS];
  int64_t entries = 0, found = 0;
  int known = 0;
  for (int n = 0; n < count_samples(A->block_rows); n++) {
    const karst_index i = sample_row(A->block_rows, n);
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++, entries++) {
      int d = 0;
      while (d < known && offset[d] != A->column[k] - i) d++;
      found += d < known;
      if (d == known && known < DIAGONALS) offset[known++] = A->column[k] - i;
    }
  }
  return (double)found > 0.9 * (double)entries;
}

/* The entries of ILU(1) over those of the matrix, natural order, from rows that are spread over all of it. */
static karst_status estimate_growth(const karst_matrix *A, double *growth)
{
  karst_index *mark;
  int64_t entries = 0, added = 0;
  *growth = 1;
  karst_status status = karst_allocate_zero(A->context, &mark, A->block_rows, sizeof *mark, "the choice of methods");
  if (status) return status;
  for (int n = 0; n < count_samples(A->block_rows); n++) {
    const karst_index i = sample_row(A->block_rows, n);
    entries += A->row_start[i + 1] - A->row_start[i];
    added += count_added(A, i, mark);
  }
  if (entries > 0) *growth = 1 + (double)added / (double)entries;
  karst_release(A->context, mark);
  return KARST_SUCCESS;
}

/* What the values say of a matrix of block size 1 and rows that are spread over all of it. */
struct look {
  bool plane;     /* couplings join neighbours of a grid of two dimensions, of 5 or 9 points, and are symmetric */
  bool diffusion; /* positive diagonals, no smaller than the sum of the others, which are not positive */
  bool rough;     /* couplings of most nodes differ by more than a factor of 20 */
};

/* The grid of two dimensions that the matrix has, or that the couplings of the first node hint at: the last of them is
 * the node above it. Of 9 points, that one's neighbour. */
static bool find_plane(const karst_matrix *A, karst_grid *grid)
{
  *grid = A->grid;
  if (A->block_rows < 4 || A->row_start[1] < 3) return false;
  if (karst_has_grid(A)) return grid->size[0] > 1 && grid->size[1] > 1 && grid->size[2] == 1;
  const karst_index width = A->column[A->row_start[1] - 1] - (A->row_start[1] > 3 ? 1 : 0);
  if (width < 2 || width >= A->block_rows || A->block_rows % width != 0) return false;
  *grid = (karst_grid){{width, A->block_rows / width, 1}, NULL};
  return true;
}

static bool are_neighbours(const karst_grid *grid, karst_index i, karst_index j)
{
  const karst_index a = grid->cell ? grid->cell[i] : i, b = grid->cell ? grid->cell[j] : j, width = grid->size[0];
  const karst_index along = a % width - b % width, across = a / width - b / width;
  return along >= -1 && along <= 1 && across >= -1 && across <= 1;
}

static bool has_image(const karst_matrix *A, const double *value, karst_index i, karst_index k)
{
  const karst_index j = A->column[k], image = karst_find_column(A->column, A->row_start[j], A->row_start[j + 1], i);
  return image >= 0 && fabs(value[image] - value[k]) <= 1e-10 * fabs(value[k]);
}

/* Looks at block row i; whether its couplings differ much. */
static bool look_at_row(const karst_matrix *A, const karst_grid *grid, const double *value, karst_index i,
                        struct look *look)
{
  double diagonal = 0, sum = 0, least = INFINITY, largest = 0;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    look->plane = look->plane && are_neighbours(grid, i, A->column[k]) && has_image(A, value, i, k);
    if (A->column[k] == i) {
      diagonal = value[k];
    } else if (value[k] != 0) {
      look->diffusion = look->diffusion && value[k] < 0;
      sum += fabs(value[k]);
      least = fmin(least, fabs(value[k]));
      largest = fmax(largest, fabs(value[k]));
    }
  }
  look->diffusion = look->diffusion && sum <= diagonal * (1 + 1e-8);
  return largest > 20 * least;
}

static karst_status look_at(const karst_matrix *A, struct look *look)
{
  const int rows = count_samples(A->block_rows);
  karst_grid grid = {{0, 0, 0}, NULL};
  int rough = 0;
  double *value;
  *look = (struct look){.plane = A->block_size == 1 && find_plane(A, &grid)};
  const bool near = karst_context_is_host(A->context) || look->plane; /* values are not copied for less */
  if (A->block_size != 1 || A->block_rows == 0 || !near) return KARST_SUCCESS;
  karst_status status = karst_matrix_host_value(A, &value);
  if (status) return status;
  look->diffusion = true;
  for (int n = 0; n < rows; n++) rough += look_at_row(A, &grid, value, sample_row(A->block_rows, n), look);
  look->rough = rough > rows / 2;
  karst_matrix_host_value_done(A, value);
  return KARST_SUCCESS;
}

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

/* From block Jacobi to the highest level. */
static void make_levels(const karst_auto_freedom *freedom, const struct rule *rule, bool dilu,
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
    if (level == 0 && dilu)
      add(ladder, "dilu", -1, rule->ordering);
    else
      add(ladder, "iluk", level, rule->ordering);
  }
}

karst_status karst_auto_rules(const karst_matrix *A, const karst_auto_freedom *freedom, karst_auto_ladder *ladder)
{
  const bool host = karst_context_is_host(A->context);
  double growth;
  struct look look;
  *ladder = (karst_auto_ladder){.count = 0};
  karst_status status = estimate_growth(A, &growth);
  if (!status) status = look_at(A, &look);
  if (status) return status;
  if (freedom->rrb && look.plane && look.diffusion && !(look.rough && host)) {
    make_rrb(ladder);
    return KARST_SUCCESS;
  }
  const struct rule *rule = host ? host_rules : device_rules;
  while (growth >= rule->growth || (rule->rows > 0 && A->block_rows >= rule->rows)) rule++;
  if (host && rule->level == 0 && growth < DENSE && A->block_size == 1 && !look.diffusion) rule = &structure_rule;
  if (host && growth < DENSE && strcmp(rule->ordering, "rcm") == 0 && A->block_rows < SMALL && is_regular(A))
    rule = &small_rule;
  const bool dilu = host && freedom->precond && freedom->level && A->block_size >= LARGE_BLOCK && rule->level <= 1;
  if (dilu) rule = &block_rule;
  make_levels(freedom, rule, dilu, ladder);
  snprintf(ladder->reason, sizeof ladder->reason, "ILU(1) has %.2f times the entries of A: %s", growth, rule->because);
  return KARST_SUCCESS;
}
