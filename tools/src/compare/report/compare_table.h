/* compare_table.h - writes the results of compare as CSV, JSON, Markdown and a page with pictures, all from one table
 * of the lines of the results file. Functions of type int report their own errors and return TOOL_GO_ON or an exit
 * status. */
#ifndef KARST_TOOLS_SRC_COMPARE_REPORT_COMPARE_TABLE_H
#define KARST_TOOLS_SRC_COMPARE_REPORT_COMPARE_TABLE_H

#include "tools/src/common/common.h"

#include <jansson.h>

/* The results to be written. The lines are the objects of the results file, in the order of the plan; the caller owns
 * them. */
struct compare_set {
  size_t count;
  json_t **line;        /* [count] NULL: the case has not run yet */
  const char *baseline; /* NAME=VALUE[,NAME=VALUE], or NULL: no speed-ups */
};

/* path "-" is standard output, whose errors tool_finish reports. */
int compare_write_csv(const struct compare_set *set, const char *path);
int compare_write_markdown(const struct compare_set *set, const char *path);
int compare_write_json(const struct compare_set *set, const char *path);
/* Writes index.html and its pictures into the folder, which is created if necessary. */
int compare_write_report(const struct compare_set *set, const char *folder);
/* Checks before long work whether compare_write_report can succeed: gnuplot exists, and the folder can be written. */
int compare_report_check(const char *folder);

#endif
