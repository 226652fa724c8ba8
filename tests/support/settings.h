/* settings.h - options as a struct, for tests that vary them. It has a field for each option of the library. */
#ifndef KARST_TESTS_SUPPORT_SETTINGS_H
#define KARST_TESTS_SUPPORT_SETTINGS_H

#include "karst.h"

typedef struct tap_settings {
  const char *solver, *precond, *ordering, *scale;
  double rtol, atol;
  int max_iterations;
  int restart;
  const char *orthogonalise, *side;
  const char *norm;
  double damping;
  int parts;
  int tile_size;
  const char *tile_shape;
  int level;
  const char *factor_precision;
  const char *trisolve;
  int trisolve_sweeps;
  double shift, modified;
  int sweeps;
  const char *sweep_mode, *sweep_scale, *ilu_residual;
  const char *sweep_order;
  int sweep_block;
  const char *sweep_chunks;
  int sweep_limit;
  const char *fgbilu_style, *pivoting;
  int rrb_levels;
  const char *rrb_precision;
  int rrb_grids;
} tap_settings;

/* The defaults that the library reports, but for these two. NULL: gmres, whose steps all lower the residual, and the
 * default preconditioner. */
tap_settings settings_for(const char *solver, const char *precond);

/* Creates the options, which the caller destroys. KARST_ERROR_OPTION if the library refuses one. */
karst_status tap_options_create(karst_context *context, const tap_settings *settings, karst_options **options);

/* These call the library with options that live as long as the call. */
karst_status tap_solver_create(karst_context *context, const tap_settings *settings, karst_solver **solver);
/* The solver is the caller's to destroy also where it refuses the matrix. */
karst_status tap_solver_setup(karst_context *context, const tap_settings *settings, const karst_matrix *A,
                              karst_solver **solver);
karst_status tap_precond_create(karst_context *context, const tap_settings *settings, const karst_matrix *A,
                                karst_precond **precond);

#endif
