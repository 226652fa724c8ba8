/* batch_problem.c - the systems of batches whose exact solution is known, and their errors.
 *
 * The paper's: d2u/dx2 = e^x with u(0) = 0 and u(1) = 1, its equation (9), whose solution is e^x + (2 - e) x - 1, by
 * u_(i-1) - 2 u_i + u_(i+1) = h^2 e^x_i, its equation (10), h = 1/(N + 1), N = m n points, m consecutive ones a block
 * row. All systems of the batch are equal.
 *
 * Random: full blocks of numbers in [-1/2, 1/2], with 2 m added on the diagonal, which makes the rows dominant, and a
 * right-hand side from a solution in [1, 2]. */
#include "tools/src/bench/batches/batches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number in [0, 1) that looks random, from its index: the finalizer of SplitMix64 (Steele, Lea and Flood 2014). */
static double hashed(uint64_t index)
{
  uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Sets an entry of a row of the batch, one of entries in each row. */
static void put(const batch_data *data, char *array, int64_t entries, int64_t row, int64_t entry, double value)
{
  const karst_tridiagonal_shape *shape = &data->shape;
  const int64_t rows = shape->systems * shape->rows;
  const int64_t at = shape->layout == KARST_TRIDIAGONAL_AOS ? row * entries + entry : entry * rows + row;
  if (shape->single)
    ((float *)(void *)array)[at] = (float)value;
  else
    ((double *)(void *)array)[at] = value;
}

static double get(const batch_data *data, int64_t row, int64_t entry)
{
  const karst_tridiagonal_shape *shape = &data->shape;
  const int64_t rows = shape->systems * shape->rows;
  const int64_t at = shape->layout == KARST_TRIDIAGONAL_AOS ? row * shape->block_size + entry : entry * rows + row;
  return shape->single ? (double)((float *)(void *)data->solution)[at] : ((double *)(void *)data->solution)[at];
}

/* The unknown at a point of a system of the paper, or at a row of all random systems. */
static double exact(const batch_data *data, int64_t row, int entry)
{
  const int64_t n = data->shape.rows, m = data->shape.block_size;
  if (data->random) return 1 + hashed(~(uint64_t)(row * m + entry));
  const double x = (double)(row % n * m + entry + 1) / (double)(m * n + 1);
  return exp(x) + (2 - exp(1)) * x - 1;
}

/* The elements of row k of the equation: array 0, 1 or 2 is the lower, diagonal or upper block. */
static double element_of_equation(const batch_data *data, int64_t row, int array, int r, int c)
{
  const int64_t n = data->shape.rows, k = row % n;
  const int m = data->shape.block_size;
  if ((array == 0 && k == 0) || (array == 2 && k == n - 1)) return 0;
  const int distance = c + (array - 1) * m - r; /* of the two points */
  return distance == 0 ? -2 : distance == 1 || distance == -1 ? 1 : 0;
}

static double element_of_random(const batch_data *data, int64_t row, int array, int r, int c)
{
  const int64_t n = data->shape.rows, m = data->shape.block_size, k = row % n;
  if ((array == 0 && k == 0) || (array == 2 && k == n - 1)) return 0;
  const double diagonal = array == 1 && r == c ? 2 * (double)m : 0;
  return hashed((uint64_t)(((row * 3 + array) * m + c) * m + r)) - 0.5 + diagonal;
}

static double right_of_equation(const batch_data *data, int64_t row, int r)
{
  const int64_t n = data->shape.rows, m = data->shape.block_size, point = row % n * m + r;
  const double h = 1 / (double)(m * n + 1);
  return h * h * exp((double)(point + 1) * h) - (point + 1 == m * n ? 1 : 0);
}

static void fill_row(const batch_data *data, int64_t row)
{
  const int m = data->shape.block_size;
  for (int r = 0; r < m; r++) {
    double right = data->random ? 0 : right_of_equation(data, row, r);
    for (int array = 0; array < 3; array++)
      for (int c = 0; c < m; c++) {
        const double element =
            data->random ? element_of_random(data, row, array, r, c) : element_of_equation(data, row, array, r, c);
        put(data, data->lump + (size_t)array * data->square, (int64_t)m * m, row, (int64_t)c * m + r, element);
        if (data->random && element != 0) right += element * exact(data, row + array - 1, c);
      }
    put(data, data->lump + 3 * data->square, m, row, r, right);
  }
}

int batch_data_open(const batch_item *item, karst_tridiagonal_layout layout, bool single, bool random, batch_data *data)
{
  const size_t m = (size_t)item->block, rows = (size_t)(item->systems * item->rows);
  const size_t scalar = single ? sizeof(float) : sizeof(double);
  *data = (batch_data){
      .shape =
          {.systems = item->systems, .rows = item->rows, .block_size = item->block, .single = single, .layout = layout},
      .random = random,
      .square = rows * m * m * scalar,
      .vector = rows * m * scalar,
  };
  data->lump = malloc(3 * data->square + data->vector);
  data->solution = malloc(data->vector);
  if (!data->lump || !data->solution) return tool_fail_memory("a batch of tridiagonal systems");
  for (int64_t row = 0; row < (int64_t)rows; row++) fill_row(data, row);
  return TOOL_GO_ON;
}

void batch_data_close(batch_data *data)
{
  free(data->lump);
  free(data->solution);
  *data = (batch_data){.lump = NULL};
}

double batch_error(const batch_data *data)
{
  const int64_t rows = data->shape.systems * data->shape.rows;
  double most = 0;
  for (int64_t row = 0; row < rows; row++)
    for (int r = 0; r < data->shape.block_size; r++) {
      const double error = fabs(get(data, row, r) - exact(data, row, r));
      if (isnan(error)) return NAN;
      if (error > most) most = error;
    }
  return most;
}

double batch_discretization(const batch_item *item)
{
  const double h = 1 / ((double)item->rows * item->block + 1), e = exp(1);
  const double x = log(e - 1); /* where the derivative of e^x + (1 - e) x - 1 is zero */
  return h * h / 12 * fabs(exp(x) + (1 - e) * x - 1);
}
