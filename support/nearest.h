/* nearest.h - which known name an unknown one may have been meant for, in the library and in the commands. */
#ifndef KARST_SUPPORT_NEAREST_H
#define KARST_SUPPORT_NEAREST_H

#include <stddef.h>

/* How near length letters of given are to a name: 3 where they begin it, 2 where one letter is too many, is missing, is
 * another or has changed places with the next, 1 where they stand in it or it in them, else 0. */
int karst_nearness(const char *given, size_t length, const char *name);

/* The name that is nearest to length letters of given, the first of several; NULL where no name is near. name returns
 * the i-th name, and NULL past the last. */
const char *karst_nearest(const char *given, size_t length, const char *(*name)(const void *user, size_t i),
                          const void *user);

#endif
