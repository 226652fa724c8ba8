/* blocks.c - the blocks of b by b of a matrix of scalars (MATSEQAIJ), as Karst stores them.
 *
 * Scalar (i, j) is in the block (i/b, j/b), at place (j%b) b + i%b. Both matrices have ascending columns, so that one
 * pass over the blocks of a row finds the places of the scalars of each of its b rows. */
#include "plugins/petsc/plugin.h"

PetscErrorCode karst_petsc_blocks_create(PetscInt rows, PetscInt b, const PetscInt *row_start, const PetscInt *column,
                                         karst_petsc_blocks *blocks)
{
  PetscInt *seen, *found, count = 0;

  PetscFunctionBegin;
  const PetscInt block_rows = rows / b;
  blocks->block_rows = block_rows;
  blocks->block_size = b;
  PetscCall(PetscMalloc1(block_rows + 1, &blocks->row_start));
  PetscCall(PetscMalloc1(row_start[rows], &found)); /* as many blocks as scalars at most */
  PetscCall(PetscCalloc1(block_rows, &seen));       /* the last block row, from 1, with a block in this column */
  for (PetscInt i = 0; i < block_rows; i++) {
    blocks->row_start[i] = count;
    for (PetscInt k = row_start[i * b]; k < row_start[(i + 1) * b]; k++) {
      if (seen[column[k] / b] == i + 1) continue;
      seen[column[k] / b] = i + 1;
      found[count++] = column[k] / b;
    }
    PetscCall(PetscSortInt(count - (PetscInt)blocks->row_start[i], found + blocks->row_start[i]));
  }
  blocks->row_start[block_rows] = count;
  PetscCall(PetscMalloc1(count, &blocks->column));
  for (PetscInt k = 0; k < count; k++) blocks->column[k] = found[k];
  PetscCall(PetscCalloc1((size_t)count * (size_t)(b * b), &blocks->value));
  PetscCall(PetscFree(found));
  PetscCall(PetscFree(seen));
  PetscFunctionReturn(0);
}

void karst_petsc_blocks_fill(karst_petsc_blocks *blocks, const PetscInt *row_start, const PetscInt *column,
                             const PetscScalar *scalar)
{
  const PetscInt b = blocks->block_size;
  for (PetscInt i = 0; i < blocks->block_rows * b; i++) {
    karst_index at = blocks->row_start[i / b];
    for (PetscInt k = row_start[i]; k < row_start[i + 1]; k++) {
      while (column[k] >= (blocks->column[at] + 1) * b) at++;
      const PetscInt c = column[k] - (PetscInt)blocks->column[at] * b;
      blocks->value[((int64_t)at * b + c) * b + i % b] = scalar[k];
    }
  }
}

PetscErrorCode karst_petsc_blocks_destroy(karst_petsc_blocks *blocks)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(blocks->row_start));
  PetscCall(PetscFree(blocks->column));
  PetscCall(PetscFree(blocks->value));
  PetscFunctionReturn(0);
}
