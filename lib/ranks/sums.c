/* sums.c - makes sums over a rank's part of vectors sums over all ranks; see ranks.h.
 *
 * The parts of all ranks are gathered, and each rank adds them in the order of the ranks. A reduction of MPI may add in
 * another order in each run. */
#include "lib/backend/halo_kernels.h"
#include "lib/profile/profile.h"

#include <math.h>

/* Adds count parts of each rank on the host. */
static karst_status add_on_host(karst_context *context, int count, double *scalars)
{
  struct karst_ranks *ranks = context->ranks;
  const size_t bytes = (size_t)count * sizeof *scalars;
  karst_status status = context->backend->download(context, ranks->own, scalars, bytes);
  for (int i = 0; i < count && (status || ranks->failed); i++) ranks->own[i] = NAN;
  const karst_status gathered = karst_ranks_gather(context, ranks->own, bytes, ranks->all);
  if (!status) status = gathered;
  for (int i = 0; i < count; i++) {
    double sum = status ? NAN : 0;
    for (int r = 0; r < ranks->transport.ranks; r++) sum += ranks->all[(int64_t)r * count + i];
    ranks->own[i] = sum;
  }
  const karst_status uploaded = context->backend->upload(context, scalars, ranks->own, bytes);
  return status ? status : uploaded;
}

/* Adds them where the transport works. A rank with a failure that is postponed adds NaN. */
static karst_status add(karst_context *context, int count, double *scalars)
{
  const struct karst_ranks *ranks = context->ranks;
  if (!ranks->queues) return add_on_host(context, count, scalars);
  if (ranks->failed) context->backend->fill(context, count, NAN, scalars);
  return context->backend->halo->reduce(context, count, scalars, ranks->device_all);
}

void karst_ranks_complete(karst_context *context, int count, double *scalars)
{
  struct karst_ranks *ranks = context->ranks;
  karst_timing timing;
  if (!ranks || ranks->transport.ranks == 1) return;
  karst_profile_begin(context, "sums over ranks", NULL, 0, &timing);
  for (int done = 0; done < count; done += KARST_SUMS_MOST) {
    const int most = count - done < KARST_SUMS_MOST ? count - done : KARST_SUMS_MOST;
    const karst_status status = add(context, most, scalars + done);
    if (!status) continue;
    if (!ranks->failed) ranks->failed = status;
    context->backend->fill(context, most, NAN, scalars + done);
  }
  karst_profile_end(&timing);
}
