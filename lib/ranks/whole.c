/* whole.c - see whole.h. A transport gathers as many bytes of each rank, so each part is as long as the longest. */
#include "lib/ranks/whole.h"

#include "lib/backend/halo_kernels.h"
#include "lib/profile/profile.h"

#include <math.h>

/* Lists where the rows of each rank's part are. */
static karst_status place_rows(const karst_index *first, karst_whole *whole)
{
  karst_index *place;
  karst_status status = karst_allocate(whole->context, &place, whole->all, sizeof *place, "the rows of all ranks");
  if (status) return status;
  for (int r = 0; r < whole->ranks; r++)
    for (karst_index i = first[r]; i < first[r + 1]; i++) place[i] = r * whole->most + (i - first[r]);
  status = karst_device_indices(whole->context, whole->all, place, "the rows of all ranks", &whole->place);
  karst_release(whole->context, place);
  return status;
}

static karst_status take_memory(karst_whole *whole)
{
  static const char what[] = "a vector of all ranks";
  karst_context *context = whole->context;
  const int64_t parts = (int64_t)whole->most * whole->ranks;
  if (parts > KARST_INDEX_MAX)
    return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "the rows of all ranks are more than an index counts");
  karst_status status = karst_device_doubles(context, whole->most, what, &whole->own);
  if (!status) status = karst_device_doubles(context, parts, what, &whole->parts);
  if (!status) context->backend->fill(context, whole->most, 0, whole->own);
  if (status || karst_ranks_are_direct(context)) return status;
  status = karst_allocate(context, &whole->host_own, whole->most, sizeof *whole->host_own, what);
  return status ? status : karst_allocate(context, &whole->host_parts, parts, sizeof *whole->host_parts, what);
}

karst_status karst_whole_create(karst_context *context, const karst_index *first, karst_whole **whole)
{
  const int rank = karst_context_rank(context);
  karst_whole *made;
  *whole = NULL;
  karst_status status = karst_allocate_zero(context, &made, 1, sizeof *made, "a vector of all ranks");
  if (status) return status;
  made->context = context;
  made->ranks = karst_context_ranks(context);
  made->rows = first[rank + 1] - first[rank];
  made->all = first[made->ranks];
  for (int r = 0; r < made->ranks; r++)
    if (first[r + 1] - first[r] > made->most) made->most = first[r + 1] - first[r];
  status = take_memory(made);
  if (!status) status = place_rows(first, made);
  if (status)
    karst_whole_destroy(made);
  else
    *whole = made;
  return status;
}

void karst_whole_destroy(karst_whole *whole)
{
  if (!whole) return;
  karst_context *context = whole->context;
  context->backend->release(context, whole->place);
  context->backend->release(context, whole->own);
  context->backend->release(context, whole->parts);
  karst_release(context, whole->host_own);
  karst_release(context, whole->host_parts);
  karst_release(context, whole);
}

int64_t karst_whole_memory(const karst_whole *whole)
{
  const int64_t scalars = (int64_t)whole->most * (1 + whole->ranks);
  return (whole->host_own ? 2 : 1) * scalars * (int64_t)sizeof(double) + whole->all * (int64_t)sizeof(karst_index);
}

/* Gathers by way of the host. */
static karst_status gather_on_host(const karst_whole *whole)
{
  karst_context *context = whole->context;
  const struct karst_backend *backend = context->backend;
  const size_t bytes = (size_t)whole->most * sizeof(double);
  const bool here = backend->host_memory;
  double *own = here ? whole->own : whole->host_own, *parts = here ? whole->parts : whole->host_parts;
  karst_status status = here ? KARST_SUCCESS : backend->download(context, own, whole->own, bytes);
  for (karst_index i = 0; i < whole->most && status; i++) own[i] = NAN;
  const karst_status gathered = karst_ranks_gather(context, own, bytes, parts);
  if (!status) status = gathered;
  if (status || here) return status;
  return backend->upload(context, whole->parts, parts, bytes * (size_t)whole->ranks);
}

karst_status karst_whole_gather(const karst_whole *whole, const double *x, double *all)
{
  karst_context *context = whole->context;
  const struct karst_backend *backend = context->backend;
  const size_t bytes = (size_t)whole->most * sizeof(double);
  const unsigned failures = karst_failures(context);
  karst_timing timing;
  karst_profile_begin(context, "gathering", NULL, (double)bytes * (1 + whole->ranks), &timing);
  backend->copy(context, whole->rows, x, whole->own);
  const karst_status status =
      context->ranks->queues
          ? karst_check_returned(context, backend->halo->gather(context, bytes, whole->own, whole->parts), failures,
                                 "queue_gather", " of the transport")
          : gather_on_host(whole);
  if (status)
    backend->fill(context, whole->all, (double)NAN, all);
  else
    backend->gather(context, whole->all, 1, whole->place, whole->parts, all);
  karst_profile_end(&timing);
  return status;
}
