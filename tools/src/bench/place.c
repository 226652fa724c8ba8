/* place.c - loads a linear system into the memory of a device; see bench_place.h. */
#include "tools/src/bench/bench_place.h"

#include <stdlib.h>

/* Makes what a place has besides A and b. */
static int complete(bool gpu, bench_place *place)
{
  const karst_status status = karst_vector_create(place->context, karst_matrix_rows(place->A), &place->x);
  if (status) return tool_fail_library(place->context, status);
  return gpu ? bench_gpu_open(place->context, &place->gpu) : TOOL_GO_ON;
}

int bench_place_open(karst_context *context, const bench_case *what, bool gpu, bench_place *place)
{
  *place = (bench_place){.context = context};
  const int exit_status = bench_system_load(context, what, &place->A, &place->b);
  return exit_status == TOOL_GO_ON ? complete(gpu, place) : exit_status;
}

karst_status bench_matrix_copy(const karst_matrix *from, karst_context *context, karst_matrix **to)
{
  karst_grid grid;
  const karst_index rows = karst_matrix_block_rows(from);

  karst_status status = karst_matrix_create(context, rows, karst_matrix_block_size(from), karst_matrix_row_start(from),
                                            karst_matrix_column(from), karst_matrix_value(from), KARST_COPY, to);
  if (!status) status = karst_matrix_get_grid(from, &grid);
  if (!status && grid.size[0] > 0)
    status = karst_matrix_set_grid_cells(*to, grid.size[0], grid.size[1], grid.size[2], grid.cell);
  return status;
}

int bench_place_copy(const bench_place *cpu, karst_context *context, bench_place *place)
{
  *place = (bench_place){.context = context};
  const int64_t rows = karst_matrix_rows(cpu->A);
  karst_status status = bench_matrix_copy(cpu->A, context, &place->A);
  if (!status) status = karst_vector_create(context, rows, &place->b);
  if (!status) status = karst_vector_set(place->b, rows, karst_vector_const_values(cpu->b));
  return status ? tool_fail_library(context, status) : complete(true, place);
}

void bench_place_close(bench_place *place)
{
  bench_product_close(place->product);
  bench_gpu_close(place->gpu);
  karst_vector_destroy(place->x);
  karst_vector_destroy(place->b);
  karst_matrix_destroy(place->A);
  *place = (bench_place){.context = NULL};
}
