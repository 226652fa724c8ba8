// A Newton step of a black-oil model, solved with BiCGSTAB and ILU(1), in C++17 with the handles of karst.hpp. The
// context is declared first, and so destroyed last: it has to outlive what was made with it.
#include "karst.hpp"
#include <cstdio>

int main()
{
  try {
    const auto context = karst::make<karst::context>({}, karst_context_create, nullptr);
    karst_vector *rhs = nullptr;
    const auto A = karst::make<karst::matrix>(context, [&](karst_matrix **matrix) {
      return karst_gallery_create(context.get(), "blackoil:20x20x8", 0, matrix, &rhs);
    });
    const karst::vector b(rhs);
    const auto x = karst::make<karst::vector>(context, karst_vector_create, context.get(), karst_matrix_rows(A.get()));
    const auto options = karst::make<karst::options>(context, karst_options_create, context.get());
    karst::check(context, karst_options_set(options.get(), "solver", "bicgstab"));
    karst::check(context, karst_options_set_integer(options.get(), "level", 1));
    const auto solver = karst::make<karst::solver>(context, karst_solver_create, context.get(), options.get());
    karst::check(context, karst_solver_setup(solver.get(), A.get()));

    karst_result result;
    karst::check(context, karst_solver_solve(solver.get(), b.get(), x.get(), &result));
    std::printf("%s\n", karst_solver_explain(solver.get()));
    return result.reason > 0 ? 0 : 1;
  } catch (const std::exception &failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 2;
  }
}
