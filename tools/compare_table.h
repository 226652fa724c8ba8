/* compare_table.h - what compare writes of the rows of a batch. The functions report their own errors and return
 * TOOL_GO_ON or an exit status. */
#ifndef KARST_TOOLS_COMPARE_TABLE_H
#define KARST_TOOLS_COMPARE_TABLE_H

#include "common.h"

#include <jansson.h>

/* Rows of the results file, borrowed, in the order of the plan; NULL for a case that has not run. */
struct compare_set {
  size_t count;
  json_t **line;
  const char *baseline; /* NULL: none */
};

/* A path of "-" is standard output. */
int compare_write_csv(const struct compare_set *set, const char *path);
int compare_write_markdown(const struct compare_set *set, const char *path);
int compare_write_json(const struct compare_set *set, const char *path);
int compare_write_report(const struct compare_set *set, const char *folder);

#endif
