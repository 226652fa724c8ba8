/* system.c - a matrix of PETSc in a context of the chosen device.
 *
 * MATSEQAIJ has scalars by rows, Karst's block size 1, or blocks that blocks.c gathers. MATSEQBAIJ stores its blocks as
 * Karst does, column by column. PETSc makes both triangles of MATSEQSBAIJ. Karst copies pattern and values, so that a
 * preconditioner that is kept (KSPSetReusePreconditioner) remains that of the matrix it was made from. */
#include "plugins/petsc/plugin.h"

#include <stdio.h>

/* The arrays of a Mat while they are lent: block_size is that of the arrays. */
typedef struct lent_arrays {
  Mat A;
  PetscBool scalars; /* MATSEQAIJ */
  PetscBool device;  /* the values are in the memory of a GPU */
  PetscInt rows, block_size;
  const PetscInt *row_start, *column;
  const PetscScalar *value;
} lent_arrays;

PetscErrorCode karst_petsc_system_compare(const karst_petsc_system *system, const karst_petsc_settings *settings, Mat A,
                                          karst_petsc_change *change)
{
  PetscObjectId id;
  PetscObjectState state, nonzero_state;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &state));
  PetscCall(MatGetNonzeroState(A, &nonzero_state));
  if (!system->matrix || settings->changed || id != system->id || nonzero_state != system->nonzero_state)
    *change = KARST_PETSC_PATTERN;
  else
    *change = state != system->state ? KARST_PETSC_VALUES : KARST_PETSC_SAME;
  PetscFunctionReturn(0);
}

/* Refuses a matrix that Karst cannot take. */
static PetscErrorCode check(Mat A)
{
  PetscBool taken;
  PetscMPIInt processes;
  PetscInt rows, columns;
  MatType type;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A), &processes));
  PetscCheck(processes == 1, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP,
             "Karst takes a matrix on one process, and this one is on %d: use -pc_type bjacobi -sub_pc_type karst, or "
             "-pc_type asm -sub_pc_type karst",
             processes);
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &taken, MATSEQAIJ, MATSEQBAIJ, MATSEQSBAIJ, ""));
  PetscCheck(taken, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Karst takes matrices of the types seqaij, seqbaij and seqsbaij, and not %s: use -mat_type aij, baij or "
             "sbaij",
             type);
  PetscCall(MatGetSize(A, &rows, &columns));
  PetscCheck(rows == columns, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "Karst takes a square matrix, and this one has %" PetscInt_FMT " rows and %" PetscInt_FMT " columns", rows,
             columns);
  PetscFunctionReturn(0);
}

/* Lends the values: in the memory of the GPU if PETSc has them there and Karst takes them as they are. */
static PetscErrorCode lend_values(lent_arrays *lent, PetscBool device)
{
  PetscScalar *value;

  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  if (device) PetscCall(PetscObjectTypeCompare((PetscObject)lent->A, MATSEQAIJCUSPARSE, &lent->device));
  if (lent->device) {
    PetscCall(MatSeqAIJCUSPARSEGetArrayRead(lent->A, &lent->value));
    PetscCall(PetscDeviceContextSynchronize(NULL));
    PetscFunctionReturn(0);
  }
#else
  (void)device;
#endif
  if (lent->scalars)
    PetscCall(MatSeqAIJGetArrayRead(lent->A, &lent->value));
  else {
    PetscCall(MatSeqBAIJGetArray(lent->A, &value));
    lent->value = value;
  }
  PetscFunctionReturn(0);
}

static PetscErrorCode give_back_values(lent_arrays *lent)
{
  PetscScalar *value = NULL;

  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  if (lent->device) {
    PetscCall(MatSeqAIJCUSPARSERestoreArrayRead(lent->A, &lent->value));
    PetscFunctionReturn(0);
  }
#endif
  if (lent->scalars)
    PetscCall(MatSeqAIJRestoreArrayRead(lent->A, &lent->value));
  else
    PetscCall(MatSeqBAIJRestoreArray(lent->A, &value));
  PetscFunctionReturn(0);
}

/* Lends pattern and values of A, or of its whole where one triangle is stored. The pattern of MATSEQAIJ must not be
 * compressed: PETSc has another there, of rows with equal columns (inodes). */
static PetscErrorCode lend(karst_petsc_system *system, Mat A, PetscBool gathered, lent_arrays *lent)
{
  PetscBool symmetric, done;

  PetscFunctionBegin;
  *lent = (lent_arrays){.A = A};
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &lent->scalars));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQSBAIJ, &symmetric));
  if (symmetric) {
    PetscCall(MatConvert(A, MATSEQBAIJ, system->whole ? MAT_REUSE_MATRIX : MAT_INITIAL_MATRIX, &system->whole));
    lent->A = system->whole;
  }
  PetscCall(MatGetRowIJ(lent->A, 0, PETSC_FALSE, !lent->scalars, &lent->rows, &lent->row_start, &lent->column, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "Karst: PETSc does not lend the pattern of this matrix");
  lent->block_size = 1;
  if (!lent->scalars) PetscCall(MatGetBlockSize(lent->A, &lent->block_size));
  PetscCall(lend_values(lent, gathered || karst_context_is_host(system->context) ? PETSC_FALSE : PETSC_TRUE));
  PetscFunctionReturn(0);
}

static PetscErrorCode give_back(lent_arrays *lent)
{
  PetscBool done;

  PetscFunctionBegin;
  PetscCall(give_back_values(lent));
  PetscCall(
      MatRestoreRowIJ(lent->A, 0, PETSC_FALSE, !lent->scalars, &lent->rows, &lent->row_start, &lent->column, &done));
  PetscFunctionReturn(0);
}

/* "cuda" is the GPU of the process's number on its host; if there are fewer, they are dealt out in turn. */
static PetscErrorCode create_context(karst_petsc_system *system, const karst_petsc_settings *settings)
{
  char device[32];
  PetscBool any_gpu;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(settings->device, "cuda", &any_gpu));
  PetscCall(PetscStrncpy(device, settings->device, sizeof device));
  if (any_gpu && karst_device_count("cuda") > 1)
    snprintf(device, sizeof device, "cuda:%d", karst_petsc_local_rank % karst_device_count("cuda"));
  KARST_CALL(NULL, karst_context_create(NULL, &system->context));
  KARST_CALL(system->context, karst_context_set_device(system->context, device));
  if (settings->threads > 1)
    KARST_CALL(system->context, karst_context_set_threads(system->context, (int)settings->threads));
  PetscFunctionReturn(0);
}

/* The block size that the options ask for, or else that of the matrix. gathered: of scalars that are stored by rows. */
static PetscErrorCode choose_block_size(const karst_petsc_settings *settings, Mat A, PetscInt *b, PetscBool *gathered)
{
  PetscInt own, rows;
  PetscBool scalars;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &own));
  PetscCall(MatGetSize(A, &rows, NULL));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &scalars));
  *b = settings->block_size ? settings->block_size : own;
  PetscCheck(scalars || *b == own, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "Karst takes the blocks of this matrix as they are: -%s_karst_block_size %" PetscInt_FMT
             " is for -mat_type aij, and the block size is %" PetscInt_FMT,
             settings->kind, *b, own);
  PetscCheck(rows % *b == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "Karst: %" PetscInt_FMT " rows are no multiple of the block size %" PetscInt_FMT, rows, *b);
  *gathered = scalars && *b > 1 ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode remember(karst_petsc_system *system, Mat A)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)A, &system->id));
  PetscCall(PetscObjectStateGet((PetscObject)A, &system->state));
  PetscCall(MatGetNonzeroState(A, &system->nonzero_state));
  PetscFunctionReturn(0);
}

PetscErrorCode karst_petsc_system_create(karst_petsc_system *system, karst_petsc_settings *settings, Mat A)
{
  lent_arrays lent;
  PetscInt b = 1;
  PetscBool gathered = PETSC_FALSE;
  karst_status status;

  PetscFunctionBegin;
  PetscCall(karst_petsc_system_destroy(system));
  PetscCall(create_context(system, settings));
  PetscCall(check(A));
  PetscCall(choose_block_size(settings, A, &b, &gathered));
  PetscCall(lend(system, A, gathered, &lent));
  if (gathered) {
    karst_petsc_blocks *blocks = &system->blocks;
    PetscCall(karst_petsc_blocks_create(lent.rows, b, lent.row_start, lent.column, blocks));
    karst_petsc_blocks_fill(blocks, lent.row_start, lent.column, lent.value);
    status = karst_matrix_create(system->context, (karst_index)blocks->block_rows, (int)b, blocks->row_start,
                                 blocks->column, blocks->value, KARST_REFERENCE, &system->matrix);
  } else {
    status = karst_matrix_create(system->context, (karst_index)lent.rows, (int)b, (const karst_index *)lent.row_start,
                                 (const karst_index *)lent.column, lent.value, KARST_COPY, &system->matrix);
  }
  PetscCall(give_back(&lent));
  KARST_CALL(system->context, status);
  PetscCall(remember(system, A));
  settings->changed = PETSC_FALSE;
  PetscFunctionReturn(0);
}

PetscErrorCode karst_petsc_system_update(karst_petsc_system *system, Mat A)
{
  lent_arrays lent;
  karst_status status;

  PetscFunctionBegin;
  PetscCall(lend(system, A, system->blocks.value ? PETSC_TRUE : PETSC_FALSE, &lent));
  if (system->blocks.value) {
    karst_petsc_blocks_fill(&system->blocks, lent.row_start, lent.column, lent.value);
    status = karst_matrix_values_changed(system->matrix);
  } else {
    status = karst_matrix_update_values(system->matrix, lent.value);
  }
  PetscCall(give_back(&lent));
  KARST_CALL(system->context, status);
  PetscCall(remember(system, A));
  PetscFunctionReturn(0);
}

PetscErrorCode karst_petsc_system_destroy(karst_petsc_system *system)
{
  PetscFunctionBegin;
  karst_vector_destroy(system->staging[0]);
  karst_vector_destroy(system->staging[1]);
  karst_matrix_destroy(system->matrix);
  karst_context_destroy(system->context);
  PetscCall(karst_petsc_blocks_destroy(&system->blocks));
  PetscCall(MatDestroy(&system->whole));
  *system = (karst_petsc_system){0};
  PetscFunctionReturn(0);
}

PetscErrorCode karst_petsc_system_view(const karst_petsc_system *system, PetscViewer viewer)
{
  PetscFunctionBegin;
  if (!system->matrix) PetscFunctionReturn(0);
  PetscCall(PetscViewerASCIIPrintf(viewer, "  %" PetscInt_FMT " block rows of block size %d on %s\n",
                                   (PetscInt)karst_matrix_block_rows(system->matrix),
                                   karst_matrix_block_size(system->matrix), karst_context_device(system->context)));
  PetscFunctionReturn(0);
}
