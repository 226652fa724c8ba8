/* parilu.h - what a preconditioner made by sweeps holds, and its pattern half. */
#ifndef KARST_PRECOND_PARILU_H
#define KARST_PRECOND_PARILU_H

#include "ilu.h"
#include "ilu_residual.h"
#include "sweep_kernels.h"

typedef struct karst_sweeps_settings {
  karst_ilu_settings ilu;
  int sweeps, asynchronous, scaled, residual; /* the last three: 0 or 1 */
  int order, block, chunks, limit;            /* order: a karst_task_order, chunks: a karst_chunk_order */
} karst_sweeps_settings;

extern const karst_option karst_sweeps_rows[];

static inline const karst_sweeps_settings *karst_sweeps_settings_of(const karst_precond *p) { return p->settings; }

typedef struct karst_sweeps {
  karst_ilu ilu;               /* the triangular solves */
  karst_parilu factors;        /* its F is A itself where S, the pattern of ILU(k), is that of A, else made */
  karst_matrix *made;          /* A's values on S, or NULL */
  karst_index *place;          /* [blocks of A] where each block of A goes in made; device memory; or NULL */
  bool sound;                  /* the factors are a guess for the next values */
  int64_t fallbacks;           /* exact factorizations because the sweeps had failed */
  karst_ilu_residual residual; /* the work space of the option ilu-residual */
} karst_sweeps;

/* Everything that follows from the pattern of p's matrix and the options. What it has taken when it fails,
 * karst_sweeps_destroy gives back. */
karst_status karst_sweeps_setup(karst_precond *p, karst_sweeps *sweeps);
void karst_sweeps_destroy(karst_context *context, karst_sweeps *sweeps);

#endif
