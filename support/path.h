/* path.h - the parts of a file's name, for the library and for the commands. */
#ifndef KARST_SUPPORT_PATH_H
#define KARST_SUPPORT_PATH_H

#include <stddef.h>

/* The endings of compressed files that Karst reads: .gz, .xz, .zst and .bz2. */

/* Returns the length of a path without the ending of a compressed file. */
size_t karst_unpacked_length(const char *path);
/* Returns the length of NAME, with its folder, in NAME.ENDING or NAME.ENDING.gz. Files that belong to a matrix file
 * have names that begin with NAME. */
size_t karst_stem_length(const char *path);

#endif
