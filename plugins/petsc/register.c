/* register.c - makes the types known to PETSc, as a library that -dll_prepend loads or one that a program links. */
#include "plugins/petsc/plugin.h"

PetscLogEvent karst_petsc_copy_in, karst_petsc_copy_out;
int karst_petsc_local_rank;
static PetscBool registered = PETSC_FALSE;

/* PETSc forgets its types when it ends, and a program may begin again. */
static PetscErrorCode forget(void)
{
  PetscFunctionBegin;
  registered = PETSC_FALSE;
  PetscFunctionReturn(0);
}

static PetscErrorCode find_local_rank(void)
{
  MPI_Comm host;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  PetscCallMPI(MPI_Comm_rank(host, &karst_petsc_local_rank));
  PetscCallMPI(MPI_Comm_free(&host));
  PetscFunctionReturn(0);
}

PetscErrorCode KarstPetscRegister(void)
{
  PetscClassId karst;

  PetscFunctionBegin;
  if (registered) PetscFunctionReturn(0);
  registered = PETSC_TRUE;
  PetscCall(PetscRegisterFinalize(forget));
  PetscCall(find_local_rank());
  PetscCall(PetscClassIdRegister("Karst", &karst));
  PetscCall(PetscLogEventRegister("KarstCopyIn", karst, &karst_petsc_copy_in));
  PetscCall(PetscLogEventRegister("KarstCopyOut", karst, &karst_petsc_copy_out));
  PetscCall(PCRegister(PCKARST, karst_petsc_create_pc));
  PetscCall(KSPRegister(KSPKARST, karst_petsc_create_ksp));
  PetscFunctionReturn(0);
}

/* PETSc looks for this name in libkarst_petsc.so. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_karst_petsc(void);
PetscErrorCode PetscDLLibraryRegister_karst_petsc(void) { return KarstPetscRegister(); }
