/* choose.cu - how a batch is solved: the levels of splitting and the method of the last one. */
#include "gpu/tridiagonal/choose.h"
#include "gpu/tridiagonal/workers.h"

#include <stdio.h>

namespace
{

/* Bytes of shared memory that workers leave to records. */
template <typename T> int64_t shared_for_records(int m, int64_t most)
{
  int64_t left = 0;
  karst_tri_with_worker<T>(m, [&](auto worker) { left = most - (int64_t) decltype(worker)::type::shared(m); });
  return left;
}

template <typename T> int workers_of(int m)
{
  int count = 1;
  karst_tri_with_worker<T>(m, [&](auto worker) { count = decltype(worker)::type::WORKERS; });
  return count;
}

karst_tri_layout lay_out(int m, int64_t rows, int64_t left, int64_t per)
{
  karst_tri_layout layout;
  const int64_t square = (int64_t)m * m;
  layout.per = per;
  layout.left = left;
  layout.parallel = rows;
  while (layout.parallel > left) layout.parallel /= 2;
  layout.record = (4 * square + m) | 1;
  layout.reduced = (2 * square + m) | 1;
  layout.scalars = per * ((layout.parallel < rows ? rows * layout.record : 0) + 2 * layout.parallel * layout.reduced);
  return layout;
}

/* The rows at which a cyclic method passes to PCR. */
template <typename T> int64_t rows_left(const karst_tri_request &request, int64_t rows)
{
  if (request.method == KARST_TRIDIAGONAL_CR) return 1;
  return request.method == KARST_TRIDIAGONAL_PCR ? rows : workers_of<T>(request.m);
}

/* The most rows of a system that the records of a thread block hold. */
template <typename T> int64_t most_rows(const karst_tri_request &request)
{
  enum { MOST_OF_LARGE = 256 }; /* their records are in global memory */
  if (request.m > KARST_TRI_TEAMS) return MOST_OF_LARGE;
  const int64_t scalars = shared_for_records<T>(request.m, request.shared) / (int64_t)sizeof(T);
  int64_t rows = 1;
  for (int64_t step = 1 << 20; step > 0; step /= 2)
    if (lay_out(request.m, rows + step, rows_left<T>(request, rows + step), 1).scalars <= scalars) rows += step;
  return rows;
}

/* How lanes share pieces of so many rows, if they fit into shared memory. */
template <typename T> karst_tri_spread spread_lanes(const karst_tri_request &request, int64_t rows)
{
  enum { WARP = 32, THREADS = 128, MOST = 1024 };
  const int64_t lanes = (rows + KARST_TRI_LANE_ROWS - 1) / KARST_TRI_LANE_ROWS;
  const int64_t each = (KARST_TRI_LANE_ROWS * (3 * request.m * request.m + request.m)) | 1;
  const int64_t fit = request.shared / (each * (int64_t)sizeof(T));
  if (request.m > KARST_TRI_LANES || lanes > MOST || lanes > fit || lanes == 0) return {};
  if (lanes > WARP) {
    const int per = lanes < THREADS && 2 * lanes <= fit ? (int)(THREADS / lanes) : 1;
    return {(int)lanes, per, (int)((per * lanes + WARP - 1) / WARP * WARP), (int)(per * lanes)};
  }
  const int warps = request.m == 1 ? 4 : 1;
  return {(int)lanes, (int)(WARP / lanes), warps * WARP, warps * WARP};
}

/* The most rows of a piece that lanes hold. */
template <typename T> int64_t most_lane_rows(const karst_tri_request &request)
{
  int64_t rows = 0;
  for (int64_t step = 1 << 16; step > 0; step /= 2)
    if (spread_lanes<T>(request, rows + step).lanes > 0) rows += step;
  return rows;
}

karst_tridiagonal_method choose_method(const karst_tri_request &request)
{
  const int64_t enough = request.workers; /* systems that occupy the device */
  if (request.method != KARST_TRIDIAGONAL_AUTO) return request.method;
  if (request.m <= KARST_TRI_LANES) return KARST_TRIDIAGONAL_SPLIT;
  return request.rows <= 32 || request.systems >= enough ? KARST_TRIDIAGONAL_THOMAS : KARST_TRIDIAGONAL_SPLIT;
}

/* The length of pieces: enough of them to occupy the device, but not so short that the separators are many. */
int64_t piece_length(const karst_tri_request &request, int64_t rows)
{
  enum { SHORTEST = 16, LONGEST = 256 };
  const int64_t wanted = request.systems * rows / request.workers;
  if (request.m <= KARST_TRI_LANES) return 32 * KARST_TRI_LANE_ROWS + 1; /* a warp's, and a separator */
  return wanted < SHORTEST ? SHORTEST : wanted > LONGEST ? LONGEST : wanted;
}

template <typename T> karst_tri_choice choose(karst_tri_request request)
{
  karst_tri_choice choice = {};
  choice.method = request.method = choose_method(request);
  choice.cyclic = request.method == KARST_TRIDIAGONAL_CR || request.method == KARST_TRIDIAGONAL_PCR ||
                  request.method == KARST_TRIDIAGONAL_HYBRID;
  enum { LAST = 32 }; /* rows that are not split further */
  const bool splits = request.method == KARST_TRIDIAGONAL_SPLIT, by_lanes = splits && request.m <= KARST_TRI_LANES;
  const int64_t last = choice.cyclic ? most_rows<T>(request)
                       : by_lanes    ? most_lane_rows<T>(request)
                       : splits      ? LAST
                                     : request.rows;
  int64_t rows = request.rows;
  while (rows > last && choice.levels < KARST_TRI_LEVELS - 1) {
    const int64_t length = piece_length(request, rows);
    choice.spread[choice.levels] = spread_lanes<T>(request, length - 1);
    choice.length[choice.levels++] = length;
    rows = (rows + length - 1) / length;
  }
  if (by_lanes) choice.spread[choice.levels] = spread_lanes<T>(request, rows);
  choice.length[choice.levels++] = rows;
  if (!choice.cyclic) return choice;
  const int64_t per = workers_of<T>(request.m) / rows;
  choice.layout = lay_out(request.m, rows, rows_left<T>(request, rows), per > 1 ? per : 1);
  while (choice.layout.per > 1 && request.m <= KARST_TRI_TEAMS &&
         choice.layout.scalars > shared_for_records<T>(request.m, request.shared) / (int64_t)sizeof(T))
    choice.layout = lay_out(request.m, rows, choice.layout.left, choice.layout.per / 2);
  return choice;
}

} // namespace

int64_t karst_tri_workers(const karst_cuda *cuda, int m)
{
  enum { THREADS = 1024 };
  return (int64_t)cuda->multiprocessors * (m <= KARST_TRI_LANES ? THREADS : m <= KARST_TRI_TEAMS ? THREADS / 16 : 4);
}

karst_tri_choice karst_tri_choose(bool single, const karst_tri_request &request)
{
  return single ? choose<float>(request) : choose<double>(request);
}

void karst_tri_describe(const karst_tri_request &request, const karst_tri_choice &choice, char *text, size_t size)
{
  static const char *const names[] = {"auto", "thomas", "cr", "pcr", "hybrid", "split"};
  const char *worker = request.m <= KARST_TRI_LANES   ? "a lane"
                       : request.m <= KARST_TRI_TEAMS ? "a team of lanes"
                                                      : "a thread block";
  int used = snprintf(text, size, "%s, %s a piece", names[choice.method], worker);
  for (int i = 0; i < choice.levels - 1 && used < (int)size; i++)
    used += snprintf(text + used, size - (size_t)used, i == 0 ? ", pieces of %lld" : " and %lld",
                     (long long)choice.length[i]);
  const karst_tri_spread &spread = choice.spread[choice.levels - 1];
  if (spread.lanes > 0 && used < (int)size)
    used += snprintf(text + used, size - (size_t)used, ", %d lanes of %d rows a system, %d threads", spread.lanes,
                     KARST_TRI_LANE_ROWS, spread.threads);
  if (choice.cyclic && used < (int)size)
    snprintf(text + used, size - (size_t)used, ", %lld systems of %lld rows a thread block",
             (long long)choice.layout.per, (long long)choice.length[choice.levels - 1]);
}
