/* hyperplanes.cu - the cells of a grid by hyperplanes (Luo, Edwards, Luo, Mueller, Algorithm 1): counted and placed on
 * the host, once a pattern. */
#include "gpu/fgbilu/fgbilu_cuda.h"

namespace
{

/* Calls f(cell, hyperplane) for each cell that is no hole, by ascending numbers. */
template <typename F> void each_cell(const karst_structured *cells, F f)
{
  const karst_index *size = cells->size;
  karst_index number = 0;
  for (karst_index z = 0; z < size[2]; z++)
    for (karst_index y = 0; y < size[1]; y++)
      for (karst_index x = 0; x < size[0]; x++, number++)
        if (!cells->row || cells->row[number] >= 0) f(number, x + y + z);
}

/* cell: [rows] host memory. */
void sort_cells(const karst_structured *cells, karst_fgbilu_hyperplanes *planes, karst_index *cell)
{
  karst_index *start = planes->start;
  each_cell(cells, [&](karst_index, karst_index p) { start[p + 1]++; });
  for (karst_index p = 0; p < planes->count; p++) {
    if (start[p + 1] > planes->largest) planes->largest = start[p + 1];
    start[p + 1] += start[p];
  }
  each_cell(cells, [&](karst_index number, karst_index p) { cell[start[p]++] = number; });
  for (karst_index p = planes->count; p > 0; p--) start[p] = start[p - 1];
  start[0] = 0;
}

} // namespace

karst_status karst_fgbilu_list_hyperplanes_cuda(karst_context *context, const karst_matrix *A,
                                                karst_fgbilu_analysis *analysis)
{
  const char *what = "the hyperplanes of fgbilu";
  const karst_structured *cells = &analysis->cells;
  const karst_index count = analysis->hyperplanes;
  karst_fgbilu_hyperplanes *planes;
  karst_index *cell = nullptr;
  (void)A; /* the pattern is described by the cells alone */
  karst_status status = karst_allocate_zero(context, &planes, 1, sizeof *planes, what);
  if (status) return status;
  karst_fgbilu_cuda_of(analysis)->state = planes;
  planes->count = count;
  status = karst_allocate_zero(context, &planes->start, (int64_t)count + 1, sizeof *planes->start, what);
  if (!status) status = karst_allocate(context, &cell, cells->rows, sizeof *cell, what);
  if (!status) {
    sort_cells(cells, planes, cell);
    status = karst_device_indices(context, cells->rows, cell, what, &planes->cell);
  }
  karst_release(context, cell);
  if (!status) analysis->plan_memory += ((int64_t)count + 1 + cells->rows) * (int64_t)sizeof *cell;
  return status;
}

void karst_fgbilu_forget_hyperplanes_cuda(karst_context *context, karst_fgbilu_cuda *plan)
{
  karst_fgbilu_hyperplanes *planes = static_cast<karst_fgbilu_hyperplanes *>(plan->state);
  if (!planes) return;
  context->backend->release(context, planes->cell);
  karst_release(context, planes->start);
  karst_release(context, planes);
}
