/* lists.h - lists of indices that ranks send their neighbours once, while something is set up. */
#ifndef KARST_LIB_RANKS_LISTS_H
#define KARST_LIB_RANKS_LISTS_H

#include "lib/ranks/ranks.h"

/* The neighbours of a rank, and how many items go to each and come from each. */
typedef struct karst_lists {
  int neighbours;
  const int *rank;                               /* [neighbours] ascending */
  int size;                                      /* indices in an item */
  const karst_index *send_start, *receive_start; /* [neighbours + 1] where the items for each and of each begin */
} karst_lists;

/* Sends each neighbour its items of send, and receives its own. status: of what this rank has prepared for it; the
 * ranks agree before and after. Collective. */
karst_status karst_lists_exchange(karst_context *context, karst_status status, const karst_lists *lists,
                                  const karst_index *send, karst_index *receive);

/* Sorts numbers, such as those of ghosts, and removes repeated ones. Returns how many are left. */
karst_index karst_lists_sort(karst_index count, karst_index *number);

#endif
