/* pressure.c - the rows and columns of wells in the pressure matrix of CPR on the CPU (lib/backend/wells_kernels.h). */
#include "cpu/wells/wells_cpu.h"

#include <math.h>

/* P of perforation p and unknown q of its well. */
static double couple_cell(const karst_wells_view *view, const karst_cpr *cpr, const karst_well *well, karst_index p,
                          int q)
{
  const int b = cpr->block_size, n = well->equations;
  const double *weight = cpr->weight + (int64_t)view->cell[p] * b;
  const double *C = view->wells->C + well->entry + (int64_t)(p - well->first) * b * n + q;
  double sum = 0;
  for (int r = 0; r < b; r++) sum += weight[r] * C[(int64_t)r * n];
  return sum;
}

/* G of unknown q of a well and perforation p. */
static double couple_well(const karst_wells_view *view, const karst_cpr *cpr, const karst_well *well, karst_index p,
                          int q)
{
  const int b = cpr->block_size, n = well->equations;
  const double *B = view->wells->B + well->entry + ((int64_t)(p - well->first) * b + cpr->pressure) * n;
  const double *inverse = view->wells->inverse + well->square + q;
  double sum = 0;
  for (int f = 0; f < n; f++) sum += inverse[(int64_t)f * n] * B[f];
  return sum;
}

/* Finds the unknown with the largest |P| |G|. Returns the scale s of the well's row, 0 if nothing couples. */
static double choose(const karst_wells_view *view, const karst_cpr *cpr, const karst_well *well, int *unknown)
{
  double largest = 0, scale = 0;
  for (int q = 0; q < well->equations; q++) {
    double P = 0, G = 0;
    for (karst_index p = well->first; p < well->first + well->count; p++) {
      P += fabs(couple_cell(view, cpr, well, p, q));
      G += fabs(couple_well(view, cpr, well, p, q));
    }
    if (!(P * G > largest && P <= KARST_WELLS_LARGEST_SCALE * G && G <= KARST_WELLS_LARGEST_SCALE * P)) continue;
    largest = P * G;
    scale = P / G;
    *unknown = q;
  }
  return scale;
}

/* Makes both entries of a well and the cell of its perforation p, which is the first in that cell. */
static void fill_entries(const karst_wells_view *view, const karst_cpr *cpr, const karst_well *well, karst_index p,
                         int q, double scale, const karst_wells_entries *entries, double *value)
{
  const karst_wells_lists *lists = &view->wells->device;
  const karst_index k = lists->in_list[p];
  double P = 0, G = 0;
  for (karst_index l = lists->list_start[k]; l < lists->list_start[k + 1]; l++) {
    const karst_index other = lists->list[l];
    if (lists->owner[other] != lists->owner[p]) continue;
    if (other < p) return; /* these entries belong to that perforation */
    P += couple_cell(view, cpr, well, other, q);
    G += couple_well(view, cpr, well, other, q);
  }
  value[entries->of_cell[p]] = scale > 0 ? P : 0;
  value[entries->of_well[p]] = scale * G;
}

void karst_wells_pressure_cpu(karst_context *context, const karst_wells_view *view, const karst_cpr *cpr,
                              const karst_wells_entries *entries, double *value)
{
  const karst_wells *wells = view->wells;
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, wells->entries * wells->most_equations);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index i = 0; i < wells->count; i++) {
    const karst_well *well = wells->well + i;
    int unknown = 0;
    const double scale = choose(view, cpr, well, &unknown);
    for (karst_index p = well->first; p < well->first + well->count; p++)
      fill_entries(view, cpr, well, p, unknown, scale, entries, value);
    value[entries->own[i]] = scale > 0 ? scale : 1;
  }
  karst_end(context, &piece);
}
