/* substitute.cu - launches solves with kept factors, and copies between separators and the rows around them. */
#include "gpu/tridiagonal/factors.h"
#include "gpu/tridiagonal/workers.h"

namespace
{

template <typename T>
void launch_substitute(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, bool bounded,
                       karst_tri_rows<const T> right, karst_tri_rows<T> solution)
{
  const karst_tri_level<T> &of = plan.level[level];
  const karst_tri_substitution<T> s = {plan.systems, of.rows, plan.m, right, solution, bounded};
  const int64_t count = plan.systems * of.cut.pieces;
  karst_cuda_instance(plan.m, [&](auto size) {
    constexpr int M = decltype(size)::value;
    if constexpr (M == 0) {
      const unsigned grid = (unsigned)(count < INT32_MAX ? count : INT32_MAX);
      karst_tri_launch(cuda, karst_tri_substitute_any<T>, grid, 128, (size_t)plan.m * 3 * sizeof(T), s, of.cut,
                       of.factors);
    } else {
      using K = karst_tri_row_lanes<T, M>;
      karst_tri_launch(cuda, karst_tri_substitute_lanes<T, M>, karst_tri_grid<K>(INT32_MAX, count), K::THREADS, 0, s,
                       of.cut, of.factors);
    }
  });
}

template <typename T>
void launch_condense(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, karst_tri_rows<const T> right)
{
  const karst_tri_level<T> &of = plan.level[level];
  const karst_tri_substitution<T> s = {plan.systems, of.rows, plan.m, right, {of.y, 1, plan.m}, false};
  karst_tri_launch(cuda, karst_tri_condense<T>,
                   karst_cuda_grid(plan.systems * of.cut.pieces * plan.m, KARST_CUDA_THREADS), KARST_CUDA_THREADS, 0, s,
                   of.cut, karst_tri_const(of.lower), karst_tri_const(of.upper), of.reduced.right);
}

/* A thread copies a scalar. */
template <typename T>
__global__ void __launch_bounds__(KARST_CUDA_THREADS)
    copy_separators(int64_t systems, int64_t rows, int entries, karst_tri_cut cut, karst_tri_rows<const T> from,
                    karst_tri_rows<T> to, bool back)
{
  for (int64_t item = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; item < systems * cut.pieces * entries;
       item += (int64_t)gridDim.x * blockDim.x) {
    const int64_t p = item % (systems * cut.pieces), e = item / (systems * cut.pieces);
    const karst_tri_piece piece = karst_tri_find(cut, rows, p);
    const int64_t g = piece.row + piece.count, at = back ? p : g, there = back ? g : p;
    to.at[there * to.row + e * to.element] = from.at[at * from.row + e * from.element];
  }
}

template <typename T>
void launch_separators(const karst_cuda *cuda, const karst_tri_plan<T> &plan, int level, int entries,
                       karst_tri_rows<const T> from, karst_tri_rows<T> to, bool back)
{
  const karst_tri_level<T> &of = plan.level[level];
  const int64_t items = plan.systems * of.cut.pieces * entries, most = (int64_t)INT32_MAX * KARST_CUDA_THREADS;
  karst_tri_launch(cuda, copy_separators<T>, karst_cuda_grid(items < most ? items : most, KARST_CUDA_THREADS),
                   KARST_CUDA_THREADS, 0, plan.systems, of.rows, entries, of.cut, from, to, back);
}

} // namespace

void karst_tri_launch_substitute(const karst_cuda *cuda, const karst_tri_plan<float> &plan, int level, bool bounded,
                                 karst_tri_rows<const float> right, karst_tri_rows<float> solution)
{
  launch_substitute(cuda, plan, level, bounded, right, solution);
}
void karst_tri_launch_substitute(const karst_cuda *cuda, const karst_tri_plan<double> &plan, int level, bool bounded,
                                 karst_tri_rows<const double> right, karst_tri_rows<double> solution)
{
  launch_substitute(cuda, plan, level, bounded, right, solution);
}
void karst_tri_launch_condense(const karst_cuda *cuda, const karst_tri_plan<float> &plan, int level,
                               karst_tri_rows<const float> right)
{
  launch_condense(cuda, plan, level, right);
}
void karst_tri_launch_condense(const karst_cuda *cuda, const karst_tri_plan<double> &plan, int level,
                               karst_tri_rows<const double> right)
{
  launch_condense(cuda, plan, level, right);
}
void karst_tri_launch_separators(const karst_cuda *cuda, const karst_tri_plan<float> &plan, int level, int entries,
                                 karst_tri_rows<const float> from, karst_tri_rows<float> to, bool back)
{
  launch_separators(cuda, plan, level, entries, from, to, back);
}
void karst_tri_launch_separators(const karst_cuda *cuda, const karst_tri_plan<double> &plan, int level, int entries,
                                 karst_tri_rows<const double> from, karst_tri_rows<double> to, bool back)
{
  launch_separators(cuda, plan, level, entries, from, to, back);
}
