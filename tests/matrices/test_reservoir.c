/* blackoil and deadoil follow their equations. The residual agrees with a second implementation of the equations, the
 * matrix with differences of the residual. The permeability has SPE10's statistics, and files are read as they are. */
#include "matrices/oil.h"
#include "matrices/permeability.h"
#include "tests/support/problem.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A random model with random states. Neighbours differ in pressure by at least 10 bar, so that gravity cannot reverse
 * the flow and no difference quotient crosses a change of the upwind cell. */
struct example {
  karst_oil_model model;
  int64_t rows;
  double *state, *old, *residual;
};

static void fill_random_state(const karst_oil_model *model, double *state)
{
  karst_index cells = karst_grid_cells(model->size);
  for (karst_index i = 0; i < cells; i++) {
    double *unknown = state + (int64_t)model->phases * i;
    karst_cell cell = karst_grid_cell(model->size, i);
    int colour = (int)((cell.position[0] + cell.position[1] + cell.position[2]) % 2);
    unknown[0] = 350 + (colour ? 10 : -10) + 5 * tap_random();
    unknown[1] = tap_random_index(4) == 0 ? 0.1 /* immobile */ : 0.35 + 0.1 * tap_random();
    if (model->phases > 2) unknown[2] = 0.15 + 0.1 * tap_random();
  }
}

static void make_example(int phases, bool impermeable, struct example *e)
{
  e->model = (karst_oil_model){.phases = phases, .size = {4, 3, 3}, .time_step = 0.01 * exp(2 * tap_random())};
  karst_index cells = karst_grid_cells(e->model.size);
  e->rows = (int64_t)cells * phases;
  e->model.kx = calloc((size_t)cells, sizeof(double));
  e->model.kz = calloc((size_t)cells, sizeof(double));
  e->state = calloc((size_t)e->rows, sizeof(double));
  e->old = calloc((size_t)e->rows, sizeof(double));
  e->residual = calloc((size_t)e->rows, sizeof(double));
  for (karst_index i = 0; i < cells; i++) {
    e->model.kx[i] = impermeable && i > 0 && tap_random_index(3) == 0 ? 0 : exp(5 * tap_random());
    e->model.kz[i] = 0.1 * e->model.kx[i];
  }
  karst_oil_place_wells(&e->model);
  fill_random_state(&e->model, e->state);
  fill_random_state(&e->model, e->old);
}

static void free_example(struct example *e)
{
  free(e->model.kx);
  free(e->model.kz);
  free(e->state);
  free(e->old);
  free(e->residual);
}

/* A second implementation of the equations at the head of oil.c, phase by phase, over pairs of cells. */
static const double compressibility[] = {1.5e-4, 4.5e-5, 2e-3}, viscosity[] = {2, 0.5, 0.03};
static const double density[] = {800, 1020, 200}, immobile[] = {0.15, 0.2, 0.03};
static const double length[] = {6.096, 3.048, 0.6096};

static double expansion(int a, double p)
{
  double x = compressibility[a] * (p - 400);
  return 1 + x + x * x / 2;
}

static double saturation(int phases, int a, const double *u)
{
  return a > 0 ? u[a] : phases == 2 ? 1 - u[1] : 1 - u[1] - u[2];
}

static double mobility(int phases, int a, const double *u)
{
  double s = (saturation(phases, a, u) - immobile[a]) / (phases == 2 ? 0.65 : 0.62);
  s = fmin(1, fmax(0, s));
  return expansion(a, u[0]) * s * s / viscosity[a];
}

static double amount(int phases, int a, const double *u)
{
  return (1 + 5e-5 * (u[0] - 400)) * expansion(a, u[0]) * saturation(phases, a, u);
}

/* Returns the flux of phase a from cell j to its neighbour i, in m3 per day. */
static double flux(const karst_oil_model *model, int a, const double *state, karst_cell i, karst_cell j)
{
  const double *here = state + model->phases * (int64_t)i.number, *there = state + model->phases * (int64_t)j.number;
  int axis = i.position[0] != j.position[0] ? 0 : i.position[1] != j.position[1] ? 1 : 2;
  const double *k = axis == 2 ? model->kz : model->kx;
  double area = length[0] * length[1] * length[2] / length[axis];
  double T = 0.008527 * area / length[axis] * 2 * k[i.number] * k[j.number] / (k[i.number] + k[j.number]);
  double depth = length[2] * (double)(j.position[2] - i.position[2]);
  double weight = 9.80665e-5 * density[a] * (expansion(a, here[0]) + expansion(a, there[0])) / 2;
  double head = there[0] - here[0] - weight * depth;
  if (k[i.number] == 0 || k[j.number] == 0) return 0;
  return T * head * mobility(model->phases, a, head > 0 ? there : here);
}

static bool is_well(karst_oil_well well, karst_cell cell)
{
  return well.i == cell.position[0] && well.j == cell.position[1];
}

static double well_inflow(const karst_oil_model *model, int a, const double *u, karst_cell cell)
{
  const double pi = 3.14159265358979324, volume = length[0] * length[1] * length[2] * 0.2;
  double ro = 0.14 * sqrt(length[0] * length[0] + length[1] * length[1]);
  double q = 0, W = 0.008527 * 2 * pi * model->kx[cell.number] * length[2] / log(ro / 0.1);
  if (a == 1 && is_well(model->injector, cell)) q += model->injection * model->kx[cell.number] * volume;
  for (int w = 0; w < model->producers; w++)
    if (is_well(model->producer[w], cell)) q -= W * mobility(model->phases, a, u) * fmax(0, u[0] - 275);
  return q;
}

static double expected_residual(const struct example *e, karst_index number, int a)
{
  const karst_oil_model *model = &e->model;
  karst_cell cell = karst_grid_cell(model->size, number);
  const double *u = e->state + model->phases * (int64_t)number, *old = e->old + model->phases * (int64_t)number;
  double inflow = well_inflow(model, a, u, cell), volume = length[0] * length[1] * length[2] * 0.2;
  for (karst_index other = 0; other < karst_grid_cells(model->size); other++) {
    karst_cell there = karst_grid_cell(model->size, other);
    int64_t distance = 0;
    for (int axis = 0; axis < 3; axis++) distance += llabs((long long)(there.position[axis] - cell.position[axis]));
    if (distance == 1) inflow += flux(model, a, e->state, cell, there);
  }
  return amount(model->phases, a, u) - amount(model->phases, a, old) - model->time_step / volume * inflow;
}

/* The error is relative to 1e-3 of a pore volume at least; terms of up to 1e4 cancel, so that rounding leaves about
 * 1e-12. */
static void test_residual(int phases, bool impermeable)
{
  struct example e;
  double worst = 0, size = 0;
  make_example(phases, impermeable, &e);
  karst_oil_assemble(&e.model, e.state, e.old, e.residual, NULL);
  for (int64_t i = 0; i < e.rows; i++) {
    double expected = expected_residual(&e, (karst_index)(i / phases), (int)(i % phases));
    worst = fmax(worst, fabs(e.residual[i] - expected) / (1e-3 + fabs(expected)));
    size = fmax(size, fabs(expected));
  }
  tap_ok(worst < 1e-10 && size > 1e-2, "%d phases%s: the residual follows the equations (worst %.1e)", phases,
         impermeable ? ", cells impermeable" : "", worst);
  free_example(&e);
}

/* Computes a column of the Jacobian by central differences with the step h: the error is O(h^2) plus rounding over
 * h. */
static void difference_column(struct example *e, int64_t column, double h, double *difference)
{
  double *low = calloc((size_t)e->rows, sizeof *low), start = e->state[column];
  e->state[column] = start + h;
  karst_oil_assemble(&e->model, e->state, e->old, difference, NULL);
  e->state[column] = start - h;
  karst_oil_assemble(&e->model, e->state, e->old, low, NULL);
  e->state[column] = start;
  for (int64_t i = 0; i < e->rows; i++) difference[i] = (difference[i] - low[i]) / (2 * h);
  free(low);
}

/* Returns how far a column of the matrix is from differences with the step h, relative to its largest entry. */
static double column_error(struct example *e, const double *dense, int64_t column, double h, double *difference)
{
  double error = 0, size = 0;
  difference_column(e, column, h, difference);
  for (int64_t r = 0; r < e->rows; r++) {
    error = fmax(error, fabs(dense[r + e->rows * column] - difference[r]));
    size = fmax(size, fabs(difference[r]));
  }
  return error / size;
}

/* The tolerance is 1e-6 relative to the column's largest entry; differences with steps of 1e-3 bar and 1e-5 are
 * accurate to 1e-8. Occasionally such a step changes which cell is upstream, and a hundredth of it does not. */
static void test_jacobian(karst_context *context, int phases, bool impermeable)
{
  struct example e;
  karst_grid_arrays arrays;
  karst_matrix *A;
  make_example(phases, impermeable, &e);
  tap_need(context, karst_grid_pattern(context, e.model.size, NULL, phases, karst_oil_coupled, &e.model, &arrays),
           "pattern");
  karst_oil_assemble(&e.model, e.state, e.old, e.residual, &arrays);
  tap_need(context, karst_grid_adopt(context, e.model.size, phases, &arrays, &A), "adopt");
  double worst = 0, *dense = tap_dense(A), *difference = calloc((size_t)e.rows, sizeof *difference);
  for (int64_t c = 0; c < e.rows; c++) {
    double h = c % phases == 0 ? 1e-3 : 1e-5, error = column_error(&e, dense, c, h, difference);
    if (error >= 1e-6) error = column_error(&e, dense, c, h / 100, difference);
    worst = fmax(worst, error);
  }
  tap_ok(worst < 1e-6, "%d phases%s: the matrix is the derivative of the residual (worst %.1e)", phases,
         impermeable ? ", cells impermeable" : "", worst);
  tap_ok(tap_dense_solve(e.rows, dense, e.residual), "%d phases: the matrix is nonsingular", phases);
  free(dense);
  free(difference);
  karst_matrix_destroy(A);
  free_example(&e);
}

/* The flow out of a cell is the flow into its neighbour. Without producers the balances sum to the change in place and
 * the injection, which is 3e-4 of the pore volume a day. */
static void test_conservation(void)
{
  struct example e;
  double sum[3] = {0}, expected[3] = {0};
  make_example(3, false, &e);
  int64_t cells = e.rows / 3;
  e.model.producers = 0;
  karst_oil_assemble(&e.model, e.state, e.old, e.residual, NULL);
  for (int64_t i = 0; i < e.rows; i++) {
    sum[i % 3] += e.residual[i];
    expected[i % 3] += amount(3, (int)(i % 3), e.state + i / 3 * 3) - amount(3, (int)(i % 3), e.old + i / 3 * 3);
  }
  expected[1] -= e.model.time_step * 3e-4 * (double)cells;
  double error = fabs(sum[0] - expected[0]) + fabs(sum[1] - expected[1]) + fabs(sum[2] - expected[2]);
  tap_ok(error < 1e-9, "the fluxes conserve each phase (off by %.1e of a cell)", error);
  free_example(&e);
}

static void test_wells(void)
{
  double kx[5 * 4 * 2] = {0};
  karst_oil_model model = {.phases = 2, .size = {5, 4, 2}, .kx = kx};
  kx[0 + 5 * 1] = 1;           /* upper layer, column (0, 1) */
  kx[3 + 5 * 3 + 5 * 4] = 2.5; /* lower layer, column (3, 3) */
  karst_oil_place_wells(&model);
  tap_ok(model.injector.i == 3 && model.injector.j == 3, "the injector is in the permeable column nearest the middle");
  tap_ok(model.producers == 2 && model.producer[0].i == 0 && model.producer[1].i == 3,
         "the producers are in the permeable columns nearest the corners, each once");
  tap_ok(fabs(model.injection * 2.5 - 3e-4 * 40) < 1e-15, "the injector brings 3e-4 of the pore volume a day");
}

/* The public problem is the model made of these parts: generated field, wells, state, first Newton step. kvkh: kz / kx
 * if the spec gives it, else negative. */
static void test_problem(karst_context *context, const char *spec, int phases, double kvkh)
{
  struct example e = {.model = {.phases = phases, .size = {5, 6, 4}, .time_step = 0.25}};
  karst_matrix *A;
  karst_vector *rhs;
  karst_index cells = karst_grid_cells(e.model.size);
  e.rows = (int64_t)cells * phases;
  e.model.kx = calloc((size_t)cells, sizeof(double));
  e.model.kz = calloc((size_t)cells, sizeof(double));
  e.state = calloc((size_t)e.rows, sizeof(double));
  e.old = calloc((size_t)e.rows, sizeof(double));
  e.residual = calloc((size_t)e.rows, sizeof(double));
  karst_permeability_generate(e.model.size, 7, e.model.kx, e.model.kz);
  for (karst_index i = 0; i < cells && kvkh >= 0; i++) e.model.kz[i] = kvkh * e.model.kx[i];
  karst_oil_place_wells(&e.model);
  karst_oil_fill_state(&e.model, 7, e.state);
  karst_oil_assemble(&e.model, e.state, e.state, e.residual, NULL);
  tap_need(context, karst_gallery_create(context, spec, 0, &A, &rhs), spec);
  karst_matrix *again = matrix_from(context, spec, 0);
  tap_need(context, karst_vector_get(rhs, e.rows, e.old), "get");
  bool same = karst_vector_length(rhs) == e.rows && karst_matrix_block_size(A) == phases;
  for (int64_t i = 0; i < e.rows; i++) same = same && e.old[i] == -e.residual[i];
  tap_ok(same, "%s has minus the residual as its right-hand side", spec);
  size_t bytes = sizeof(double) * (size_t)(karst_matrix_blocks(A) * phases * phases);
  tap_ok(karst_matrix_blocks(A) == karst_matrix_blocks(again) &&
             memcmp(karst_matrix_value(A), karst_matrix_value(again), bytes) == 0,
         "%s has the same bits each time", spec);
  karst_matrix_destroy(A);
  karst_matrix_destroy(again);
  karst_vector_destroy(rhs);
  free_example(&e);
}

/* SPE10's second model has 7e-4 to 2e4 mD, and log10 k with mean and deviation of about 1.5 (its two available layers
 * have means 1.53 and 1.57, deviations 1.53 and 1.52). Permeability is strongly correlated within a layer, and kz / kx
 * is in 1e-4 to 0.1. */
static void test_field(uint64_t seed)
{
  const karst_index size[3] = {60, 220, 20};
  karst_index cells = karst_grid_cells(size);
  double *kx = calloc((size_t)cells, sizeof *kx), *kz = calloc((size_t)cells, sizeof *kz);
  double sum = 0, squares = 0, products = 0, low = 1e300, high = 0, ratio_low = 1e300, ratio_high = 0;
  karst_permeability_generate(size, seed, kx, kz);
  for (karst_index i = 0; i < cells; i++) {
    double log_k = log10(kx[i]), ratio = kz[i] / kx[i];
    sum += log_k;
    squares += log_k * log_k;
    if (i > 0) products += log_k * log10(kx[i - 1]);
    low = fmin(low, kx[i]);
    high = fmax(high, kx[i]);
    ratio_low = fmin(ratio_low, ratio);
    ratio_high = fmax(ratio_high, ratio);
  }
  double mean = sum / (double)cells, variance = squares / (double)cells - mean * mean;
  double correlation = (products / (double)cells - mean * mean) / variance;
  tap_note("seed %llu: %.2g to %.2g mD, log10 %.2f +- %.2f, kz/kx %.2g to %.2g, correlation %.2f",
           (unsigned long long)seed, low, high, mean, sqrt(variance), ratio_low, ratio_high, correlation);
  tap_ok(low >= 6e-4 && high <= 2.1e4 && high / low >= 1e5, "seed %llu: the permeability's range is SPE10's",
         (unsigned long long)seed);
  tap_ok(fabs(mean - 1.5) < 0.4 && fabs(sqrt(variance) - 1.5) < 0.3,
         "seed %llu: mean and deviation of log10 k are SPE10's", (unsigned long long)seed);
  tap_ok(ratio_low > 0.9999e-4 && ratio_low < 2e-4 && ratio_high < 0.10001 && ratio_high > 0.09,
         "seed %llu: kz / kx goes from 1e-4 to 0.1", (unsigned long long)seed);
  tap_ok(correlation > 0.5 && correlation < 0.99, "seed %llu: neighbours along x correlate", (unsigned long long)seed);
  free(kx);
  free(kz);
}

/* The default field must not change between versions, because stored results depend on it. */
static void test_field_is_fixed(void)
{
  const karst_index size[3] = {3, 2, 2};
  double kx[12], kz[12], other[12];
  karst_permeability_generate(size, 1, kx, kz);
  karst_permeability_generate(size, 2, other, kz);
  tap_ok(kx[0] != other[0] && kx[11] != other[11], "another seed is another field");
  tap_ok(fabs(kx[0] / 7154.9870871336743 - 1) < 1e-12 && fabs(kx[11] / 7344.4411293892472 - 1) < 1e-12,
         "the field of seed 1 has not changed (%.17g, %.17g mD)", kx[0], kx[11]);
}

static void test_file(karst_context *context)
{
  static const struct {
    const char *text, *keyword;
    bool plain, found;
    double value[4];
  } files[] = {
      {"1\n2.5\n3e2\n0\n", "PERMX", true, true, {1, 2.5, 300, 0}},
      {"1 2\t3\r\n\r\n4", "PERMX", true, true, {1, 2, 3, 4}},
      {"-- a comment\n2*7 2*.5/\nleft over", "PERMX", true, true, {7, 7, 0.5, 0.5}},
      {"1 2 3 4", "PERMZ", false, false, {0}},
      {"-- PERMX\nPORO\n4*0.2 /\n  PERMX -- mD\n-- first\n1 2 -- half\n 3\n4/\nPERMZ\n5 /\n",
       "PERMX",
       true,
       true,
       {1, 2, 3, 4}},
      {"PERMX\n9 /\nCOPY\n\tPERMX PERMZ /\n/\nPERMZ\n4*2\n/\n", "PERMZ", false, true, {2, 2, 2, 2}},
      {"PORO\n4*0.2 /\n", "PERMX", true, false, {0}},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    double value[4] = {0};
    bool found;
    karst_status status = karst_permeability_read(context, tap_write("perm", files[i].text, -1), files[i].keyword,
                                                  files[i].plain, 4, value, &found);
    bool same = status == KARST_SUCCESS && found == files[i].found;
    for (int k = 0; k < 4; k++) same = same && value[k] == files[i].value[k];
    tap_ok(same, "file %zu is read", i);
    if (status) tap_note("%s", karst_context_error(context));
  }
}

static void test_file_errors(karst_context *context)
{
  static const struct {
    const char *text, *sentence;
  } files[] = {
      {"", "the file is empty"},
      {"1 2 3\n", "line 1: the values end after 3; the grid has 4 cells"},
      {"1\n2\n3\n4\n5\n", "line 5: more values than the grid's 4 cells"},
      {"1\n2\n-3\n4\n", "line 3: the permeability -3 is negative"},
      {"1\n2\nthree\n4\n", "line 3: \"three\" is not a number or n*number"},
      {"1\nnan\n3\n4\n", "line 2: \"nan\" is not a number"},
      {"1\n2\n1e400\n", "line 3: \"1e400\" is not a number"},
      {"1 2 3 1e13", "line 1: the permeability 1e13 is above"},
      {"PERMX\n1 2\n/\n", "line 3: the values end after 2"},
      {"PERMX\n", "no keyword PERMX with values"},
      {"PERMX\n3*\n/", "line 2: \"3*\" is not a number"},
      {"PERMX\n*3\n/", "line 2: \"*3\" is not a number"},
      {"PERMX\n0*3\n/", "line 2: \"0*3\" is not a number"},
      {"PERMX\n99999999999999999999*3\n/", "line 2: more values"},
      {"PERMX\n4*1 /\nPERMZ\n1 2 x /\n", "line 4: \"x\" is not a number"},
      {"PORO\n4*1 /\n", "no keyword PERMX with values"},
      {"4*0", "every permeability is 0"},
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char spec[600];
    karst_matrix *A;
    snprintf(spec, sizeof spec, "deadoil:2x2x1,perm=%s", tap_write("perm", files[i].text, -1));
    karst_status status = karst_gallery_create(context, spec, 0, &A, NULL);
    const char *said = karst_context_error(context);
    if (!tap_ok(status == KARST_ERROR_FORMAT && !A && strstr(said, "/perm") && strstr(said, files[i].sentence),
                "a bad file is refused with \"%s\"", files[i].sentence))
      tap_note("status %d: %s", (int)status, said);
  }
}

static const char *reservoir_path(const char *file)
{
  static char path[1024];
  const char *directory = getenv("KARST_RESERVOIRS"), *source = getenv("srcdir");
  if (directory)
    snprintf(path, sizeof path, "%s/%s", directory, file);
  else
    snprintf(path, sizeof path, "%s/../shared/reservoirs/%s", source ? source : ".", file);
  return access(path, R_OK) == 0 ? path : NULL;
}

/* Returns whether each diagonal block is invertible. */
static bool pivots_are_sound(const karst_matrix *A)
{
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const double *value = karst_matrix_value(A);
  int b = karst_matrix_block_size(A);
  bool sound = true;
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++) {
      double block[9], x[3] = {1, 1, 1};
      if (column[k] != i) continue;
      memcpy(block, value + (int64_t)b * b * k, sizeof(double) * (size_t)(b * b));
      sound = sound && tap_dense_solve(b, block, x) && isfinite(x[0] + x[1]);
    }
  return sound;
}

static void test_reservoir(karst_context *context, const char *file, const karst_index size[3], double first,
                           double last)
{
  const char *path = reservoir_path(file);
  char spec[1200];
  bool found;
  karst_index cells = karst_grid_cells(size), permeable = 0;
  if (!path) {
    tap_skip("the file is absent (KARST_RESERVOIRS)", "%s", file);
    return;
  }
  if (!strstr(karst_build_features(), "zlib")) {
    tap_skip("built without zlib", "%s", file);
    return;
  }
  double *kx = calloc((size_t)cells, sizeof *kx);
  karst_status status = karst_permeability_read(context, path, "PERMX", true, cells, kx, &found);
  tap_ok(status == KARST_SUCCESS && found && kx[0] == first && kx[cells - 1] == last, "%s is read from end to end",
         file);
  for (karst_index i = 0; i < cells; i++) permeable += kx[i] > 0;
  snprintf(spec, sizeof spec, "blackoil:%lldx%lldx%lld,perm=%s", (long long)size[0], (long long)size[1],
           (long long)size[2], path);
  karst_matrix *A = matrix_from(context, spec, 0);
  tap_ok(karst_matrix_block_rows(A) == cells && karst_matrix_check_diagonal(A) == KARST_SUCCESS && pivots_are_sound(A),
         "%s gives a matrix with invertible diagonal blocks (%lld of %lld cells permeable)", file, (long long)permeable,
         (long long)cells);
  free(kx);
  karst_matrix_destroy(A);
}

int main(void)
{
  karst_context *context = tap_context();
  for (int phases = 2; phases <= 3; phases++)
    for (int impermeable = 0; impermeable < 2; impermeable++)
      for (int repeat = 0; repeat < 3; repeat++) {
        test_residual(phases, impermeable);
        test_jacobian(context, phases, impermeable);
      }
  test_conservation();
  test_wells();
  test_problem(context, "blackoil:5x6x4,seed=7,dt=0.25", 3, -1);
  test_problem(context, "deadoil:5x6x4,dt=0.25,seed=7", 2, -1);
  test_problem(context, "deadoil:5x6x4,dt=0.25,seed=7,kvkh=0.5", 2, 0.5);
  test_problem(context, "blackoil:5x6x4,dt=0.25,seed=7,kvkh=0", 3, 0);
  for (uint64_t seed = 1; seed <= 3; seed++) test_field(seed);
  test_field_is_fixed();
  test_file(context);
  test_file_errors(context);
  test_reservoir(context, "spe10_2layers/permx.geos.gz", (karst_index[]){60, 220, 2}, 0.064542, 0.53603);
  test_reservoir(context, "spe10_2layers/permz.geos.gz", (karst_index[]){60, 220, 2}, 6.4542e-06, 5.3603e-05);
  test_reservoir(context, "spe10_model1/PERM_SPE10MODEL1.INC.gz", (karst_index[]){100, 1, 20}, 69.4490, 26.5440);
  test_reservoir(context, "spe9/PERMVALUES.DATA.gz", (karst_index[]){24, 25, 15}, 49.29276, 47.05342);
  test_reservoir(context, "norne/PERM_0704.prop.gz", (karst_index[]){46, 112, 22}, 213.478149, 912.74176);
  karst_context_destroy(context);
  return tap_done();
}
