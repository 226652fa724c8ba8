/* place.h - where a file is written until it is whole, for the library and for the commands. Nothing is allocated, and
 * what fails is told by errno. */
#ifndef KARST_SUPPORT_PLACE_H
#define KARST_SUPPORT_PLACE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct karst_place {
  enum {
    KARST_PLACE_DIRECT,   /* the target itself, which exists already, or a descriptor */
    KARST_PLACE_CREATED,  /* the target itself, newly created */
    KARST_PLACE_NAMELESS, /* a file without a name */
    KARST_PLACE_NAMED     /* a file with the name in temporary */
  } kind;
  int file;              /* descriptor to write to; -1: not open */
  bool replaces;         /* the target exists already */
  char target[PATH_MAX]; /* the path with links followed */
  char temporary[PATH_MAX];
};

/* Returns whether path can be written to, with errno if not; changes nothing. */
bool karst_place_check(const char *path);
/* Returns whether nothing can stand beside path: a device, or a descriptor such as /dev/stdout. */
bool karst_place_is_alone(const char *path);
/* Returns whether two paths stand for the same regular file, which need not exist. */
bool karst_place_same(const char *a, const char *b);

/* Opens the file to write to. Returns false with errno on failure; nothing is left to close then. */
bool karst_place_open(struct karst_place *place, const char *path);
/* Opens a file that takes the place of path when it is whole. Returns false with errno on failure, which is 0 where
 * path is to be written itself. */
bool karst_place_draft(struct karst_place *place, const char *path);
/* Sets name to a path by which the open draft can be written to. */
void karst_place_name_draft(const struct karst_place *place, char name[PATH_MAX]);
/* Closes the file. It gets its name, or is removed unless it is kept; not so one that had to be overwritten in place.
 * Returns NULL, or with errno what has failed: "cannot be written" or "cannot be created". */
const char *karst_place_close(struct karst_place *place, bool keep);

/* Opens path itself, emptied or created, to write to it as it is made: a descriptor is duplicated. Returns -1 with
 * errno on failure. */
int karst_place_open_itself(const char *path);
/* Writes all bytes. Returns false with errno on failure. */
bool karst_place_write(int file, const void *bytes, size_t count);

#endif
