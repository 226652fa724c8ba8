/* convert.c - copies an array of a batch from one layout to the other, on the CPU. Tiles of rows and elements, because
 * one of the two arrays has the scalars of a row far apart. */
#include "cpu/cpu.h"
#include "cpu/tridiagonal/tridiagonal_cpu.h"

enum { TILE = 16 }; /* rows of a tile: whole cache lines of both arrays */

static inline void move(bool single, const void *from, int64_t at, void *to, int64_t there)
{
  if (single)
    ((float *)to)[there] = ((const float *)from)[at];
  else
    ((double *)to)[there] = ((const double *)from)[at];
}

/* Moves the rows first .. last - 1 of an array. */
static void transpose(const karst_tridiagonal_shape *shape, int64_t entries, int64_t first, int64_t last,
                      karst_tridiagonal_layout from_layout, const void *from, void *to)
{
  const int64_t rows = shape->systems * shape->rows;
  for (int64_t row = first; row < last; row += TILE) {
    const int64_t end = row + TILE < last ? row + TILE : last;
    for (int64_t e = 0; e < entries; e++)
      for (int64_t k = row; k < end; k++) {
        if (from_layout == KARST_TRIDIAGONAL_SOA)
          move(shape->single, from, e * rows + k, to, k * entries + e);
        else
          move(shape->single, from, k * entries + e, to, e * rows + k);
      }
  }
}

void karst_tridiagonal_convert_cpu(karst_context *context, const karst_tridiagonal *batch, int entries,
                                   karst_tridiagonal_layout from_layout, const void *from, void *to)
{
  const int64_t rows = batch->shape.systems * batch->shape.rows;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, rows * entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_begin(&piece, 0);
    const int64_t tiles = rows / TILE, first = karst_share(tiles, karst_thread(), karst_team()) * TILE;
    const int64_t end = karst_share(tiles, karst_thread() + 1, karst_team()) * TILE;
    const int64_t last = karst_thread() + 1 == karst_team() ? rows : end;
    transpose(&batch->shape, entries, first, last, from_layout, from, to);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}
