/* cusparse.cu - cuSPARSE's incomplete LU, the peer of ILU(k) inside NVIDIA's toolkit, as a registered preconditioner:
 * it calls nothing but karst.h and CUDA.
 *
 *     pattern         ILU(k) fill of the block pattern by levels: karst_matrix_create_filled; with k = 0 that of A
 *     factorization   A ~ L U in place on it, fill starting from 0        csrilu02, bsrilu02 for b > 1
 *     apply           L y = r,  U z = y                                   SpSV, bsrsv2 for b > 1
 *
 * On the same pattern this is the same M as iluk's, up to rounding. cuSPARSE does not pivot within a block, so that a
 * block whose leading entry is 0 counts as singular; the option shift has no effect. Level sets are not reported:
 * cuSPARSE keeps its own to itself, and finding them here would count as its set-up time. */
#include "tools/src/peers/cusparse.h"
#include "tools/src/peers/cusparse_plan.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

namespace
{

struct settings {
  int level;
};

const karst_option rows[] = {
    {"level", KARST_OPTION_INTEGER, 0, offsetof(settings, level), NULL, 0, "0",
     "fill level k of the incomplete factors", nullptr},
    {},
};

tool_cusparse *state_of(const karst_precond *precond)
{
  return static_cast<tool_cusparse *>(karst_precond_data(precond));
}

const tool_cusparse_kind &kind_of(const tool_cusparse *f)
{
  return f->block_size == 1 ? tool_cusparse_scalar : tool_cusparse_block;
}

/* The status and a sentence where cuSPARSE cannot be used. */
karst_status check_device(karst_context *context)
{
  char sentence[384];
  const char *missing = tool_cusparse_functions().missing;
  if (karst_context_is_host(context))
    return karst_context_fail(context, KARST_ERROR_NOT_BUILT,
                              "the preconditioner cusparse is not available on cpu: it runs on cuda");
  if (!missing[0]) return KARST_SUCCESS;
  snprintf(sentence, sizeof sentence, "cuSPARSE cannot be loaded: %s", missing);
  return karst_context_fail(context, KARST_ERROR_NOT_BUILT, sentence);
}

/* For each block of A, row by row in ascending columns, where it stands in the larger pattern. */
karst_status find_positions(tool_cusparse *f, const karst_matrix *A)
{
  const int *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const int *larger_start = karst_matrix_row_start(f->filled), *larger_column = karst_matrix_column(f->filled);
  const size_t bytes = (size_t)karst_matrix_blocks(A) * sizeof(int);
  int *position = static_cast<int *>(malloc(bytes ? bytes : 1));
  void *memory;
  if (!position)
    return karst_context_fail(f->context, KARST_ERROR_NO_MEMORY, "out of memory: the pattern of cuSPARSE's factors");
  for (int i = 0; i < f->rows; i++) {
    int k = larger_start[i];
    for (int j = start[i]; j < start[i + 1]; j++) {
      while (larger_column[k] != column[j]) k++;
      position[j] = k;
    }
  }
  karst_status status = tool_cusparse_take(f, bytes, "the pattern of cuSPARSE's factors", &memory);
  f->position = static_cast<int *>(memory);
  if (!status)
    status =
        tool_cusparse_cuda_status(f, cudaMemcpy(f->position, position, bytes, cudaMemcpyHostToDevice), "an upload");
  free(position);
  return status;
}

/* The pattern of the factors and memory for their values. */
karst_status make_factors(tool_cusparse *f, const karst_matrix *A, int level)
{
  karst_status status = KARST_SUCCESS;
  if (level > 0) status = karst_matrix_create_filled(A, level, &f->filled);
  if (status) return status;
  const karst_matrix *shape = f->filled ? f->filled : A;
  f->blocks = karst_matrix_blocks(shape);
  f->row_start = karst_matrix_device_row_start(shape);
  f->column = karst_matrix_device_column(shape);
  const int64_t entries = f->blocks * f->block_size * f->block_size, rows = karst_matrix_rows(A);
  if (f->filled) {
    f->memory += (f->rows + 1 + f->blocks) * (int64_t)sizeof(int);
    status = karst_vector_wrap(f->context, entries, karst_matrix_values(f->filled), &f->factors);
    if (!status) status = find_positions(f, A);
  } else {
    status = karst_vector_create(f->context, entries, &f->factors);
  }
  if (!status) status = karst_vector_create(f->context, rows, &f->middle);
  if (status) return status;
  f->value = karst_vector_values(f->factors);
  f->memory += (entries + rows) * (int64_t)sizeof(double);
  return KARST_SUCCESS;
}

/* The analysis of the factorization and both solves. It looks at no value, but may write to those of the factors. */
karst_status make_plan(tool_cusparse *f)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  const tool_cusparse_kind &kind = kind_of(f);
  void *first;
  if (f->rows == 0) return KARST_SUCCESS;
  karst_status status = tool_cusparse_status(f, c.cusparseCreate(&f->handle), "the handle");
  if (!status) status = tool_cusparse_status(f, c.cusparseSetStream(f->handle, f->stream), "the handle");
  if (!status) status = tool_cusparse_status(f, c.cusparseCreateMatDescr(&f->description), "the matrix");
  if (status) return status;
  status = tool_cusparse_take(f, sizeof *f->first, "cuSPARSE's finding", &first);
  f->first = static_cast<int *>(first);
  if (!status) status = kind.plan_factor(f);
  if (!status) status = kind.plan_solve(f, CUSPARSE_FILL_MODE_LOWER, CUSPARSE_DIAG_TYPE_UNIT, &f->lower);
  if (!status) status = kind.plan_solve(f, CUSPARSE_FILL_MODE_UPPER, CUSPARSE_DIAG_TYPE_NON_UNIT, &f->upper);
  if (!status) status = tool_cusparse_cuda_status(f, cudaStreamSynchronize(f->stream), "the analysis of cuSPARSE");
  return status;
}

karst_status setup(karst_precond *precond)
{
  karst_context *context = karst_precond_context(precond);
  const karst_matrix *A = karst_precond_matrix(precond);
  karst_status status = check_device(context);
  if (status) return status;
  tool_cusparse *f = static_cast<tool_cusparse *>(calloc(1, sizeof *f));
  if (!f) return karst_context_fail(context, KARST_ERROR_NO_MEMORY, "out of memory: cuSPARSE's incomplete LU");
  karst_precond_set_data(precond, f);
  f->context = context;
  f->gpu = tool_cusparse_owner(karst_matrix_device_row_start(A));
  const tool_cusparse_guard guard(f->gpu);
  f->stream = static_cast<cudaStream_t>(karst_context_stream(context));
  f->rows = karst_matrix_block_rows(A);
  f->block_size = karst_matrix_block_size(A);
  status = make_factors(f, A, static_cast<const settings *>(karst_precond_settings(precond))->level);
  if (!status) status = make_plan(f);
  if (status) return status;
  karst_precond_set_entries(precond, karst_vector_length(f->factors));
  karst_precond_set_memory(precond, f->memory);
  return KARST_SUCCESS;
}

/* cuSPARSE knows of zero pivots alone; a NaN passes through it, or may be taken for one. So the factors are looked
 * through where no pivot was 0, and A where one was: the NaN is the cause where it comes first. */
karst_status update(karst_precond *precond)
{
  const tool_cusparse *f = state_of(precond);
  const karst_matrix *A = karst_precond_matrix(precond);
  int pivot = -1, first = -1;
  if (f->rows == 0) return KARST_SUCCESS;
  const tool_cusparse_guard guard(f->gpu);
  karst_status status = tool_cusparse_load(f, A);
  if (!status) status = kind_of(f).factor(f, &pivot);
  if (!status && pivot < 0)
    status = tool_cusparse_look(f, f->blocks, f->row_start, f->value, &first);
  else if (!status)
    status =
        tool_cusparse_look(f, karst_matrix_blocks(A), karst_matrix_device_row_start(A), karst_matrix_value(A), &first);
  if (status) return status;
  if (first < f->rows && (pivot < 0 || first <= pivot))
    karst_precond_set_outcome(precond, KARST_NOT_FINITE, first);
  else if (pivot >= 0)
    karst_precond_set_outcome(precond, KARST_SINGULAR_BLOCK, pivot);
  else
    status = kind_of(f).renew(f);
  return status;
}

karst_status apply(karst_precond *precond, const karst_vector *r, karst_vector *z)
{
  const tool_cusparse *f = state_of(precond);
  if (f->rows == 0) return KARST_SUCCESS;
  const tool_cusparse_guard guard(f->gpu);
  double *middle = karst_vector_values(f->middle);
  const karst_status status = kind_of(f).solve(f, &f->lower, karst_vector_const_values(r), middle);
  return status ? status : kind_of(f).solve(f, &f->upper, middle, karst_vector_values(z));
}

void destroy_triangle(tool_cusparse_triangle *t)
{
  const tool_cusparse_library &c = tool_cusparse_functions();
  if (t->scalar) c.cusparseSpSV_destroyDescr(t->scalar);
  if (t->matrix) c.cusparseDestroySpMat(t->matrix);
  if (t->block) c.cusparseDestroyBsrsv2Info(t->block);
  if (t->description) c.cusparseDestroyMatDescr(t->description);
  cudaFree(t->buffer);
}

/* Also what a failed setup has left. */
void destroy(karst_precond *precond)
{
  tool_cusparse *f = state_of(precond);
  if (!f) return;
  const tool_cusparse_guard guard(f->gpu);
  const tool_cusparse_library &c = tool_cusparse_functions();
  cudaStreamSynchronize(f->stream);
  destroy_triangle(&f->lower);
  destroy_triangle(&f->upper);
  if (f->scalar) c.cusparseDestroyCsrilu02Info(f->scalar);
  if (f->block) c.cusparseDestroyBsrilu02Info(f->block);
  if (f->from) c.cusparseDestroyDnVec(f->from);
  if (f->to) c.cusparseDestroyDnVec(f->to);
  if (f->description) c.cusparseDestroyMatDescr(f->description);
  if (f->handle) c.cusparseDestroy(f->handle);
  cudaFree(f->buffer);
  cudaFree(f->first);
  cudaFree(f->position);
  karst_vector_destroy(f->middle);
  karst_vector_destroy(f->factors);
  karst_matrix_destroy(f->filled);
  free(f);
}

const karst_precond_method method = {
    "cusparse",
    "cuSPARSE's incomplete LU on the pattern of ILU(k), for comparison on a GPU",
    1,
    rows,
    sizeof(settings),
    NULL,
    setup,
    update,
    apply,
    destroy,
    "It needs a GPU and libcusparse, does not pivot within blocks and does not accept shift.",
};

} // namespace

karst_status tool_cusparse_register(karst_context *context) { return karst_precond_register(context, &method); }

const char *tool_cusparse_missing(void) { return NULL; }
