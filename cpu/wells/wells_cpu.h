/* wells_cpu.h - the entries of the table of wells on the CPU, in factor.c, product.c, precise.c and pressure.c. */
#ifndef KARST_CPU_WELLS_WELLS_CPU_H
#define KARST_CPU_WELLS_WELLS_CPU_H

#include "cpu/cpu.h"
#include "lib/backend/wells_kernels.h"

extern const struct karst_wells_kernels karst_wells_kernels_cpu;
karst_status karst_wells_factor_cpu(karst_context *context, karst_wells *wells, karst_reason *reason, karst_index *bad);
void karst_wells_residual_precise_cpu(karst_context *context, const karst_wells_view *view, const karst_matrix *A,
                                      const double *b, const double *x, double *r);
void karst_wells_pressure_cpu(karst_context *context, const karst_wells_view *view, const karst_cpr *cpr,
                              const karst_wells_entries *entries, double *value);

#endif
