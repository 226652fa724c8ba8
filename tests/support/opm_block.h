/* opm_block.h - a diagonal block of OPM Flow's, for tests of pivots: rows are oil, water and gas, columns water,
 * pressure in Pa and gas, stored column by column. */
#ifndef KARST_TESTS_SUPPORT_OPM_BLOCK_H
#define KARST_TESTS_SUPPORT_OPM_BLOCK_H

/* The second entry of the last column is a derivative of 0 that has become 7e-36. This rounding error must not decide
 * which rows are exchanged. */
enum { OPM_DUST = 7 };
static const double opm_block[9] = {-1.297048e-3, 1.300591e-3, 0,        4.1845e-13, 1.50908e-13, 0,
                                    -1.297048e-3, 7.19e-36,    0.1757029};

#endif
