/* driver.h - makes a Krylov driver alone, for tests with a preconditioner that is not in a list. */
#ifndef KARST_TESTS_SUPPORT_DRIVER_H
#define KARST_TESTS_SUPPORT_DRIVER_H

#include "tests/support/settings.h"
#include "solver/methods.h"

/* Makes a driver. limits is set from the settings and must outlive the driver. */
static inline karst_status make_driver(const tap_settings *settings, const karst_matrix *A, const karst_precond *M,
                                       karst_krylov_limits *limits, karst_krylov **krylov)
{
  karst_options *options;
  karst_methods chosen;
  *krylov = NULL;
  *limits = (karst_krylov_limits){settings->rtol, settings->atol, settings->max_iterations};
  karst_status status = tap_options_create(A->context, settings, &options);
  if (status) return status;
  karst_methods_read(options, &chosen);
  const karst_operator operator= karst_operator_of_matrix(A, NULL);
  status = karst_krylov_create(karst_krylov_table[chosen.solver], options, limits, &operator, M, krylov);
  karst_options_destroy(options);
  return status;
}

#endif
