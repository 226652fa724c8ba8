/* ilu_settings.h - options, analysis and plan of the preconditioners with triangular solves: iluk, parilu, paric. */
#ifndef KARST_PRECOND_ILU_SETTINGS_H
#define KARST_PRECOND_ILU_SETTINGS_H

#include "lib/backend/ilu_kernels.h"
#include "lib/method/precond.h"

/* Begins the settings of each method that lists the rows. precision is the first member of the settings of every method
 * that lists its row. */
typedef struct karst_ilu_settings {
  int precision; /* of the factors: a karst_precision */
  int level;
  int trisolve; /* a karst_trisolve */
  int trisolve_sweeps;
  double shift;
  double modified; /* of iluk and dilu alone, else 0 */
} karst_ilu_settings;

typedef enum karst_precision { KARST_PRECISION_DOUBLE, KARST_PRECISION_FLOAT } karst_precision;

extern const karst_option karst_precision_rows[], karst_level_rows[], karst_ilu_rows[], karst_shift_rows[],
    karst_modified_rows[];

/* The settings of an incomplete factorization. */
static inline const karst_ilu_settings *karst_ilu_settings_of(const karst_precond *p) { return p->settings; }

/* Returns an option that differs in two settings and that an analysis depends on, or NULL. */
const char *karst_ilu_differ(const void *settings, const void *others);

/* Makes the pattern of ILU(k) of p's matrix, k from the option level, in an analysis that is zero. For level 0 it makes
 * no pattern if the kernels take it from the matrix itself. Warns if the factorization will take very much work. After
 * a failure the caller calls karst_ilu_analysis_destroy. */
karst_status karst_ilu_make_pattern(const karst_precond *p, karst_ilu_analysis *analysis);

/* Makes the rest of the analysis, for factorizations of A: on its pattern, or on A's if it has none and the kernels
 * split A. */
karst_status karst_ilu_analyse(const karst_precond *p, const karst_matrix *A, karst_ilu_analysis *analysis);

/* Frees the contents of the analysis; not the analysis itself. */
void karst_ilu_analysis_destroy(karst_context *context, karst_ilu_analysis *analysis);

/* Begins a factorization on the pattern of an analysis. Sets factor_entries and memory of p, including the analysis,
 * and reports the level counts and the kind of triangular solves. After a failure the caller calls the kernels'
 * plan_destroy. */
karst_status karst_ilu_make_plan(karst_precond *p, const karst_ilu_analysis *analysis, karst_ilu *ilu);

/* Returns whether the factors of a preconditioner that lists karst_precision_rows are in float, and puts that and the
 * bytes of values that an apply reads of them. */
static inline bool karst_precision_is_single(const void *settings)
{
  return *(const int *)settings == KARST_PRECISION_FLOAT;
}
karst_status karst_precision_put(karst_precond *p, double bytes);

/* Copies the outcome of a factorization into p; karst_ilu_report, for one that has returned status, also puts the
 * number of replaced pivots. Returns status or its own error. */
void karst_ilu_take_outcome(karst_precond *p, const karst_factor_outcome *outcome);
karst_status karst_ilu_report(karst_precond *p, karst_status status, const karst_factor_outcome *outcome);

#endif
