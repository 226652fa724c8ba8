/* permeability_file.c - reads permeabilities from a plain or gzip file of numbers alone or of Eclipse keywords.
 *
 * Numbers are in x fastest order, any count a line; n*value means n equal numbers, "--" begins a comment and "/" ends
 * the numbers. A keyword is alone on its line and its numbers follow. Other keywords, COPY and MULTIPLY too, are
 * ignored. */
#include "config.h"

#include "format/format.h"
#include "matrices/permeability.h"

#include <string.h>

static const double permeability_max = 1e12; /* mD; a larger one is surely a mistake and could overflow in products */

/* Sets *line to the next line that is not only a comment, without its comment and trailing spaces; NULL at the end. */
static karst_status next_line(karst_input *input, char **line)
{
  do {
    karst_status status = karst_input_line(input, line);
    if (status || !*line) return status;
    char *comment = strstr(*line, "--");
    size_t length = comment ? (size_t)(comment - *line) : strlen(*line);
    while (length > 0 && ((*line)[length - 1] == ' ' || (*line)[length - 1] == '\t')) length--;
    (*line)[length] = '\0';
  } while (**line == '\0');
  return KARST_SUCCESS;
}

/* Finds the first line of the numbers; *line is NULL if there are none. */
static karst_status find_values(karst_input *input, const char *keyword, bool plain, char **line)
{
  karst_status status = next_line(input, line);
  if (status || !*line) return status;
  if (strchr("0123456789+-.", **line)) {
    if (!plain) *line = NULL;
    return KARST_SUCCESS;
  }
  while (!status && *line && strcmp(*line, keyword) != 0) status = next_line(input, line);
  return status || !*line ? status : next_line(input, line);
}

/* Reads one word, which is value or n*value. */
static karst_status read_word(karst_input *input, char *word, int64_t *repeat, double *value)
{
  char quoted[KARST_WORD_SIZE], *number = strchr(word, '*');
  karst_quote_word(word, quoted);
  *repeat = 1;
  if (number) *number++ = '\0';
  if (!karst_parse_fortran(number ? number : word, value) || (number && !karst_parse_integer(word, repeat)) ||
      *repeat < 1)
    return karst_input_fail(input, "\"%s\" is not a number or n*number", quoted);
  if (*value < 0) return karst_input_fail(input, "the permeability %s is negative", quoted);
  if (*value > permeability_max)
    return karst_input_fail(input, "the permeability %s is above %g mD", quoted, permeability_max);
  return KARST_SUCCESS;
}

/* Reads the numbers of one line. *ended: whether a slash ended the numbers. */
static karst_status read_line(karst_input *input, char *line, karst_index cells, karst_index *count, double *value,
                              bool *ended)
{
  char *slash = strchr(line, '/'), *word = line;
  *ended = slash != NULL;
  if (slash) *slash = '\0';
  for (word = line + strspn(line, " \t"); *word != '\0';) {
    char *end = word + strcspn(word, " \t"), *next = end + strspn(end, " \t");
    int64_t repeat;
    double number;
    *end = '\0';
    karst_status status = read_word(input, word, &repeat, &number);
    if (status) return status;
    if (repeat > cells - *count)
      return karst_input_fail(input, "more values than the grid's %lld cells", (long long)cells);
    while (repeat-- > 0) value[(*count)++] = number;
    word = next;
  }
  return KARST_SUCCESS;
}

static karst_status read_values(karst_input *input, char *line, karst_index cells, double *value)
{
  karst_index count = 0;
  karst_status status = KARST_SUCCESS;
  for (bool ended = false; !status && line && !ended;) {
    status = read_line(input, line, cells, &count, value, &ended);
    if (!status && !ended) status = next_line(input, &line);
  }
  if (!status && count < cells)
    status = karst_input_fail(input, "the values end after %lld; the grid has %lld cells", (long long)count,
                              (long long)cells);
  return status;
}

karst_status karst_permeability_read(karst_context *context, const char *path, const char *keyword, bool plain,
                                     karst_index cells, double *value, bool *found)
{
  karst_input *input;
  char *line = NULL;
  *found = false;
  karst_status status = karst_input_open(context, path, NULL, &input);
  if (status) return status;
  status = find_values(input, keyword, plain, &line);
  *found = line != NULL;
  if (!status && line) status = read_values(input, line, cells, value);
  karst_input_close(input);
  return status;
}
