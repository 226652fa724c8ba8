/* solve_parts.c - see solve_parts.h. */
#include "tools/src/solve/solve_parts.h"
#include "tools/src/common/load.h"
#include "tools/src/solve/solve_ranks.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool parts_generates(const struct solve_settings *settings)
{
  const bool changed = settings->block || settings->grid || settings->actnum || settings->negate ||
                       settings->insert_diagonal || settings->stored_triangle;
  return tool_is_problem(settings->matrix) && !changed && solve_rhs_needs_no_file(settings->rhs);
}

/* The sizes in NAME:NXxNYxNZ, which the gallery has accepted. */
static void read_grid(const char *name, karst_grid *grid)
{
  long long size[3] = {1, 1, 1};
  const char *sizes = strchr(name, ':');
  if (!sizes || sscanf(sizes + 1, "%lldx%lldx%lld", &size[0], &size[1], &size[2]) < 1) return;
  for (int axis = 0; axis < 3; axis++) grid->size[axis] = (karst_index)size[axis];
}

static int agree(karst_context *context, karst_status status)
{
  return ranks_agree(context, status ? tool_fail_library(context, status) : TOOL_GO_ON);
}

int parts_generate(karst_context *context, struct solve_report *report, karst_vector **own, struct parts_system *made)
{
  const struct solve_settings *settings = report->settings;
  karst_status status =
      karst_gallery_create_distributed(context, settings->matrix, 0, &made->A, settings->rhs ? NULL : own);
  if (status) return agree(context, status);
  int exit_status = solve_rhs(context, settings, made->A, *own, &made->b, &report->rhs, &report->rhs_file);
  exit_status = ranks_agree(context, exit_status);
  read_grid(settings->matrix, &report->grid);
  report->block = karst_matrix_block_size(made->A);
  report->rows = (int64_t)karst_matrix_all_block_rows(made->A) * report->block;
  return exit_status;
}

int parts_take(karst_context *context, const karst_matrix *A, const karst_vector *b, struct parts_system *made)
{
  static const karst_index nothing[1] = {0};
  const bool root = karst_context_rank(context) == 0;
  double block_size = karst_matrix_block_size(A);
  int exit_status = ranks_broadcast(context, &block_size);
  if (exit_status != TOOL_GO_ON) return exit_status;
  karst_status status = karst_matrix_create_distributed(
      context, karst_matrix_block_rows(A), (int)block_size, root ? karst_matrix_row_start(A) : nothing,
      root ? karst_matrix_column(A) : nothing, karst_matrix_value(A), &made->A);
  if (status) return agree(context, status);
  made->on_root = true;
  status = karst_vector_create(context, karst_vector_length(b), &made->b);
  if (!status && root) status = karst_vector_set(made->b, karst_vector_length(b), karst_vector_const_values(b));
  return agree(context, status);
}

/* ---- which rank has which rows ---- */

/* Of n block rows rank r has those from n r / ranks to n (r + 1) / ranks - 1. */
static void divide_evenly(const karst_matrix *A, int ranks, int *part)
{
  const int64_t first = karst_matrix_first_block_row(A), n = karst_matrix_all_block_rows(A);
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++) part[i] = (int)(((first + i + 1) * ranks - 1) / n);
}

/* Reads the lines of all block rows, and keeps the numbers of this rank's. */
static int read_lines(FILE *file, const char *path, const karst_matrix *A, int ranks, int *part)
{
  const int64_t first = karst_matrix_first_block_row(A), n = karst_matrix_all_block_rows(A);
  char line[64];
  int64_t row = 0;
  for (; fgets(line, sizeof line, file); row++) {
    long long number;
    const size_t length = strcspn(line, "\r\n");
    if (line[length] == '\0' && !feof(file))
      return tool_fail(TOOL_FAILED, "%s, line %lld: the line is too long for the number of a process", path,
                       (long long)row + 1);
    line[length] = '\0';
    if (row >= n)
      return tool_fail(TOOL_FAILED, "%s, line %lld: the matrix has only %lld block rows", path, (long long)row + 1,
                       (long long)n);
    if (!tool_integer(line, 0, ranks - 1, &number))
      return tool_fail(TOOL_FAILED, "%s, line %lld: '%s' is not the number of one of %d processes, from 0", path,
                       (long long)row + 1, line, ranks);
    if (row >= first && row < first + karst_matrix_block_rows(A)) part[row - first] = (int)number;
  }
  if (ferror(file)) return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  if (row == n) return TOOL_GO_ON;
  return tool_fail(TOOL_FAILED, "%s, line %lld: the file ends, but the matrix has %lld block rows", path,
                   (long long)row + 1, (long long)n);
}

static int read_parts(const char *path, const karst_matrix *A, int ranks, int *part)
{
  if (karst_matrix_block_rows(A) == 0) return TOOL_GO_ON;
  FILE *file = fopen(path, "r");
  if (!file)
    return tool_fail(TOOL_FAILED, "--partition takes even, metis or a file, and %s cannot be read: %s", path,
                     strerror(errno));
  const int exit_status = read_lines(file, path, A, ranks, part);
  fclose(file);
  return exit_status;
}

/* Fills part, [block rows of this rank]. */
static int choose(karst_context *context, const char *partition, const karst_matrix *A, int *part)
{
  const int ranks = karst_context_ranks(context);
  if (strcmp(partition, "metis") == 0) return agree(context, karst_matrix_partition(A, ranks, part));
  if (strcmp(partition, "even") != 0) return ranks_agree(context, read_parts(partition, A, ranks, part));
  divide_evenly(A, ranks, part);
  return TOOL_GO_ON;
}

/* ---- moving ---- */

/* Finds where the rows go, and moves the matrix and the right-hand side there. */
static int move(karst_context *context, const char *partition, struct parts_system *made, struct parts *parts,
                karst_matrix **A, karst_vector **b)
{
  const karst_index rows = karst_matrix_block_rows(made->A);
  const int size = karst_matrix_block_size(made->A);
  int *part = calloc((size_t)rows + 1, sizeof *part);
  int exit_status = ranks_agree(context, part ? TOOL_GO_ON : tool_fail_memory("the parts of the ranks"));
  if (exit_status == TOOL_GO_ON) exit_status = choose(context, partition, made->A, part);
  if (exit_status == TOOL_GO_ON) {
    karst_status status = karst_redistribution_create(context, rows, part, &parts->placed);
    if (!status) status = karst_redistribution_matrix(parts->placed, made->A, A);
    if (!status) {
      status = karst_vector_create(context, (int64_t)karst_redistribution_block_rows(parts->placed) * size, b);
      status = karst_context_agree(context, status);
    }
    if (!status) status = karst_redistribution_vector(parts->placed, made->b, *b);
    exit_status = agree(context, status);
  }
  free(part);
  return exit_status;
}

/* Finds how the block rows as they were made come to rank 0. */
static int find_home(karst_context *context, karst_index rows, struct parts *parts)
{
  int *zero = calloc((size_t)rows + 1, sizeof *zero);
  int exit_status = ranks_agree(context, zero ? TOOL_GO_ON : tool_fail_memory("the way of vectors to rank 0"));
  if (exit_status == TOOL_GO_ON)
    exit_status = agree(context, karst_redistribution_create(context, rows, zero, &parts->home));
  free(zero);
  return exit_status;
}

/* Reports how evenly and how far apart the rows are. */
static int describe(karst_context *context, const karst_matrix *A, struct solve_report *report)
{
  enum { ROWS, GHOSTS, ENTRIES, NUMBERS };
  const int ranks = karst_context_ranks(context);
  const double own[NUMBERS] = {[ROWS] = (double)karst_matrix_block_rows(A),
                               [GHOSTS] = (double)karst_matrix_ghosts(A),
                               [ENTRIES] = (double)karst_matrix_entries(A)};
  double *all = calloc((size_t)ranks * NUMBERS, sizeof *all), sum[NUMBERS] = {0}, most = 0;
  int exit_status = ranks_agree(context, all ? TOOL_GO_ON : tool_fail_memory("the numbers of the ranks"));
  if (exit_status == TOOL_GO_ON) exit_status = ranks_collect(context, NUMBERS, own, all);
  for (int r = 0; r < ranks && exit_status == TOOL_GO_ON; r++) {
    most = fmax(most, all[r * NUMBERS + ROWS]);
    for (int i = 0; i < NUMBERS; i++) sum[i] += all[r * NUMBERS + i];
  }
  report->largest_part = sum[ROWS] > 0 ? most * ranks / sum[ROWS] : 1;
  report->ghosts = (int64_t)sum[GHOSTS];
  report->entries = (int64_t)sum[ENTRIES];
  free(all);
  return exit_status;
}

/* Of a problem the slabs of its grid are nearly as good as METIS's parts, and no row has to move. */
static const char *name_partition(const struct solve_settings *settings, bool generated)
{
  if (settings->partition) return settings->partition;
  return !generated && strstr(karst_build_features(), "METIS") ? "metis" : "even";
}

int parts_place(karst_context *context, struct solve_report *report, struct parts_system *made, struct parts *parts,
                karst_matrix **A, karst_vector **b)
{
  const bool generated = !made->on_root, alone = karst_context_ranks(context) == 1;
  report->partition = name_partition(report->settings, generated);
  parts->rows = karst_matrix_block_rows(made->A);
  parts->block_size = karst_matrix_block_size(made->A);
  parts->on_root = made->on_root;
  parts->first = karst_matrix_first_block_row(made->A);
  int exit_status = TOOL_GO_ON;
  const bool even = strcmp(report->partition, "even") == 0, metis = strcmp(report->partition, "metis") == 0;
  const bool stays = even ? generated || alone : metis && alone;
  if (exit_status == TOOL_GO_ON && !stays) exit_status = move(context, report->partition, made, parts, A, b);
  if (exit_status == TOOL_GO_ON && stays) {
    *A = made->A;
    *b = made->b;
    *made = (struct parts_system){0};
  }
  parts_release_system(made);
  if (exit_status == TOOL_GO_ON) exit_status = describe(context, *A, report);
  if (generated) report->file_entries = report->entries;
  return exit_status;
}

/* ---- back ---- */

/* Makes a vector of length scalars and moves x there, forwards or back. */
static karst_status bring(karst_context *context, const karst_redistribution *way, bool back, int64_t length,
                          const karst_vector *x, karst_vector **moved)
{
  const karst_status status = karst_context_agree(context, karst_vector_create(context, length, moved));
  if (status) return status;
  if (!way) return karst_vector_copy(x, *moved);
  return back ? karst_redistribution_vector_back(way, x, *moved) : karst_redistribution_vector(way, x, *moved);
}

int parts_bring_home(karst_context *context, struct parts *parts, const karst_vector *x, karst_vector **whole)
{
  const int64_t made = (int64_t)parts->rows * parts->block_size;
  karst_vector *stage = NULL;
  *whole = NULL;
  const int exit_status = parts->on_root || parts->home ? TOOL_GO_ON : find_home(context, parts->rows, parts);
  if (exit_status != TOOL_GO_ON) return exit_status;
  const int64_t all = parts->home ? (int64_t)karst_redistribution_block_rows(parts->home) * parts->block_size : made;
  karst_status status = bring(context, parts->placed, true, made, x, &stage);
  if (!status) status = bring(context, parts->home, false, all, stage, whole);
  karst_vector_destroy(stage);
  return agree(context, status);
}

/* number[scalars of this rank], of which the first of each block row = what the row was as the system was made. */
static int number_rows(karst_context *context, const struct parts *parts, const karst_matrix *A, double **number)
{
  const int64_t length = (int64_t)parts->rows * parts->block_size;
  double *before = calloc((size_t)length + 1, sizeof *before);
  karst_vector *made = NULL, *moved = NULL;
  int exit_status = before ? TOOL_GO_ON : tool_fail_memory("the numbers of the block rows");
  for (karst_index i = 0; i < parts->rows && before; i++)
    before[(int64_t)i * parts->block_size] = (double)(parts->first + i);
  karst_status status = karst_vector_create(context, length, &made);
  if (!status && before) status = karst_vector_set(made, length, before);
  if (exit_status == TOOL_GO_ON && status) exit_status = tool_fail_library(context, status);
  exit_status = ranks_agree(context, exit_status);
  if (exit_status == TOOL_GO_ON)
    exit_status = agree(context, bring(context, parts->placed, false, karst_matrix_rows(A), made, &moved));
  if (exit_status == TOOL_GO_ON)
    exit_status = ranks_agree(context, tool_vector_to_host(context, moved, karst_matrix_rows(A), number));
  karst_vector_destroy(made);
  karst_vector_destroy(moved);
  free(before);
  return exit_status;
}

int parts_row_as_made(karst_context *context, const struct parts *parts, const karst_matrix *A, karst_index *row)
{
  const int64_t own = (int64_t)*row - karst_matrix_first_block_row(A);
  double *number = NULL, *all = NULL, found = -1;
  if (!parts->placed || *row < 0) return TOOL_GO_ON;
  int exit_status = number_rows(context, parts, A, &number);
  if (exit_status != TOOL_GO_ON) return exit_status;
  if (own >= 0 && own < karst_matrix_block_rows(A)) found = number[own * parts->block_size];
  all = calloc((size_t)karst_context_ranks(context), sizeof *all);
  exit_status = ranks_agree(context, all ? TOOL_GO_ON : tool_fail_memory("the numbers of the ranks"));
  if (exit_status == TOOL_GO_ON) exit_status = ranks_collect(context, 1, &found, all);
  for (int r = 0; r < karst_context_ranks(context) && all; r++) found = fmax(found, all[r]);
  if (exit_status == TOOL_GO_ON) exit_status = ranks_broadcast(context, &found);
  *row = (karst_index)found;
  free(number);
  free(all);
  return exit_status;
}

void parts_release(struct parts *parts)
{
  karst_redistribution_destroy(parts->placed);
  karst_redistribution_destroy(parts->home);
  *parts = (struct parts){0};
}

void parts_release_system(struct parts_system *made)
{
  karst_matrix_destroy(made->A);
  karst_vector_destroy(made->b);
  *made = (struct parts_system){0};
}
