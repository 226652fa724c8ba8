/* compare_tables_none.c - stands in for the writers of tables: a plain line for each case. */
#include "compare_table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int write_plain(const struct compare_set *set, const char *path)
{
  FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
  if (!file) return tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
  for (size_t i = 0; i < set->count; i++) {
    const char *outcome = json_string_value(json_object_get(set->line[i], "outcome"));
    json_dumpf(json_object_get(set->line[i], "case"), file, JSON_COMPACT);
    fprintf(file, " %s\n", outcome ? outcome : "not run");
  }
  return file == stdout || fclose(file) == 0 ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "%s: %s", path, strerror(errno));
}

int compare_write_csv(const struct compare_set *set, const char *path) { return write_plain(set, path); }
int compare_write_markdown(const struct compare_set *set, const char *path) { return write_plain(set, path); }
int compare_write_json(const struct compare_set *set, const char *path) { return write_plain(set, path); }
int compare_write_report(const struct compare_set *set, const char *folder) { return write_plain(set, folder); }
