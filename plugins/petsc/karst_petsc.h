/* karst_petsc.h - Karst inside PETSc: a preconditioner and a solver of the name karst.
 *
 * A program links libkarst_petsc and calls KarstPetscRegister after PetscInitialize, or its user loads the library with
 * the option -dll_prepend /path/to/libkarst_petsc.so. Then
 *
 *     -pc_type karst -pc_karst_precond iluk -pc_karst_level 1
 *
 * preconditions with Karst, and
 *
 *     -ksp_type karst -ksp_karst_solver bicgstab -ksp_karst_precond cpr -ksp_karst_ordering rcm
 *
 * solves with Karst alone. The manual of Karst, section "Inside PETSc", says what is supported. */
#ifndef KARST_PETSC_H
#define KARST_PETSC_H

#include <petscksp.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The types, for PCSetType and KSPSetType. */
#define PCKARST "karst"
#define KSPKARST "karst"

/* Registers both types. Collective on PETSC_COMM_WORLD; a second call does nothing. -dll_prepend calls it. */
PETSC_EXTERN PetscErrorCode KarstPetscRegister(void);

/* Sets an option of the preconditioner or of the solver from text: the name is that of the option after -pc_karst_ or
 * -ksp_karst_, such as "level", and may have '-' in place of '_'. Names and values are those of karst_options_set, and
 * device ("cpu", "cuda", "cuda:N"), threads and block_size. A new value takes effect at the next application or solve;
 * options from the command line replace it. PETSC_ERR_USER_INPUT with a sentence for an unknown name or a value that is
 * not allowed. Nothing happens with another type. */
PETSC_EXTERN PetscErrorCode PCKarstSetOption(PC pc, const char name[], const char value[]);
PETSC_EXTERN PetscErrorCode KSPKarstSetOption(KSP ksp, const char name[], const char value[]);

/* Why the last set-up of the preconditioner failed (PCGetFailedReason): a sentence that the PC owns until the next
 * set-up, "" if it did not, and the block row of a singular block or a NaN, counted from 0, or -1. Either pointer may be
 * NULL. PETSC_ERR_SUP with another type. */
PETSC_EXTERN PetscErrorCode PCKarstGetFailure(PC pc, const char *sentence[], PetscInt *block_row);

#ifdef __cplusplus
}
#endif
#endif
