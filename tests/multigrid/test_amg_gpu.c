/* The kernels of algebraic multigrid on a GPU agree with those on the CPU, level by level from the same values: the
 * same C rows, aggregates and patterns, values and cycles up to rounding, and the same bits in every run. */
#include "tests/support/amg_levels.h"
#include "tests/support/amg_systems.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4, STEPS = 16, DEEPEST = 8 };

static karst_context *cpu;

/* A two-level hierarchy on one device. */
struct side {
  karst_context *context;
  const struct karst_amg_kernels *kernels;
  karst_matrix *A;
  karst_amg amg;
  karst_amg_outcome outcome; /* of the values */
  karst_amg_splitting splitting;
  karst_amg_step step[STEPS];
};

static struct copy fetched(const struct side *side, const karst_amg_matrix *A)
{
  struct copy copy = {A->rows, A->entries, tap_memory((int64_t)A->rows + 1, sizeof(karst_index)),
                      tap_memory(A->entries + 1, sizeof(karst_index)), tap_memory(A->entries + 1, sizeof(double))};
  amg_download(side->context, &side->amg, A, copy.start, copy.column, copy.value);
  return copy;
}

/* Copies an array of a device. */
static void *downloaded(const struct side *side, const void *from, int64_t count, size_t size)
{
  void *host = tap_memory(count + 1, size);
  tap_need(side->context, side->context->backend->download(side->context, host, from, (size_t)count * size),
           "download");
  return host;
}

static bool same_array(const struct side *a, const void *first, const struct side *b, const void *second, int64_t count,
                       size_t size)
{
  void *x = downloaded(a, first, count, size), *y = downloaded(b, second, count, size);
  const bool same = memcmp(x, y, (size_t)count * size) == 0;
  free(x);
  free(y);
  return same;
}

static bool same_pattern(const struct copy *a, const struct copy *b)
{
  return a->rows == b->rows && a->entries == b->entries &&
         memcmp(a->start, b->start, ((size_t)a->rows + 1) * sizeof *a->start) == 0 &&
         memcmp(a->column, b->column, (size_t)a->entries * sizeof *a->column) == 0;
}

/* Of each row of A the sum of |a_ik| inner_k, or the largest entry without inner. */
static double *row_sizes(const struct copy *A, const double *inner)
{
  double *size = tap_memory(A->rows + 1, sizeof *size);
  for (karst_index i = 0; i < A->rows; i++)
    for (karst_index k = A->start[i]; k < A->start[i + 1]; k++) {
      const double a = fabs(A->value[k]);
      size[i] = inner ? size[i] + a * inner[A->column[k]] : fmax(size[i], a);
    }
  return size;
}

/* By how much the values of both sides may differ. Relative to the size of its row, sums of a few hundred products of
 * rounded numbers differ by less than 64 roundings, and there are three products. The sum that truncated weights keep
 * loses digits where weights cancel: 3e-14 was seen in double. */
static double rounding_of(const struct side *side)
{
  return 3 * 64 * (side->amg.single ? FLT_EPSILON : DBL_EPSILON) + 1e-11;
}

/* Compares a matrix of both sides. size: [rows], or NULL for the largest entries. */
static bool agree(const char *what, const struct side *a, const karst_amg_matrix *first, const struct side *b,
                  const karst_amg_matrix *second, const double *size)
{
  struct copy x = fetched(a, first), y = fetched(b, second);
  double *own = row_sizes(&y, NULL), error = 0;
  const double limit = rounding_of(a);
  const bool pattern = same_pattern(&x, &y) && first->columns == second->columns && first->longest == second->longest;
  for (karst_index i = 0; pattern && i < x.rows; i++)
    for (karst_index k = x.start[i]; k < x.start[i + 1]; k++)
      if (x.value[k] != y.value[k]) error = fmax(error, fabs(x.value[k] - y.value[k]) / (size ? size[i] : own[i]));
  if (!pattern) tap_note("%s: another pattern", what);
  if (!(error <= limit)) tap_note("%s differ by %.1e", what, error);
  copy_free(&x);
  copy_free(&y);
  free(own);
  return pattern && error <= limit;
}

/* Compares A P and R A P by the sizes of the products in each row. *size: those of R A P */
static bool agree_products(const struct side *a, const struct side *b, double **size)
{
  const karst_amg_level *x = &a->amg.level[0], *y = &b->amg.level[0];
  struct copy A = fetched(b, &y->A), P = fetched(b, &y->P), R = fetched(b, &y->R);
  double *size_P = row_sizes(&P, NULL), *size_AP = row_sizes(&A, size_P), *size_RAP = *size = row_sizes(&R, size_AP);
  const bool same =
      agree("A P", a, &x->AP.C, b, &y->AP.C, size_AP) && agree("R A P", a, &x->RAP.C, b, &y->RAP.C, size_RAP);
  free(size_P);
  free(size_AP);
  copy_free(&A);
  copy_free(&P);
  copy_free(&R);
  return same;
}

static struct side begin(karst_context *context, const struct copy *A, bool single)
{
  struct side side = {.context = context, .kernels = context->backend->amg, .amg = {.single = single, .l1 = true}};
  side.A = matrix_of(context, A->rows, 1, A->start, A->column, A->value);
  tap_need(context, side.kernels->begin(context, side.A, &side.amg), "begin");
  tap_need(context, side.kernels->load(context, side.A, &side.amg, &side.outcome), "load");
  side.amg.levels = 1;
  return side;
}

static void end(struct side *side)
{
  side->kernels->release_splitting(side->context, &side->splitting);
  side->kernels->destroy(side->context, &side->amg);
  karst_matrix_destroy(side->A);
}

static void multiply_all(struct side *side)
{
  karst_amg_level *level = &side->amg.level[0];
  side->kernels->multiply(side->context, &side->amg, &level->A, &level->P, &level->AP);
  side->kernels->multiply(side->context, &side->amg, &level->R, &level->AP.C, &level->RAP);
}

/* Splits or matches, twice for aggregates of four. */
static void split(struct side *side, const karst_amg_rule *rule, bool aggregates)
{
  const struct karst_amg_kernels *kernels = side->kernels;
  karst_context *context = side->context;
  karst_amg_level *level = &side->amg.level[0];
  if (!aggregates) {
    tap_need(context, kernels->split(context, &side->amg, &level->A, rule, &side->splitting), "split");
    tap_need(context, kernels->interpolate(context, &side->amg, &level->A, rule, &side->splitting, &level->P),
             "interpolate");
    return;
  }
  tap_need(context, kernels->match(context, &side->amg, &level->A, rule, &side->splitting), "match");
  tap_need(context, kernels->aggregate(context, &side->amg, level->A.rows, &side->splitting, &level->P), "aggregate");
}

/* Makes the next level and its values, so that the columns of A P are not needed again. */
static void coarsen(struct side *side)
{
  const struct karst_amg_kernels *kernels = side->kernels;
  karst_context *context = side->context;
  karst_amg_level *level = &side->amg.level[0];
  tap_need(context, kernels->transpose(context, &side->amg, &level->P, &level->R), "transpose");
  tap_need(context, kernels->plan_product(context, &side->amg, &level->A, &level->P, &level->AP), "A P");
  tap_need(context, kernels->plan_product(context, &side->amg, &level->R, &level->AP.C, &level->RAP), "R A P");
  multiply_all(side);
  side->amg.level[1].A = level->RAP.C;
  side->amg.level[1].A.borrows = true;
  side->amg.levels = 2;
}

static bool same_product(const struct side *a, const karst_amg_product *x, const struct side *b,
                         const karst_amg_product *y)
{
  return x->products == y->products && x->slot_size == y->slot_size &&
         same_array(a, x->first, b, y->first, (int64_t)x->C.rows + 1, sizeof *x->first) &&
         same_array(a, x->slot, b, y->slot, x->products, (size_t)x->slot_size);
}

/* The values of a second multiplication have the same bits. */
static bool repeats(struct side *side)
{
  struct copy before = fetched(side, &side->amg.level[0].RAP.C);
  multiply_all(side);
  struct copy after = fetched(side, &side->amg.level[0].RAP.C);
  const bool same = memcmp(before.value, after.value, (size_t)before.entries * sizeof *before.value) == 0;
  copy_free(&before);
  copy_free(&after);
  return same;
}

/* All actions, on two levels; a first sweep with a residual behind it, or momentum from zero. */
static void write_steps(struct side *side, bool momentum)
{
  const bool dense = side->amg.level[1].A.rows <= KARST_AMG_DENSE;
  const karst_amg_step all[] = {
      {momentum ? KARST_AMG_MOMENTUM : KARST_AMG_FIRST, 0, 0, 1, 1.5, 0},
      {KARST_AMG_RESIDUAL, 0, 1, 2, 0, 0},
      {KARST_AMG_RESTRICT, 0, 2, 0, 0, 0},
      {dense ? KARST_AMG_INVERT : KARST_AMG_FIRST, 1, 0, 1, 0.9, 0},
      {KARST_AMG_SWEEP, 1, 1, 2, 1.1, 0},
      {momentum ? KARST_AMG_MOMENTUM : KARST_AMG_SWEEP, 1, 2, 1, 0.7, 0},
      {KARST_AMG_PROLONG, 0, 1, 1, 1.25, 0},
      {momentum ? KARST_AMG_MOMENTUM : KARST_AMG_SWEEP, 0, 1, 2, 1.5, 0.375},
      {KARST_AMG_FIRST, 1, 0, 1, 1, 0},
      {KARST_AMG_PROLONG, 0, 1, 2, 0.125, 0},
  };
  memcpy(side->step, all, sizeof all);
  side->amg.step = side->step;
  side->amg.steps = (int)(sizeof all / sizeof *all);
  side->amg.result = 2;
}

/* Returns z = M^-1 r. */
static double *apply(const struct side *side, const double *r)
{
  const karst_index n = side->amg.level[0].A.rows;
  karst_vector *from = vector_from(side->context, n, r), *to = vector_of(side->context, n, NAN);
  side->kernels->apply(side->context, &side->amg, karst_vector_const_values(from), karst_vector_values(to));
  double *z = vector_on_host(to);
  karst_vector_destroy(from);
  karst_vector_destroy(to);
  return z;
}

/* The largest |x_i - y_i| over the largest |y_i|; 0 if they have the same bits. */
static double difference(int64_t n, const double *x, const double *y)
{
  return memcmp(x, y, (size_t)n * sizeof *x) == 0 ? 0 : relative_difference(n, x, y);
}

/* By how much roundings of the products in each row of the last level's matrix, of these sizes [rows], are multiplied
 * in y = W f: the largest sum_j |W_ij| size_j. Without W it is 0. */
static double amplification(const struct side *cpu_side, const double *size)
{
  const int64_t n = cpu_side->amg.level[1].A.rows;
  const bool single = cpu_side->amg.single;
  double largest = 0;
  if (!cpu_side->amg.inverse) return 0;
  void *W = downloaded(cpu_side, cpu_side->amg.inverse, n * n, single ? sizeof(float) : sizeof(double));
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++)
      sum += size[j] * fabs(single ? (double)((const float *)W)[j * n + i] : ((const double *)W)[j * n + i]);
    largest = fmax(largest, sum);
  }
  free(W);
  return largest;
}

/* Compares a cycle on both sides, and two on the device. size: [rows of the last level] of the products in its rows.
 * The smoother's steps multiply rounding errors by less than 10, and the inverse those of its matrix by its
 * amplification. */
static bool same_cycle(struct side *a, struct side *b, bool momentum, const double *size)
{
  const int64_t n = a->amg.level[0].A.rows;
  double *r = random_on_host(n), *z[3];
  struct side *sides[] = {a, b};
  karst_amg_outcome outcome[2];
  for (int s = 0; s < 2; s++) {
    write_steps(sides[s], momentum);
    sides[s]->kernels->release_entries(sides[s]->context, &sides[s]->amg.level[0].AP.C);
    tap_need(sides[s]->context, sides[s]->kernels->finish(sides[s]->context, &sides[s]->amg), "finish");
    tap_need(sides[s]->context, sides[s]->kernels->weigh(sides[s]->context, &sides[s]->amg, &outcome[s]), "weigh");
    z[s] = apply(sides[s], r);
  }
  z[2] = apply(a, r);
  const double error = difference(n, z[0], z[1]), limit = rounding_of(a) * (10 + amplification(b, size));
  const bool same = error <= limit && difference(n, z[0], z[2]) == 0 && outcome[0].reason == outcome[1].reason &&
                    outcome[0].pinned == outcome[1].pinned;
  if (!same)
    tap_note("z differs by %.1e, at most %.1e is rounding, outcomes %d and %d, pinned %lld and %lld", error, limit,
             (int)outcome[0].reason, (int)outcome[1].reason, (long long)outcome[0].pinned,
             (long long)outcome[1].pinned);
  for (int s = 0; s < 3; s++) free(z[s]);
  free(r);
  return same;
}

/* Compares everything between a level and the next one. */
static bool same_step(struct side *a, struct side *b, const karst_amg_rule *rule, bool aggregates)
{
  const karst_amg_level *x = &a->amg.level[0], *y = &b->amg.level[0];
  split(a, rule, aggregates);
  split(b, rule, aggregates);
  if (a->splitting.coarse != b->splitting.coarse || a->splitting.rounds != b->splitting.rounds ||
      !same_array(a, a->splitting.place, b, b->splitting.place, x->A.rows, sizeof(karst_index)) ||
      (!aggregates && !same_array(a, a->splitting.strong, b, b->splitting.strong, x->A.entries, 1))) {
    tap_note("another splitting: %lld and %lld rows in %d and %d rounds", (long long)a->splitting.coarse,
             (long long)b->splitting.coarse, a->splitting.rounds, b->splitting.rounds);
    return false;
  }
  if (!agree("P", a, &x->P, b, &y->P, NULL)) return false;
  coarsen(a);
  coarsen(b);
  double *size = NULL;
  const bool same = agree("R", a, &x->R, b, &y->R, NULL) && agree_products(a, b, &size) &&
                    same_product(a, &x->AP, b, &y->AP) && same_product(a, &x->RAP, b, &y->RAP) && repeats(a) &&
                    same_cycle(a, b, !a->amg.single, size);
  free(size);
  return same;
}

/* Compares a level, and replaces A by the next one of the reference, which is empty at the end. */
static bool compare_level(karst_context *context, struct copy *A, const karst_amg_rule *rule, bool single,
                          bool aggregates)
{
  struct side a = begin(context, A, single), b = begin(cpu, A, single);
  const bool sound = b.outcome.reason == KARST_SOUND;
  bool same = a.outcome.reason == b.outcome.reason && a.outcome.block_row == b.outcome.block_row;
  if (!same) tap_note("outcomes %d and %d", (int)a.outcome.reason, (int)b.outcome.reason);
  if (same && sound)
    same = agree("A", &a, &a.amg.level[0].A, &b, &b.amg.level[0].A, NULL) && same_step(&a, &b, rule, aggregates);
  copy_free(A);
  memset(A, 0, sizeof *A);
  if (same && sound) *A = fetched(&b, &b.amg.level[0].RAP.C);
  end(&a);
  end(&b);
  return same;
}

/* Goes down the levels that the reference makes from a matrix. */
static void compare(karst_context *context, const char *name, double strength, bool single, bool aggregates)
{
  const karst_amg_rule rule = {.strength = strength, .most_entries = MOST};
  struct copy A = copy_make(cpu, name);
  const int deepest = strncmp(name, "neumann", 7) == 0 ? 2 : DEEPEST; /* later levels are singular up to rounding */
  karst_index rows = A.rows + 1;
  int levels = 0;
  bool same = true;
  for (; same && levels < deepest && A.rows > 0 && A.rows < rows; levels++) {
    rows = A.rows;
    same = compare_level(context, &A, &rule, single, aggregates);
  }
  copy_free(&A);
  tap_ok(same, "%s, %s, %s, strength %.2f: as on the CPU, on %d levels", name, single ? "float" : "double",
         aggregates ? "pairs" : "PMIS", strength, levels);
}

static void levels(karst_context *context)
{
  static const char *const systems[] = {"poisson3d:14x13x12", "laplace27:9x8x7", "convdiff:12x11x10", "poisson2d:40x41",
                                        "random:500",         "random:900",      "hub:1400",          "hub:4000",
                                        "centre:900",         "centre:300",      "dense:300",         "dense:600",
                                        "diagonal:50",        "diagonal:1",      "poisson2d:2x1",     "neumann:20",
                                        "poisson3d:34x34x34"}; /* large enough for all kernels of the set-up */
  for (size_t s = 0; s < sizeof systems / sizeof *systems; s++)
    for (int single = 0; single < 2; single++) {
      compare(context, systems[s], s % 2 ? 0.5 : 0.25, single, false);
      compare(context, systems[s], 0.25, single, true);
    }
}

/* Fills the plans of both sides for one level with its inverse, or with a sweep alone. */
static void begin_one_level(struct side *side, bool inverse)
{
  karst_amg_outcome outcome;
  side->step[0] = (karst_amg_step){inverse ? KARST_AMG_INVERT : KARST_AMG_FIRST, 0, 0, 1, 1, 0};
  side->amg.step = side->step;
  side->amg.steps = side->amg.result = 1;
  tap_need(side->context, side->kernels->finish(side->context, &side->amg), "finish");
  tap_need(side->context, side->kernels->weigh(side->context, &side->amg, &outcome), "weigh");
  tap_note("pinned: %lld", (long long)outcome.pinned);
}

/* The error of z for A and r times powers of two, on one level. */
static double one_level_error(karst_context *context, struct copy *A, bool single, double scale, double *r)
{
  struct side sides[] = {begin(context, A, single), begin(cpu, A, single)};
  double *z[2];
  for (int64_t i = 0; i < A->rows; i++) r[i] *= scale;
  for (int s = 0; s < 2; s++) {
    begin_one_level(&sides[s], true);
    z[s] = apply(&sides[s], r);
    end(&sides[s]);
  }
  const double error = difference(A->rows, z[0], z[1]);
  for (int s = 0; s < 2; s++) free(z[s]);
  return error;
}

/* A singular system with its constant null space has one pinned unknown; small and large numbers do not overflow. */
static void extremes(karst_context *context)
{
  for (karst_index n = 1; n <= 512; n = 3 * n + 1)
    for (int single = 0; single < 2; single++) {
      struct copy A = copy_empty(n, 3 * (int64_t)n);
      double *r = random_on_host(n);
      for (karst_index i = 0; i < n; i++) {
        if (i > 0) copy_add(&A, i, i - 1, -1e200);
        copy_add(&A, i, i, (n == 1) + (i > 0) * 1e200 + (i + 1 < n) * 1e200);
        if (i + 1 < n) copy_add(&A, i, i + 1, -1e200);
      }
      const double error = one_level_error(context, &A, single, 1e-200, r);
      tap_ok(error <= (single ? 1e-3 : 1e-9), "a singular chain of %lld rows, %s: as on the CPU (%.1e)", (long long)n,
             single ? "float" : "double", error);
      copy_free(&A);
      free(r);
    }
}

/* z is 0 if r is, NaN if r has one, and finite again afterwards. */
static void special_vectors(karst_context *context)
{
  struct copy A = copy_make(cpu, "poisson2d:9x9");
  struct side side = begin(context, &A, true);
  double *r = tap_memory(A.rows, sizeof *r), *z[3];
  begin_one_level(&side, true);
  z[0] = apply(&side, r);
  r[7] = NAN;
  z[1] = apply(&side, r);
  r[7] = 1;
  z[2] = apply(&side, r);
  bool zero = true, finite = true;
  for (karst_index i = 0; i < A.rows; i++) {
    zero = zero && z[0][i] == 0 && isnan(z[1][i]);
    finite = finite && isfinite(z[2][i]) && z[2][7] > 0;
  }
  tap_ok(zero && finite, "zero, NaN and then a number in r");
  for (int k = 0; k < 3; k++) free(z[k]);
  free(r);
  end(&side);
  copy_free(&A);
}

/* Loads values with one changed, and returns the outcome. */
static karst_amg_outcome load_with(const struct side *side, const struct copy *A, double value)
{
  double *changed = tap_memory(A->entries, sizeof *changed);
  karst_amg_outcome outcome = {.block_row = -2};
  memcpy(changed, A->value, (size_t)A->entries * sizeof *changed);
  for (karst_index k = A->start[5]; k < A->start[6]; k++) changed[k] = k == A->start[5] ? value : 0;
  karst_matrix *matrix = matrix_of(side->context, A->rows, 1, A->start, A->column, changed);
  karst_amg amg = {.single = side->amg.single};
  tap_need(side->context, side->kernels->begin(side->context, matrix, &amg), "begin");
  tap_need(side->context, side->kernels->load(side->context, matrix, &amg, &outcome), "load");
  side->kernels->destroy(side->context, &amg);
  side->kernels->destroy(side->context, &amg);
  karst_matrix_destroy(matrix);
  free(changed);
  return outcome;
}

static void outcomes(karst_context *context)
{
  struct copy A = copy_make(cpu, "poisson2d:9x9");
  struct side side = begin(context, &A, true);
  const karst_amg_outcome zero = load_with(&side, &A, 0), bad = load_with(&side, &A, HUGE_VAL),
                          sound = load_with(&side, &A, 1);
  tap_ok(zero.reason == KARST_SINGULAR_BLOCK && zero.block_row == 5, "a row of zeros is named");
  tap_ok(bad.reason == KARST_NOT_FINITE && bad.block_row == 5, "a row that is not finite is named");
  tap_ok(sound.reason == KARST_SOUND && sound.block_row == -1, "other values are sound");
  end(&side);
  copy_free(&A);
}

static void run(karst_context *context)
{
  if (context->backend == cpu->backend) {
    tap_skip("the CPU is the reference", "algebraic multigrid");
    return;
  }
  if (tap_lacks_kernels(context->backend->amg, "amg", "algebraic multigrid")) return;
  levels(context);
  extremes(context);
  special_vectors(context);
  outcomes(context);
}

int main(void)
{
  cpu = tap_context();
  tap_each_device(run, "algebraic multigrid");
  karst_context_destroy(cpu);
  return tap_done();
}
