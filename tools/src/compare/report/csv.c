/* csv.c - a line for each case, in the order of the plan, after a header (RFC 4180). Unknown values are empty. Times
 * are in seconds, memory in bytes; numbers are as precise as the results file has them. */
#include "tools/src/compare/report/compare_write.h"

#include <math.h>
#include <string.h>

/* A field, between quotes where it has to be. */
static void print_field(FILE *file, const char *text)
{
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, file);
    return;
  }
  fputc('"', file);
  for (; *text; text++) {
    if (*text == '"') fputc('"', file);
    fputc(*text, file);
  }
  fputc('"', file);
}

static void print_header(FILE *file, const struct compare_table *table)
{
  fputs("matrix", file);
  for (size_t d = 0; d < table->dimensions; d++) {
    fputc(',', file);
    print_field(file, table->dimension[d].name);
  }
  fputs(",outcome,sentence", file);
  for (int i = 0; i < COMPARE_NUMBERS; i++) fprintf(file, ",%s", compare_number_name((enum compare_number)i));
  fputs(",reason,version,host,device_name,started\r\n", file);
}

static void print_row(FILE *file, const struct compare_table *table, const struct compare_row *row)
{
  print_field(file, row->line ? table->matrix[row->matrix] : "");
  for (size_t d = 0; d < table->dimensions; d++) {
    fputc(',', file);
    print_field(file, row->value[d] ? row->value[d] : "");
  }
  fprintf(file, ",%s,", compare_outcome_word(row->outcome));
  print_field(file, row->sentence);
  for (int i = 0; i < COMPARE_NUMBERS; i++) {
    fputc(',', file);
    if (isfinite(row->number[i])) fprintf(file, "%.12g", row->number[i]);
  }
  for (int i = 0; i < COMPARE_WORDS; i++) {
    fputc(',', file);
    print_field(file, row->word[i]);
  }
  fputs("\r\n", file);
}

static int print_csv(FILE *file, const struct compare_table *table)
{
  print_header(file, table);
  for (size_t i = 0; i < table->rows; i++) print_row(file, table, &table->row[i]);
  return TOOL_GO_ON;
}

int compare_write_csv(const struct compare_set *set, const char *path)
{
  return compare_write_table(set, path, print_csv);
}
