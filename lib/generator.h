/* generator.h - what a gallery problem is. One const table a problem; all tables in matrices/gallery.c. */
#ifndef KARST_LIB_GENERATOR_H
#define KARST_LIB_GENERATOR_H

#include "matrix.h"

/* NAME:SIZES[,key=value...] taken apart. */
typedef struct karst_gallery_spec {
  karst_index size[3];    /* nx, ny, nz; 1 where the problem has fewer dimensions */
  int block_size;         /* unknowns a cell for problems that take any; 0: the problem's own */
  const char *parameters; /* the text after the sizes, "key=value,key=value", or "" */
} karst_gallery_spec;

struct karst_generator {
  const char *name;
  const char *help; /* one line: what it is, its sizes, its keys */
  int dimensions;   /* how many sizes SIZES has */
  /* Builds the matrix, and the right-hand side unless rhs is NULL (*rhs stays NULL where the problem has none). */
  karst_status (*build)(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                        karst_vector **rhs);
};

extern const struct karst_generator *const karst_generator_table[]; /* ends with NULL */

#endif
