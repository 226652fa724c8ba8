/* options.c - the one table of the library's options: struct field, name, range, default and help in one place. */
#include "options.h"

#include "format.h"
#include "krylov.h"
#include "ordering.h"
#include "precond.h"
#include "search.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum kind { NAME, INTEGER, REAL };

struct option {
  const char *name;
  enum kind kind;
  size_t field;                    /* offset in karst_options */
  const char *(*choice)(size_t i); /* NAME: the names allowed, NULL past the last */
  double least;                    /* INTEGER, REAL: the smallest value; the largest integer is INT_MAX */
  const char *default_value;
  const char *help;
};

static const char *side_name(size_t i)
{
  static const char *const names[] = {"right", "left", NULL};
  return names[i];
}

static const char *orthogonalise_name(size_t i)
{
  static const char *const names[] = {"auto", "once", "twice", NULL};
  return names[i];
}

static const char *scale_name(size_t i)
{
  static const char *const names[] = {"none", "diagonal", "block", NULL};
  return names[i];
}

static const char *trisolve_name(size_t i)
{
  static const char *const names[] = {"auto", "level", "dataflow", "jacobi", NULL};
  return names[i];
}

static const char *sweep_mode_name(size_t i)
{
  static const char *const names[] = {"synchronous", "asynchronous", NULL};
  return names[i];
}

static const char *sweep_order_name(size_t i)
{
  static const char *const names[] = {"rows", "blocks", "random", NULL};
  return names[i];
}

static const char *sweep_chunks_name(size_t i)
{
  static const char *const names[] = {"forward", "backward", "random", NULL};
  return names[i];
}

static const char *yes_or_no(size_t i)
{
  static const char *const names[] = {"yes", "no", NULL};
  return names[i];
}

#define FIELD(name) offsetof(karst_options, name)

static const struct option table[] = {
    {"solver", NAME, FIELD(solver), karst_krylov_name, 0, "gmres", "the Krylov method"},
    {"restart", INTEGER, FIELD(restart), NULL, 1, "30",
     "basis vectors of gmres and fgmres, directions kept by orthomin"},
    {"rtol", REAL, FIELD(rtol), NULL, 0, "1e-8", "stop when the true residual is at most R times the norm of b"},
    {"atol", REAL, FIELD(atol), NULL, 0, "0", "stop when the true residual is at most R"},
    {"max-iterations", INTEGER, FIELD(max_iterations), NULL, 0, "10000", "stop after N iterations"},
    {"side", NAME, FIELD(side), side_name, 0, "right", "where gmres applies the preconditioner; fgmres: right"},
    {"orthogonalise", NAME, FIELD(orthogonalise), orthogonalise_name, 0, "auto",
     "Gram-Schmidt of gmres, fgmres and orthomin: repeated where the first pass lost digits, never, always"},
    {"precond", NAME, FIELD(precond), karst_precond_name, 0, "iluk", "the preconditioner"},
    {"level", INTEGER, FIELD(level), NULL, 0, "0", "fill level k of the incomplete factors"},
    {"sweeps", INTEGER, FIELD(sweeps), NULL, 0, "5", "sweeps of parilu and paric in each factorization"},
    {"sweep-mode", NAME, FIELD(sweep_mode), sweep_mode_name, 0, "synchronous",
     "asynchronous: sweeps in place, not the same bits in every run"},
    {"sweep-scale", NAME, FIELD(sweep_scale), yes_or_no, 0, "yes", "parilu and paric start from the scaled matrix"},
    {"ilu-residual", NAME, FIELD(ilu_residual), yes_or_no, 0, "no", "parilu and paric report the norm of A - LU too"},
    {"trisolve", NAME, FIELD(trisolve), trisolve_name, 0, "auto",
     "triangular solves: on a GPU a launch a level, or one in all; Jacobi sweeps"},
    {"trisolve-sweeps", INTEGER, FIELD(trisolve_sweeps), NULL, 0, "5", "sweeps of trisolve jacobi for each triangle"},
    {"ordering", NAME, FIELD(ordering), karst_ordering_name, 0, "natural", "the order of the block rows"},
    {"scale", NAME, FIELD(scale), scale_name, 0, "none", "scale by diagonal entries (symmetric) or diagonal blocks"},
    {"shift", REAL, FIELD(shift), NULL, 0, "0",
     "replace a singular pivot block by R times its row's norm, or the matrix's; 0: never"},
    /* for experiments */
    {"sweep-order", NAME, FIELD(sweep_order), sweep_order_name, 0, "rows",
     "the order of the tasks of asynchronous sweeps"},
    {"sweep-block", INTEGER, FIELD(sweep_block), NULL, 1, "64", "block rows of a block of sweep-order blocks"},
    {"sweep-chunks", NAME, FIELD(sweep_chunks), sweep_chunks_name, 0, "forward",
     "the order of the chunks of 128 tasks"},
    {"sweep-limit", INTEGER, FIELD(sweep_limit), NULL, 0, "0",
     "threads, on a GPU thread blocks, that sweep at a time; 0: all"},
};

enum { OPTIONS = sizeof table / sizeof table[0], EXPERIMENTS = 4, EVERYDAY = OPTIONS - EXPERIMENTS };

/* "right|left|..." */
static void join_choices(const struct option *option, char *text, size_t size)
{
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; option->choice(i) && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "|" : "", option->choice(i));
}

static void describe(const struct option *option, karst_option_info *info)
{
  info->name = option->name;
  info->default_value = option->default_value;
  info->help = option->help;
  if (option->kind == NAME)
    join_choices(option, info->value, sizeof info->value);
  else
    snprintf(info->value, sizeof info->value, "%s", option->kind == INTEGER ? "N" : "R");
}

int karst_options_info(size_t i, karst_option_info *info)
{
  if (i >= EVERYDAY || !info) return 0;
  describe(&table[i], info);
  return 1;
}

int karst_options_experiment_info(size_t i, karst_option_info *info)
{
  if (i >= EXPERIMENTS || !info) return 0;
  describe(&table[EVERYDAY + i], info);
  return 1;
}

/* Returns the name of number i of a NULL-terminated table of methods, if it has one. */
#define RETURN_METHOD(table)                                                                                           \
  for (size_t n = 0; (table)[n]; n++)                                                                                  \
    if (n == i) {                                                                                                      \
      *help = (table)[n]->help;                                                                                        \
      return (table)[n]->name;                                                                                         \
    }

const char *karst_options_method(const char *option, size_t i, const char **help)
{
  if (!option || !help) return NULL;
  if (strcmp(option, "solver") == 0) RETURN_METHOD(karst_krylov_table)
  if (strcmp(option, "precond") == 0) RETURN_METHOD(karst_precond_table)
  if (strcmp(option, "ordering") == 0) RETURN_METHOD(karst_ordering_table)
  return NULL;
}

/* Names are equal with '-' and '_' alike. */
static bool same_name(const char *a, const char *b)
{
  for (; *a && *b; a++, b++)
    if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_'))) return false;
  return *a == *b;
}

/* The table's own text for a name, or NULL. */
static const char *find_choice(const struct option *option, const char *name)
{
  return name ? option->choice(karst_find_name(option->choice, name)) : NULL;
}

static karst_status set_name(karst_context *context, const struct option *option, const char *value, char *field)
{
  const char *name = find_choice(option, value);
  char choices[128];
  if (!name) {
    join_choices(option, choices, sizeof choices);
    return karst_fail(context, KARST_ERROR_OPTION, "%s \"%s\" is unknown: %s", option->name, value, choices);
  }
  memcpy(field, &name, sizeof name);
  return KARST_SUCCESS;
}

static karst_status set_number(karst_context *context, const struct option *option, const char *value, char *field)
{
  double number;
  bool integer = option->kind == INTEGER;
  const char *end = karst_parse_real(value, &number);
  if (!end || *end != '\0' || (integer && number != floor(number)))
    return karst_fail(context, KARST_ERROR_OPTION, "%s \"%s\" is not %s", option->name, value,
                      integer ? "a whole number" : "a finite number");
  if (number < option->least || (integer && number > INT_MAX))
    return karst_fail(context, KARST_ERROR_OPTION, "%s %s is out of range: at least %g%s", option->name, value,
                      option->least, integer && number > INT_MAX ? ", at most 2147483647" : "");
  if (integer) {
    int whole = (int)number;
    memcpy(field, &whole, sizeof whole);
  } else {
    memcpy(field, &number, sizeof number);
  }
  return KARST_SUCCESS;
}

static karst_status set(karst_context *context, const struct option *option, const char *value, karst_options *options)
{
  char *field = (char *)options + option->field;
  return option->kind == NAME ? set_name(context, option, value, field) : set_number(context, option, value, field);
}

karst_status karst_options_set(karst_context *context, karst_options *options, const char *name, const char *value)
{
  char names[512];
  size_t used = 0;
  if (!context || !options || !name || !value)
    return karst_missing(context, !options ? "the options" : name ? "the option's value" : "the option's name");
  for (int i = 0; i < OPTIONS; i++)
    if (same_name(table[i].name, name)) return set(context, &table[i], value, options);
  for (int i = 0; i < EVERYDAY && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", table[i].name);
  return karst_fail(context, KARST_ERROR_OPTION, "option \"%s\" is unknown: %s", name, names);
}

void karst_options_default(karst_options *options)
{
  karst_context nobody = {.threads = 1}; /* where errors would go: the defaults in the table have none */
  if (!options) return;
  *options = (karst_options){0};
  for (int i = 0; i < OPTIONS; i++) set(&nobody, &table[i], table[i].default_value, options);
}

/* A number that a caller wrote into the struct. */
static karst_status check_number(karst_context *context, const struct option *option, const char *field)
{
  double number;
  if (option->kind == INTEGER) {
    int whole;
    memcpy(&whole, field, sizeof whole);
    number = whole;
  } else {
    memcpy(&number, field, sizeof number);
  }
  if (number >= option->least && number <= DBL_MAX) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_OPTION, "%s %g is out of range: at least %g", option->name, number,
                    option->least);
}

/* What one option says of another. */
static karst_status check_together(karst_context *context, const karst_options *options)
{
  const struct karst_krylov_ops *ops = karst_krylov_table[karst_find_name(karst_krylov_name, options->solver)];
  if (!ops->right_only || strcmp(options->side, "right") == 0) return KARST_SUCCESS;
  return karst_fail(context, KARST_ERROR_OPTION, "side \"%s\" is not for %s, which preconditions from the right",
                    options->side, ops->name);
}

karst_status karst_options_normalise(karst_context *context, karst_options *options)
{
  karst_status status = KARST_SUCCESS;
  for (int i = 0; i < OPTIONS && !status; i++) {
    char *field = (char *)options + table[i].field;
    if (table[i].kind == NAME) {
      const char *name;
      memcpy(&name, field, sizeof name);
      status = set_name(context, &table[i], name ? name : "", field);
    } else {
      status = check_number(context, &table[i], field);
    }
  }
  return status ? status : check_together(context, options);
}
