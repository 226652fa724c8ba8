/* Every family of kernels runs on small systems: set-up, solve, new values, update, solve. The residual is finite.
 *
 * It is made for tools that check each memory access of a kernel, as tests/gpu/check.sh does: test_kernels FAMILY runs
 * one family, on the GPU alone, and test_kernels --families lists them. Other tests compare the results. */
#include "config.h"

#include "tests/support/patterns.h"
#include "tests/support/problem.h"
#include "tests/support/random_wells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Systems of a family, for blocks of first to last by step: 1 if each size has kernels that no other line has, and more
 * elsewhere, because each system takes long under compute-sanitizer. matrix: of the gallery, or dense:N, or arrow:N,
 * which has one long row and column, or batch:SYSTEMSxROWS, a batch of tridiagonal systems. options: NAME=VALUE with
 * blanks between, or the method of a batch. */
struct systems {
  const char *family, *matrix;
  int first, last, step;
  const char *options;
};

static const struct systems all[] = {
    {"iluk", "convdiff:5x4x3", 1, 10, 1, "level=0"},
    {"iluk", "convdiff:5x4x3", 1, 3, 1, "level=1"},
    {"iluk", "convdiff:4x4x4", 1, 9, 4, "level=2"},
    {"iluk", "laplace27:6x5x4", 1, 7, 1, "level=0"},
    {"iluk", "convdiff:3x3x2", 33, 33, 1, "level=0"},
    {"iluk", "convdiff:4x3x3", 1, 9, 4, "modified=1"},
    {"iluk", "convdiff:5x4x3", 1, 9, 4, "shift=1e-8"},
    {"iluk", "dense:200", 1, 2, 1, "level=0"},
    {"iluk", "dense:40", 9, 9, 1, "level=0"},
    {"iluk", "arrow:400", 1, 3, 1, "level=0"},

    {"trisolve", "convdiff:5x4x3", 1, 9, 4, "trisolve=level"},
    {"trisolve", "convdiff:5x4x3", 1, 9, 1, "trisolve=dataflow"},
    {"trisolve", "convdiff:5x4x3", 1, 9, 4, "trisolve=jacobi"},
    {"trisolve", "laplace27:6x5x4", 1, 9, 4, "trisolve=dataflow level=1"},
    {"trisolve", "arrow:400", 1, 3, 1, "trisolve=level"},
    {"trisolve", "arrow:400", 1, 3, 1, "trisolve=dataflow"},
    {"trisolve", "dense:100", 1, 2, 1, "trisolve=dataflow"},
    {"trisolve", "convdiff:5x4x3", 33, 33, 1, "trisolve=dataflow"},
    {"trisolve", "convdiff:5x4x3", 1, 5, 2, "factor-precision=float trisolve=dataflow"},
    {"trisolve", "arrow:400", 1, 5, 2, "factor-precision=float trisolve=dataflow"},

    {"tiles", "convdiff:8x7x6", 1, 8, 1, "ordering=tiles trisolve=tiles"},
    {"tiles", "poisson3d:12x13x11", 1, 1, 1, "ordering=tiles trisolve=tiles level=1"},
    {"tiles", "convdiff:8x7x6", 2, 3, 1, "ordering=tiles trisolve=tiles level=1 shift=1e-8"},
    {"tiles", "convdiff:8x7x6", 3, 3, 1, "ordering=tiles trisolve=tiles modified=1"},
    {"tiles", "convdiff:8x7x6", 3, 3, 1, "ordering=tiles trisolve=tiles tile-shape=grown"},
    {"tiles", "convdiff:8x7x6", 1, 3, 1, "ordering=tiles trisolve=tiles precond=dilu"},
    {"tiles", "convdiff:8x7x6", 1, 4, 1, "ordering=tiles trisolve=tiles factor-precision=float"},
    {"tiles", "arrow:400", 1, 1, 1, "ordering=tiles trisolve=tiles"},

    {"dilu", "convdiff:5x4x3", 1, 10, 1, "precond=dilu"},
    {"dilu", "laplace27:5x4x3", 1, 9, 4, "precond=dilu"},
    {"dilu", "convdiff:5x4x3", 1, 9, 4, "precond=dilu modified=1"},
    {"dilu", "convdiff:5x4x3", 1, 3, 1, "precond=dilu shift=1e-8"},
    {"dilu", "convdiff:3x3x2", 33, 33, 1, "precond=dilu"},

    {"fgbilu", "convdiff:9x6x5", 1, 8, 1, "precond=fgbilu"},
    {"fgbilu", "convdiff:6x5x4", 9, 18, 3, "precond=fgbilu"},
    {"fgbilu", "convdiff:9x6x1", 1, 10, 3, "precond=fgbilu"},
    {"fgbilu", "convdiff:4x3x3", 24, 32, 4, "precond=fgbilu"},
    {"fgbilu", "convdiff:6x5x4", 1, 10, 3, "precond=fgbilu pivoting=no"},
    {"fgbilu-others", "convdiff:5x4x3", 1, 10, 1, "precond=fgbilu fgbilu-style=acc"},
    {"fgbilu-others", "convdiff:5x4x3", 1, 10, 1, "precond=fgbilu fgbilu-style=cl"},
    {"fgbilu-others", "convdiff:5x4x3", 1, 10, 3, "precond=fgbilu fgbilu-style=mixed"},
    {"fgbilu-others", "convdiff:5x4x3", 1, 4, 1, "precond=fgbilu fgbilu-style=cl pivoting=no"},
    {"fgbilu-others", "convdiff:3x3x2", 33, 33, 1, "precond=fgbilu"},

    {"lines", "convdiff:9x4x3", 1, 10, 1, "precond=lines line-direction=x"},
    {"lines", "convdiff:5x4x9", 1, 10, 3, "precond=lines line-order=zebra"},
    {"lines", "convdiff:40x7x5", 1, 3, 1, "precond=lines line-direction=z line-order=zebra"},
    {"lines", "laplace27:5x4x3", 1, 1, 1, "precond=lines line-order=zebra"},
    {"lines", "convdiff:5x4x3", 1, 10, 1, "precond=adi"},
    {"lines", "convdiff:3x3x2", 33, 33, 1, "precond=adi"},

    {"parilu", "convdiff:5x4x3", 1, 10, 1, "precond=parilu"},
    {"parilu", "convdiff:5x4x3", 1, 9, 4, "precond=parilu sweep-mode=asynchronous"},
    {"parilu", "convdiff:5x4x3", 1, 3, 1, "precond=parilu level=1 ilu-residual=yes"},
    {"parilu", "convdiff:5x4x3", 1, 3, 1, "precond=parilu sweep-scale=no sweeps=2"},
    {"parilu", "convdiff:5x4x3", 1, 1, 1, "precond=parilu sweep-mode=asynchronous sweep-order=random"},
    {"parilu", "dense:90", 1, 2, 1, "precond=parilu"},
    {"parilu", "dense:90", 1, 2, 1, "precond=parilu sweep-mode=asynchronous"},
    {"parilu", "dense:40", 9, 9, 1, "precond=parilu"},

    {"paric", "poisson3d:5x4x3", 1, 10, 1, "precond=paric solver=cg"},
    {"paric", "poisson3d:5x4x3", 1, 9, 4, "precond=paric solver=cg sweep-mode=asynchronous"},
    {"paric", "poisson3d:6x5x4", 1, 3, 1, "precond=paric solver=cg level=1"},
    {"paric", "dense:90", 1, 2, 1, "precond=paric solver=cg"},

    {"rrb", "unitsquare:40x31", 1, 1, 1, "precond=rrb solver=cg"},
    {"rrb", "unitsquare:100x90", 1, 1, 1, "precond=rrb solver=cg"},
    {"rrb", "unitsquare:40x31", 1, 1, 1, "precond=rrb solver=gmres rrb-precision=float"},
    {"rrb", "unitsquare:50x50", 1, 1, 1, "precond=rrb solver=cg rrb-levels=1"},
    {"rrb", "unitsquare:50x51", 1, 1, 1, "precond=rrb solver=cg rrb-levels=2"},
    {"rrb", "unitsquare:33x29", 1, 1, 1, "precond=rrb solver=cg rrb-levels=12"},
    {"rrb", "unitsquare:33x29", 1, 1, 1, "precond=rrb solver=cg rrb-grids=0"},
    {"rrb", "unitsquare:33x29", 1, 1, 1, "precond=rrb solver=cg rrb-grids=1"},
    {"rrb", "bilinear2d:40x31", 1, 1, 1, "precond=rrb solver=cg"},
    {"rrb", "bilinear2d:40x31", 1, 1, 1, "precond=rrb solver=cg rrb-precision=float rrb-levels=3"},
    {"rrb", "poisson2d:3x500", 1, 1, 1, "precond=rrb solver=cg"},
    {"rrb", "poisson2d:500x2", 1, 1, 1, "precond=rrb solver=gmres"},

    {"cpr", "convdiff:5x4x3", 1, 10, 1, "precond=cpr"},
    {"cpr", "arrow:400", 1, 3, 1, "precond=cpr"},
    {"cpr", "convdiff:3x3x2", 33, 33, 1, "precond=cpr"},
    {"wells", "convdiff:5x4x3", 1, 10, 3, "precond=cpr ordering=rcm"},
    {"wells", "convdiff:5x4x3", 1, 10, 3, "precond=jacobi rtol=1"}, /* the bound of the residual */
    {"amg", "poisson3d:9x8x7", 1, 1, 1, "precond=amg solver=cg"},
    {"amg", "laplace27:6x5x4", 1, 1, 1, "precond=amg solver=cg amg-precision=double"},
    {"amg", "convdiff:9x8x7", 1, 1, 1, "precond=amg amg-smoother=chebyshev"},
    {"amg", "poisson3d:9x8x7", 1, 1, 1, "precond=amg amg-coarsening=aggregation"},
    {"amg", "poisson3d:9x8x7", 1, 1, 1, "precond=amg amg-smoother=lines solver=cg"},
    {"amg", "convdiff:9x8x7", 1, 1, 1, "precond=amg amg-smoother=adi"},
    {"amg", "arrow:600", 1, 1, 1, "precond=amg"},

    {"orderings", "convdiff:6x5x4", 1, 3, 1, "ordering=rcm"},
    {"orderings", "convdiff:6x5x4", 1, 3, 1, "ordering=colour"},
    {"orderings", "convdiff:6x5x4", 1, 3, 1, "ordering=auto"},
    {"orderings", "convdiff:6x5x4", 1, 3, 1, "precond=auto"},
    {"orderings", "convdiff:6x5x4", 1, 10, 3, "scale=block"},
    {"orderings", "convdiff:6x5x4", 1, 10, 3, "scale=diagonal ordering=rcm"},
    {"orderings", "convdiff:6x5x4", 33, 33, 1, "scale=block precond=jacobi"},

    {"krylov", "convdiff:6x5x4", 1, 10, 1, "precond=jacobi solver=gmres orthogonalise=twice"},
    {"krylov", "convdiff:6x5x4", 1, 3, 1, "precond=none solver=gmres side=left"},
    {"krylov", "convdiff:6x5x4", 1, 3, 1, "precond=jacobi solver=fgmres"},
    {"krylov", "convdiff:6x5x4", 1, 3, 1, "precond=jacobi solver=bicgstab"},
    {"krylov", "convdiff:6x5x4", 1, 3, 1, "precond=jacobi solver=orthomin restart=2"},
    {"krylov", "convdiff:6x5x4", 1, 3, 1, "precond=jacobi solver=richardson damping=0.5"},
    {"krylov", "convdiff:6x5x4", 1, 3, 1, "precond=iluk solver=richardson parts=2"},
    {"krylov", "convdiff:6x5x4", 1, 3, 1, "precond=two-stage solver=fgmres"},
    {"krylov", "poisson3d:6x5x4", 1, 3, 1, "precond=jacobi solver=cg norm=preconditioned"},
    {"krylov", "poisson3d:6x5x4", 1, 1, 1, "precond=iluk solver=cg"},
    {"krylov", "arrow:400", 1, 3, 1, "precond=jacobi solver=gmres"},

    {"tridiagonal", "batch:3x37", 1, 9, 1, "auto"},
    {"tridiagonal", "batch:3x37", 1, 9, 1, "thomas"},
    {"tridiagonal", "batch:3x37", 1, 9, 1, "cr"},
    {"tridiagonal", "batch:3x37", 1, 9, 1, "pcr"},
    {"tridiagonal", "batch:3x37", 1, 9, 1, "hybrid"},
    {"tridiagonal", "batch:2x131", 1, 9, 1, "split"},
    {"tridiagonal", "batch:1x600", 7, 8, 1, "thomas"},
    {"tridiagonal", "batch:2x5", 17, 17, 1, "thomas"},
};

enum { SYSTEMS = sizeof all / sizeof *all };

/* Whether row i of a made pattern has an entry in column j. */
static bool has_entry(bool dense, karst_index i, karst_index j, karst_index n)
{
  return dense || i == j || i == n / 2 || j == n / 2;
}

/* Makes a symmetric matrix whose diagonal entries are larger than the rest of their rows. */
static karst_matrix *make_pattern(karst_context *context, bool dense, karst_index n, int b)
{
  const int64_t bb = (int64_t)b * b;
  struct pattern P = pattern_empty(n, dense ? n * n : 3 * n);
  karst_matrix *A;
  double *value = tap_memory((dense ? n * n : 3 * n) * bb, sizeof *value);
  karst_index k = 0;
  for (karst_index i = 0; i < n; i++) {
    for (karst_index j = 0; j < n; j++) {
      if (!has_entry(dense, i, j, n)) continue;
      for (int v = 0; v < bb; v++) value[k * bb + v] = v / b != v % b ? 0 : i == j ? 2.0 * (double)n : -1;
      P.column[k++] = j;
    }
    P.start[i + 1] = k;
  }
  tap_need(context, karst_matrix_create(context, n, b, P.start, P.column, value, KARST_COPY, &A), "matrix");
  free(value);
  pattern_free(&P);
  return A;
}

static karst_matrix *make_matrix(karst_context *context, const char *name, int b)
{
  const bool dense = strncmp(name, "dense:", 6) == 0;
  if (dense || strncmp(name, "arrow:", 6) == 0)
    return make_pattern(context, dense, (karst_index)strtol(name + 6, NULL, 10), b);
  return matrix_from(context, name, b);
}

/* Sets the options of a line. The styles of fgbilu exist on a GPU alone. */
static karst_options *make_options(karst_context *context, const char *line)
{
  const bool on_host = strncmp(karst_context_device(context), "cpu", 3) == 0;
  char text[200], *rest = NULL;
  karst_options *options;
  tap_need(context, karst_options_create(context, &options), "options");
  tap_need(context, karst_options_set_integer(options, "max-iterations", 3), "max-iterations");
  tap_need(context, karst_options_set_real(options, "rtol", 1e-15), "rtol");
  snprintf(text, sizeof text, "%s", line);
  for (char *name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
    char *value = strchr(name, '=');
    *value++ = '\0';
    if (!on_host || strcmp(name, "fgbilu-style") != 0) tap_need(context, karst_options_set(options, name, value), name);
  }
  return options;
}

/* Wells beside A for the family of that name, else NULL. */
static karst_wells *add_wells(karst_context *context, const struct systems *systems, const karst_matrix *A)
{
  static struct well_arrays w;
  if (strcmp(systems->family, "wells") != 0) return NULL;
  draw_wells(&w, karst_matrix_block_rows(A), karst_matrix_block_size(A), 7, 0.1);
  return make_wells(context, karst_matrix_block_rows(A), &w);
}

/* Returns the largest error of a batch after a solve, a factorization and a solve with the factors. The solution is 1:
 * a row has 4 on its diagonal and -1 beside it. */
static double run_batch(karst_context *context, const struct systems *systems, int m, karst_tridiagonal_layout layout)
{
  static const char *const methods[] = {"auto", "thomas", "cr", "pcr", "hybrid", "split"};
  char *rest;
  karst_tridiagonal_shape shape = {.block_size = m, .layout = layout};
  shape.systems = strtol(systems->matrix + strlen("batch:"), &rest, 10);
  shape.rows = (karst_index)strtol(rest + 1, NULL, 10);
  while (strcmp(methods[shape.method], systems->options) != 0) shape.method++;
  const int64_t n = shape.rows, rows = shape.systems * n, square = (int64_t)m * m;
  double *diagonal = tap_memory(rows * square, sizeof *diagonal), *beside = tap_memory(rows * square, sizeof *beside),
         *u = tap_memory(rows * m, sizeof *u), largest = 0;
  for (int64_t g = 0; g < rows; g++)
    for (int e = 0; e < square; e++) {
      const int64_t at = layout == KARST_TRIDIAGONAL_AOS ? g * square + e : e * rows + g;
      diagonal[at] = e % m == e / m ? 4 : 0;
      beside[at] = e % m == e / m ? -1 : 0;
    }
  karst_tridiagonal *batch;
  tap_need(context, karst_tridiagonal_create(context, &shape, &batch), systems->options);
  for (int round = 0; round < 2; round++) {
    for (int64_t g = 0; g < rows; g++)
      for (int r = 0; r < m; r++)
        u[layout == KARST_TRIDIAGONAL_AOS ? g * m + r : r * rows + g] = 4 - (g % n > 0) - (g % n < n - 1);
    if (round == 0) {
      tap_need(context, karst_tridiagonal_solve(batch, beside, diagonal, beside, u, u), "solve");
    } else {
      tap_need(context, karst_tridiagonal_factor(batch, beside, diagonal, beside), "factor");
      tap_need(context, karst_tridiagonal_solve_factored(batch, 1, u, u), "solve with factors");
    }
    for (int64_t i = 0; i < rows * m; i++)
      if (!(fabs(u[i] - 1) <= largest)) largest = fabs(u[i] - 1);
  }
  karst_tridiagonal_destroy(batch);
  free(diagonal);
  free(beside);
  free(u);
  return largest;
}

/* Returns the norm of the residual after a set-up and a solve, new values, an update and a solve. */
static double run(karst_context *context, const struct systems *systems, int b)
{
  if (strcmp(systems->family, "tridiagonal") == 0)
    return run_batch(context, systems, b, b % 2 ? KARST_TRIDIAGONAL_AOS : KARST_TRIDIAGONAL_SOA);
  karst_matrix *A = make_matrix(context, systems->matrix, b);
  karst_options *options = make_options(context, systems->options);
  karst_wells *wells = add_wells(context, systems, A);
  karst_solver *solver;
  karst_result result;
  karst_vector *rhs = vector_of(context, karst_matrix_rows(A), 1), *x = vector_of(context, karst_matrix_rows(A), 0);
  tap_need(context, karst_solver_create(context, options, &solver), "solver");
  tap_need(context, karst_solver_set_wells(solver, wells), "wells");
  tap_need(context, karst_solver_setup(solver, A), systems->options);
  tap_need(context, karst_solver_solve(solver, rhs, x, &result), "solve");
  tap_need(context, karst_matrix_values_changed(A), "new values");
  tap_need(context, karst_solver_update(solver), "update");
  tap_need(context, karst_solver_solve(solver, rhs, x, &result), "solve");
  karst_solver_destroy(solver);
  karst_wells_destroy(wells);
  karst_options_destroy(options);
  karst_vector_destroy(rhs);
  karst_vector_destroy(x);
  karst_matrix_destroy(A);
  return result.residual;
}

/* Whether this build has the kernels of a line. */
static bool is_built(const struct systems *systems)
{
  static const char *const baselines[] = {"rrb-grids", "fgbilu-style=cl", "fgbilu-style=mixed"};
  bool built = true;
  for (size_t i = 0; i < sizeof baselines / sizeof *baselines; i++)
    if (!KARST_BASELINES && strstr(systems->options, baselines[i])) built = false;
  return built;
}

/* Runs a family, or all with NULL. */
static void run_family(karst_context *context, const char *family)
{
  for (size_t s = 0; s < SYSTEMS; s++)
    for (int b = all[s].first; b <= all[s].last; b += all[s].step)
      if (is_built(&all[s]) && (!family || strcmp(family, all[s].family) == 0)) {
        const double left = run(context, &all[s], b);
        tap_ok(isfinite(left), "%s, b = %d, %s: %.2e is left", all[s].matrix, b, all[s].options, left);
      }
}

static void run_all(karst_context *context) { run_family(context, NULL); }

static int list_families(void)
{
  for (size_t s = 0; s < SYSTEMS; s++)
    if (s == 0 || strcmp(all[s].family, all[s - 1].family) != 0) puts(all[s].family);
  return 0;
}

static int run_on_gpu(const char *family)
{
  karst_context *context;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  if (karst_context_set_device(context, "cuda")) tap_skip_all(karst_context_error(context));
  run_family(context, family);
  karst_context_destroy(context);
  return tap_done();
}

int main(int count, char **arguments)
{
  if (count > 1) return strcmp(arguments[1], "--families") == 0 ? list_families() : run_on_gpu(arguments[1]);
  tap_each_device(run_all, "kernels");
  return tap_done();
}
