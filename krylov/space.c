/* space.c - makes a Krylov driver: its settings, and its work space in one allocation of device memory. */
#include "lib/method/krylov.h"

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
  karst_status status = karst_device_doubles(k->context, count, "the Krylov vectors", &k->work.memory);
  if (status) return status;
  k->work.bytes += count * (int64_t)sizeof(double);
  for (int64_t i = 0; i < need->vectors; i++) k->work.vector[i] = k->work.memory + i * stride;
  k->work.r = k->work.memory + need->vectors * stride;
  k->best.x = k->work.r + stride;
  k->work.norm2 = k->best.x + stride;
  k->work.one = k->work.norm2 + 2;
  k->work.scalar = k->work.one + 1;
  /* Some scalars are read before they are computed. */
  k->context->backend->fill(k->context, need->scalars + 3, 0, k->work.norm2);
  k->context->backend->fill(k->context, 1, 1, k->work.one);
  return KARST_SUCCESS;
}

#define FIELD(name) offsetof(karst_krylov_limits, name)

const karst_option karst_krylov_limits_rows[] = {
    {"rtol", KARST_OPTION_REAL, false, FIELD(rtol), NULL, 0, "1e-8",
     "stop when the true residual is at most R times the norm of b",
     "A solve stops at |b - A x| <= max(rtol |b|, atol). R is at least 0. With cg, norm may change what R refers to."},
    {"atol", KARST_OPTION_REAL, false, FIELD(atol), NULL, 0, "0", "stop when the true residual is at most R",
     "R is at least 0 and has the unit of b."},
    {"max-iterations", KARST_OPTION_INTEGER, false, FIELD(max_iterations), NULL, 0, "10000", "stop after N iterations",
     "N is at least 0 and counts the iterations of all restarts together. bicgstab applies the preconditioner twice in "
     "each iteration."},
    {0},
};

static karst_krylov_workspace find_need(const karst_krylov *k, void *settings)
{
  return k->ops->workspace ? k->ops->workspace(k, settings) : k->ops->need;
}

/* Reads the method's settings, reduces them to what the system can use, and finds what they need. */
static karst_status make_settings(karst_krylov *k, const karst_options *options)
{
  char *settings = NULL;
  if (k->ops->settings > 0) {
    karst_status status =
        karst_allocate_zero(k->context, &settings, (int64_t)k->ops->settings, 1, "the Krylov driver's settings");
    if (status) return status;
    karst_options_read(options, k->ops->options, settings);
    k->settings = settings;
  }
  k->work.need = find_need(k, settings);
  return KARST_SUCCESS;
}

static karst_status make_space(karst_krylov *k)
{
  const karst_krylov_workspace *need = &k->work.need;
  karst_status status = karst_allocate(k->context, &k->work.vector, need->vectors, sizeof *k->work.vector,
                                       "the Krylov driver's vector list");
  if (!status)
    status = karst_allocate(k->context, &k->work.host, need->scalars + need->host, sizeof *k->work.host,
                            "the Krylov driver's scalars");
  if (!status) status = make_vectors(k, need);
  if (status) return status;
  k->work.host_extra = k->work.host + need->scalars;
  k->work.bytes +=
      need->vectors * (int64_t)sizeof *k->work.vector + (need->scalars + need->host) * (int64_t)sizeof *k->work.host;
  return KARST_SUCCESS;
}

karst_status karst_krylov_create(const struct karst_krylov_ops *ops, const karst_options *options,
                                 const karst_krylov_limits *limits, const karst_operator *A, const karst_precond *M,
                                 karst_krylov **krylov)
{
  karst_context *context = A->context;
  *krylov = NULL;
  if (ops->first) ops = ops->first;
  if (M->varies && !ops->flexible)
    return karst_fail(context, KARST_ERROR_OPTION,
                      "%s needs a preconditioner that is the same in each apply, but %s varies: use fgmres", ops->name,
                      M->ops->name);
  if (M->unsymmetric && ops->symmetric)
    return karst_fail(context, KARST_ERROR_OPTION,
                      "%s needs a symmetric preconditioner, and %s%s%s is not: use %s%sbicgstab or fgmres", ops->name,
                      M->ops->name, M->unsymmetric[0] ? " with " : "", M->unsymmetric, M->instead ? M->instead : "",
                      M->instead ? ", " : "");
  karst_status status = karst_allocate_zero(context, krylov, 1, sizeof **krylov, "a Krylov driver");
  if (status) return status;
  karst_krylov *k = *krylov;
  k->ops = ops;
  k->context = context;
  k->A = *A;
  k->M = M;
  k->limits = limits;
  k->n = karst_layout_scalars(A->layout);
  k->all = A->unknowns;
  status = make_settings(k, options);
  if (!status) status = make_space(k);
  if (!status) return KARST_SUCCESS;
  karst_krylov_destroy(k);
  *krylov = NULL;
  return status;
}

void karst_krylov_destroy(karst_krylov *krylov)
{
  if (!krylov) return;
  karst_context *context = krylov->context;
  if (krylov->work.memory) context->backend->release(context, krylov->work.memory);
  karst_release(context, krylov->work.host);
  karst_release(context, krylov->work.vector);
  karst_release(context, (void *)krylov->settings);
  karst_release(context, krylov);
}

karst_status karst_krylov_limit(karst_krylov **krylov, const karst_options *options)
{
  karst_krylov *k = *krylov, *larger;
  max_align_t settings[k->ops->settings / sizeof(max_align_t) + 1];
  karst_options_read(options, k->ops->options, settings);
  if (find_need(k, settings).vectors <= k->work.need.vectors) return KARST_SUCCESS;
  karst_status status = karst_krylov_create(k->ops, options, k->limits, &k->A, k->M, &larger);
  if (status) return status;
  karst_krylov_destroy(k);
  *krylov = larger;
  return KARST_SUCCESS;
}
