/* plugin.h - what the preconditioner and the solver have in common: settings, a system, views of vectors, errors. */
#ifndef KARST_PLUGINS_PETSC_PLUGIN_H
#define KARST_PLUGINS_PETSC_PLUGIN_H

#include "karst.h"
#include "plugins/petsc/karst_petsc.h"

#include <petsc/private/kspimpl.h>
#include <petsc/private/pcimpl.h>
#include <petscdevice.h>

/* configure compares them and says what to do. */
_Static_assert(sizeof(PetscInt) == sizeof(karst_index), "PetscInt and karst_index have the same width");

/* From release 3.23 on this type is a pointer. */
#if PETSC_VERSION_GE(3, 23, 0)
typedef PetscOptionItems karst_petsc_items;
#else
typedef PetscOptionItems *karst_petsc_items;
#endif

/* ---- register.c ---- */

/* The events of -log_view for copies of vectors between the memory of PETSc and that of a GPU. */
extern PetscLogEvent karst_petsc_copy_in, karst_petsc_copy_out;
/* The number of this process among those on its host, from 0. */
extern int karst_petsc_local_rank;

PETSC_INTERN PetscErrorCode karst_petsc_create_pc(PC pc);
PETSC_INTERN PetscErrorCode karst_petsc_create_ksp(KSP ksp);

/* ---- failures.c ---- */

/* Calls a function of the library within a function that returns a PetscErrorCode. A failure is PETSc's error with the
 * library's sentence. */
#define KARST_CALL(context, call)                                                                                      \
  do {                                                                                                                 \
    const karst_status status_ = (call);                                                                               \
    PetscCheck(!status_, PETSC_COMM_SELF, karst_petsc_error(status_), "Karst: %s",                                     \
               karst_petsc_sentence(context, status_));                                                                \
  } while (0)

PETSC_INTERN PetscErrorCode karst_petsc_error(karst_status status);
PETSC_INTERN const char *karst_petsc_sentence(const karst_context *context, karst_status status);
PETSC_INTERN PCFailedReason karst_petsc_failed_reason(karst_reason reason);
PETSC_INTERN KSPConvergedReason karst_petsc_converged_reason(karst_reason reason);

/* ---- settings.c ---- */

/* What the options have chosen. Options are read before the device is known, so they belong to a context of their own
 * on the CPU. */
typedef struct karst_petsc_settings {
  const char *kind;       /* "pc" or "ksp": the options are -KIND_karst_NAME */
  karst_context *context; /* of the next two */
  karst_options *options;
  karst_options *bare; /* "pc": without a preconditioner; what it uses are options of solvers. Else NULL */
  char device[32];     /* "cpu", "cuda" or "cuda:N" */
  PetscInt threads;    /* on the CPU */
  PetscInt block_size; /* 0: that of the matrix */
  PetscBool changed;   /* since the last set-up */
} karst_petsc_settings;

PETSC_INTERN PetscErrorCode karst_petsc_settings_create(const char *kind, karst_petsc_settings *settings);
PETSC_INTERN void karst_petsc_settings_destroy(karst_petsc_settings *settings);
PETSC_INTERN PetscErrorCode karst_petsc_settings_read(karst_petsc_settings *settings,
                                                      karst_petsc_items PetscOptionsObject);
PETSC_INTERN PetscErrorCode karst_petsc_settings_set(karst_petsc_settings *settings, const char *name,
                                                     const char *value);
PETSC_INTERN PetscErrorCode karst_petsc_settings_view(const karst_petsc_settings *settings, PetscViewer viewer);

/* ---- blocks.c ---- */

/* The blocks of a matrix of scalars. */
typedef struct karst_petsc_blocks {
  PetscInt block_rows, block_size;
  karst_index *row_start; /* [block_rows + 1] */
  karst_index *column;    /* [row_start[block_rows]] ascending in each row */
  double *value;          /* [b*b*row_start[block_rows]] each block by columns, zero where no scalar is stored */
} karst_petsc_blocks;

/* Finds the blocks in which a row has scalars; their values are zero. rows = block_rows*b. */
PETSC_INTERN PetscErrorCode karst_petsc_blocks_create(PetscInt rows, PetscInt b, const PetscInt *row_start,
                                                      const PetscInt *column, karst_petsc_blocks *blocks);
/* Copies the scalars, on the pattern of create, into the blocks. */
PETSC_INTERN void karst_petsc_blocks_fill(karst_petsc_blocks *blocks, const PetscInt *row_start, const PetscInt *column,
                                          const PetscScalar *scalar);
PETSC_INTERN PetscErrorCode karst_petsc_blocks_destroy(karst_petsc_blocks *blocks);

/* ---- system.c ---- */

/* A matrix of PETSc in a context of the chosen device. */
typedef struct karst_petsc_system {
  karst_context *context;
  karst_matrix *matrix;
  karst_vector *staging[2];  /* on a GPU: for vectors in host memory that are read, and written */
  karst_petsc_blocks blocks; /* of MATSEQAIJ with a block size above 1; the matrix refers to them */
  Mat whole;                 /* of MATSEQSBAIJ: both triangles */
  PetscObjectId id;          /* of the Mat, and its states when it was taken */
  PetscObjectState state, nonzero_state;
} karst_petsc_system;

/* What is new in a Mat since it was taken. */
typedef enum karst_petsc_change { KARST_PETSC_SAME, KARST_PETSC_VALUES, KARST_PETSC_PATTERN } karst_petsc_change;

/* Compares the Mat with the one taken last, and the settings with those used then. */
PETSC_INTERN PetscErrorCode karst_petsc_system_compare(const karst_petsc_system *system,
                                                       const karst_petsc_settings *settings, Mat A,
                                                       karst_petsc_change *change);
/* Takes the pattern and the values of A in a new context. What was made in the old one has to be destroyed before. */
PETSC_INTERN PetscErrorCode karst_petsc_system_create(karst_petsc_system *system, karst_petsc_settings *settings,
                                                      Mat A);
/* Takes the values of A, whose pattern is the same. */
PETSC_INTERN PetscErrorCode karst_petsc_system_update(karst_petsc_system *system, Mat A);
PETSC_INTERN PetscErrorCode karst_petsc_system_destroy(karst_petsc_system *system);
PETSC_INTERN PetscErrorCode karst_petsc_system_view(const karst_petsc_system *system, PetscViewer viewer);

/* ---- vectors.c ---- */

typedef enum karst_petsc_access { KARST_PETSC_READ, KARST_PETSC_WRITE, KARST_PETSC_READ_WRITE } karst_petsc_access;

/* A vector of PETSc as one of Karst: in place where both are in the memory of one device, else a copy. */
typedef struct karst_petsc_vector {
  karst_vector *vector;
  karst_petsc_access access;
  PetscBool on_device, copied;
  const PetscScalar *read; /* what PETSc has lent: this, or that for writing */
  PetscScalar *write;
} karst_petsc_vector;

PETSC_INTERN PetscErrorCode karst_petsc_vector_begin(karst_petsc_system *system, Vec vec, karst_petsc_access access,
                                                     karst_petsc_vector *view);
PETSC_INTERN PetscErrorCode karst_petsc_vector_end(karst_petsc_system *system, Vec vec, karst_petsc_vector *view);

#endif
