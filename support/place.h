/* place.h - where a file is written until it is complete, for the library and for the commands. Nothing is allocated.
 * Failures set errno. */
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

/* Returns whether path can be written to; sets errno if not. Changes nothing. */
bool karst_place_check(const char *path);
/* Returns whether path is a device, or a descriptor such as /dev/stdout: there are no files beside it. */
bool karst_place_is_alone(const char *path);
/* Returns whether two paths name the same regular file, which need not exist. */
bool karst_place_same(const char *a, const char *b);

/* Opens the file to write to. Returns false with errno on failure; nothing needs to be closed then. */
bool karst_place_open(struct karst_place *place, const char *path);
/* Opens a draft: a file that replaces path when it is complete. Returns false with errno on failure; errno is 0 if path
 * itself must be written. */
bool karst_place_draft(struct karst_place *place, const char *path);
/* Sets name to a path by which the open draft can be written to. */
void karst_place_name_draft(const struct karst_place *place, char name[PATH_MAX]);
/* Closes the file. If keep, the file gets its name; if not, it is removed, unless it was written in place. Returns
 * NULL, or on failure, with errno, "cannot be written" or "cannot be created". */
const char *karst_place_close(struct karst_place *place, bool keep);

/* Opens path itself, created or emptied, or duplicates a descriptor. Returns -1 with errno on failure. */
int karst_place_open_itself(const char *path);
/* Writes all bytes. Returns false with errno on failure. */
bool karst_place_write(int file, const void *bytes, size_t count);

#endif
