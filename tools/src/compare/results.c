/* results.c - the file of results: a line of JSON for each case, appended and on the disk before the next one
 * begins.
 *
 * A line is appended by one write, and cut off again if the disk takes only a part of it. If the machine itself died,
 * the file may end in a part of a line, which is dropped. Any other line that is no row is an error, because the file
 * may be something else. */
#include "tools/src/compare/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int fail_file(const char *path) { return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno)); }

static int check_regular(const char *path, int file)
{
  struct stat status;
  if (fstat(file, &status) != 0) return fail_file(path);
  return S_ISREG(status.st_mode) ? TOOL_GO_ON
                                 : tool_fail(TOOL_FAILED, "%s is not a regular file, and the results need one", path);
}

/* Waits for a second at most: if compare was killed while it started a case, the new process holds the lock until it
 * has become solve. */
static bool lock(int file)
{
  const struct timespec pause = {0, 20 * 1000 * 1000};
  for (int i = 0; flock(file, LOCK_EX | LOCK_NB) != 0; i++) {
    if (errno != EWOULDBLOCK || i == 50) return false;
    nanosleep(&pause, NULL);
  }
  return true;
}

int compare_results_open(struct compare_results *results, const char *path)
{
  *results = (struct compare_results){.path = path, .file = -1};
  results->file = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0666);
  if (results->file < 0) return fail_file(path);
  int status = check_regular(path, results->file);
  if (status == TOOL_GO_ON && !lock(results->file))
    status =
        errno == EWOULDBLOCK
            ? tool_fail(TOOL_FAILED, "%s: another compare is writing to this file; choose another with --results", path)
            : fail_file(path);
  return status;
}

void compare_results_close(struct compare_results *results)
{
  if (results->path && results->file >= 0) close(results->file);
  results->file = -1;
}

static bool is_row(const json_t *row)
{
  const json_t *version = json_object_get(row, "karst_compare"), *what = json_object_get(row, "case");
  return json_is_integer(version) && json_integer_value(version) == 1 && json_is_string(json_object_get(row, "key")) &&
         json_is_string(json_object_get(what, "matrix")) && json_is_object(json_object_get(what, "options")) &&
         compare_find_outcome(json_string_value(json_object_get(row, "outcome"))) != OUTCOME_NOT_RUN;
}

/* Gives a row to its case, in place of an earlier row; takes ownership in any case. */
static int give(struct compare_cases *cases, json_t *row, bool all)
{
  const char *key = json_string_value(json_object_get(row, "key"));
  json_t *number = json_object_get(cases->known, key), *what = json_object_get(row, "case");
  if (number) {
    struct compare_case *one = &cases->at[json_integer_value(number)];
    if (!all) json_object_set(row, "case", one->what); /* which may name options that have their defaults */
    json_decref(one->row);
    one->row = row;
    return TOOL_GO_ON;
  }
  if (all) {
    const char *matrix = json_string_value(json_object_get(what, "matrix"));
    if (json_array_append(cases->names, json_object_get(what, "matrix")) == 0)
      return compare_cases_add(cases, matrix, json_incref(what), key, row);
    json_decref(row);
    return tool_fail_memory("the rows");
  }
  json_decref(row);
  return TOOL_GO_ON;
}

/* Whether a last line without its end may be the beginning of a row. A line of another file must be kept. */
static bool is_torn(const char *line, size_t length)
{
  static const char begin[] = "{\"karst_compare\":";
  return strncmp(line, begin, length < sizeof begin - 1 ? length : sizeof begin - 1) == 0;
}

static int read_lines(struct compare_results *results, FILE *file, struct compare_cases *cases, bool all)
{
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  int status = TOOL_GO_ON;
  errno = 0;
  for (long number = 1; status == TOOL_GO_ON && (length = getline(&line, &room, file)) > 0; number++) {
    const bool ends = line[length - 1] == '\n';
    json_error_t error;
    json_t *row = json_loadb(line, (size_t)length, 0, &error);
    if (is_row(row)) {
      results->no_end = !ends;
      status = give(cases, row, all);
      continue;
    }
    json_decref(row);
    if (!row && !ends && is_torn(line, (size_t)length))
      results->stray = (long)length;
    else
      status = tool_fail(TOOL_FAILED, "%s: line %ld is not a row written by compare%s%s", results->path, number,
                         row ? "" : ": ", row ? "" : error.text);
  }
  if (status == TOOL_GO_ON && ferror(file)) status = fail_file(results->path);
  free(line);
  return status;
}

int compare_results_read(struct compare_results *results, const char *path, struct compare_cases *cases, bool all)
{
  const bool own = results->file < 0;
  results->path = path;
  const int descriptor = own ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : dup(results->file);
  if (descriptor < 0 && own && errno == ENOENT) return TOOL_GO_ON;
  if (descriptor < 0) return fail_file(path);
  int status = check_regular(path, descriptor);
  FILE *file = status == TOOL_GO_ON ? fdopen(descriptor, "r") : NULL;
  if (file) {
    rewind(file);
    status = read_lines(results, file, cases, all);
    fclose(file);
  } else {
    if (status == TOOL_GO_ON) status = fail_file(path);
    close(descriptor);
  }
  if (status == TOOL_GO_ON && results->stray > 0)
    tool_message(NULL, KARST_MESSAGE_NOTE, "the last line of the results file is incomplete and is dropped");
  return status;
}

int compare_results_repair(struct compare_results *results)
{
  struct stat status;
  if (fstat(results->file, &status) != 0) return fail_file(results->path);
  if (results->stray > 0 && ftruncate(results->file, status.st_size - results->stray) != 0)
    return fail_file(results->path);
  if (results->no_end && write(results->file, "\n", 1) != 1) return fail_file(results->path);
  results->stray = 0;
  results->no_end = false;
  return TOOL_GO_ON;
}

int compare_results_append(struct compare_results *results, const json_t *row)
{
  struct stat before;
  char *text = json_dumps(row, JSON_COMPACT);
  const size_t length = text ? strlen(text) : 0;
  char *line = text ? realloc(text, length + 2) : NULL;
  if (!line) {
    free(text);
    return tool_fail_memory("a row of the results");
  }
  memcpy(line + length, "\n", 2);
  int status = TOOL_GO_ON;
  errno = 0;
  if (fstat(results->file, &before) != 0) {
    status = fail_file(results->path);
  } else if (before.st_nlink == 0) {
    status = tool_fail(TOOL_FAILED, "%s was removed while the batch was running", results->path);
  } else if (write(results->file, line, length + 1) != (ssize_t)length + 1 || fsync(results->file) != 0) {
    status = tool_fail(TOOL_FAILED, "%s: %s; the rows before this one are kept", results->path,
                       strerror(errno ? errno : ENOSPC));
    if (ftruncate(results->file, before.st_size) != 0) status = TOOL_FAILED; /* the next run drops the part of a line */
  }
  free(line);
  return status;
}
