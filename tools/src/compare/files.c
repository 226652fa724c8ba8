/* files.c - finds the matrices of a name, and fingerprints the files that they are read from. */
#include "tools/src/compare/compare.h"
#include "tools/src/common/inputs.h"
#include "tools/src/common/load.h"
#include "tools/src/common/text.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Files in a folder with these endings are taken for matrices. A file with another ending must be named itself. */
static const char *const endings[] = {".mtx",     ".mtx.gz",  ".mtx.xz", ".mm",    ".mm.gz",    ".kbsr",
                                      ".kbsr.gz", ".kbsr.xz", ".rb",     ".rua",   ".rsa",      ".tar.gz",
                                      ".tgz",     ".dat",     ".bin",    ".petsc", ".petsc.gz", NULL};

/* Returns the length of a name without the ending of a matrix file; 0 where it has none. */
static size_t stem_length(const char *name)
{
  for (size_t i = 0; endings[i]; i++)
    if (tool_ends_in(name, endings[i])) return strlen(name) - strlen(endings[i]);
  return 0;
}

/* Whether a file of a folder is a matrix: not NAME_b.mtx, and no array. *skipped: counts files without the ending of a
 * matrix or of the file that PETSc writes beside one. */
static bool is_matrix(const char *path, int *skipped)
{
  struct stat file;
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *point = strrchr(name, '.');
  const size_t stem = stem_length(name);
  if (stat(path, &file) != 0 || !S_ISREG(file.st_mode)) return false;
  if (stem == 0) *skipped += name[0] != '.' && !(point && strcmp(point, ".info") == 0);
  if (stem == 0 || (stem > 2 && strncmp(name + stem - 2, "_b", 2) == 0)) return false;
  return !tool_is_array(path);
}

/* The endings as a text with blanks between them. */
static void list_endings(char *list, size_t size)
{
  list[0] = '\0';
  for (size_t i = 0; endings[i]; i++) tool_append(list, size, "%s%s", i > 0 ? " " : "", endings[i]);
}

static void note_skipped(const char *folder, int skipped)
{
  char list[256], text[1024];
  if (skipped == 0) return;
  list_endings(list, sizeof list);
  snprintf(text, sizeof text, "%s: %d file%s with another ending %s skipped; matrix files end in %s", folder, skipped,
           skipped == 1 ? "" : "s", skipped == 1 ? "is" : "are", list);
  tool_message(NULL, KARST_MESSAGE_NOTE, text);
}

static int find_in_folder(const char *folder, json_t *names)
{
  struct dirent **entry;
  char list[256];
  int skipped = 0;
  const size_t before = json_array_size(names);
  const int count = scandir(folder, &entry, NULL, alphasort);
  int status = count < 0 ? tool_fail(TOOL_FAILED, "%s: %s", folder, strerror(errno)) : TOOL_GO_ON;
  for (int i = 0; i < count; i++) {
    char *path = tool_format("%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", entry[i]->d_name);
    if (!path || (is_matrix(path, &skipped) && json_array_append_new(names, json_string_nocheck(path)) != 0))
      status = tool_fail_memory("the names of the matrices");
    free(path);
    free(entry[i]);
  }
  if (count >= 0) free(entry);
  if (status != TOOL_GO_ON) return status;
  list_endings(list, sizeof list);
  if (json_array_size(names) == before)
    return tool_fail(TOOL_FAILED, "the folder %s has no matrix: no file ends in %s", folder, list);
  note_skipped(folder, skipped);
  return TOOL_GO_ON;
}

int compare_find_matrices(const char *name, json_t *names)
{
  struct stat file;
  if (strcmp(name, "-") == 0)
    return tool_fail(TOOL_FAILED, "standard input can be read only once, but each case reads its matrix");
  const bool known = stat(name, &file) == 0;
  if (known && S_ISDIR(file.st_mode)) return find_in_folder(name, names);
  if (known && !S_ISREG(file.st_mode))
    return tool_fail(TOOL_FAILED, "%s is not a regular file; each case must be able to read it again", name);
  int status = tool_check_matrix(name);
  if (status != TOOL_GO_ON) return status;
  return json_array_append_new(names, json_string_nocheck(name)) == 0 ? TOOL_GO_ON
                                                                      : tool_fail_memory("the names of the matrices");
}

/* The hash of Fowler, Noll and Vo (FNV-1a, 64 bits) of a file's bytes, begun by that of the files before it. */
struct print {
  uint64_t hash, size;
};

/* Adds a file. A missing file changes nothing; solve reports a file that cannot be read. */
static void print_file(struct print *print, const char *path)
{
  static unsigned char bytes[1 << 16];
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return;
  FILE *file = fopen(path, "rb");
  size_t got;
  while (file && (got = fread(bytes, 1, sizeof bytes, file)) > 0) {
    for (size_t i = 0; i < got; i++) print->hash = (print->hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    print->size += got;
  }
  if (file) fclose(file);
}

static int print_input(void *user, const char *what, const char *path)
{
  (void)what;
  print_file(user, path);
  return TOOL_GO_ON;
}

int compare_fingerprint(const char *matrix, char *text, size_t size)
{
  struct print print = {.hash = UINT64_C(0xcbf29ce484222325)};
  const int status = tool_each_input(matrix, print_input, &print);
  text[0] = '\0';
  if (print.size > 0) snprintf(text, size, "%" PRIu64 " bytes %016" PRIx64, print.size, print.hash);
  return status;
}

json_t *compare_safe_text(const char *text)
{
  json_t *plain = json_string(text);
  if (plain) return plain;
  char *safe = NULL;
  size_t length;
  FILE *memory = open_memstream(&safe, &length);
  if (!memory) return NULL;
  tool_print_safely(memory, text);
  if (fclose(memory) == 0) plain = json_string(safe);
  free(safe);
  return plain;
}
