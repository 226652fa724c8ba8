/* beside.c - finds the files beside a matrix file; see beside.h. NAME is defined as in karst_vector_read_beside: the
 * path without .gz and then without its last ending. */
#include "tools/src/common/beside.h"

#include "support/path.h"
#include "support/place.h"
#include "tools/src/common/text.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *tool_path_beside(const char *matrix, const char *ending)
{
  return tool_format("%.*s%s", (int)karst_stem_length(matrix), matrix, ending);
}

/* Returns whether two paths have the same last component. */
static bool same_name(const char *a, const char *b)
{
  const char *end_a = strrchr(a, '/'), *end_b = strrchr(b, '/');
  return strcmp(end_a ? end_a + 1 : a, end_b ? end_b + 1 : b) == 0;
}

/* Whether a file has the ending of a picture or a report, which the commands write beside matrices. Files with any
 * other ending may be matrices, which are recognised by their content. */
static bool is_report(const char *path)
{
  static const char *const endings[] = {".png", ".svg", ".log", ".json", ".jsonl", ".csv", ".md", ".html", NULL};
  for (int i = 0; endings[i]; i++)
    if (tool_ends_in(path, endings[i])) return true;
  return false;
}

/* Returns whether path is another matrix file than matrix and known. A link to known with another name counts, because
 * it may have another right-hand side beside it. */
static bool is_sibling(const char *path, const char *matrix, const char *known)
{
  struct stat file;
  if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) || karst_place_same(path, matrix) || is_report(path))
    return false;
  return !(same_name(path, known) && karst_place_same(path, known));
}

int tool_find_sibling(const char *matrix, const char *known, char **sibling)
{
  const char *slash = strrchr(matrix, '/');
  size_t before = slash ? (size_t)(slash + 1 - matrix) : 0, length = karst_stem_length(matrix) - before;
  char *folder = tool_format("%.*s%s", (int)before, matrix, before ? "" : ".");
  int exit_status = folder ? TOOL_GO_ON : TOOL_FAILED;
  DIR *directory = folder ? opendir(folder) : NULL;
  *sibling = NULL;
  if (folder && !directory && errno != ENOENT && errno != ENOTDIR) /* without the folder the matrix cannot be written */
    exit_status = tool_fail(TOOL_FAILED, "cannot search %s for other matrices: %s", folder, strerror(errno));
  for (struct dirent *entry; directory && !*sibling && exit_status == TOOL_GO_ON && (entry = readdir(directory));) {
    const char *name = entry->d_name;
    if (karst_stem_length(name) != length || strncmp(name, matrix + before, length) != 0) continue;
    char *path = tool_format("%.*s%s", (int)before, matrix, name);
    if (!path) exit_status = TOOL_FAILED;
    if (path && is_sibling(path, matrix, known))
      *sibling = path;
    else
      free(path);
  }
  if (directory) closedir(directory);
  free(folder);
  return exit_status;
}
