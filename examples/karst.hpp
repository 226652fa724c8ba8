// karst.hpp - Karst from C++17: handles that destroy themselves, and a failed call is an exception with its sentence.
#pragma once
#include <karst.h>
#include <memory>
#include <stdexcept>

namespace karst
{

template <auto destroy> struct destroyer {
  template <class Object> void operator()(Object *object) const { destroy(object); }
};
using context = std::unique_ptr<karst_context, destroyer<karst_context_destroy>>;
using matrix = std::unique_ptr<karst_matrix, destroyer<karst_matrix_destroy>>;
using vector = std::unique_ptr<karst_vector, destroyer<karst_vector_destroy>>;
using options = std::unique_ptr<karst_options, destroyer<karst_options_destroy>>;
using solver = std::unique_ptr<karst_solver, destroyer<karst_solver_destroy>>;
using precond = std::unique_ptr<karst_precond, destroyer<karst_precond_destroy>>;
using analysis = std::unique_ptr<karst_analysis, destroyer<karst_analysis_destroy>>;

inline void check(const context &c, karst_status status)
{
  if (status) throw std::runtime_error(c ? karst_context_error(c.get()) : karst_status_text(status));
}

// What a function makes whose last argument is where to put it: make<vector>(c, karst_vector_create, c.get(), length).
template <class Handle, class Create, class... Arguments>
Handle make(const context &c, Create create, Arguments... arguments)
{
  typename Handle::pointer object = nullptr;
  check(c, create(arguments..., &object));
  return Handle(object);
}

} // namespace karst
