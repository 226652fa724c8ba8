// plugins/dune/karst.hh: the preconditioner and the solver have the numbers of dense elimination and of dune-istl's own
// ILU, follow new values, are made by dune's factory, and answer each mistake with an exception that says what is wrong.
#include <dune/istl/preconditioners.hh>
#include <dune/istl/solverfactory.hh>
#include <dune/istl/solvers.hh>

#include <karst.hh>

extern "C" {
#include "tests/support/tap.h"
}

#include <cmath>
#include <functional>

template <int b> using MatrixOf = Dune::BCRSMatrix<Dune::FieldMatrix<double, b, b>>;
template <int b> using VectorOf = Dune::BlockVector<Dune::FieldVector<double, b>>;
using Adapter = Dune::MatrixAdapter<MatrixOf<3>, VectorOf<3>, VectorOf<3>>;

// Gives a matrix the couplings i - j = 0, 1, 7, and no values.
template <class M> static void build(M &A, std::size_t n)
{
  if (A.buildStage() == M::notAllocated) A.setBuildMode(M::row_wise);
  A.setSize(n, n);
  for (auto row = A.createbegin(); row != A.createend(); ++row)
    for (std::size_t j = 0; j < n; j++) {
      const std::size_t distance = row.index() > j ? row.index() - j : j - row.index();
      if (distance <= 1 || distance == 7) row.insert(j);
    }
}

template <class M> static M patternOf(std::size_t n)
{
  M A;
  build(A, n);
  return A;
}

// Random values; the diagonal is at least as large as the sum of its row.
template <class M> static void fill(M &A)
{
  for (auto row = A.begin(); row != A.end(); ++row)
    for (auto entry = row->begin(); entry != row->end(); ++entry)
      for (std::size_t r = 0; r < M::block_type::rows; r++)
        for (std::size_t c = 0; c < M::block_type::cols; c++)
          (*entry)[r][c] = tap_random() + (entry.index() == row.index() && r == c ? 5. * M::block_type::rows : 0);
}

template <class V> static V randomVector(std::size_t n)
{
  V v(n);
  for (auto &block : v)
    for (auto &scalar : block) scalar = tap_random();
  return v;
}

// A^-1 v by dense elimination.
template <class M, class V> static V denseSolution(const M &A, V v)
{
  constexpr std::size_t b = M::block_type::rows;
  const std::size_t n = A.N() * b;
  std::vector<double> dense(n * n);
  for (auto row = A.begin(); row != A.end(); ++row)
    for (auto entry = row->begin(); entry != row->end(); ++entry)
      for (std::size_t r = 0; r < b; r++)
        for (std::size_t c = 0; c < b; c++) dense[(entry.index() * b + c) * n + row.index() * b + r] = (*entry)[r][c];
  tap_ok(tap_dense_solve(static_cast<int64_t>(n), dense.data(), &v[0][0]), "the dense matrix is not singular");
  return v;
}

template <class V> static double difference(V x, const V &y)
{
  x -= y;
  return x.infinity_norm();
}

// What the exception of a call says, which has to be of this type.
template <class Exception> static bool throws(const std::function<void()> &call, const char *says)
{
  try {
    call();
  } catch (const Exception &e) {
    if (std::string(e.what()).find(says) != std::string::npos) return true;
    tap_note("the exception says: %s", e.what());
    return false;
  } catch (const std::exception &e) {
    tap_note("another exception: %s", e.what());
    return false;
  }
  tap_note("no exception");
  return false;
}

template <class V> static V applied(Dune::Preconditioner<V, V> &preconditioner, const V &d)
{
  V v(d.N()), x(d.N()), copy(d);
  v = x = 0;
  preconditioner.pre(x, copy);
  preconditioner.apply(v, d);
  preconditioner.post(x);
  return v;
}

// Solves from zero.
template <class V> static V solved(Dune::InverseOperator<V, V> &solver, V b, Dune::InverseOperatorResult &result)
{
  V x(b.N());
  x = 0;
  solver.apply(x, b, result);
  return x;
}

// The numbers for one size of blocks. With level 99 there is no fill that ILU drops.
template <int b> static void numbers(const char *device)
{
  using M = MatrixOf<b>;
  using X = VectorOf<b>;
  const Karst::Options where = {{"device", device}};
  const auto with = [&](Karst::Options options) {
    options.insert(options.end(), where.begin(), where.end());
    return options;
  };
  M A = patternOf<M>(40);
  fill(A);
  const X d = randomVector<X>(40);
  Dune::InverseOperatorResult result;

  Karst::Preconditioner<M, X> exact(A, with({{"precond", "iluk"}, {"level", "99"}}));
  tap_ok(difference(applied<X>(exact, d), denseSolution(A, d)) < 1e-12, "%s, b = %d: ILU(99) is dense LU", device, b);
  for (int level = 0; level < 2; level++) { // from level 2 on dune-istl counts fill in another way
    Karst::Preconditioner<M, X> ours(A, with({{"level", std::to_string(level)}}));
    Dune::SeqILU<M, X, X> theirs(A, level, 1);
    tap_ok(difference(applied<X>(ours, d), applied<X>(theirs, d)) < 1e-12, "%s, b = %d: ILU(%d) is that of dune-istl",
           device, b, level);
    Dune::MatrixAdapter<M, X, X> op(A);
    Dune::BiCGSTABSolver<X> first(op, ours, 1e-10, 100, 0), second(op, theirs, 1e-10, 100, 0);
    solved<X>(first, d, result);
    const int iterations = result.iterations;
    solved<X>(second, d, result);
    tap_ok(iterations == result.iterations, "%s, b = %d: BiCGSTAB takes as many iterations with either", device, b);
  }

  Karst::Solver<X> solver(A, with({{"rtol", "1e-13"}}));
  tap_ok(difference(solved<X>(solver, d, result), denseSolution(A, d)) < 1e-11 && result.converged,
         "%s, b = %d: the solver has the dense solution", device, b);
  fill(A);
  exact.update();
  solver.update();
  const X x = denseSolution(A, d);
  tap_ok(difference(applied<X>(exact, d), x) < 1e-12 && difference(solved<X>(solver, d, result), x) < 1e-11,
         "%s, b = %d: both follow new values", device, b);
}

// What a result has, for both forms of apply and several starts.
static void results()
{
  using X = VectorOf<3>;
  MatrixOf<3> A = patternOf<MatrixOf<3>>(60);
  fill(A);
  const X right = randomVector<X>(60), start = randomVector<X>(60);
  const auto residual = [&](const X &x) {
    X r(right);
    A.mmv(x, r);
    return r.two_norm();
  };
  Karst::Solver<X> solver(A, {{"solver", "bicgstab"}, {"rtol", "1e-6"}, {"precond", "jacobi"}});
  Dune::InverseOperatorResult result;
  X b(right), x(60);
  x = 0;
  solver.apply(x, b, result);
  tap_ok(result.converged && result.iterations > 2 && residual(x) <= 1e-6 * right.two_norm(), "rtol is relative to b");
  tap_ok(difference(b, right) == 0, "b is left as it was");
  tap_ok(std::abs(result.reduction - residual(x) / right.two_norm()) < 1e-12 && result.elapsed > 0 &&
             std::abs(std::pow(result.conv_rate, result.iterations) - result.reduction) < 1e-12,
         "a result has the true reduction, its rate and the time");
  x = start;
  solver.apply(x, b, 1e-3, result);
  tap_ok(result.converged && result.reduction <= 1e-3 && result.reduction > 1e-9 &&
             std::abs(result.reduction - residual(x) / residual(start)) < 1e-12,
         "a given reduction is relative to the start");
  const X last(x);
  solver.apply(x, b, 2, result);
  tap_ok(result.converged && result.iterations == 0 && difference(x, last) == 0, "a start that suffices is kept");
  solver.apply(x, b, result);
  tap_ok(result.converged && residual(x) <= 1e-6 * right.two_norm(), "afterwards the options' rtol holds again");
  b = 0;
  solver.apply(x, b, result);
  tap_ok(result.converged && x.two_norm() == 0 && result.reduction == 0, "b = 0 has the solution 0");

  Karst::Solver<X> limited(A, {{"max-iterations", "1"}, {"precond", "none"}});
  solved<X>(limited, right, result);
  tap_ok(!result.converged && result.iterations == 1 && result.reduction < 1 && result.reduction > 1e-8,
         "a solve that meets max-iterations has not converged, and throws nothing");
  x = randomVector<X>(60);
  x[7][1] = NAN;
  tap_ok(throws<Dune::SolverAbort>([&] { solved<X>(solver, x, result); }, "block row 7") && !result.converged,
         "a NaN in b aborts the solver");
  tap_ok(throws<Dune::SolverAbort>([&] { solver.apply(x, b = right, 1e-3, result); }, ""), "so does one in the start");
  tap_ok(throws<Karst::Error>([&] { solver.apply(x = start, b, -1, result); }, "atol"),
         "a reduction below 0 is refused");
}

static void mistakesInOptions()
{
  using X = VectorOf<2>;
  using P = Karst::Preconditioner<MatrixOf<2>, X>;
  MatrixOf<2> A = patternOf<MatrixOf<2>>(20);
  fill(A);
  const auto refused = [&](const char *name, const char *value, const char *says) {
    tap_ok(throws<Karst::Error>(
               [&] {
                 P preconditioner(A, {{name, value}});
               },
               says) &&
               throws<Dune::ISTLError>(
                   [&] {
                     Karst::Solver<X> solver(A, {{name, value}});
                   },
                   says),
           "refused: %s %s", name, value);
  };
  refused("levle", "1", "did you mean level?");
  refused("level", "-1", "level");
  refused("precond", "ilut", "iluk");
  refused("threads", "two", "threads 'two' is not a whole number");
  refused("threads", "1x", "threads '1x' is not a whole number");
  refused("threads", "0", "threads");
  refused("device", "abacus", "abacus");
  refused("preconditioner.type", "ilu", "preconditioner.type");
  try {
    P preconditioner(A, {{"level", "x"}});
  } catch (const Karst::Error &e) {
    tap_ok(e.status() == KARST_ERROR_OPTION, "an error has the library's status");
  }

  Dune::ParameterTree tree;
  tree["type"] = "karst";
  tree["precond"] = "two-stage";
  tree["first.precond"] = "iluk";
  tree["first.level"] = "0";
  tree["second.precond"] = "jacobi";
  P nested(A, tree),
      listed(A, {{"precond", "two-stage"}, {"first", "iluk"}, {"first.level", "0"}, {"second", "jacobi"}});
  const X d = randomVector<X>(20);
  tap_ok(difference(applied<X>(nested, d), applied<X>(listed, d)) == 0, "subtrees are the options of a stage");
  tree["first.level"] = "x";
  tap_ok(throws<Karst::Error>([&] { P wrong(A, tree); }, "level"), "a wrong value in a subtree is refused");
  P one(A), two(A, {{"threads", "2"}});
  tap_ok(difference(applied<X>(one, d), applied<X>(two, d)) == 0, "two threads have the bits of one");
}

static void mistakesInMatrices()
{
  using M = MatrixOf<2>;
  using X = VectorOf<2>;
  using P = Karst::Preconditioner<M, X>;
  const auto refused = [](const M &A, const char *says, const char *what) {
    tap_ok(throws<Karst::Error>([&] { P preconditioner(A); }, says) &&
               throws<Karst::Error>([&] { Karst::Solver<X> solver(A); }, says),
           "refused: %s", what);
  };
  refused(M(), "not built", "a matrix without a size");
  M half(3, 3, 3, M::random);
  for (std::size_t i = 0; i < 3; i++) half.setrowsize(i, 1);
  half.endrowsizes();
  refused(half, "not built", "a matrix without its columns");
  M wide(1, 2, M::row_wise);
  for (auto row = wide.createbegin(); row != wide.createend(); ++row) row.insert(0);
  wide = 1;
  refused(wide, "1 block rows and 2 block columns", "a matrix that is not square");
  M hollow(3, 3, M::row_wise);
  for (auto row = hollow.createbegin(); row != hollow.createend(); ++row) row.insert(0);
  hollow = 1;
  refused(hollow, "block row 1", "a matrix without a diagonal block");
  tap_ok(throws<Karst::Error>([] { Karst::Impl::toIndex(SIZE_MAX / 2 + 1, "blocks"); }, "configure Karst with") &&
             Karst::Impl::toIndex(7, "blocks") == 7,
         "more blocks than indices count are refused");

  M A = patternOf<M>(20);
  fill(A);
  P preconditioner(A);
  Karst::Solver<X> solver(A);
  const X d = randomVector<X>(20), before = applied<X>(preconditioner, d);
  Dune::InverseOperatorResult result;
  const auto fails = [&](double value, std::size_t at, const char *what) {
    M bad(A);
    bad[at][at] = value;
    try {
      P refuses(bad);
      tap_ok(false, "%s is an exception", what);
    } catch (const Dune::MatrixBlockError &e) {
      tap_ok(e.r == static_cast<int>(at) && e.c == e.r &&
                 std::string(e.what()).find("block row " + std::to_string(at)) != std::string::npos,
             "%s is an exception with its block row", what);
    }
    const M good(A);
    A = bad;
    tap_ok(throws<Dune::MatrixBlockError>([&] { preconditioner.update(); }, what) &&
               throws<Karst::Error>([&] { applied<X>(preconditioner, d); }, "not usable"),
           "%s in an update too, and apply then refuses", what);
    solver.update();
    const auto apply = [&] { solved<X>(solver, d, result); };
    tap_ok((std::isnan(value) ? throws<Dune::SolverAbort>(apply, "block row")
                              : throws<Dune::MatrixBlockError>(apply, "block row")) &&
               !result.converged,
           "%s ends the solver's apply with its block row", what);
    A = good;
    preconditioner.update();
    solver.update();
    solved<X>(solver, d, result);
    tap_ok(difference(applied<X>(preconditioner, d), before) == 0 && result.converged,
           "the next values are taken again");
  };
  fails(0, 0, "singular");
  fails(NAN, 11, "NaN");

  const auto changed = [&](const std::function<void()> &change, const char *says) {
    const M good(A);
    change();
    tap_ok(throws<Karst::Error>([&] { preconditioner.update(); }, says) &&
               throws<Karst::Error>([&] { solver.update(); }, says) &&
               throws<Karst::Error>([&] { applied<X>(preconditioner, d); }, "") &&
               throws<Karst::Error>([&] { solved<X>(solver, d, result); }, ""),
           "a pattern that has changed is refused: %s", says);
    build(A, 20);
    A = good;
    preconditioner.update();
    solver.update();
    tap_ok(difference(applied<X>(preconditioner, d), before) == 0, "the pattern of before is taken again");
  };
  changed([&] { build(A, 21); }, "block row 13");
  changed([&] { build(A, 19); }, "block row 12");
  M other(20, 20, M::row_wise);
  for (auto row = other.createbegin(); row != other.createend(); ++row) row.insert(row.index());
  other = 1;
  changed([&] { A = other; }, "block row 0");

  M gone(A);
  P orphan(gone);
  gone.setSize(20, 20, 20);
  tap_ok(throws<Karst::Error>([&] { orphan.update(); }, "not built") &&
             throws<Karst::Error>([&] { applied<X>(orphan, d); }, "update"),
         "a matrix that is being rebuilt is refused");

  X shorter(19), v(20);
  tap_ok(throws<Karst::Error>([&] { preconditioner.apply(v, shorter = 1); }, "19 blocks does not fit a matrix of 20") &&
             throws<Karst::Error>([&] { solver.apply(shorter, v = 1, result); }, "19 blocks"),
         "vectors of another size are refused");
  tap_ok(throws<Karst::Error>([&] { preconditioner.apply(v, v); }, "overlap"), "a vector that is both is refused");
}

static void factory()
{
  using X = VectorOf<3>;
  Dune::initSolverFactories<Adapter>();
  MatrixOf<3> A = patternOf<MatrixOf<3>>(30);
  fill(A);
  const auto op = std::make_shared<Adapter>(A);
  const X d = randomVector<X>(30), x = denseSolution(A, d);
  Dune::InverseOperatorResult result;
  Dune::ParameterTree tree;
  tree["type"] = "bicgstabsolver";
  tree["reduction"] = "1e-13";
  tree["maxit"] = "100";
  tree["verbose"] = "0";
  tree["preconditioner.type"] = "karst";
  tree["preconditioner.level"] = "1";
  const auto theirs = Dune::getSolverFromFactory(op, tree);
  tap_ok(difference(solved<X>(*theirs, d, result), x) < 1e-11, "the factory knows the preconditioner karst");
  tree["preconditioner.levle"] = "1";
  tap_ok(throws<Dune::Exception>([&] { Dune::getSolverFromFactory(op, tree); }, "levle"), "and passes on its errors");
  Dune::ParameterTree own;
  own["type"] = "karstsolver";
  own["rtol"] = "1e-13";
  const auto ours = Dune::getSolverFromFactory(op, own);
  tap_ok(difference(solved<X>(*ours, d, result), x) < 1e-11, "the factory knows the solver karstsolver");
  fill(A);
  dynamic_cast<Karst::Solver<X> &>(*ours).update();
  tap_ok(difference(solved<X>(*ours, d, result), denseSolution(A, d)) < 1e-11, "which can be updated");
  tap_ok(ours->category() == Dune::SolverCategory::sequential, "the category is sequential");

  // The creators of another type only throw.
  using F = Dune::BCRSMatrix<Dune::FieldMatrix<float, 1, 1>>;
  using V = Dune::BlockVector<Dune::FieldVector<float, 1>>;
  static_assert(!Karst::Impl::isSupported<F, V, V> && !Karst::Impl::isSupported<MatrixOf<2>, X, X>);
  const F f;
  const auto single = std::make_shared<Dune::MatrixAdapter<F, V, V>>(f);
  tap_ok(throws<Dune::UnsupportedType>([&] { Karst::Impl::PreconditionerCreator()(0, single, own); }, "double") &&
             throws<Dune::UnsupportedType>([&] { Karst::Impl::SolverCreator()(Dune::TypeList<F, V, V>(), f, own); },
                                           "double"),
         "matrices of float are refused");
}

// A class as OPM's MatrixBlock.
struct DerivedBlock : Dune::FieldMatrix<double, 2, 2> {
  using Dune::FieldMatrix<double, 2, 2>::FieldMatrix;
  using Dune::FieldMatrix<double, 2, 2>::operator=;
};

static void objects()
{
  using M = Dune::BCRSMatrix<DerivedBlock>;
  using X = VectorOf<2>;
  using P = Karst::Preconditioner<M, X>;
  using S = Karst::Solver<X>;
  static_assert(!std::is_copy_constructible_v<P> && !std::is_copy_assignable_v<P> && !std::is_copy_constructible_v<S> &&
                !std::is_copy_assignable_v<S> && std::is_nothrow_move_constructible_v<P>);
  auto A = std::make_shared<M>(patternOf<M>(20));
  fill(*A);
  const X d = randomVector<X>(20), x = denseSolution(*A, d);
  Dune::InverseOperatorResult result;
  P first(std::shared_ptr<const M>(A), {{"level", "99"}}), second(*A);
  S third(A, {{"rtol", "1e-13"}}), fourth(*A);
  second = std::move(first);
  fourth = std::move(third);
  P fifth(std::move(second));
  S sixth(std::move(fourth));
  A.reset(); // fifth and sixth keep it
  fifth.update();
  sixth.update();
  tap_ok(difference(applied<X>(fifth, d), x) < 1e-12 && difference(solved<X>(sixth, d, result), x) < 1e-11,
         "objects that were moved and that keep their matrix work on blocks of a derived class");
  karst_value value;
  tap_ok(karst_precond_report(fifth.handle(), 0, &value) && karst_solver_report(sixth.handle(), 0, &value),
         "the library's objects can be asked");
}

static void allNumbers(const char *device)
{
  numbers<1>(device);
  numbers<2>(device);
  numbers<3>(device);
  numbers<4>(device);
  numbers<5>(device);
}

int main()
{
  allNumbers("cpu");
  karst_context *context = tap_context();
  if (karst_context_set_device(context, "cuda"))
    tap_skip("no GPU", "the same numbers on a GPU");
  else
    allNumbers("cuda");
  karst_context_destroy(context);
  results();
  mistakesInOptions();
  mistakesInMatrices();
  factory();
  objects();
  return tap_done();
}
