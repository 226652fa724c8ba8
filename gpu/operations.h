/* operations.h - the operations of the CUDA backend, for its table. lib/backend/backend.h says what each does. The
 * header is C and C++. */
#ifndef KARST_GPU_OPERATIONS_H
#define KARST_GPU_OPERATIONS_H

#include "lib/matrix/matrix.h"

/* backend.cu */
karst_status karst_open_cuda(karst_context *context, int device);
int karst_count_cuda();
void karst_close_cuda(karst_context *context);
void karst_describe_cuda(karst_context *context);
void *karst_stream_cuda(const karst_context *context);
karst_status karst_set_stream_cuda(karst_context *context, void *stream);
karst_status karst_synchronize_cuda(karst_context *context);
karst_status karst_upload_cuda(karst_context *context, void *to, const void *host, size_t bytes);
karst_status karst_download_cuda(karst_context *context, void *host, const void *from, size_t bytes);
karst_status karst_download_begin_cuda(karst_context *context, void *host, const void *from, size_t bytes);
karst_status karst_download_end_cuda(karst_context *context);
bool karst_owns_cuda(karst_context *context, const void *array);
karst_status karst_place_cuda(karst_context *context, const void *host, size_t bytes, const char *what, void **memory);
karst_status karst_view_cuda(karst_context *context, const void *memory, size_t bytes, const char *what, void **host);
void karst_copy_cuda(karst_context *context, int64_t n, const double *x, double *y);
double *karst_scalar_cuda(karst_context *context, double *own);

/* work.cu */
karst_status karst_allocate_cuda(karst_context *context, size_t bytes, const char *what, void **memory);
void karst_release_cuda(karst_context *context, void *memory);

/* marks.cu */
karst_status karst_mark_create_cuda(karst_context *context, void **mark);
void karst_mark_destroy_cuda(karst_context *context, void *mark);
void karst_mark_set_cuda(karst_context *context, void *mark);
double karst_mark_seconds_cuda(karst_context *context, void *from, void *to);

/* sums.cu */
void karst_dots_cuda(karst_context *context, int64_t n, int count, const double *const *x, const double *y,
                     double *result);
void karst_combine_cuda(karst_context *context, int64_t n, int count, double sign, const double *coefficient,
                        const double *const *x, const double *beta, double *y, double *norm2);
void karst_step_cuda(karst_context *context, int64_t n, const double *a, const double *b, double *step, const double *x,
                     double *y, double *norm2, const double *with, double *dot);
void karst_turn_cuda(karst_context *context, int64_t n, const double *step, const double *a, const double *b,
                     const double *z, double *p, double *x);
void karst_turn_stabilised_cuda(karst_context *context, int64_t n, const double *a, const double *b,
                                const double *alpha, const double *omega, const double *v, const double *r, double *p);

/* vector.cu */
void karst_fill_cuda(karst_context *context, int64_t n, double value, double *x);
void karst_normalise_cuda(karst_context *context, int64_t n, const double *norm2, const double *x, double *y);
void karst_quotient_cuda(karst_context *context, double sign, const double *a, const double *b, const double *c,
                         const double *d, double *result);
void karst_gather_cuda(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                       double *y);
void karst_scatter_cuda(karst_context *context, karst_index count, int b, const karst_index *index, const double *x,
                        double *y);
void karst_multiply_elements_cuda(karst_context *context, int64_t n, const double *d, const double *x, double *y);
void karst_divide_elements_cuda(karst_context *context, int64_t n, const double *d, const double *x, double *y);

/* permute.cu */
karst_status karst_permute_cuda(karst_context *context, const karst_matrix *A, const karst_index *permutation,
                                karst_permuted *permuted);

/* grid.cu */
karst_status karst_grid_reach_cuda(karst_context *context, const karst_matrix *A, const karst_index size[3], int *axes,
                                   karst_index *misfit);

/* matrix_cuda.cu */
void karst_multiply_cuda(karst_context *context, const karst_matrix *A, const double *x, double *y);
void karst_multiply_dots_cuda(karst_context *context, const karst_matrix *A, const double *x, double *y, int count,
                              const double *const *with, double *result);
void karst_residual_cuda(karst_context *context, const karst_matrix *A, const double *b, const double *x, double *r,
                         double *norm2);

/* residual.cu */
void karst_residual_bounded_cuda(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                                 double *r, double *size, double *norm2);
void karst_residual_precise_cuda(karst_context *context, const karst_matrix *A, const double *b, const double *x,
                                 double *r, double *norm2);

/* couple.cu */
karst_status karst_couple_cuda(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                               double *inverse, float *strength, bool *sound);

/* diagonal.cu */
karst_status karst_missing_diagonal_cuda(karst_context *context, const karst_matrix *A, karst_index *block_row);
karst_status karst_invert_diagonal_cuda(karst_context *context, const karst_matrix *A, const karst_index *diagonal,
                                        double *inverse, karst_reason *reason, karst_index *block_row);
void karst_multiply_diagonal_cuda(karst_context *context, karst_index count, int b, const double *S, const double *x,
                                  double *y);

/* scale.cu */
void karst_scale_rows_cuda(karst_context *context, karst_matrix *A, const double *S);
void karst_diagonal_scale_cuda(karst_context *context, const karst_matrix *A, const karst_index *diagonal, double *d);
void karst_scale_symmetric_cuda(karst_context *context, karst_matrix *A, const double *d);

#endif
