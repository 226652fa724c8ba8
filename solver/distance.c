/* distance.c - see distance.h: reads the option level, whose owners alone know what else it means. */
#include "distance.h"

#include <limits.h>
#include <string.h>

static int read_level(const karst_options *options, const karst_option *row)
{
  karst_option rows[] = {*row, {0}};
  const karst_option *const list[] = {rows, NULL};
  int level = 0;
  rows[0].field = 0;
  karst_options_read(options, list, &level);
  return level;
}

karst_status karst_fill_distance(karst_context *context, const struct karst_precond_ops *ops,
                                 const karst_options *options, int *distance)
{
  karst_status status = KARST_SUCCESS;
  *distance = 1;
  for (const karst_option *const *list = ops->options; list && *list; list++)
    for (const karst_option *row = *list; row->name && !status; row++) {
      const struct karst_precond_ops *chosen;
      karst_options *inner;
      int reach = 1;
      if (row->kind == KARST_OPTION_INTEGER && strcmp(row->name, "level") == 0) {
        const int level = read_level(options, row);
        reach = level < INT_MAX ? level + 1 : level;
      } else if (row->kind == KARST_OPTION_PRECOND && ops->shares_matrix) {
        status = karst_options_inner(context, options, row, &inner);
        if (!status) status = karst_precond_chosen(context, inner, &chosen);
        if (!status) status = karst_fill_distance(context, chosen, inner, &reach);
        karst_options_destroy(inner);
      }
      if (!status && reach > *distance) *distance = reach;
    }
  return status;
}
