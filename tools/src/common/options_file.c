/* options_file.c - see options_file.h. */
#include "tools/src/common/options_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MOST = 1 << 20 }; /* far beyond any list of options: a longer file is something else */

static const char blanks[] = " \t\r";

/* Reads the whole file into memory, which is the caller's after an error too, and ends it with a zero. */
static int read_all(const char *path, char **text, size_t *length)
{
  FILE *stream = fopen(path, "rb");
  *text = NULL;
  if (!stream) return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  *text = malloc(BYTES_MOST + 1);
  errno = 0;
  *length = *text ? fread(*text, 1, BYTES_MOST + 1, stream) : 0;
  const int error = ferror(stream) ? errno : 0;
  const bool failed = ferror(stream) != 0;
  fclose(stream);
  if (!*text) return tool_fail_memory("the file of options");
  if (failed) return tool_fail(TOOL_FAILED, "%s: %s", path, error ? strerror(error) : "reading failed");
  if (*length > BYTES_MOST)
    return tool_fail(TOOL_FAILED, "%s: too large for a file of options, which has at most 1 MiB", path);
  (*text)[*length] = '\0';
  return TOOL_GO_ON;
}

/* Ends a line in front of its comment. */
static void cut_comment(char *line)
{
  for (char *mark = line; (mark = strchr(mark, '#')); mark++)
    if (mark == line || strchr(blanks, mark[-1])) {
      *mark = '\0';
      return;
    }
}

/* Skips the blanks that text begins with and cuts those that it ends in. */
static char *trim(char *text)
{
  text += strspn(text, blanks);
  for (size_t length = strlen(text); length > 0 && strchr(blanks, text[length - 1]); length--) text[length - 1] = '\0';
  return text;
}

/* Splits a line that is not empty into the name, with "--" before it, and the value. */
static bool split(char *text, struct tool_options_line *line)
{
  text += strncmp(text, "--", 2) == 0 ? 2 : 0;
  const size_t length = strcspn(text, " \t\r=");
  char *rest = text + length + strspn(text + length, blanks);
  const bool assigned = *rest == '=';
  line->argument[0] = malloc(length + 3);
  if (!line->argument[0]) return false;
  snprintf(line->argument[0], length + 3, "--%.*s", (int)length, text);
  if (assigned) rest = trim(rest + 1);
  line->argument[1] = rest;
  line->count = assigned || *rest ? 2 : 1;
  return true;
}

static size_t count_lines(const char *text)
{
  size_t count = 1;
  for (const char *c = text; *c; c++) count += *c == '\n';
  return count;
}

/* Takes the lines of the text apart. */
static bool parse(struct tool_options_file *file)
{
  static const char mark[] = "\xef\xbb\xbf"; /* which some editors begin a file of UTF-8 with */
  char *end, *next = file->text + (strncmp(file->text, mark, sizeof mark - 1) == 0 ? sizeof mark - 1 : 0);
  file->line = calloc(count_lines(file->text), sizeof *file->line);
  if (!file->line) return false;
  for (long number = 1; next; next = end, number++) {
    end = strchr(next, '\n');
    if (end) *end++ = '\0';
    cut_comment(next);
    char *content = trim(next);
    if (!*content) continue;
    struct tool_options_line *line = &file->line[file->count++];
    line->number = number;
    if (!split(content, line)) return false;
  }
  return true;
}

static struct tool_options_file *kept; /* all of them: what options point into stays in reach */

const char *tool_options_path(size_t i)
{
  const struct tool_options_file *file = kept;
  while (file && i-- > 0) file = file->last;
  return file ? file->path : NULL;
}

int tool_options_read(const char *path, struct tool_options_file **file)
{
  struct tool_options_file *made = calloc(1, sizeof *made);
  size_t length = 0;
  *file = NULL;
  if (!made) return tool_fail_memory("the file of options");
  made->path = path;
  made->last = kept;
  kept = made;
  const int status = read_all(path, &made->text, &length);
  if (status != TOOL_GO_ON) return status;
  if (strlen(made->text) != length)
    return tool_fail(TOOL_FAILED, "%s: not a file of options: it contains a zero byte", path);
  if (!parse(made)) return tool_fail_memory("the file of options");
  *file = made;
  return TOOL_GO_ON;
}
