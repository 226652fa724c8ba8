/* ilu.h - what the preconditioners share that end in triangular solves: iluk, parilu, paric. */
#ifndef KARST_PRECOND_ILU_H
#define KARST_PRECOND_ILU_H

#include "ilu_kernels.h"
#include "precond.h"

/* Begins the settings of each method that lists the rows. */
typedef struct karst_ilu_settings {
  int level;
  int trisolve; /* a karst_trisolve */
  int trisolve_sweeps;
  double shift;
} karst_ilu_settings;

extern const karst_option karst_level_rows[], karst_ilu_rows[];

/* The settings of an incomplete factorization. */
static inline const karst_ilu_settings *karst_ilu_settings_of(const karst_precond *p) { return p->settings; }

/* The pattern of ILU(k) of p's matrix, k from the option level, into an ilu that is zero; none for level 0 where the
 * plan takes it from the matrix itself. What it has taken when it fails, karst_ilu_destroy gives back. Warns where the
 * factorization will take very much work. */
karst_status karst_ilu_make_pattern(const karst_precond *p, karst_ilu *ilu);

/* The plan of the sweeps, for factorizations of A, on the pattern of ilu, or on A's where ilu has none and the kernels
 * split it; sets factor_entries and memory of p, and puts the level counts and how the triangles are solved. */
karst_status karst_ilu_make_plan(karst_precond *p, const karst_matrix *A, karst_ilu *ilu);

/* Copies the outcome of a factorization into p, and puts the number of pivots replaced. */
karst_status karst_ilu_report(karst_precond *p, const karst_factor_outcome *outcome);

/* Gives back what ilu holds; not ilu itself. */
void karst_ilu_destroy(karst_context *context, karst_ilu *ilu);

#endif
