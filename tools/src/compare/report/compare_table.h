/* compare_table.h - what compare writes of its results: CSV, JSON, Markdown and a page with pictures. All of them see
 * the same table, made from the lines of the results file. All functions of type int report their own errors and return
 * TOOL_GO_ON or an exit status. */
#ifndef KARST_TOOLS_SRC_COMPARE_REPORT_COMPARE_TABLE_H
#define KARST_TOOLS_SRC_COMPARE_REPORT_COMPARE_TABLE_H

#include "tools/src/common/common.h"

#include <jansson.h>

/* What is to be written. The lines are the objects of the results file, in the order of the plan, and the caller's. */
struct compare_set {
  size_t count;
  json_t **line;        /* [count] NULL: the case has not run yet */
  const char *baseline; /* NAME=VALUE[,NAME=VALUE], or NULL: no speed-ups */
};

/* path "-" is standard output, whose errors tool_finish reports. */
int compare_write_csv(const struct compare_set *set, const char *path);
int compare_write_markdown(const struct compare_set *set, const char *path);
int compare_write_json(const struct compare_set *set, const char *path);
/* Writes index.html and its pictures into the folder, which is made if it is not there. */
int compare_write_report(const struct compare_set *set, const char *folder);
/* Looks, before long work begins, whether compare_write_report will be able to: gnuplot, and a folder to write to. */
int compare_report_check(const char *folder);

#endif
