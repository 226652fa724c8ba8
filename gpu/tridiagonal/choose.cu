/* choose.cu - how a batch is solved: the method, the levels of splitting, and the kernel of each level. */
#include "gpu/tridiagonal/choose.h"
#include "gpu/tridiagonal/ends.h"
#include "gpu/tridiagonal/workers.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

namespace
{

/* Scalars of a, b, c, f and u in a row. */
int64_t scalars_of_row(int64_t m) { return 3 * m * m + 2 * m; }

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
  const int64_t square = (int64_t)request.m * request.m; /* as karst_tri_lane_memory has it */
  const int64_t each =
      (KARST_TRI_LANE_ROWS * (3 * square + request.m) | 1) + (lanes > WARP ? (2 * square + request.m) | 1 : 0);
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

/* The rows of a piece that a thread block keeps in shared memory. If most are kept elsewhere, a quarter of the memory
 * is left to the cache of the multiprocessor, through which they are read. */
int64_t rows_inside(const karst_tri_request &request, int64_t blocks, int64_t rows, int64_t own, int64_t of_row)
{
  const auto room = [&](int64_t of_all) {
    enum { UNIT = 128 }; /* bytes of an allocation */
    const int64_t share = of_all / blocks / UNIT * UNIT - request.reserved;
    const int64_t left = (share < request.shared ? share : request.shared) - own;
    return left > 0 ? left / of_row : 0;
  };
  const int64_t most = room(request.shared_of_all);
  if (most >= rows) return rows;
  return 2 * most >= rows ? most : room(request.shared_of_all / 4 * 3);
}

/* How teams share pieces from both ends. Each multiprocessor takes as many thread blocks as it has room for, but no
 * more than it gets pieces for, and they share its shared memory. */
template <typename T> karst_tri_ends_plan spread_ends(const karst_tri_request &request, int64_t pieces, int64_t rows)
{
  karst_tri_ends_plan plan = {};
  if (request.resident == 0) return plan;
  karst_cuda_instance(request.m, [&](auto size) {
    constexpr int M = decltype(size)::value;
    if constexpr (M > KARST_TRI_LANES && M <= KARST_TRI_TEAMS) {
      using S = karst_tri_ends_shape<T, M>;
      const int64_t there = (pieces + request.multiprocessors - 1) / request.multiprocessors;
      const int64_t wanted = (there + request.resident - 1) / request.resident;
      plan.per = wanted < S::MOST ? (int)wanted : S::MOST;
      const int64_t needed = (there + plan.per - 1) / plan.per;
      const int64_t blocks = needed < request.resident ? needed : request.resident;
      const int64_t own = S::OWN * sizeof(T), each = M * S::pitch(plan.per), bytes = each * sizeof(T);
      const int64_t groups = (pieces + plan.per - 1) / plan.per, most = blocks * request.multiprocessors;
      plan.blocks = (int)(groups < most ? groups : most);
      plan.inner = (int)rows_inside(request, blocks, rows, own, bytes);
      plan.shared = own + plan.inner * bytes;
      plan.outer = (rows - plan.inner) * each;
    }
  });
  return plan;
}

/* Whether enough rows of whole systems are on their way at a time to keep the memory busy, if they are solved from both
 * ends. */
template <typename T> bool fills_memory(const karst_tri_request &request)
{
  enum { ENOUGH = 16384 }; /* bytes of rows on their way to a multiprocessor */
  const int64_t there = request.systems / request.multiprocessors + 1;
  return 2 * there * scalars_of_row(request.m) * (int64_t)sizeof(T) >= ENOUGH;
}

/* The most rows of a piece that lanes hold. */
template <typename T> int64_t most_lane_rows(const karst_tri_request &request)
{
  int64_t rows = 0;
  for (int64_t step = 1 << 16; step > 0; step /= 2)
    if (spread_lanes<T>(request, rows + step).lanes > 0) rows += step;
  return rows;
}

bool always(const karst_tri_request &) { return true; }

/* Whether a system is better not split. */
template <typename T> bool suits_teams(const karst_tri_request &request)
{
  enum { SHORT = 32 }; /* rows that are not worth splitting */
  return request.rows <= SHORT || fills_memory<T>(request);
}

bool occupies(const karst_tri_request &request) { return request.systems >= request.workers; }

/* The method of auto is the first that fits. */
template <typename T> struct rule {
  karst_tridiagonal_method method;
  int largest; /* m */
  bool (*fits)(const karst_tri_request &request);
};
template <typename T>
const rule<T> rules[] = {{KARST_TRIDIAGONAL_SPLIT, KARST_TRI_LANES, always},
                         {KARST_TRIDIAGONAL_THOMAS, KARST_TRI_TEAMS, suits_teams<T>},
                         {KARST_TRIDIAGONAL_SPLIT, KARST_TRI_TEAMS, always},
                         {KARST_TRIDIAGONAL_THOMAS, INT_MAX, occupies},
                         {KARST_TRIDIAGONAL_SPLIT, INT_MAX, always}};

template <typename T> karst_tridiagonal_method choose_method(const karst_tri_request &request)
{
  const rule<T> *of = rules<T>;
  if (request.method != KARST_TRIDIAGONAL_AUTO) return request.method;
  while (request.m > of->largest || !of->fits(request)) of++;
  return of->method;
}

bool is_cyclic(karst_tridiagonal_method method)
{
  return method == KARST_TRIDIAGONAL_CR || method == KARST_TRIDIAGONAL_PCR || method == KARST_TRIDIAGONAL_HYBRID;
}

/* The rows that the kernels solve. */
template <typename T> int64_t rows_of(const karst_tri_level<T> &of)
{
  return of.cut.length - (of.cut.separated ? 1 : 0);
}

template <typename T> bool fits_cyclic(const karst_tri_request &request, karst_tri_plan<T> &plan, int level)
{
  const karst_tri_level<T> &of = plan.level[level];
  if (of.cut.separated || !is_cyclic(request.method)) return false;
  const int64_t all = workers_of<T>(request.m) / of.rows;
  const int64_t scalars = shared_for_records<T>(request.m, request.shared) / (int64_t)sizeof(T);
  plan.layout = lay_out(request.m, of.rows, rows_left<T>(request, of.rows), all > 1 ? all : 1);
  while (plan.layout.per > 1 && request.m <= KARST_TRI_TEAMS && plan.layout.scalars > scalars)
    plan.layout = lay_out(request.m, of.rows, plan.layout.left, plan.layout.per / 2);
  return true;
}

template <typename T> void describe_cyclic(const karst_tri_plan<T> &plan, char *text, size_t size)
{
  snprintf(text, size, ", %lld systems of %lld rows a thread block", (long long)plan.layout.per,
           (long long)plan.level[plan.levels - 1].rows);
}

/* Whole systems are not pieces of lanes for Thomas's algorithm, which has one lane a system. */
template <typename T> bool fits_lanes(const karst_tri_request &request, karst_tri_plan<T> &plan, int level)
{
  karst_tri_level<T> &of = plan.level[level];
  if (!of.cut.separated && request.method != KARST_TRIDIAGONAL_SPLIT) return false;
  of.spread = spread_lanes<T>(request, rows_of(of));
  return of.spread.lanes > 0;
}

template <typename T> void describe_lanes(const karst_tri_plan<T> &plan, char *text, size_t size)
{
  const karst_tri_spread &spread = plan.level[plan.levels - 1].spread;
  snprintf(text, size, ", %d lanes of %d rows a system, %d threads", spread.lanes, KARST_TRI_LANE_ROWS, spread.threads);
}

template <typename T> bool fits_ends(const karst_tri_request &request, karst_tri_plan<T> &plan, int level)
{
  karst_tri_level<T> &of = plan.level[level];
  of.ends = spread_ends<T>(request, request.systems * of.cut.pieces, rows_of(of));
  return of.ends.per > 0;
}

template <typename T> void describe_ends(const karst_tri_plan<T> &plan, char *text, size_t size)
{
  snprintf(text, size, ", from both ends, %d systems a thread block", plan.level[plan.levels - 1].ends.per);
}

template <typename T> bool fits_sweep(const karst_tri_request &, karst_tri_plan<T> &, int) { return true; }

/* The pieces of a level are solved by the first variant that fits. */
template <typename T>
const karst_tri_variant<T> variants[] = {
    {INT_MAX, false, fits_cyclic<T>, karst_tri_launch_cyclic, describe_cyclic<T>},
    {KARST_TRI_LANES, false, fits_lanes<T>, karst_tri_launch_lanes, describe_lanes<T>},
    {KARST_TRI_TEAMS, false, fits_ends<T>, karst_tri_launch_ends, describe_ends<T>},
    {INT_MAX, true, fits_sweep<T>, karst_tri_launch_sweep, nullptr}};

/* The length of pieces: enough of them to occupy the device, but not so short that the separators are many. */
int64_t piece_length(const karst_tri_request &request, int64_t rows)
{
  enum { SHORTEST = 16, LONGEST = 256 };
  const int64_t wanted = request.systems * rows / request.workers;
  if (request.m <= KARST_TRI_LANES) return 32 * KARST_TRI_LANE_ROWS + 1; /* a warp's, and a separator */
  if (request.m <= KARST_TRI_TEAMS) return wanted < SHORTEST ? SHORTEST : wanted > LONGEST / 4 ? LONGEST / 4 : wanted;
  return wanted < SHORTEST ? SHORTEST : wanted > LONGEST ? LONGEST : wanted;
}

/* The most rows of systems that are not split further. */
template <typename T> int64_t most_whole(const karst_tri_request &request)
{
  enum { LAST = 32 };
  if (is_cyclic(request.method)) return most_rows<T>(request);
  if (request.method != KARST_TRIDIAGONAL_SPLIT) return request.rows;
  return request.m <= KARST_TRI_LANES ? most_lane_rows<T>(request) : LAST;
}

/* Adds a level of systems of so many rows. */
template <typename T>
void add_level(const karst_tri_request &request, karst_tri_plan<T> &plan, int64_t rows, int64_t length, bool separated)
{
  karst_tri_level<T> &of = plan.level[plan.levels];
  of.rows = rows;
  of.cut = {length, (rows + length - 1) / length, separated};
  of.variant = variants<T>;
  while (request.m > of.variant->largest || !of.variant->fits(request, plan, plan.levels)) of.variant++;
  plan.levels++;
}

template <typename T> karst_tridiagonal_method choose(karst_tri_request request, karst_tri_plan<T> &plan)
{
  request.resident = karst_tri_resident_ends(plan);
  request.method = choose_method<T>(request);
  const int64_t most = most_whole<T>(request);
  int64_t rows = request.rows;
  while (rows > most && plan.levels < KARST_TRI_LEVELS - 1) {
    add_level(request, plan, rows, piece_length(request, rows), true);
    rows = plan.level[plan.levels - 1].cut.pieces;
  }
  add_level(request, plan, rows, rows, false);
  plan.converts = request.layout == KARST_TRIDIAGONAL_SOA && request.m > KARST_TRI_LANES &&
                  request.m <= KARST_TRI_TEAMS && !is_cyclic(request.method);
  return request.method;
}

template <typename T>
void describe(const karst_tri_plan<T> &plan, karst_tridiagonal_method method, char *text, size_t size)
{
  static const char *const names[] = {"auto", "thomas", "cr", "pcr", "hybrid", "split"};
  const char *worker = plan.m <= KARST_TRI_LANES   ? "a lane"
                       : plan.m <= KARST_TRI_TEAMS ? "a team of lanes"
                                                   : "a thread block";
  const auto last = plan.level[plan.levels - 1].variant;
  int used = snprintf(text, size, "%s, %s a piece", names[method], worker);
  for (int i = 0; i < plan.levels - 1 && used < (int)size; i++)
    used += snprintf(text + used, size - (size_t)used, i == 0 ? ", pieces of %lld" : " and %lld",
                     (long long)plan.level[i].cut.length);
  if (last->describe && used < (int)size) last->describe(plan, text + used, size - (size_t)used);
  used = (int)strlen(text);
  if (plan.converts) snprintf(text + used, size - (size_t)used, ", converted to arrays of structures");
}

} // namespace

int64_t karst_tri_workers(const karst_cuda *cuda, int m)
{
  enum { THREADS = 1024 };
  return (int64_t)cuda->multiprocessors * (m <= KARST_TRI_LANES ? THREADS : m <= KARST_TRI_TEAMS ? THREADS / 16 : 4);
}

karst_tridiagonal_method karst_tri_choose(const karst_tri_request &request, karst_tri_plan<float> &plan)
{
  return choose(request, plan);
}
karst_tridiagonal_method karst_tri_choose(const karst_tri_request &request, karst_tri_plan<double> &plan)
{
  return choose(request, plan);
}
void karst_tri_describe(const karst_tri_plan<float> &plan, karst_tridiagonal_method method, char *text, size_t size)
{
  describe(plan, method, text, size);
}
void karst_tri_describe(const karst_tri_plan<double> &plan, karst_tridiagonal_method method, char *text, size_t size)
{
  describe(plan, method, text, size);
}
