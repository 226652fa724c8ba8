/* factor.c - inverts the blocks D of wells on the CPU, a thread a well, and finds values that are not finite. */
#include "cpu/wells/wells_cpu.h"
#include "lib/backend/dense.h"

/* *finite becomes false if a number is not, and *couples true if one is not 0. */
static void look(int64_t count, const double *value, bool *finite, bool *couples)
{
  for (int64_t v = 0; v < count; v++) {
    *finite = *finite && fabs(value[v]) <= DBL_MAX;
    *couples = *couples || value[v] != 0;
  }
}

static karst_reason invert(const karst_wells *wells, const karst_well *well)
{
  const int n = well->equations;
  const int64_t entries = (int64_t)well->count * wells->block_size * n, square = karst_block_offset(n, 1);
  const double *D = wells->D + well->square;
  double *inverse = wells->inverse + well->square, work[2 * n];
  int pivot[n];
  bool couples = false, finite = true;
  look(entries, wells->B + well->entry, &finite, &couples);
  look(entries, wells->C + well->entry, &finite, &couples);
  for (int64_t v = 0; v < square; v++) finite = finite && fabs(D[v]) <= DBL_MAX;
  if (finite && karst_block_inverse(n, D, D, inverse, work, pivot) == KARST_SOUND) return KARST_SOUND;
  for (int64_t v = 0; v < square; v++) inverse[v] = 0;
  return !finite ? KARST_NOT_FINITE : couples ? KARST_SINGULAR_BLOCK : KARST_SOUND;
}

karst_status karst_wells_factor_cpu(karst_context *context, karst_wells *wells, karst_reason *reason, karst_index *bad)
{
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, wells->entries + wells->squares);
#pragma omp parallel for num_threads(piece.threads) schedule(static)
  for (karst_index i = 0; i < wells->count; i++) {
    const karst_reason of_well = invert(wells, wells->well + i);
    if (of_well == KARST_SOUND) continue;
#pragma omp critical(karst_wells_factor)
    if (*reason == KARST_SOUND || i < *bad) {
      *bad = i;
      *reason = of_well;
    }
  }
  karst_end(context, &piece);
  return KARST_SUCCESS;
}
