/* istl.c - the files beside a matrix file of dune-istl. Its storeMatrixMarket writes NAME.mm, which market.c reads, or
 * in a parallel run the part of each process to NAME_R.mm; several parts have some rows in common. OPM Flow names the
 * file of a matrix ...matrix_istl... and that of its right-hand side ...rhs_istl..., with any ending. */
#include "config.h"

#include "format/format.h"
#include "support/path.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Returns where the file's name begins in a path. */
static size_t base_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash + 1 - path) : 0;
}

karst_status karst_istl_rhs_path(karst_context *context, const char *matrix_path, char **path)
{
  static const char matrix[] = "matrix_istl", rhs[] = "rhs_istl";
  const char *last = NULL;
  size_t size = strlen(matrix_path) + 1;
  *path = NULL;
  for (const char *next = matrix_path + base_of(matrix_path); (next = strstr(next, matrix)); next++) last = next;
  if (!last) return KARST_SUCCESS;
  karst_status status = karst_allocate(context, path, (int64_t)size, 1, "a path");
  if (!status) snprintf(*path, size, "%.*s%s%s", (int)(last - matrix_path), matrix_path, rhs, last + sizeof matrix - 1);
  return status;
}

/* Returns whether the path is [...]_R.mm, compressed or not, for a number R; *begin and *end: the position of R. */
static bool is_part(const char *path, size_t *begin, size_t *end)
{
  const size_t base = base_of(path);
  *end = karst_unpacked_length(path);
  const size_t tail = strlen(".mm");
  if (*end < tail || strncmp(path + *end - tail, ".mm", tail) != 0) return false;
  *end -= tail;
  *begin = *end;
  while (*begin > base && path[*begin - 1] >= '0' && path[*begin - 1] <= '9') --*begin;
  return *begin<*end && * begin> base && path[*begin - 1] == '_';
}

karst_status karst_istl_note_part(karst_context *context, const char *path)
{
  char *other;
  size_t begin, end, size = strlen(path) + 2;
  if (!is_part(path, &begin, &end)) return KARST_SUCCESS;
  karst_status status = karst_allocate(context, &other, (int64_t)size, 1, "a path");
  if (status) return status;
  const bool first = end - begin == 1 && path[begin] == '0';
  snprintf(other, size, "%.*s%c%s", (int)begin, path, first ? '1' : '0', path + end);
  if (access(other, F_OK) == 0)
    karst_notify(context, KARST_MESSAGE_NOTE,
                 "%s is the part of one process of a parallel run, like %s: Karst reads only its rows", path, other);
  karst_release(context, other);
  return KARST_SUCCESS;
}
