/* cycle.c - the shared memory and the weights of a hierarchy, and a cycle: the list of steps, each a pass over the
 * rows of a level. */
#include "cpu/amg/amg_cpu.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define T float
#define NAME(x) x##_float
#include "cpu/amg/cycle_template.h"
#undef T
#undef NAME
#define T double
#define NAME(x) x##_double
#include "cpu/amg/cycle_template.h"
#undef T
#undef NAME

karst_status karst_amg_finish_cpu(karst_context *context, karst_amg *amg)
{
  static const char what[] = "the vectors of a multigrid hierarchy";
  const int64_t scalar = (int64_t)karst_amg_scalar(amg), last = amg->level[amg->levels - 1].A.rows;
  const int64_t shared = karst_amg_place_shared(amg, NULL);
  karst_amg_cpu *plan = amg->plan;
  amg->plan_memory = (int64_t)sizeof *plan + shared;
  karst_status status = karst_amg_take_cpu(context, &amg->shared, shared, 1, what);
  karst_amg_place_shared(amg, amg->shared);
  if (status || last > KARST_AMG_DENSE || amg->call) return status;
  status = karst_amg_take_cpu(context, &amg->inverse, last * last, (size_t)scalar, what);
  if (!status) status = karst_amg_take_cpu(context, &plan->dense, last * last, sizeof *plan->dense, what);
  if (!status) status = karst_amg_take_cpu(context, &plan->origin, last, sizeof *plan->origin, what);
  amg->plan_memory += last * last * (scalar + (int64_t)sizeof *plan->dense) + last * (int64_t)sizeof *plan->origin;
  return status;
}

/* Computes the weights of rows first .. last - 1 of a level, and returns whether all entries are finite. A weight that
 * T cannot hold is 0. */
KARST_INLINE bool weigh_smoother(bool single, bool l1, const karst_amg_level *level, karst_index first,
                                 karst_index last)
{
  double not_finite = 0;
  for (karst_index i = first; i < last; i++) {
    double diagonal = 0, others = 0;
    for (karst_index k = level->A.row_start[i]; k < level->A.row_start[i + 1]; k++) {
      const double a = karst_amg_value(single, level->A.value, k);
      if (level->A.column[k] == i)
        diagonal = a;
      else
        others += fabs(a);
    }
    not_finite += 0 * (diagonal + others);
    const double d = l1 ? diagonal + copysign(others, diagonal) : diagonal;
    const double weight = d == 0 ? 0 : 1 / d;
    karst_amg_store(single, level->weight, i, fabs(weight) <= (single ? FLT_MAX : DBL_MAX) ? weight : 0);
  }
  return not_finite == 0;
}

static bool weigh_level(karst_context *context, const karst_amg *amg, const karst_amg_level *level)
{
  bool finite = true;
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, level->A.entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, level->A.rows, level->A.row_start);
    const bool mine = amg->single ? weigh_smoother(true, amg->l1, level, part.first, part.last)
                                  : weigh_smoother(false, amg->l1, level, part.first, part.last);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_amg_weigh)
    finite = finite && mine;
  }
  karst_end(context, &piece);
  return finite;
}

karst_status karst_amg_weigh_cpu(karst_context *context, karst_amg *amg, karst_amg_outcome *outcome)
{
  bool finite = true;
  *outcome = (karst_amg_outcome){.reason = KARST_SOUND, .block_row = -1};
  for (int l = 0; l < amg->levels; l++) finite = weigh_level(context, amg, &amg->level[l]) && finite;
  if (!finite)
    outcome->reason = KARST_NOT_FINITE;
  else if (amg->inverse)
    outcome->pinned = karst_amg_invert_cpu(amg);
  return KARST_SUCCESS;
}

/* The bits of the largest |r_i|, which order as the numbers do; a NaN exceeds all numbers. Integers raise no flags. */
KARST_KERNEL static int64_t karst_amg_largest(karst_index first, karst_index last, const double *r)
{
  int64_t largest = 0;
  for (karst_index i = first; i < last; i++) {
    int64_t bits;
    memcpy(&bits, &r[i], sizeof bits);
    bits &= INT64_MAX;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

static double measure_vector(karst_context *context, karst_index rows, const double *r)
{
  int64_t largest = 0;
  double size;
  karst_piece piece = karst_begin(context, KARST_KIND_ELEMENTS, rows);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, rows);
    const int64_t mine = karst_amg_largest(part.first, part.last, r);
    karst_part_end(&piece, &part);
#pragma omp critical(karst_amg_measure)
    if (mine > largest) largest = mine;
  }
  karst_end(context, &piece);
  memcpy(&size, &largest, sizeof size);
  return size;
}

KARST_KERNEL static void karst_amg_add(karst_index first, karst_index last, double keep, double factor, const double *d,
                                       double *y)
{
  if (keep == 0)
    for (karst_index i = first; i < last; i++) y[i] = factor * d[i];
  else
    for (karst_index i = first; i < last; i++) y[i] = keep * y[i] + factor * d[i];
}

/* Level 0 is A / 2^a, so that M^-1 of A is multiplied by 2^a. */
static void solve_lines(karst_context *context, const karst_amg *amg, const karst_amg_step *step)
{
  const karst_amg_level *level = &amg->level[0];
  double *d = level->vector[3];
  const double factor = ldexp(step->factor, amg->exponent);
  for (int i = 0; i < amg->axes; i++)
    context->backend->lines->solve(context, &amg->lines[i], 0, i == 0 ? level->vector[step->x] : d, d);
  karst_piece piece = karst_begin(context, KARST_KIND_COPY, level->A.rows);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, level->A.rows);
    karst_amg_add(part.first, part.last, step->keep, factor, d, level->vector[step->y]);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

/* Runs a step. Small levels are not worth threads. */
static void run_step(karst_context *context, const karst_amg *amg, const karst_amg_step *step)
{
  typedef void function(const karst_amg_level *, const karst_amg_step *, karst_index, karst_index);
  static function *const instance[][2] = {[KARST_AMG_FIRST] = {karst_amg_first_double, karst_amg_first_float},
                                          [KARST_AMG_SWEEP] = {karst_amg_sweep_double, karst_amg_sweep_float},
                                          [KARST_AMG_MOMENTUM] = {karst_amg_momentum_double, karst_amg_momentum_float},
                                          [KARST_AMG_RESIDUAL] = {karst_amg_residual_double, karst_amg_residual_float},
                                          [KARST_AMG_RESTRICT] = {karst_amg_restrict_double, karst_amg_restrict_float},
                                          [KARST_AMG_PROLONG] = {karst_amg_prolong_double, karst_amg_prolong_float}};
  if (step->action >= KARST_AMG_EXCHANGE && step->action <= KARST_AMG_GATHER) {
    amg->call(amg->user, step);
    return;
  }
  if (step->action == KARST_AMG_LINES) {
    solve_lines(context, amg, step);
    return;
  }
  if (step->action == KARST_AMG_INVERT) {
    (amg->single ? karst_amg_solve_dense_float : karst_amg_solve_dense_double)(amg, step);
    return;
  }
  const karst_amg_level *level = &amg->level[step->level];
  const karst_amg_matrix *shared = step->action == KARST_AMG_RESTRICT  ? &level->R
                                   : step->action == KARST_AMG_PROLONG ? &level->P
                                                                       : &level->A;
  function *rows = instance[step->action][amg->single];
  const karst_index count = step->action == KARST_AMG_RESTRICT ? shared->rows : level->A.rows;
  const int64_t work = step->action == KARST_AMG_FIRST ? count : shared->entries;
  karst_piece piece = karst_begin(context, KARST_KIND_PRODUCT, work);
  if (piece.threads == 1)
    rows(level, step, 0, count);
  else
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, count, shared->row_start);
    rows(level, step, part.first, part.last);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

KARST_KERNEL static void karst_amg_scale(karst_index first, karst_index last, const double *factor, const double *from,
                                         double *to)
{
  for (karst_index i = first; i < last; i++) to[i] = from[i] * factor[0] * factor[1];
}

/* to = factor[0] factor[1] from */
static void scale_vector(karst_context *context, karst_index rows, const double *factor, const double *from, double *to)
{
  karst_piece piece = karst_begin(context, KARST_KIND_COPY, rows);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, rows);
    karst_amg_scale(part.first, part.last, factor, from, to);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

void karst_amg_apply_cpu(karst_context *context, const karst_amg *amg, const double *r, double *z)
{
  const karst_index rows = amg->level[0].A.rows;
  const double size = amg->call ? 0.5 : measure_vector(context, rows, r); /* 0.5 has the exponent 0 */
  int exponent;
  if (size == 0 || !isfinite(size)) {
    context->backend->fill(context, rows, size == 0 ? 0 : NAN, z);
    return;
  }
  frexp(size, &exponent);
  if (exponent < -1000) exponent = -1000; /* or its power would be infinite */
  scale_vector(context, rows, (const double[]){ldexp(1, -exponent), 1}, r, amg->level[0].vector[0]);
  for (int s = 0; s < amg->steps; s++) run_step(context, amg, &amg->step[s]);
  /* x is the solution for A / 2^a and r / 2^e; their quotient may exceed the powers of two that a double holds. */
  exponent -= amg->exponent;
  const int part = exponent < -1000 ? -1000 : exponent > 1000 ? 1000 : exponent;
  scale_vector(context, rows, (const double[]){ldexp(1, part), ldexp(1, exponent - part)},
               amg->level[0].vector[amg->result], z);
}
