/* parilu_setup.h - the data of a preconditioner made by sweeps, and its pattern half. */
#ifndef KARST_PRECOND_PARILU_SETUP_H
#define KARST_PRECOND_PARILU_SETUP_H

#include "precond/ilu_settings.h"
#include "lib/backend/ilu_residual.h"
#include "lib/backend/sweep_kernels.h"

typedef struct karst_sweeps_settings {
  karst_ilu_settings ilu;
  int sweeps, asynchronous, scaled, residual; /* the last three: 0 or 1 */
  int order, block, chunks, limit;            /* order: a karst_task_order, chunks: a karst_chunk_order */
} karst_sweeps_settings;

extern const karst_option karst_sweeps_rows[];

static inline const karst_sweeps_settings *karst_sweeps_settings_of(const karst_precond *p) { return p->settings; }

/* The part that depends only on the pattern and the options. S is the pattern of ILU(k). */
typedef struct karst_sweeps_analysis {
  karst_ilu_analysis ilu;
  karst_parilu_analysis sweeps;
  karst_matrix *pattern; /* S, without values; NULL if it is the pattern of A */
  karst_index *place;    /* [blocks of A] the position of each block of A in S; device memory; or NULL */
} karst_sweeps_analysis;

typedef struct karst_sweeps {
  const karst_sweeps_analysis *analysis;
  karst_ilu ilu;               /* the triangular solves */
  karst_parilu factors;        /* its F is A itself if S is the pattern of A, else made */
  karst_matrix *made;          /* A's values on S, or NULL */
  bool sound;                  /* the factors are a guess for the next values */
  int64_t fallbacks;           /* exact factorizations after sweeps that failed */
  karst_ilu_residual residual; /* the work space of the option ilu-residual */
} karst_sweeps;

/* Returns an option that differs in two settings and that an analysis depends on, or NULL. */
const char *karst_sweeps_differ(const void *settings, const void *others);

/* Makes everything that depends only on the pattern of p's matrix and the options, of parilu or, if symmetric, of
 * paric. After a failure the caller calls karst_sweeps_analysis_destroy. */
karst_status karst_sweeps_analyse(const karst_precond *p, bool symmetric, karst_sweeps_analysis *analysis);
void karst_sweeps_analysis_destroy(karst_context *context, karst_sweeps_analysis *analysis);

/* Allocates the values and work space. After a failure the caller calls karst_sweeps_destroy. */
karst_status karst_sweeps_setup(karst_precond *p, const karst_sweeps_analysis *analysis, karst_sweeps *sweeps);
void karst_sweeps_destroy(karst_context *context, karst_sweeps *sweeps);

#endif
