/* text.c - the report of solve for readers. */
#include "tools/src/solve/effective.h"
#include "tools/src/solve/solve_report.h"
#include "tools/src/common/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* In one of a few buffers of its own: a norm, or the words for one that is no number. */
static const char *number(double value)
{
  static char text[4][32];
  static unsigned next;
  char *buffer = text[next++ % 4];
  if (isfinite(value))
    snprintf(buffer, sizeof text[0], "%.4g", value);
  else
    snprintf(buffer, sizeof text[0], "not finite");
  return buffer;
}

static void print_bytes(int64_t bytes)
{
  static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  double size = (double)bytes;
  size_t unit = 0;
  for (; size >= 1024 && unit < 4; unit++) size /= 1024;
  printf("%.*f %s", unit ? 1 : 0, size, units[unit]);
}

/* Prints the fill level of a preconditioner that has one; inside: what its options begin with, "" or "first.". */
static void print_level(const karst_options *options, const char *inside, const char *before)
{
  char name[256 + sizeof "level"];
  snprintf(name, sizeof name, "%slevel", inside);
  if (karst_options_used(options, name)) printf("%slevel %d", before, (int)tool_option_number(options, name));
}

static void print_stages(const karst_options *options, const char *precond, const char *inside);

/* The preconditioner that an option names, with its fill level where it has one; those inside it in brackets. */
static void print_stage(const karst_options *options, const char *option)
{
  const char *precond = tool_option_text(options, option);
  char name[256];
  printf("%s", precond);
  snprintf(name, sizeof name, "%s.", option);
  print_level(options, name, " of ");
  if (strcmp(precond, "two-stage") != 0 && strcmp(precond, "ras") != 0) return;
  printf(" (");
  print_stages(options, precond, name);
  printf(")");
}

/* What two-stage or ras has inside. inside: what the names of its options begin with, such as "" or "first.". */
static void print_stages(const karst_options *options, const char *precond, const char *inside)
{
  const bool two = strcmp(precond, "two-stage") == 0;
  char name[256 + sizeof "overlap"];
  snprintf(name, sizeof name, "%s%s", inside, two ? "first" : "local");
  print_stage(options, name);
  printf(two ? ", then " : ", overlap ");
  snprintf(name, sizeof name, "%s%s", inside, two ? "second" : "overlap");
  if (two)
    print_stage(options, name);
  else
    printf("%s", tool_option_text(options, name));
}

static void print_method(const struct solve_report *report)
{
  const karst_options *options = report->effective;
  const char *trisolve = tool_value_text(&report->values, "trisolve_used");
  const char *used = tool_value_text(&report->values, "solver_used");
  const int most = (int)tool_option_number(options, "max-iterations");
  const int sweeps = (int)tool_option_number(options, "trisolve-sweeps");
  char precond[128];
  printf("solver      %s%s", used ? "auto: " : "", tool_option_text(options, "solver"));
  if (!used && karst_options_used(options, "restart")) printf("(%d)", (int)tool_option_number(options, "restart"));
  if (!used && karst_options_used(options, "side")) printf(", %s preconditioning", tool_option_text(options, "side"));
  printf(", rtol %g, atol %g, at most %d iteration%s\n", tool_option_number(options, "rtol"),
         tool_option_number(options, "atol"), most, tool_plural(most));
  printf("precond     %s", tool_precond_text(report->settings->options, options, precond, sizeof precond));
  const char *chosen = tool_option_text(options, "precond");
  if (strcmp(chosen, "two-stage") == 0 || strcmp(chosen, "ras") == 0) {
    printf(": ");
    print_stages(options, chosen, "");
  }
  print_level(options, "", ", ");
  if (trisolve && strcmp(trisolve, "jacobi") == 0)
    printf(", triangular solves by %d Jacobi sweep%s", sweeps, tool_plural(sweeps));
  printf(", ordering %s, scale %s\n", tool_option_text(options, "ordering"), tool_option_text(options, "scale"));
}

/* Whether blocks hold zeros that are not in the file. With block size 1 they come from --insert-diagonal. */
static bool is_blocked(const struct solve_report *report)
{
  return report->block > 1 && report->file_entries != report->entries && report->file_entries > 0;
}

static void print_factors(const struct solve_report *report)
{
  const karst_solver_info *info = &report->info;
  const struct tool_values *values = &report->values;
  printf("factors     %lld entr%s, %.3f times those of A", (long long)info->factor_entries,
         info->factor_entries == 1 ? "y" : "ies", info->fill);
  if (is_blocked(report)) printf(", %.3f times those before blocking", solve_fill_file(report));
  const double lower = tool_value_number(values, "levels_lower", 0);
  const double upper = tool_value_number(values, "levels_upper", 0);
  const double shifted = tool_value_number(values, "shifted", 0);
  const char *trisolve = tool_value_text(values, "trisolve_used");
  if (lower != 0 || upper != 0) printf("; level sets: %.0f lower, %.0f upper", lower, upper);
  if (trisolve) {
    printf(", solved by ");
    tool_print_safely(stdout, trisolve);
  }
  printf("; ");
  const char *precision = tool_value_text(values, "precision_used");
  if (precision && strcmp(precision, "float") == 0) {
    print_bytes((int64_t)tool_value_number(values, "factor_bytes", 0));
    printf(" of floats read by an application; ");
  }
  print_bytes(info->memory);
  printf(" held by the solver\n");
  if (shifted != 0) printf("shifted     %.0f singular pivot block%s replaced\n", shifted, shifted == 1 ? "" : "s");
}

static bool has_number(const struct tool_values *values, const char *name)
{
  const karst_value *value = tool_value(values, name);
  return value && !value->text;
}

static bool has_sweeps(const struct tool_values *values)
{
  return has_number(values, "sweep_residual_before") && has_number(values, "sweep_residual_after");
}

static void print_sweeps(const karst_options *options, const struct tool_values *values)
{
  const double fallbacks = tool_value_number(values, "fallbacks", 0);
  if (!has_sweeps(values)) return;
  printf("sweeps      %d %s; nonlinear residual norm %s before, %s after", (int)tool_option_number(options, "sweeps"),
         tool_option_text(options, "sweep-mode"), number(tool_value_number(values, "sweep_residual_before", NAN)),
         number(tool_value_number(values, "sweep_residual_after", NAN)));
  if (has_number(values, "ilu_residual"))
    printf("; |A - LU| = %s", number(tool_value_number(values, "ilu_residual", NAN)));
  if (fallbacks != 0) printf("; %.0f times the exact factors instead", fallbacks);
  printf("\n");
}

/* Whether the lines above have the value. */
static bool is_told(const struct tool_values *values, const karst_value *value)
{
  static const char *const factors[] = {"levels_lower", "levels_upper", "shifted", "factor_bytes"};
  static const char *const texts[] = {"trisolve_used", "solver_used", "precision_used"};
  static const char *const sweeps[] = {"sweep_residual_before", "sweep_residual_after", "ilu_residual", "fallbacks"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts && value->text; i++)
    if (strcmp(value->name, texts[i]) == 0) return true;
  if (value->text) return false;
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
    if (strcmp(value->name, factors[i]) == 0) return true;
  for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++)
    if (strcmp(value->name, sweeps[i]) == 0) return has_sweeps(values);
  return false;
}

/* Prints a line for each value that the lines above do not have. */
static void print_values(const struct tool_values *values)
{
  for (size_t i = 0; i < values->count; i++) {
    const karst_value *value = &values->value[i];
    if (is_told(values, value)) continue;
    printf("%-11s ", value->name);
    if (value->text)
      tool_print_safely(stdout, value->text);
    else if (fabs(value->number) < 1e15 && value->number == rint(value->number))
      printf("%.0f", value->number);
    else
      printf("%s", number(value->number));
    if (*value->unit) {
      printf(" ");
      tool_print_safely(stdout, value->unit);
    }
    printf("\n");
  }
}

static void print_reference(const struct reference *reference)
{
  if (reference->singular)
    printf("reference   UMFPACK: the matrix is singular, so there is no solution to compare with (%.3g s)\n",
           reference->time);
  else
    printf("reference   UMFPACK: |x - x_ref| / |x_ref| = %s, |b - A x_ref| / |b| = %s, rcond %s (%.3g s)\n",
           number(reference->difference), number(reference->residual), number(reference->rcond), reference->time);
}

static void print_ranks(const struct solve_report *report)
{
  printf("ranks       %d, by %s; factors, memory and seconds are those of rank 0\npartition   ", report->ranks,
         report->transport);
  tool_print_safely(stdout, report->partition);
  printf(": the largest part has %.3g times the mean, %lld ghost%s in all\n", report->largest_part,
         (long long)report->ghosts, tool_plural(report->ghosts));
}

void solve_print_text(const struct solve_report *report)
{
  const struct solve_settings *settings = report->settings;
  const karst_solver_info *info = &report->info;
  printf("matrix      ");
  tool_print_safely(stdout, settings->matrix);
  printf(": %s%s%lld row%s, %lld entr%s", settings->stored_triangle ? "the stored triangle, " : "",
         settings->negate ? "negated, " : "", (long long)report->rows, tool_plural(report->rows),
         (long long)report->entries, report->entries == 1 ? "y" : "ies");
  if (is_blocked(report)) printf(", %lld before blocking", (long long)report->file_entries);
  printf(", block size %d", report->block);
  const karst_index *size = report->grid.size;
  if (size[0] > 0)
    printf(", grid %lldx%lldx%lld%s", (long long)size[0], (long long)size[1], (long long)size[2],
           report->grid.cell ? " with a map of its cells" : "");
  if (report->inserted)
    printf(", %lld diagonal block%s of zeros inserted", (long long)report->inserted, report->inserted == 1 ? "" : "s");
  printf("\nrhs         ");
  tool_print_safely(stdout, report->rhs);
  if (*report->rhs_file && strcmp(report->rhs, report->rhs_file) != 0) {
    printf(": ");
    tool_print_safely(stdout, report->rhs_file);
  }
  printf("\n");
  print_method(report);
  printf("device      %s\n", report->device);
  if (report->ranks) print_ranks(report);
  print_factors(report);
  print_sweeps(report->effective, &report->values);
  print_values(&report->values);
  printf("seconds     read %.3g, order %.3g, symbolic %.3g, factor %.3g, transfer %.3g, solve %.3g\n",
         report->time_read, info->time_order, info->time_symbolic, info->time_factor, info->time_transfer,
         info->time_solve);
  if (settings->repeat)
    printf("repeated    %d time%s%s; median seconds: factor %.3g, solve %.3g\n", settings->repeat,
           settings->repeat == 1 ? "" : "s",
           tool_updates_choose(report->settings->options) ? ", for which auto may choose again" : "",
           report->repeat.factor, report->repeat.solve);
  printf("iterations  %d\n", report->result.iterations);
  printf("residual    |b - A x| = %s, relative %s\n", number(report->result.residual),
         number(report->result.relative_residual));
  if (settings->exact) printf("error       max |x - u| = %s against the exact solution\n", number(report->max_error));
  if (settings->reference) print_reference(&report->reference);
  if (settings->profile)
    solve_print_profile(&report->profile, info->time_transfer + info->time_factor + info->time_solve);
  printf("%s\n", report->explanation);
  if (*report->hint) printf("hint        %s\n", report->hint);
}
