/* overlap_tiles.c - tiles of the matrix of an overlap, if the own rows are in tiles (lib/backend/tiling.h): these tiles
 * in their colours, and the rows of other ranks before and after them in pieces of about the same size, which are tiles
 * of a further colour each. Pieces of one colour may be coupled: those who solve by tiles find what waits for what. */
#include "lib/backend/tiling.h"
#include "lib/ranks/overlap.h"

/* The tiles and colours made so far, and the most rows of a piece. */
struct making {
  karst_tiling *tiling;
  karst_index most;
};

static karst_index count_pieces(const struct making *making, karst_index rows)
{
  return rows / making->most + (rows % making->most > 0);
}

/* Adds rows first .. first + rows in pieces, as a colour unless there are none. */
static void add_pieces(const struct making *making, karst_index first, karst_index rows)
{
  karst_tiling *tiling = making->tiling;
  if (rows == 0) return;
  for (karst_index done = 0; done < rows; done += making->most) tiling->start[tiling->tiles++] = first + done;
  tiling->colour_start[++tiling->colours] = tiling->tiles;
}

/* Adds the own tiles, whose first row is row number first. */
static void add_own(const struct making *making, const karst_tiling *own, karst_index first)
{
  karst_tiling *tiling = making->tiling;
  const karst_index before = tiling->tiles;
  for (karst_index t = 0; t < own->tiles; t++) tiling->start[tiling->tiles++] = first + own->start[t];
  for (karst_index c = 1; c <= own->colours; c++)
    tiling->colour_start[++tiling->colours] = before + own->colour_start[c];
}

karst_status karst_overlap_make_tiles(karst_overlap *overlap)
{
  const karst_matrix *A = overlap->A;
  const karst_tiling *own = A->tiling;
  karst_tiling *tiling = &overlap->tiling;
  if (!own || own->tiles == 0) return KARST_SUCCESS;
  const struct making making = {tiling, A->block_rows / own->tiles + (A->block_rows % own->tiles > 0)};
  const int64_t pieces = (int64_t)count_pieces(&making, overlap->below) + count_pieces(&making, overlap->above);
  const char *const what = "the tiles of the overlap";
  karst_status status =
      karst_allocate(A->context, &tiling->start, own->tiles + pieces + 1, sizeof *tiling->start, what);
  if (!status)
    status = karst_allocate(A->context, &tiling->colour_start, (int64_t)own->colours + 3, sizeof *tiling->colour_start,
                            what);
  if (status) return status;
  tiling->colour_start[0] = 0;
  add_pieces(&making, 0, overlap->below);
  add_own(&making, own, overlap->below);
  add_pieces(&making, overlap->below + A->block_rows, overlap->above);
  tiling->start[tiling->tiles] = overlap->matrix->block_rows;
  overlap->matrix->tiling = tiling;
  return KARST_SUCCESS;
}
