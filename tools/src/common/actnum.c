/* actnum.c - reads the keyword ACTNUM of an Eclipse deck: for each cell of the grid, x fastest, 1 if it is active and 0
 * if it is not.
 *
 *     ACTNUM               -- comments go to the end of the line
 *       0 1 1 2*0 3*1 /    -- n*v is n times v
 *
 * The file may be a deck or an include file with other keywords; a formatted .FEGRID, where 'ACTNUM  ' is followed by
 * the number of values and 'INTE'; or values alone. */
#include "tools/src/common/actnum.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 32 };

/* The file, and its last word: without the quotes and the blanks inside them; "" at the end. */
struct reader {
  FILE *file;
  const char *path;
  char grid[80]; /* its sizes, for sentences */
  long long cells;
  long line;
  bool quoted;
  char word[WORD];
};

/* Skips blanks and comments. Returns the first character of a word, or EOF, also at a zero byte, which no text has. */
static int skip(struct reader *reader)
{
  for (bool comment = false;;) {
    const int c = getc(reader->file);
    if (c == EOF || c == '\0') return EOF;
    if (c == '\n') reader->line++;
    if (c == '\n') comment = false;
    if (comment || strchr(" \t\r\n", c)) continue;
    if (c != '-') return c;
    const int next = getc(reader->file);
    comment = next == '-';
    if (!comment) ungetc(next, reader->file);
    if (!comment) return c;
  }
}

/* Reads the next word, of a long one the beginning. Returns false at the end. */
static bool read_word(struct reader *reader)
{
  int length = 0, c = skip(reader);
  reader->quoted = c == '\'';
  if (reader->quoted) c = getc(reader->file);
  while (c != EOF && !strchr(reader->quoted ? "'\n" : " \t\r\n/", c)) {
    if (length < WORD - 1 && c != ' ') reader->word[length++] = (char)c;
    c = getc(reader->file);
  }
  if (c == '/' && length == 0 && !reader->quoted)
    reader->word[length++] = '/';
  else if (c == '/' || c == '\n')
    ungetc(c, reader->file);
  reader->word[length] = '\0';
  return length > 0 || reader->quoted;
}

/* The exit status after the last word: a failure to read looks like the end of the file. */
static int check_end(const struct reader *reader)
{
  return ferror(reader->file) ? tool_fail(TOOL_FAILED, "%s: %s", reader->path, strerror(errno)) : TOOL_GO_ON;
}

static bool is_number(const char *word) { return *word >= '0' && *word <= '9'; }

static int fail_count(const struct reader *reader, long long count)
{
  return tool_fail(TOOL_FAILED, "%s:%ld: ACTNUM has %lld values, and the grid %s has %lld cells", reader->path,
                   reader->line, count, reader->grid, reader->cells);
}

/* Reads the number of values and 'INTE', which follow 'ACTNUM' in a .FEGRID. */
static int read_header(struct reader *reader)
{
  long long count;
  const bool whole = read_word(reader) && tool_integer(reader->word, 0, INT64_MAX, &count) && read_word(reader) &&
                     reader->quoted && strcmp(reader->word, "INTE") == 0;
  if (whole) return count == reader->cells ? TOOL_GO_ON : fail_count(reader, count);
  if (check_end(reader) != TOOL_GO_ON) return TOOL_FAILED;
  return tool_fail(TOOL_FAILED, "%s:%ld: 'ACTNUM' is not followed by a number of values and 'INTE'", reader->path,
                   reader->line);
}

/* Goes to the first value, which is the next word then. */
static int find_values(struct reader *reader)
{
  bool found = read_word(reader);
  if (found && is_number(reader->word)) return TOOL_GO_ON;
  while (found && strcmp(reader->word, "ACTNUM") != 0) found = read_word(reader);
  if (found && reader->quoted && read_header(reader) != TOOL_GO_ON) return TOOL_FAILED;
  found = found && read_word(reader);
  if (found || check_end(reader) != TOOL_GO_ON) return found ? TOOL_GO_ON : TOOL_FAILED;
  return tool_fail(TOOL_FAILED,
                   "%s: no values of the keyword ACTNUM; convertECL of OPM makes a .FEGRID of a binary .EGRID",
                   reader->path);
}

/* Reads the word as v or n*v. */
static bool read_value(const char *word, long long *times, bool *active)
{
  char digits[WORD];
  const char *star = strchr(word, '*'), *value = star ? star + 1 : word;
  *times = 1;
  if (star) snprintf(digits, sizeof digits, "%.*s", (int)(star - word), word);
  if (star && !tool_integer(digits, 1, INT64_MAX, times)) return false;
  *active = *value == '1';
  return (*value == '0' || *value == '1') && value[1] == '\0';
}

/* Reads the values of all cells, and counts the active ones. The first rows of them get a place. A slash ends the
 * values, and so does a word in quotes, the next keyword of a .FEGRID. */
static int read_values(struct reader *reader, karst_index rows, karst_index *cell, long long *active)
{
  const long long cells = reader->cells;
  long long count = 0, times;
  bool is_active, more = true;
  while (more && count < cells && !reader->quoted && strcmp(reader->word, "/") != 0) {
    if (!read_value(reader->word, &times, &is_active))
      return tool_fail(TOOL_FAILED, "%s:%ld: '%s' is neither 0 nor 1, nor n*0 or n*1", reader->path, reader->line,
                       reader->word);
    if (times > cells - count) break;
    for (long long n = 0; is_active && n < times && *active + n < rows; n++)
      cell[*active + n] = (karst_index)(count + n);
    *active += is_active ? times : 0;
    count += times;
    more = read_word(reader);
  }
  if (!more && check_end(reader) != TOOL_GO_ON) return TOOL_FAILED;
  if (count < cells && (!more || reader->quoted || strcmp(reader->word, "/") == 0)) return fail_count(reader, count);
  if (more && !reader->quoted && is_number(reader->word))
    return tool_fail(TOOL_FAILED, "%s:%ld: ACTNUM has more than %lld values, the cells of the grid %s", reader->path,
                     reader->line, cells, reader->grid);
  return TOOL_GO_ON;
}

int tool_read_actnum(const char *path, const karst_index size[3], karst_index rows, karst_index *cell)
{
  struct reader reader = {.file = fopen(path, "r"), .path = path, .line = 1};
  long long active = 0;
  if (!reader.file) return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  snprintf(reader.grid, sizeof reader.grid, "%lldx%lldx%lld", (long long)size[0], (long long)size[1],
           (long long)size[2]);
  if (__builtin_mul_overflow((long long)size[0], size[1], &reader.cells) ||
      __builtin_mul_overflow(reader.cells, size[2], &reader.cells))
    reader.cells = INT64_MAX;
  int status = find_values(&reader);
  if (status == TOOL_GO_ON) status = read_values(&reader, rows, cell, &active);
  fclose(reader.file);
  if (status != TOOL_GO_ON || active == rows) return status;
  return tool_fail(TOOL_FAILED,
                   "%s: %lld active cells, and the matrix has %lld block rows; a simulator may switch off more cells "
                   "than the deck (MINPV): its .EGRID file has those that are left",
                   path, active, (long long)rows);
}
