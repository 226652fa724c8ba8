/* nearest.h - suggests a known name for an unknown one, in the library and in the commands. */
#ifndef KARST_SUPPORT_NEAREST_H
#define KARST_SUPPORT_NEAREST_H

#include <stddef.h>

/* Rates how near the first length letters of given are to a name: 3 if the name begins with them, 2 if one letter is
 * added, missing, wrong or exchanged with the next, 1 if one contains the other, else 0. */
int karst_nearness(const char *given, size_t length, const char *name);

/* The name that is nearest to length letters of given, the first of several; NULL if no name is near. name returns the
 * i-th name, and NULL past the last. */
const char *karst_nearest(const char *given, size_t length, const char *(*name)(const void *user, size_t i),
                          const void *user);

#endif
