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
  enum { WARP = 32, THREADS = 128 };
  const int64_t lanes = (rows + KARST_TRI_LANE_ROWS - 1) / KARST_TRI_LANE_ROWS;
  const int64_t each = (KARST_TRI_LANE_ROWS * (3 * request.m * request.m + request.m)) | 1;
  const int64_t fit = request.shared / (each * (int64_t)sizeof(T));
  if (request.m > KARST_TRI_LANES || lanes > karst_tri_lane_threads(request.m) || lanes > fit || lanes == 0) return {};
  if (lanes > WARP) {
    const int64_t most = fit < THREADS ? fit : THREADS;
    const int per = lanes < most ? (int)(most / lanes) : 1;
    return {(int)lanes, per, (int)((per * lanes + WARP - 1) / WARP * WARP), (int)(per * lanes)};
  }
  const int warps = request.m == 1 ? 4 : 1;
  return {(int)lanes, (int)(WARP / lanes), warps * WARP, warps * WARP};
}

/* How teams share pieces of so many rows, or nothing for other workers. */
template <typename T> karst_tri_march_plan spread_teams(const karst_tri_request &request, int64_t rows)
{
  enum { BLOCKS = 4 /* of a multiprocessor, if rows are kept in global memory */ };
  karst_tri_march_plan plan = {};
  if (request.m <= KARST_TRI_LANES || request.m > KARST_TRI_TEAMS) return plan;
  const int64_t kept = rows * request.m * (request.m + 1), all = request.shared / (int64_t)sizeof(T);
  karst_cuda_instance(request.m, [&](auto size) {
    constexpr int M = decltype(size)::value;
    if constexpr (M > KARST_TRI_LANES) {
      using K = karst_team_worker<T, M, 1>;
      const int64_t own = 2 * K::PLACES * K::EACH, fit = (all - own) / (kept > 0 ? kept : 1);
      plan.per = (int)(fit < K::TEAMS ? fit : K::TEAMS);
      plan.blocks = INT32_MAX;
      plan.shared = (own + plan.per * kept) * (int64_t)sizeof(T);
      if (plan.per > 0) return;
      plan.per = K::TEAMS;
      plan.blocks = BLOCKS * request.multiprocessors;
      plan.shared = own * (int64_t)sizeof(T);
      plan.room = kept;
    }
  });
  return plan;
}

/* The most rows of a piece that lanes hold. */
template <typename T> int64_t most_lane_rows(const karst_tri_request &request)
{
  int64_t rows = 0;
  for (int64_t step = 1 << 16; step > 0; step /= 2)
    if (spread_lanes<T>(request, rows + step).lanes > 0) rows += step;
  return rows;
}

template <typename T> karst_tridiagonal_method choose_method(const karst_tri_request &request)
{
  if (request.method != KARST_TRIDIAGONAL_AUTO) return request.method;
  if (request.m <= KARST_TRI_LANES) return KARST_TRIDIAGONAL_SPLIT;
  if (request.m > KARST_TRI_TEAMS)
    return request.systems >= request.workers ? KARST_TRIDIAGONAL_THOMAS : KARST_TRIDIAGONAL_SPLIT;
  enum { FEW = 2, SHORT = 32 }; /* systems of a multiprocessor, and rows, that are not worth splitting */
  const karst_tri_march_plan whole = spread_teams<T>(request, request.rows);
  const bool fits = whole.room == 0 && whole.per >= FEW && request.systems >= FEW * request.multiprocessors;
  return fits || request.rows <= SHORT ? KARST_TRIDIAGONAL_THOMAS : KARST_TRIDIAGONAL_SPLIT;
}

/* The length of pieces: enough of them to occupy the device, but not so short that the separators are many. */
int64_t piece_length(const karst_tri_request &request, int64_t rows)
{
  enum { SHORTEST = 16, LONGEST = 256 };
  const int64_t wanted = request.systems * rows / request.workers;
  if (request.m <= KARST_TRI_LANES) return 32 * KARST_TRI_LANE_ROWS + 1; /* a warp's, and a separator */
  if (request.m <= KARST_TRI_TEAMS) return wanted < SHORTEST ? SHORTEST : wanted > LONGEST / 4 ? LONGEST / 4 : wanted;
  return wanted < SHORTEST ? SHORTEST : wanted > LONGEST ? LONGEST : wanted;
}

template <typename T> karst_tri_choice choose(karst_tri_request request)
{
  karst_tri_choice choice = {};
  choice.method = request.method = choose_method<T>(request);
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
    choice.teams[choice.levels] = spread_teams<T>(request, length - 1);
    choice.length[choice.levels++] = length;
    rows = (rows + length - 1) / length;
  }
  if (by_lanes) choice.spread[choice.levels] = spread_lanes<T>(request, rows);
  if (!choice.cyclic) choice.teams[choice.levels] = spread_teams<T>(request, rows);
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
  const karst_tri_march_plan &teams = choice.teams[choice.levels - 1];
  if (teams.per > 0 && used < (int)size)
    used += snprintf(text + used, size - (size_t)used, ", from both ends, %d systems a thread block%s", teams.per,
                     teams.room > 0 ? ", factors in global memory" : "");
  if (choice.cyclic && used < (int)size)
    snprintf(text + used, size - (size_t)used, ", %lld systems of %lld rows a thread block",
             (long long)choice.layout.per, (long long)choice.length[choice.levels - 1]);
}
