/* distance.c - see distance.h: reads the option level, whose owners alone know what else it means. */
#include "solver/auto/distance.h"

#include <limits.h>
#include <string.h>

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
        int level = 0;
        karst_options_read_row(options, row, &level);
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
