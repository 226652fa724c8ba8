// karst.hh - Karst's preconditioners and solvers in dune-istl, from version 2.9 on, in C++17.
//
//     using M = Dune::BCRSMatrix<Dune::FieldMatrix<double, 3, 3>>;
//     using X = Dune::BlockVector<Dune::FieldVector<double, 3>>;
//     Karst::Preconditioner<M, X, X> preconditioner(A, {{"precond", "iluk"}, {"level", "1"}});
//     Dune::BiCGSTABSolver<X> solver(op, preconditioner, 1e-8, 1000, 0);
//     solver.apply(x, b, result);
//     ... new values on the pattern of A ...
//     preconditioner.update();
//
// Matrices  are BCRSMatrix of FieldMatrix<double, b, b>, or of a class derived from it, for any b; vectors are
//           BlockVector of FieldVector<double, b>. Karst stores blocks column by column, so the constructor transposes
//           the values into memory that the object keeps, and copies the pattern; update() transposes into the same
//           memory. They alone read the matrix, which has to live until the last update().
// Options   are names and values of doc/options.md, in a list or in a Dune::ParameterTree: precond, level, solver, rtol
//           and so on. Level of the stage first is "first.level". Two more describe where the object works: device
//           ("cpu", "cuda", "cuda:1") and threads. The key "type" of a tree is dune's own and is skipped.
//           Karst::Preconditioner works in the matrix's order, without scaling.
// Devices   On the CPU Karst works on dune's vectors in place. A GPU has copies: Karst::Solver copies b and x in and x
//           out once a solve, Karst::Preconditioner copies a vector each way in each application.
// Failures  are exceptions. Karst::Error, a Dune::ISTLError, has the status and the sentence of a call of the library
//           that failed, as for an unknown option, a missing device or a matrix that is not built. A block that is
//           singular or not finite is a Dune::MatrixBlockError with its block row r = c, as with Dune::SeqILU: a
//           simulator can cut its time step. After an update() that throws, apply() throws until an update() succeeds.
// Objects   can be moved and not copied. Each has a context of its own: several threads may use different objects at
//           once, and one object is used by one thread at a time.
// Factory   Dune::initSolverFactories registers the preconditioner as "karst" and the solver as "karstsolver".
#ifndef KARST_HH
#define KARST_HH

#include <karst.h>

#include <dune/common/fmatrix.hh>
#include <dune/common/fvector.hh>
#include <dune/common/parametertree.hh>
#include <dune/common/shared_ptr.hh>
#include <dune/common/timer.hh>
#include <dune/istl/bcrsmatrix.hh>
#include <dune/istl/bvector.hh>
#include <dune/istl/istlexception.hh>
#include <dune/istl/operators.hh>
#include <dune/istl/preconditioner.hh>
#include <dune/istl/solver.hh>
#include <dune/istl/solverregistry.hh>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <locale>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace Karst
{

// Names of options and their values, in the order in which they are set.
class Options : public std::vector<std::pair<std::string, std::string>>
{
public:
  using std::vector<std::pair<std::string, std::string>>::vector;
  Options(const Dune::ParameterTree &tree) { append(tree, ""); }

private:
  void append(const Dune::ParameterTree &tree, const std::string &prefix)
  {
    for (const auto &key : tree.getValueKeys())
      if (!prefix.empty() || key != "type") emplace_back(prefix + key, tree[key]);
    for (const auto &key : tree.getSubKeys()) append(tree.sub(key), prefix + key + ".");
  }
};

// A call of the library that failed. what() is its sentence.
class Error : public Dune::ISTLError
{
public:
  Error(karst_status status, const std::string &sentence) : status_(status) { message(sentence); }
  karst_status status() const { return status_; }

private:
  karst_status status_;
};

namespace Impl
{

template <auto destroy> struct Destroyer {
  template <class Object> void operator()(Object *object) const { destroy(object); }
};
using Context = std::unique_ptr<karst_context, Destroyer<karst_context_destroy>>;
using Vector = std::unique_ptr<karst_vector, Destroyer<karst_vector_destroy>>;
using Matrix = std::unique_ptr<karst_matrix, Destroyer<karst_matrix_destroy>>;
using OptionSet = std::unique_ptr<karst_options, Destroyer<karst_options_destroy>>;
using Precond = std::unique_ptr<karst_precond, Destroyer<karst_precond_destroy>>;
using SolverHandle = std::unique_ptr<karst_solver, Destroyer<karst_solver_destroy>>;

inline void check(const Context &context, karst_status status)
{
  if (!status) return;
  const std::string sentence = context ? karst_context_error(context.get()) : "";
  throw Error(status, sentence.empty() ? karst_status_text(status) : sentence);
}

// What a function makes whose last argument is where to put it.
template <class Handle, class Create, class... Arguments>
Handle make(const Context &context, Create create, Arguments... arguments)
{
  typename Handle::pointer object = nullptr;
  check(context, create(arguments..., &object));
  return Handle(object);
}

[[noreturn]] inline void throwBlockError(karst_index row, const std::string &sentence)
{
  Dune::MatrixBlockError error;
  error.message(sentence);
  error.r = error.c = static_cast<int>(row);
  throw error;
}

// A number of rows or blocks, or an error where karst_index is too narrow.
inline karst_index toIndex(std::size_t count, const char *what)
{
  if (count <= static_cast<std::size_t>(std::numeric_limits<karst_index>::max()))
    return static_cast<karst_index>(count);
  throw Error(KARST_ERROR_INDEX_OVERFLOW, "the matrix has " + std::to_string(count) + " " + what + ", more than " +
                                              std::to_string(KARST_INDEX_BITS) +
                                              "-bit indices count: configure Karst with --enable-int64");
}

// The size b of the blocks of a matrix, if they are, or are derived from, FieldMatrix<double, b, b>, and of a vector of
// FieldVector<double, b>; 0 for all other types.
template <int b> std::integral_constant<int, b> sizeOf(const Dune::FieldMatrix<double, b, b> *);
std::integral_constant<int, 0> sizeOf(const void *);
template <class M> inline constexpr int blockSize = 0;
template <class B, class A>
inline constexpr int blockSize<Dune::BCRSMatrix<B, A>> = decltype(sizeOf(std::declval<B *>()))::value;
template <int b, class A> inline constexpr int blockSize<Dune::BlockVector<Dune::FieldVector<double, b>, A>> = b;
constexpr bool fit(int matrix, int x, int y) { return matrix > 0 && x == matrix && y == matrix; }
template <class M, class X, class Y> inline constexpr bool isSupported = fit(blockSize<M>, blockSize<X>, blockSize<Y>);

// A context with its options and the matrix in it, whatever the type of dune's matrix.
class System
{
public:
  System(const Options &list, int blockSize)
      : context(make<Context>({}, karst_context_create, nullptr)), b(static_cast<std::size_t>(blockSize))
  {
    for (const auto &[name, text] : list)
      if (name == "device") check(context, karst_context_set_device(context.get(), text.c_str()));
    options = make<OptionSet>(context, karst_options_create, context.get());
    for (const auto &[name, text] : list)
      if (name == "threads")
        setThreads(text);
      else if (name != "device")
        check(context, karst_options_set(options.get(), name.c_str(), text.c_str()));
  }
  virtual ~System() = default;
  // Takes the values that dune's matrix has now.
  virtual void read() = 0;

  // The number in the value of an option of kind integer or real.
  double number(const char *name) const
  {
    const char *text = nullptr;
    double result = 0;
    check(context, karst_options_get(options.get(), name, &text));
    std::istringstream stream(text);
    stream.imbue(std::locale::classic());
    stream >> result;
    return result;
  }

  // All that is made with the context is destroyed before it, and the arrays after the matrix that refers to them.
  const Context context;
  const std::size_t b;
  OptionSet options;
  std::vector<karst_index> rowStart, column; // [block rows + 1], [blocks]
  std::vector<double> value;                 // [b*b*blocks] block after block, each column by column
  Matrix matrix;

private:
  void setThreads(const std::string &text)
  {
    int threads = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
    if (error != std::errc() || end != text.data() + text.size())
      throw Error(KARST_ERROR_OPTION, "threads '" + text + "' is not a whole number");
    check(context, karst_context_set_threads(context.get(), threads));
  }
};

template <class M> class SystemOf : public System
{
public:
  SystemOf(std::shared_ptr<const M> source, const Options &list)
      : System(list, blockSize<M>), source_(std::move(source))
  {
    checkBuilt();
    const M &A = *source_;
    const karst_index rows = toIndex(A.N(), "block rows");
    column.reserve(static_cast<std::size_t>(toIndex(A.nonzeroes(), "blocks")));
    rowStart.reserve(A.N() + 1);
    rowStart.push_back(0);
    for (const auto &row : A) {
      for (auto entry = row.begin(); entry != row.end(); ++entry)
        column.push_back(static_cast<karst_index>(entry.index()));
      rowStart.push_back(static_cast<karst_index>(column.size()));
    }
    value.resize(b * b * column.size());
    transpose();
    matrix = make<Matrix>(context, karst_matrix_create, context.get(), rows, blockSize<M>, rowStart.data(),
                          column.data(), value.data(), KARST_REFERENCE);
  }

  void read() override
  {
    const std::size_t row = source_->buildStage() == M::built ? transpose() : 0;
    // What was made for the old values refuses to work from here on, until it is updated.
    check(context, karst_matrix_values_changed(matrix.get()));
    checkBuilt();
    if (row + 1 < rowStart.size() || row < source_->N())
      throw Error(KARST_ERROR_MATRIX, "the pattern of the matrix has changed in block row " + std::to_string(row));
  }

private:
  void checkBuilt() const
  {
    if (source_->buildStage() != M::built) throw Error(KARST_ERROR_MATRIX, "the matrix is not built completely");
    if (source_->N() != source_->M())
      throw Error(KARST_ERROR_MATRIX, "the matrix has " + std::to_string(source_->N()) + " block rows and " +
                                          std::to_string(source_->M()) + " block columns, and is not square");
  }

  // Copies the values. Returns the first block row that has other columns than rowStart and column say, or N().
  std::size_t transpose()
  {
    double *to = value.data();
    auto expected = column.begin();
    std::size_t i = 0;
    for (const auto &row : *source_) {
      if (i + 1 == rowStart.size() || row.size() != static_cast<std::size_t>(rowStart[i + 1] - rowStart[i])) return i;
      for (auto entry = row.begin(); entry != row.end(); ++entry, ++expected) {
        if (entry.index() != static_cast<std::size_t>(*expected)) return i;
        for (std::size_t c = 0; c < blockSize<M>; c++)
          for (std::size_t r = 0; r < blockSize<M>; r++) *to++ = (*entry)[r][c];
      }
      i++;
    }
    return i;
  }

  std::shared_ptr<const M> source_;
};

// A vector of dune's as one of Karst's: itself in host memory, or a copy in the memory of a GPU.
class Mirror
{
public:
  explicit Mirror(const System &system) : system_(system)
  {
    if (!karst_context_is_host(system.context.get()))
      vector_ = make<Vector>(system.context, karst_vector_create, system.context.get(), length());
  }

  // The library only reads a vector that it takes as const.
  template <class V> karst_vector *enter(const V &v)
  {
    double *values = v.N() ? const_cast<double *>(&v[0][0]) : nullptr;
    if (v.N() * system_.b != static_cast<std::size_t>(length()))
      throw Error(KARST_ERROR_ARGUMENT, "a vector of " + std::to_string(v.N()) + " blocks does not fit a matrix of " +
                                            std::to_string(karst_matrix_block_rows(system_.matrix.get())) +
                                            " block rows");
    if (!karst_context_is_host(system_.context.get()))
      check(system_.context, karst_vector_set(vector_.get(), length(), values));
    else if (!vector_ || karst_vector_const_values(vector_.get()) != values)
      vector_ = make<Vector>(system_.context, karst_vector_wrap, system_.context.get(), length(), values);
    return vector_.get();
  }

  template <class V> void leave(V &v) const
  {
    if (!karst_context_is_host(system_.context.get()) && v.N())
      check(system_.context, karst_vector_get(vector_.get(), length(), &v[0][0]));
  }

private:
  std::int64_t length() const { return karst_matrix_rows(system_.matrix.get()); }

  const System &system_;
  Vector vector_;
};

} // namespace Impl

// z = M^-1 r by the option precond, for dune's own solvers.
template <class M, class X, class Y = X> class Preconditioner : public Dune::Preconditioner<X, Y>
{
  static_assert(Impl::isSupported<std::remove_const_t<M>, X, Y>,
                "Karst takes a BCRSMatrix of FieldMatrix<double, b, b> and BlockVectors of FieldVector<double, b>");

public:
  using matrix_type = std::remove_const_t<M>;

  explicit Preconditioner(const matrix_type &A, const Options &options = {})
      : Preconditioner(Dune::stackobject_to_shared_ptr(A), options)
  {
  }
  // Keeps the operator, and by that its matrix.
  explicit Preconditioner(const std::shared_ptr<const Dune::AssembledLinearOperator<matrix_type, X, Y>> &op,
                          const Options &options = {})
      : Preconditioner(std::shared_ptr<const matrix_type>(op, &op->getmat()), options)
  {
  }
  explicit Preconditioner(std::shared_ptr<const matrix_type> A, const Options &options = {})
      : state_(std::make_unique<State>(std::move(A), options))
  {
    checkOutcome();
  }

  // Factors the values that the matrix has now.
  void update()
  {
    state_->system.read();
    Impl::check(state_->system.context, karst_precond_update(state_->precond.get()));
    checkOutcome();
  }

  void pre(X &, Y &) override {}
  void apply(X &v, const Y &d) override
  {
    karst_vector *r = state_->r.enter(d), *z = state_->z.enter(v);
    Impl::check(state_->system.context, karst_precond_apply(state_->precond.get(), r, z));
    state_->z.leave(v);
  }
  void post(X &) override {}
  Dune::SolverCategory::Category category() const override { return Dune::SolverCategory::sequential; }

  // The library's object, for what else karst.h has, such as karst_precond_report.
  const karst_precond *handle() const { return state_->precond.get(); }

private:
  struct State {
    State(std::shared_ptr<const matrix_type> A, const Options &options)
        : system(std::move(A), options), r(system), z(system),
          precond(Impl::make<Impl::Precond>(system.context, karst_precond_create, system.context.get(),
                                            system.options.get(), system.matrix.get()))
    {
    }
    Impl::SystemOf<matrix_type> system;
    Impl::Mirror r, z;
    Impl::Precond precond;
  };

  void checkOutcome() const
  {
    karst_index row = -1;
    const karst_reason reason = karst_precond_outcome(state_->precond.get(), &row);
    if (reason == KARST_SOUND) return;
    const std::string where = row < 0 ? "" : " in block row " + std::to_string(row);
    Impl::throwBlockError(row, karst_reason_text(reason) + where);
  }

  std::unique_ptr<State> state_;
};

// Solves A x = b by the options solver, precond, ordering, rtol, max-iterations and others, and leaves b unchanged.
//
// result.converged says that the true residual |b - A x| met the target: max(rtol |b|, atol) of the options, or for the
// apply with a reduction this part of the start's residual. result.reduction is the true residual over that of the
// start. A solve that ends at max-iterations, stagnates or diverges has converged = false; x is then the best found.
// Dune::SolverAbort is thrown where dune's own solvers throw it, at a breakdown or a NaN; x is the best found
// then too, and result is filled. A singular block is found by apply, not by the constructor.
template <class X, class Y = X> class Solver : public Dune::InverseOperator<X, Y>
{
public:
  template <class B, class A>
  explicit Solver(const Dune::BCRSMatrix<B, A> &matrix, const Options &options = {})
      : Solver(Dune::stackobject_to_shared_ptr(matrix), options)
  {
  }
  template <class M>
  explicit Solver(const std::shared_ptr<M> &matrix, const Options &options = {})
      : state_(std::make_unique<State>(makeSystem<std::remove_const_t<M>>(matrix, options)))
  {
  }

  // Factors the values that the matrix has now.
  void update()
  {
    state_->system->read();
    Impl::check(state_->system->context, karst_solver_update(state_->solver.get()));
  }

  void apply(X &x, Y &b, Dune::InverseOperatorResult &result) override { solve(x, b, nullptr, result); }
  void apply(X &x, Y &b, double reduction, Dune::InverseOperatorResult &result) override
  {
    solve(x, b, &reduction, result);
  }
  Dune::SolverCategory::Category category() const override { return Dune::SolverCategory::sequential; }

  // The library's object, for what else karst.h has, such as karst_solver_explain and karst_solver_report.
  karst_solver *handle() { return state_->solver.get(); }
  const karst_solver *handle() const { return state_->solver.get(); }

private:
  struct State {
    explicit State(std::unique_ptr<Impl::System> made)
        : system(std::move(made)), b(*system), x(*system), rtol(system->number("rtol")), atol(system->number("atol")),
          maxIterations(static_cast<int>(system->number("max-iterations"))),
          residual(Impl::make<Impl::Vector>(system->context, karst_vector_create, system->context.get(),
                                            karst_matrix_rows(system->matrix.get()))),
          solver(Impl::make<Impl::SolverHandle>(system->context, karst_solver_create, system->context.get(),
                                                system->options.get()))
    {
      Impl::check(system->context, karst_solver_setup(solver.get(), system->matrix.get()));
    }
    std::unique_ptr<Impl::System> system;
    Impl::Mirror b, x;
    double rtol, atol;
    int maxIterations;
    Impl::Vector residual;
    Impl::SolverHandle solver;
  };

  template <class M>
  static std::unique_ptr<Impl::System> makeSystem(std::shared_ptr<const M> matrix, const Options &options)
  {
    static_assert(Impl::isSupported<M, X, Y>,
                  "Karst takes a BCRSMatrix of FieldMatrix<double, b, b> and BlockVectors of FieldVector<double, b>");
    return std::make_unique<Impl::SystemOf<M>>(std::move(matrix), options);
  }

  // reduction: of the start's residual; NULL: the targets of the options.
  void solve(X &x, const Y &b, const double *reduction, Dune::InverseOperatorResult &result)
  {
    const Dune::Timer timer;
    const Impl::Context &context = state_->system->context;
    karst_solver *solver = state_->solver.get();
    karst_vector *right = state_->b.enter(b), *unknown = state_->x.enter(x);
    result.clear();
    const double start = startingResidual(right, unknown);
    const double target = reduction && std::isfinite(start) ? *reduction * start : 0;
    Impl::check(context, karst_solver_set_tolerances(solver, reduction ? 0 : state_->rtol,
                                                     reduction ? target : state_->atol, state_->maxIterations));
    karst_result outcome;
    const karst_status status = karst_solver_solve(solver, right, unknown, &outcome);
    state_->x.leave(x);
    Impl::check(context, status);
    result.converged = outcome.reason > 0;
    result.iterations = outcome.iterations;
    result.reduction = outcome.residual == 0 ? 0 : outcome.residual / start;
    if (outcome.iterations > 0) result.conv_rate = std::pow(result.reduction, 1.0 / outcome.iterations);
    result.elapsed = timer.elapsed();
    throwAborted(outcome);
  }

  // |b - A x|, without a product where x is 0.
  double startingResidual(const karst_vector *b, const karst_vector *x)
  {
    const Impl::Context &context = state_->system->context;
    double norm = 0;
    Impl::check(context, karst_vector_norm(x, &norm));
    if (norm == 0)
      Impl::check(context, karst_vector_norm(b, &norm));
    else
      Impl::check(context, karst_matrix_residual(state_->system->matrix.get(), b, x, state_->residual.get(), &norm));
    return norm;
  }

  void throwAborted(const karst_result &outcome) const
  {
    const char *sentence = karst_solver_explain(state_->solver.get());
    switch (outcome.reason) {
    case KARST_ITERATION_LIMIT:
    case KARST_STAGNATED:
    case KARST_DIVERGED:
    case KARST_STOPPED:
      return;
    case KARST_SINGULAR_BLOCK:
      Impl::throwBlockError(outcome.block_row, sentence);
    default:
      if (outcome.reason > 0) return;
    }
    Dune::SolverAbort abort;
    abort.message(sentence);
    throw abort;
  }

  std::unique_ptr<State> state_;
};

namespace Impl
{

// The factory calls its creators for matrices and vectors of all types.
[[noreturn]] inline void throwUnsupported()
{
  Dune::UnsupportedType error;
  error.message("Karst takes a BCRSMatrix of FieldMatrix<double, b, b> and BlockVectors of FieldVector<double, b>");
  throw error;
}

template <class O> auto matrixOf(int) -> typename O::matrix_type;
template <class O> void matrixOf(...);

struct PreconditionerCreator {
  template <class Types, class O>
  auto operator()(Types, const std::shared_ptr<O> &op, const Dune::ParameterTree &config) const
      -> std::shared_ptr<Dune::Preconditioner<typename O::domain_type, typename O::range_type>>
  {
    using X = typename O::domain_type;
    using Y = typename O::range_type;
    using M = decltype(matrixOf<O>(0));
    if constexpr (isSupported<M, X, Y>)
      return std::make_shared<Preconditioner<M, X, Y>>(op, config);
    else
      throwUnsupported();
  }
};

struct SolverCreator {
  // Version 2.9 gives the matrix,
  template <class M, class X, class Y>
  auto operator()(Dune::TypeList<M, X, Y>, const M &matrix, const Dune::ParameterTree &config) const
      -> std::shared_ptr<Dune::InverseOperator<X, Y>>
  {
    if constexpr (isSupported<M, X, Y>)
      return std::make_shared<Solver<X, Y>>(matrix, config);
    else
      throwUnsupported();
  }

  // and later ones its operator.
  template <class Traits, class O>
  auto operator()(Traits, const std::shared_ptr<O> &op, const Dune::ParameterTree &config) const
      -> std::shared_ptr<Dune::InverseOperator<typename O::domain_type, typename O::range_type>>
  {
    using M = decltype(matrixOf<O>(0));
    if constexpr (isSupported<M, typename O::domain_type, typename O::range_type>)
      return std::make_shared<Solver<typename O::domain_type, typename O::range_type>>(
          std::shared_ptr<const M>(op, &op->getmat()), config);
    else
      throwUnsupported();
  }
};

} // namespace Impl
} // namespace Karst

namespace Dune
{
DUNE_REGISTER_PRECONDITIONER("karst", Karst::Impl::PreconditionerCreator());
#ifdef DUNE_REGISTER_SOLVER // from dune-istl 2.10 on
DUNE_REGISTER_SOLVER("karstsolver", Karst::Impl::SolverCreator());
#else
DUNE_REGISTER_DIRECT_SOLVER("karstsolver", Karst::Impl::SolverCreator());
#endif
} // namespace Dune

#endif
