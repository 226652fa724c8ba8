/* vectors.c - vectors of PETSc as vectors of Karst.
 *
 * On the CPU they are wrapped in place. On a GPU they are wrapped where PETSc has them there too, and else copied to
 * vectors of the system and back, which the events KarstCopyIn and KarstCopyOut of -log_view show. */
#include "plugins/petsc/plugin.h"

/* PETSc's work on a vector that is in the memory of a GPU is complete when it is lent, and Karst's when it is given
 * back, whatever streams the two use. */
#if defined(PETSC_HAVE_CUDA)
static PetscErrorCode lend_on_device(Vec vec, karst_petsc_vector *view)
{
  PetscFunctionBegin;
  if (view->access == KARST_PETSC_READ)
    PetscCall(VecCUDAGetArrayRead(vec, &view->read));
  else if (view->access == KARST_PETSC_WRITE)
    PetscCall(VecCUDAGetArrayWrite(vec, &view->write));
  else
    PetscCall(VecCUDAGetArray(vec, &view->write));
  PetscCall(PetscDeviceContextSynchronize(NULL));
  PetscFunctionReturn(0);
}

static PetscErrorCode give_back_on_device(karst_petsc_system *system, Vec vec, karst_petsc_vector *view)
{
  PetscFunctionBegin;
  KARST_CALL(system->context, karst_context_synchronize(system->context));
  if (view->access == KARST_PETSC_READ)
    PetscCall(VecCUDARestoreArrayRead(vec, &view->read));
  else if (view->access == KARST_PETSC_WRITE)
    PetscCall(VecCUDARestoreArrayWrite(vec, &view->write));
  else
    PetscCall(VecCUDARestoreArray(vec, &view->write));
  PetscFunctionReturn(0);
}
#endif

static PetscErrorCode lend(Vec vec, karst_petsc_vector *view)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  if (view->on_device) {
    PetscCall(lend_on_device(vec, view));
    PetscFunctionReturn(0);
  }
#endif
  if (view->access == KARST_PETSC_READ)
    PetscCall(VecGetArrayRead(vec, &view->read));
  else if (view->access == KARST_PETSC_WRITE)
    PetscCall(VecGetArrayWrite(vec, &view->write));
  else
    PetscCall(VecGetArray(vec, &view->write));
  PetscFunctionReturn(0);
}

static PetscErrorCode give_back(karst_petsc_system *system, Vec vec, karst_petsc_vector *view)
{
  PetscFunctionBegin;
#if defined(PETSC_HAVE_CUDA)
  if (view->on_device) {
    PetscCall(give_back_on_device(system, vec, view));
    PetscFunctionReturn(0);
  }
#else
  (void)system;
#endif
  if (view->access == KARST_PETSC_READ)
    PetscCall(VecRestoreArrayRead(vec, &view->read));
  else if (view->access == KARST_PETSC_WRITE)
    PetscCall(VecRestoreArrayWrite(vec, &view->write));
  else
    PetscCall(VecRestoreArray(vec, &view->write));
  PetscFunctionReturn(0);
}

/* Copies from host memory to the vector of the system that is kept for this. */
static PetscErrorCode copy_in(karst_petsc_system *system, Vec vec, karst_petsc_vector *view)
{
  PetscFunctionBegin;
  const int64_t length = karst_matrix_rows(system->matrix);
  karst_vector **staging = &system->staging[view->access != KARST_PETSC_READ];
  if (!*staging) KARST_CALL(system->context, karst_vector_create(system->context, length, staging));
  view->vector = *staging;
  if (view->access == KARST_PETSC_WRITE) PetscFunctionReturn(0);
  PetscCall(PetscLogEventBegin(karst_petsc_copy_in, vec, 0, 0, 0));
  KARST_CALL(system->context, karst_vector_set(*staging, length, view->read ? view->read : view->write));
  PetscCall(PetscLogEventEnd(karst_petsc_copy_in, vec, 0, 0, 0));
  PetscFunctionReturn(0);
}

static PetscErrorCode copy_out(karst_petsc_system *system, Vec vec, karst_petsc_vector *view)
{
  PetscFunctionBegin;
  if (view->access == KARST_PETSC_READ) PetscFunctionReturn(0);
  PetscCall(PetscLogEventBegin(karst_petsc_copy_out, vec, 0, 0, 0));
  KARST_CALL(system->context, karst_vector_get(view->vector, karst_matrix_rows(system->matrix), view->write));
  PetscCall(PetscLogEventEnd(karst_petsc_copy_out, vec, 0, 0, 0));
  PetscFunctionReturn(0);
}

PetscErrorCode karst_petsc_vector_begin(karst_petsc_system *system, Vec vec, karst_petsc_access access,
                                        karst_petsc_vector *view)
{
  PetscFunctionBegin;
  *view = (karst_petsc_vector){.access = access};
  const int host = karst_context_is_host(system->context);
#if defined(PETSC_HAVE_CUDA)
  if (!host)
    PetscCall(PetscObjectTypeCompareAny((PetscObject)vec, &view->on_device, VECSEQCUDA, VECMPICUDA, VECCUDA, ""));
#endif
  view->copied = host || view->on_device ? PETSC_FALSE : PETSC_TRUE;
  PetscCall(lend(vec, view));
  if (view->copied)
    PetscCall(copy_in(system, vec, view));
  else
    KARST_CALL(system->context, karst_vector_wrap(system->context, karst_matrix_rows(system->matrix),
                                                  view->read ? (double *)view->read : view->write, &view->vector));
  PetscFunctionReturn(0);
}

PetscErrorCode karst_petsc_vector_end(karst_petsc_system *system, Vec vec, karst_petsc_vector *view)
{
  PetscFunctionBegin;
  if (view->copied)
    PetscCall(copy_out(system, vec, view));
  else
    karst_vector_destroy(view->vector);
  PetscCall(give_back(system, vec, view));
  PetscFunctionReturn(0);
}
