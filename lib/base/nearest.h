/* nearest.h - which of the names that are known an unknown one may have been meant for. */
#ifndef KARST_LIB_BASE_NEAREST_H
#define KARST_LIB_BASE_NEAREST_H

#include <stddef.h>

/* How near length letters of given are to a name: 3 where they begin it, 2 where one letter is too many, is missing, is
 * another or has changed places with the next, 1 where they stand in it or it in them, else 0. */
int karst_nearness(const char *given, size_t length, const char *name);

/* The nearest of the names of the function, which returns NULL past the last, the first of several; NULL where none is
 * near. */
const char *karst_nearest(const char *given, const char *(*name)(const void *user, size_t i), const void *user);

#endif
