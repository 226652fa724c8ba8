/* space.c - a Krylov driver as an object: found by name, with its work space in one piece of device memory. */
#include "krylov.h"
#include "search.h"

enum { LINE = 8 /* scalars in a cache line */ };

/* Cuts one allocation of device memory into vectors and scalars. */
static karst_status make_vectors(karst_krylov *k, const karst_krylov_workspace *need)
{
  /* Vectors begin on cache lines, an odd number of lines apart: no power of two puts them into one cache set. */
  int64_t stride = ((k->n + LINE - 1) / LINE | 1) * LINE, count;
  if (__builtin_mul_overflow(stride, need->vectors + 2, &count) || count > INT64_MAX / 16 - need->scalars)
    return karst_fail(k->context, KARST_ERROR_NO_MEMORY, "out of memory: %lld Krylov vectors of %lld scalars",
                      (long long)need->vectors, (long long)k->n);
  count += need->scalars + 3;
  karst_status status = karst_device_doubles(k->context, count, "the Krylov vectors", &k->memory);
  if (status) return status;
  k->memory_size += count * (int64_t)sizeof(double);
  for (int64_t i = 0; i < need->vectors; i++) k->vector[i] = k->memory + i * stride;
  k->r = k->memory + need->vectors * stride;
  k->best = k->r + stride;
  k->norm2 = k->best + stride;
  k->one = k->norm2 + 2;
  k->scalar = k->one + 1;
  k->context->backend->fill(k->context, need->scalars + 3, 0, k->norm2); /* some are looked at before they are made */
  k->context->backend->fill(k->context, 1, 1, k->one);
  return KARST_SUCCESS;
}

/* Whether an unknown may appear in no equation: certainly not where each block row has its diagonal block. */
static bool may_be_unread(const karst_matrix *A)
{
  for (karst_index i = 0; i < A->block_rows; i++)
    if (karst_find_column(A->column, A->row_start[i], A->row_start[i + 1], i) < 0) return true;
  return false;
}

/* The options, with no more directions than there are unknowns or iterations. */
static karst_options cut_restart(const karst_options *options, int64_t n)
{
  karst_options cut = *options;
  int64_t useful = n < options->max_iterations ? n : options->max_iterations;
  if (cut.restart > useful) cut.restart = useful > 1 ? (int)useful : 1;
  return cut;
}

karst_status karst_krylov_create(karst_context *context, const karst_options *options, const karst_matrix *A,
                                 const karst_precond *M, karst_krylov **krylov)
{
  const struct karst_krylov_ops *ops = karst_krylov_table[karst_find_name(karst_krylov_name, options->solver)];
  *krylov = NULL;
  if (M->varies && !ops->flexible)
    return karst_fail(context, KARST_ERROR_OPTION,
                      "%s needs a preconditioner that is the same in each apply, and %s varies: fgmres takes it",
                      ops->name, M->ops->name);
  karst_status status = karst_allocate_zero(context, krylov, 1, sizeof **krylov, "a Krylov driver");
  if (status) return status;
  karst_krylov *k = *krylov;
  k->ops = ops;
  k->context = context;
  k->A = A;
  k->M = M;
  k->n = karst_matrix_rows(A);
  k->options = cut_restart(options, k->n);
  k->unit = karst_residual_unit(A);
  k->unread = may_be_unread(A);
  karst_krylov_workspace need = k->ops->workspace(&k->options);

  status = karst_allocate(context, &k->vector, need.vectors, sizeof *k->vector, "the Krylov driver's vector list");
  if (!status)
    status =
        karst_allocate(context, &k->host, need.scalars + need.host, sizeof *k->host, "the Krylov driver's scalars");
  if (!status) status = make_vectors(k, &need);
  if (status) {
    karst_krylov_destroy(k);
    *krylov = NULL;
    return status;
  }
  k->host_extra = k->host + need.scalars;
  k->memory_size += need.vectors * (int64_t)sizeof *k->vector + (need.scalars + need.host) * (int64_t)sizeof *k->host;
  return KARST_SUCCESS;
}

void karst_krylov_destroy(karst_krylov *krylov)
{
  if (!krylov) return;
  karst_context *context = krylov->context;
  if (krylov->memory) context->backend->release(context, krylov->memory);
  karst_release(context, krylov->host);
  karst_release(context, krylov->vector);
  karst_release(context, krylov);
}

karst_status karst_krylov_limit(karst_krylov **krylov, const karst_options *options)
{
  karst_krylov *k = *krylov, *larger;
  const karst_options cut = cut_restart(options, k->n);
  if (k->ops->workspace(&cut).vectors <= k->ops->workspace(&k->options).vectors) {
    k->options.max_iterations = options->max_iterations;
    return KARST_SUCCESS;
  }
  karst_status status = karst_krylov_create(k->context, options, k->A, k->M, &larger);
  if (status) return status;
  karst_krylov_destroy(k);
  *krylov = larger;
  return KARST_SUCCESS;
}
