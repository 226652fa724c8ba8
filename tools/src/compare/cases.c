/* cases.c - the cases of a batch: matrix x block x options x device x threads, each case once.
 *
 * A case leaves out options that its methods do not read, and options that auto chooses itself if it is compared with
 * other preconditioners; so their values do not multiply the cases. The options that choose methods get values first,
 * outer preconditioners before those inside them. Then it is known which options are read, and the work depends on the
 * number of cases only, however long the lists of the other options are. In the results the options vary in the order
 * given, the last one fastest. */
#include "tools/src/compare/compare.h"
#include "tools/src/common/text.h"

#include <stdlib.h>
#include <string.h>

/* The values of the library's options in one set. */
struct product {
  const struct compare_plan *plan;
  karst_options *options; /* of the combination that is being made */
  int count;              /* of the options that have values */
  const char **name;      /* [count] in the order given */
  json_t **values;        /* [count] arrays, borrowed */
  int *order;             /* [count] choices of methods first */
  int *index;             /* [count + 1] of the combination that is being made; index[0] is count */
  size_t made, room;
  int **combination; /* [made] copies of index; entry i + 1 is the number of the value of option i, -1: left out */
};

static void release(struct product *product)
{
  for (size_t i = 0; i < product->made; i++) free(product->combination[i]);
  free(product->combination);
  free(product->name);
  free(product->values);
  free(product->order);
  free(product->index);
  karst_options_destroy(product->options);
}

static int fail_many(void)
{
  return tool_fail(TOOL_FAILED, "more than %d cases: give fewer values, or run several batches", COMPARE_CASES_MAX);
}

/* 0: chooses a solver or preconditioner; 1, 2, ...: a preconditioner so deep inside; the largest: any other option. */
static int rank(const struct compare_plan *plan, const char *option)
{
  struct compare_name name;
  int depth = 1;
  if (strcmp(option, "solver") == 0 || strcmp(option, "precond") == 0) return 0;
  if (!compare_find_name(plan, option, &name) || name.kind != COMPARE_PRECOND) return 100;
  for (const char *c = option; *c; c++) depth += *c == '.';
  return depth;
}

static int keep_combination(struct product *product)
{
  if (product->made == COMPARE_CASES_MAX) return fail_many();
  if (product->made == product->room) {
    const size_t room = 2 * product->room + 16;
    int **larger = realloc(product->combination, room * sizeof *larger);
    if (!larger) return tool_fail_memory("the cases");
    product->combination = larger;
    product->room = room;
  }
  const size_t size = ((size_t)product->count + 1) * sizeof *product->index;
  int *copy = malloc(size);
  if (!copy) return tool_fail_memory("the cases");
  memcpy(copy, product->index, size);
  product->combination[product->made++] = copy;
  return TOOL_GO_ON;
}

/* Whether auto chooses the value of this option, and is compared with other preconditioners: the values in the plan are
 * meant for those and would take the choice from auto. */
static bool is_chosen_by_auto(const struct product *product, const char *option)
{
  static const char *const chosen[] = {"level", "ordering", "trisolve", "trisolve-sweeps", "shift", "modified"};
  bool others = false, among = false;
  for (int i = 0; i < product->count; i++)
    if (strcmp(product->name[i], "precond") == 0) others = json_array_size(product->values[i]) > 1;
  for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++) among = among || strcmp(option, chosen[i]) == 0;
  return others && among && strcmp(tool_option_text(product->options, "precond"), "auto") == 0;
}

/* Gives values to the options from number depth of the order on. */
static int choose(struct product *product, int depth)
{
  if (depth == product->count) return keep_combination(product);
  const int i = product->order[depth];
  int status = TOOL_GO_ON;
  product->index[i + 1] = -1;
  if (!karst_options_used(product->options, product->name[i]) || is_chosen_by_auto(product, product->name[i]))
    return choose(product, depth + 1);
  for (size_t v = 0; v < json_array_size(product->values[i]) && status == TOOL_GO_ON; v++) {
    const char *value = json_string_value(json_array_get(product->values[i], v));
    karst_status set = karst_options_set(product->options, product->name[i], value);
    if (set) return tool_fail_library(product->plan->context, set);
    product->index[i + 1] = (int)v;
    status = choose(product, depth + 1);
  }
  return status;
}

static int by_index(const void *a, const void *b)
{
  const int *x = *(int *const *)a, *y = *(int *const *)b;
  for (int i = 1; i <= x[0]; i++)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}

/* Makes the combinations of the library's options in a set. */
static int multiply(const struct compare_plan *plan, json_t *set, struct product *product)
{
  const size_t most = json_object_size(set) + 1;
  const char *key;
  json_t *values;
  struct compare_name name;
  *product = (struct product){.plan = plan,
                              .name = malloc(most * sizeof *product->name),
                              .values = malloc(most * sizeof *product->values),
                              .order = malloc(most * sizeof *product->order),
                              .index = malloc(most * sizeof *product->index)};
  karst_status made = karst_options_create(plan->context, &product->options);
  if (made) return tool_fail_library(plan->context, made);
  if (!product->name || !product->values || !product->order || !product->index) return tool_fail_memory("the cases");
  json_object_foreach(set, key, values)
  {
    if (!compare_find_name(plan, key, &name) || !name.library) continue;
    product->name[product->count] = key;
    product->values[product->count++] = values;
  }
  for (int i = 0; i < product->count; i++) {
    int place = i;
    const int own = rank(plan, product->name[i]);
    for (; place > 0 && rank(plan, product->name[product->order[place - 1]]) > own; place--)
      product->order[place] = product->order[place - 1];
    product->order[place] = i;
  }
  product->index[0] = product->count;
  int status = choose(product, 0);
  if (status == TOOL_GO_ON) qsort(product->combination, product->made, sizeof(int *), by_index);
  return status;
}

int compare_cases_add(struct compare_cases *cases, const char *matrix, json_t *what, const char *key, json_t *row)
{
  char *copy = NULL;
  int status = TOOL_GO_ON;
  if (!what || !key || !matrix) goto no_memory;
  if (json_object_get(cases->known, key)) goto end;
  if (cases->count == COMPARE_CASES_MAX) {
    status = fail_many();
    goto end;
  }
  if (cases->count == cases->room) {
    const size_t room = 2 * cases->room + 16;
    struct compare_case *larger = realloc(cases->at, room * sizeof *larger);
    if (!larger) goto no_memory;
    cases->at = larger;
    cases->room = room;
  }
  copy = strdup(key);
  if (!copy || json_object_set_new(cases->known, key, json_integer((json_int_t)cases->count)) != 0) goto no_memory;
  cases->at[cases->count++] = (struct compare_case){matrix, what, copy, row};
  return TOOL_GO_ON;
no_memory:
  status = tool_fail_memory("the cases");
end:
  free(copy);
  json_decref(what);
  json_decref(row);
  return status;
}

/* The fingerprint of a file, computed once. */
static int find_print(struct compare_cases *cases, const char *matrix, const char **print)
{
  char text[64];
  *print = json_string_value(json_object_get(cases->prints, matrix));
  if (*print) return TOOL_GO_ON;
  int status = compare_fingerprint(matrix, text, sizeof text);
  if (status != TOOL_GO_ON) return status;
  if (json_object_set_new_nocheck(cases->prints, matrix, json_string(text)) != 0)
    return tool_fail_memory("the fingerprint of a file");
  *print = json_string_value(json_object_get(cases->prints, matrix));
  return TOOL_GO_ON;
}

/* Whether the case uses auto, for which a given default differs from an option that it may choose. */
static bool has_choice(const json_t *options)
{
  const char *precond = json_string_value(json_object_get(options, "precond"));
  return precond && strcmp(precond, "auto") == 0;
}

/* The canonical text of a case: without values that are the defaults, and with the fingerprints of its files. */
static char *make_key(const struct compare_plan *plan, json_t *what, json_t *prints)
{
  json_t *copy = json_deep_copy(what), *value;
  json_t *options = json_object_get(copy, "options");
  const char *name, *text;
  void *next;
  karst_options *defaults;
  if (has_choice(options) || karst_options_create(plan->context, &defaults)) defaults = NULL;
  json_object_foreach_safe(options, next, name, value)
  {
    struct compare_name found;
    char canonical[512];
    if (!defaults || karst_options_get(defaults, name, &text) || !compare_find_name(plan, name, &found)) continue;
    compare_canonical(&found, text, canonical, sizeof canonical);
    if (strcmp(canonical, json_string_value(value)) == 0) json_object_del(options, name);
  }
  karst_options_destroy(defaults);
  json_object_update(copy, prints);
  char *key = json_dumps(copy, JSON_COMPACT | JSON_SORT_KEYS);
  json_decref(copy);
  return key;
}

/* The object "case" of a row. block and threads: texts, or NULL where it is left to solve. */
static json_t *describe(const struct product *product, json_t *set, const int *combination, const char *matrix,
                        const char *block, const char *device, const char *threads)
{
  json_t *what = json_object(), *options = json_object();
  json_object_set_new(what, "matrix", compare_safe_text(matrix));
  json_object_set_new(what, "block", block ? json_integer(strtoll(block, NULL, 10)) : json_null());
  json_object_set_new(what, "device", json_string(device));
  json_object_set_new(what, "threads", threads ? json_integer(strtoll(threads, NULL, 10)) : json_null());
  for (int i = 0; i < product->count; i++)
    if (combination[i + 1] >= 0)
      json_object_set(options, product->name[i], json_array_get(product->values[i], (size_t)combination[i + 1]));
  json_object_set_new(what, "options", options);
  for (size_t i = 0; compare_own(i); i++) { /* those that have one value in a batch */
    const char *name = compare_own(i)->name;
    json_t *value = compare_own(i)->is_listed ? NULL : json_array_get(json_object_get(set, name), 0);
    if (value) json_object_set(what, name, value);
  }
  if (json_object_get(what, "matrix")) return what;
  json_decref(what);
  return NULL;
}

/* Number i of the values that a set gives a name; the text without, at number 0, where it gives none. */
static const char *value_in_set(json_t *set, const char *name, size_t i, const char *without)
{
  json_t *values = json_object_get(set, name);
  return values ? json_string_value(json_array_get(values, i)) : without;
}

static size_t count_of(json_t *set, const char *name)
{
  json_t *values = json_object_get(set, name);
  return values ? json_array_size(values) : 1;
}

/* Adds the fingerprint of a file under this key, if there is such a file. */
static int add_print(struct compare_cases *cases, const char *file, const char *key, json_t *prints)
{
  const char *print;
  const int status = find_print(cases, file, &print);
  if (status == TOOL_GO_ON && *print) json_object_set_new(prints, key, json_string(print));
  return status;
}

/* The fingerprints of the files that the cases of a matrix read. */
static int find_prints(struct compare_cases *cases, json_t *set, const char *matrix, json_t *prints)
{
  const char *file;
  int status = prints ? add_print(cases, matrix, "file", prints) : tool_fail_memory("the fingerprint of a file");
  if (status == TOOL_GO_ON && (file = value_in_set(set, "rhs", 0, NULL)))
    status = add_print(cases, file, "rhs file", prints);
  if (status == TOOL_GO_ON && (file = value_in_set(set, "actnum", 0, NULL)))
    status = add_print(cases, file, "actnum file", prints);
  return status;
}

/* Adds the cases of one matrix. */
static int add_matrix(struct compare_cases *cases, const struct product *product, json_t *set, const char *matrix)
{
  json_t *prints = json_object();
  const size_t blocks = count_of(set, "block"), devices = count_of(set, "device"), threads = count_of(set, "threads");
  const size_t inner = product->made * devices * threads;
  int status = find_prints(cases, set, matrix, prints);
  for (size_t i = 0; i < blocks * inner && status == TOOL_GO_ON; i++) {
    const char *block = value_in_set(set, "block", i / inner, NULL);
    const char *device = value_in_set(set, "device", i / threads % devices, "cpu");
    const char *team = value_in_set(set, "threads", i % threads, NULL);
    const int *combination = product->combination[i % inner / (devices * threads)];
    json_t *what = describe(product, set, combination, matrix, block, device, team);
    char *key = what ? make_key(product->plan, what, prints) : NULL;
    status = compare_cases_add(cases, matrix, what, key, NULL);
    free(key);
  }
  json_decref(prints);
  return status;
}

static int add_set(struct compare_cases *cases, const struct compare_plan *plan, json_t *set)
{
  struct product product;
  json_t *matrices = json_object_get(set, "matrices");
  size_t i, first = json_array_size(cases->names);
  int status =
      json_array_size(matrices) > 0 ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "no matrix given; --help lists the options");
  for (i = 0; i < json_array_size(matrices) && status == TOOL_GO_ON; i++)
    status = compare_find_matrices(json_string_value(json_array_get(matrices, i)), cases->names);
  if (status != TOOL_GO_ON) return status;
  status = multiply(plan, set, &product);
  const double factor = (double)count_of(set, "block") * (double)count_of(set, "device");
  const double combinations = (double)product.made * (double)count_of(set, "threads");
  if (status == TOOL_GO_ON && factor * combinations > COMPARE_CASES_MAX) status = fail_many();
  for (i = first; i < json_array_size(cases->names) && status == TOOL_GO_ON; i++)
    status = add_matrix(cases, &product, set, json_string_value(json_array_get(cases->names, i)));
  release(&product);
  return status;
}

int compare_cases_create(const struct compare_plan *plan, json_t *sets, struct compare_cases *cases)
{
  *cases = (struct compare_cases){.known = json_object(), .names = json_array(), .prints = json_object()};
  int status = cases->known && cases->names && cases->prints ? TOOL_GO_ON : tool_fail_memory("the cases");
  for (size_t i = 0; i < json_array_size(sets) && status == TOOL_GO_ON; i++)
    status = add_set(cases, plan, json_array_get(sets, i));
  return status;
}

void compare_cases_free(struct compare_cases *cases)
{
  for (size_t i = 0; i < cases->count; i++) {
    json_decref(cases->at[i].what);
    json_decref(cases->at[i].row);
    free(cases->at[i].key);
  }
  free(cases->at);
  json_decref(cases->known);
  json_decref(cases->names);
  json_decref(cases->prints);
}

void compare_print_case(FILE *file, const struct compare_case *one)
{
  const char *name;
  json_t *value;
  tool_print_safely(file, one->matrix);
  json_object_foreach(one->what, name, value)
  {
    if (json_is_integer(value)) fprintf(file, " %s=%lld", name, (long long)json_integer_value(value));
    if (!json_is_string(value) || strcmp(name, "matrix") == 0) continue;
    fprintf(file, " %s=", name);
    tool_print_safely(file, json_string_value(value));
  }
  json_object_foreach(json_object_get(one->what, "options"), name, value)
  {
    fprintf(file, " %s=", name);
    tool_print_safely(file, json_string_value(value));
  }
}
