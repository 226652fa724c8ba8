/* methods.c - the lists of preconditioners and of Krylov drivers. A new one adds its name to both places. */
#include "solver/methods.h"

extern const struct karst_precond_ops karst_precond_none, karst_precond_parilu, karst_precond_paric, karst_precond_adi,
    karst_precond_two_stage, karst_precond_ras;

const struct karst_precond_ops *const karst_precond_table[] = {
    &karst_precond_none,   &karst_precond_jacobi, &karst_precond_iluk,   &karst_precond_dilu,
    &karst_precond_parilu, &karst_precond_paric,  &karst_precond_fgbilu, &karst_precond_lines,
    &karst_precond_adi,    &karst_precond_rrb,    &karst_precond_amg,    &karst_precond_two_stage,
    &karst_precond_cpr,    &karst_precond_ras,    &karst_precond_auto,   NULL,
};

extern const struct karst_krylov_ops karst_krylov_gmres, karst_krylov_fgmres, karst_krylov_bicgstab, karst_krylov_cg,
    karst_krylov_orthomin, karst_krylov_richardson, karst_krylov_auto;

const struct karst_krylov_ops *const karst_krylov_table[] = {
    &karst_krylov_gmres,    &karst_krylov_fgmres,     &karst_krylov_bicgstab, &karst_krylov_cg,
    &karst_krylov_orthomin, &karst_krylov_richardson, &karst_krylov_auto,     NULL,
};

static const char *krylov_name(size_t i) { return karst_krylov_table[i] ? karst_krylov_table[i]->name : NULL; }

static const char *scale_name(size_t i)
{
  static const char *const names[] = {
      [KARST_SCALE_NONE] = "none", [KARST_SCALE_DIAGONAL] = "diagonal", [KARST_SCALE_BLOCK] = "block", NULL};
  return names[i];
}

#define FIELD(name) offsetof(karst_methods, name)

const karst_option karst_methods_rows[] = {
    {"solver", KARST_OPTION_NAME, false, FIELD(solver), krylov_name, 0, "auto", "the Krylov method",
     "solver_used in the report names the method that the last solve ended with."},
    {"precond", KARST_OPTION_NAME, false, FIELD(precond), karst_precond_choice, 0, "iluk", "the preconditioner",
     "A program may add its own with karst_precond_register."},
    {"ordering", KARST_OPTION_NAME, false, FIELD(ordering), karst_ordering_name, 0, "natural",
     "the order of the block rows",
     "Incomplete factors and the level sets of their triangular solves depend on it. The solution is returned in the "
     "order of the matrix."},
    {"scale", KARST_OPTION_NAME, false, FIELD(scale), scale_name, 0, "none", "scaling before the factorization",
     "diagonal divides each row and each column by the square root of its diagonal entry's absolute value, so that a "
     "symmetric matrix stays symmetric. block multiplies each block row by the inverse of its diagonal block. A solve "
     "is judged by the residual of the unscaled system in both cases."},
    {0},
};

void karst_methods_read(const karst_options *options, karst_methods *methods)
{
  static const karst_option *const list[] = {karst_methods_rows, NULL};
  karst_options_read(options, list, methods);
  methods->of_ordering = (karst_ordering_settings){0};
  karst_options_read(options, karst_ordering_table[methods->ordering]->options, &methods->of_ordering);
  methods->parts = 1;
  const karst_option *parts = karst_krylov_table[methods->solver]->parts;
  if (!parts) return;
  karst_option row[] = {*parts, {0}};
  const karst_option *const driver[] = {row, NULL};
  row[0].field = FIELD(parts);
  karst_options_read(options, driver, methods);
}

static size_t count_drivers(void)
{
  size_t drivers = 0;
  while (karst_krylov_table[drivers]) drivers++;
  return drivers;
}

size_t karst_methods_rows_common(void)
{
  size_t orderings = 0;
  while (karst_ordering_table[orderings]) orderings++;
  return 1 + count_drivers() + orderings;
}

const karst_option *const *karst_methods_rows_of(const karst_context *context, size_t i)
{
  static const karst_option *const common[] = {karst_methods_rows, karst_krylov_limits_rows, NULL};
  static const karst_option *const none[] = {NULL};
  const karst_option *const *list = common;
  if (i >= karst_methods_rows_common()) {
    const struct karst_precond_ops *ops = karst_precond_at(context, i - karst_methods_rows_common());
    if (!ops) return NULL;
    list = ops->options;
  } else if (i > count_drivers()) {
    list = karst_ordering_table[i - 1 - count_drivers()]->options;
  } else if (i > 0) {
    list = karst_krylov_table[i - 1]->options;
  }
  return list ? list : none;
}
