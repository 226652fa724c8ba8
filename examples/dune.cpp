// BiCGSTAB of dune-istl with its own ILU(0) and with Karst's, and Karst's BiCGSTAB, on a system in Matrix Market files:
//
//     c++ -std=c++17 -O3 dune.cpp $(pkg-config --cflags --libs karst) -ldunecommon -o dune
//     ./dune matrix.mtx rhs.mtx 1e-8 [OPTION VALUE]...
//
// Blocks are 3 by 3, or as -DBLOCK_SIZE=2 says. 1e-8 is the reduction of the residual. Options such as "threads 2" or
// "device cuda" go to Karst.
#include <dune/istl/matrixmarket.hh>
#include <dune/istl/preconditioners.hh>
#include <dune/istl/solvers.hh>

#include <karst.hh>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#ifndef BLOCK_SIZE
#define BLOCK_SIZE 3
#endif
enum { REPEAT = 9, LIMIT = 10000 };
using M = Dune::BCRSMatrix<Dune::FieldMatrix<double, BLOCK_SIZE, BLOCK_SIZE>>;
using X = Dune::BlockVector<Dune::FieldVector<double, BLOCK_SIZE>>;
using Inverse = std::shared_ptr<Dune::InverseOperator<X, X>>;

// Prints the shortest of several times, and the true residual. prepare factors, and returns the solver.
template <class Prepare> void report(const char *name, const M &A, const X &rhs, Prepare prepare)
{
  double preparation = INFINITY, solution = INFINITY;
  Dune::InverseOperatorResult result;
  X x(rhs), residual(rhs);
  for (int i = 0; i < REPEAT; i++) {
    const Dune::Timer timer;
    const Inverse inverse = prepare();
    preparation = std::min(preparation, timer.elapsed());
    X b(rhs);
    x = 0;
    inverse->apply(x, b, result);
    solution = std::min(solution, result.elapsed);
  }
  A.mmv(x, residual);
  std::printf("%-38s %10.3f %10.3f %10d %10.2e\n", name, 1e3 * preparation, 1e3 * solution, result.iterations,
              residual.two_norm() / rhs.two_norm());
}

int main(int count, char **argument)
{
  if (count < 4) {
    std::fprintf(stderr, "usage: dune MATRIX RHS REDUCTION [OPTION VALUE]...\n");
    return 2;
  }
  Karst::Options options;
  for (int i = 4; i + 1 < count; i += 2) options.emplace_back(argument[i], argument[i + 1]);
  try {
    M A;
    X b;
    Dune::loadMatrixMarket(A, argument[1]);
    Dune::loadMatrixMarket(b, argument[2]);
    Dune::MatrixAdapter<M, X, X> op(A);
    const auto bicgstab = [&](Dune::Preconditioner<X, X> &preconditioner) {
      return std::make_shared<Dune::BiCGSTABSolver<X>>(op, preconditioner, std::atof(argument[3]), LIMIT, 0);
    };
    std::printf("%-38s %10s %10s %10s %10s\n", "", "factor, ms", "solve, ms", "iterations", "residual");

    std::unique_ptr<Dune::SeqILU<M, X, X>> theirs;
    report("SeqILU, BiCGSTABSolver", A, b,
           [&] { return bicgstab(*(theirs = std::make_unique<Dune::SeqILU<M, X, X>>(A, 1.))); });
    Karst::Preconditioner<M, X> ours(A, options);
    report("Karst::Preconditioner, BiCGSTABSolver", A, b, [&] { return ours.update(), bicgstab(ours); });
    options.insert(options.begin(), {{"solver", "bicgstab"}, {"rtol", argument[3]}});
    Karst::Solver<X> solver(A, options);
    report("Karst::Solver", A, b, [&] { return solver.update(), Dune::stackobject_to_shared_ptr(solver); });
    return 0;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "dune: %s\n", failure.what());
    return 2;
  }
}
