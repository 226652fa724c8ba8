/* Strengths of couplings, on each device: those of random blocks are the formula's, in any units of unknowns and with
 * any equations of a row; the pressures decide beside stronger flow in one direction, and tiles follow them; without
 * regular diagonal blocks all couplings are equal. */
#include "lib/matrix/matrix.h"
#include "symbolic/ordering/tiles.h"
#include "tests/support/tilings.h"

#include <math.h>

static karst_ordering_pattern pattern_of(const karst_matrix *A)
{
  return (karst_ordering_pattern){.context = A->context,
                                  .block_rows = A->block_rows,
                                  .row_start = A->row_start,
                                  .column = A->column,
                                  .matrix = A,
                                  .distance = 1,
                                  .settings = {.tile_size = 64, .tile_shape = KARST_TILES_GROWN}};
}

/* The strengths of the edges of a graph, which the caller destroys. */
static float *strengths_of(const karst_matrix *A, karst_graph *graph)
{
  const karst_ordering_pattern pattern = pattern_of(A);
  float *strength;
  tap_need(A->context, karst_graph_of_pattern(&pattern, graph), "graph");
  tap_need(A->context, karst_strength_of_edges(&pattern, graph, NULL, &strength), "strength");
  return strength;
}

/* Block (i,j) of a dense n-by-n array, column by column. */
static double at(const double *dense, karst_index n, int b, karst_index i, karst_index j, int r, int c)
{
  return dense[(int64_t)i * b + r + (int64_t)n * ((int64_t)j * b + c)];
}

/* x_cc of X = A_ii^-1 A_ij by Cramer's rule for b = 2, and a quotient for b = 1. */
static double solve(const double *dense, karst_index n, int b, karst_index i, karst_index j, int c)
{
  if (b == 1) return at(dense, n, 1, i, j, 0, 0) / at(dense, n, 1, i, i, 0, 0);
  const int o = 1 - c;
  const double det = at(dense, n, 2, i, i, c, c) * at(dense, n, 2, i, i, o, o) -
                     at(dense, n, 2, i, i, c, o) * at(dense, n, 2, i, i, o, c);
  return (at(dense, n, 2, i, j, c, c) * at(dense, n, 2, i, i, o, o) -
          at(dense, n, 2, i, j, o, c) * at(dense, n, 2, i, i, c, o)) /
         det;
}

static double formula(const double *dense, karst_index n, int b, karst_index i, karst_index j)
{
  double both = 0, most = 0;
  for (int c = 0; c < b; c++) {
    const double x = solve(dense, n, b, i, j, c), y = solve(dense, n, b, j, i, c);
    both += fmax(0, x * y);
    most = fmax(most, fabs(x) + fabs(y));
  }
  return sqrt(both) + (b > 1 ? most / 100 : most / 2);
}

/* The largest difference of strengths from the formula. */
static double compare(const karst_matrix *A, const karst_graph *graph, const float *strength)
{
  const karst_index rows = graph->vertices, n = rows * A->block_size;
  double *dense = tap_dense(A), *most = tap_memory(rows, sizeof *most), error = 0;
  for (karst_index i = 0; i < rows; i++)
    for (karst_index e = graph->start[i]; e < graph->start[i + 1]; e++)
      most[i] = fmax(most[i], formula(dense, n, A->block_size, i, graph->neighbour[e]));
  for (karst_index i = 0; i < rows; i++)
    for (karst_index e = graph->start[i]; e < graph->start[i + 1]; e++) {
      const karst_index j = graph->neighbour[e];
      const double share = formula(dense, n, A->block_size, i, j) * (1 / most[i] + 1 / most[j]) / 2;
      error = fmax(error, fabs((double)strength[e] - fmax(share, 1.0 / 30)));
    }
  free(dense);
  free(most);
  return error;
}

/* Multiplies the rows of each block row by a random lower triangle, and unknown c everywhere by 8^c. */
static void change_units(karst_matrix *A)
{
  const int b = A->block_size;
  double *value = values_on_host(A), *mix = tap_memory((int64_t)b * b, sizeof *mix);
  for (karst_index i = 0; i < A->block_rows; i++) {
    for (int e = 0; e < b * b; e++) mix[e] = e % b == e / b ? 2 + tap_random() : tap_random();
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
      for (int c = 0; c < b; c++) {
        double *column = value + karst_block_offset(b, k) + (int64_t)c * b;
        for (int r = b - 1; r >= 0; r--) {
          double sum = 0;
          for (int q = 0; q <= r; q++) sum += mix[r + b * q] * column[q];
          column[r] = ldexp(sum, 3 * c);
        }
      }
  }
  tap_need(A->context, karst_matrix_update_values(A, value), "values");
  free(value);
  free(mix);
}

static void test_random(karst_context *context)
{
  static const int sizes[] = {1, 2, 3, 5, 9};
  for (int s = 0; s < 5; s++) {
    karst_matrix *A = tap_random_matrix(context, 40, sizes[s], 4, 2);
    karst_graph graph, again;
    float *strength = strengths_of(A, &graph);
    /* Rounding to float gives 6e-8, dominance keeps blocks well conditioned, and strengths are multiples of 1/1024. */
    if (s < 2)
      tap_ok(compare(A, &graph, strength) < 0.5 / 1024 + 1e-5, "b = %d: strengths are those of the formula", sizes[s]);
    change_units(A);
    float *changed = strengths_of(A, &again);
    double most = 0;
    for (karst_index e = 0; e < graph.start[graph.vertices]; e++)
      most = fmax(most, fabs((double)strength[e] - (double)changed[e]));
    tap_ok(most < 1.0 / 1024 + 1e-5, "b = %d: strengths are the same in other units and with mixed equations",
           sizes[s]);
    karst_release(context, strength);
    karst_release(context, changed);
    karst_graph_destroy(context, &graph);
    karst_graph_destroy(context, &again);
    karst_matrix_destroy(A);
  }
}

enum { SIDE = 64 };

/* A plane of cells with a pressure, coupled along x and hardly along y, and a saturation that flows along y. */
static karst_matrix *make_flow(karst_context *context)
{
  enum { N = SIDE * SIDE };
  static const karst_index step[] = {-SIDE, -1, 0, 1, SIDE};
  static const double pressure[] = {-0.01, -1, 2.02, -1, -0.01}, saturation[] = {-5, 0, 6, 0, 0};
  karst_index *start = tap_memory(N + 1, sizeof *start), *column = tap_memory(5 * N, sizeof *column), end = 0;
  double *value = tap_memory(20 * N, sizeof *value);
  for (karst_index i = 0; i < N; i++) {
    const bool inside[] = {i >= SIDE, i % SIDE > 0, true, i % SIDE < SIDE - 1, i < N - SIDE};
    for (int p = 0; p < 5; p++) {
      if (!inside[p]) continue;
      value[4 * end] = pressure[p];
      value[4 * end + 3] = saturation[p];
      column[end++] = i + step[p];
    }
    start[i + 1] = end;
  }
  karst_matrix *A = matrix_of(context, N, 2, start, column, value);
  free(start);
  free(column);
  free(value);
  return A;
}

static void test_flow(karst_context *context)
{
  karst_matrix *A = make_flow(context);
  karst_graph graph;
  float *strength = strengths_of(A, &graph), along = 1, across = 0;
  for (karst_index i = 0; i < graph.vertices; i++)
    for (karst_index e = graph.start[i]; e < graph.start[i + 1]; e++)
      if (graph.neighbour[e] / SIDE == i / SIDE)
        along = fminf(along, strength[e]);
      else
        across = fmaxf(across, strength[e]);
  /* The saturation's 5 / 6 in one direction count 0.0083, a sixtieth of the pressure's 1 / 2 in both. */
  tap_ok(along > 0.9f && across < 0.05f, "couplings of pressures have a strength of %.2f, flow across %.3f",
         (double)along, (double)across);
  const karst_ordering_pattern pattern = pattern_of(A);
  struct tiled made = tiled_make("tiles", &pattern);
  karst_index cut = 0, *place = tap_memory(A->block_rows, sizeof *place);
  for (karst_index t = 0; t < made.tiling.tiles; t++)
    for (karst_index i = made.tiling.start[t]; i < made.tiling.start[t + 1]; i++) place[made.permutation[i]] = t;
  for (karst_index i = 0; i < A->block_rows; i++) cut += i % SIDE > 0 && place[i] != place[i - 1];
  /* Squares of 64 cells would cut 7 lines of 64 couplings. */
  tap_ok(cut <= SIDE, "tiles cut %ld of %d couplings of pressures", (long)cut, SIDE * (SIDE - 1));
  free(place);
  tiled_free(context, &made);
  karst_release(context, strength);
  karst_graph_destroy(context, &graph);
  karst_matrix_destroy(A);
}

static bool are_equal(const karst_matrix *A)
{
  karst_graph graph;
  float *strength = strengths_of(A, &graph);
  bool equal = true;
  for (karst_index e = 0; e < graph.start[graph.vertices]; e++) equal = equal && strength[e] == 1;
  karst_release(A->context, strength);
  karst_graph_destroy(A->context, &graph);
  return equal;
}

static void test_irregular(karst_context *context)
{
  karst_matrix *A = tap_random_matrix(context, 40, 2, 4, 2);
  replace_row(A, 7, (const double[]){1, 1, 1, 1});
  const karst_index start[] = {0, 2, 3}, column[] = {0, 1, 0};
  karst_matrix *without = matrix_of(context, 2, 1, start, column, (const double[]){2, 1, 1});
  tap_ok(are_equal(A) && are_equal(without), "couplings are equal with a singular diagonal block, or without one");
  karst_matrix_destroy(A);
  karst_matrix_destroy(without);
}

static void test_device(karst_context *context)
{
  test_random(context);
  test_flow(context);
  test_irregular(context);
}

int main(void)
{
  tap_each_device(test_device, "strengths of couplings");
  return tap_done();
}
