/* generator.h - the interface of a gallery problem, which is one const table. matrices/gallery.c lists the tables. */
#ifndef KARST_LIB_METHOD_GENERATOR_H
#define KARST_LIB_METHOD_GENERATOR_H

#include "lib/matrix/matrix.h"

/* The block rows first .. end - 1 of a problem, which a rank builds alone. All arrays are from karst_allocate. */
typedef struct karst_gallery_part {
  karst_index first, end;
  int block_size;         /* this and what follows are set by build */
  karst_index *row_start; /* [end - first + 1] from 0 */
  karst_index *column;    /* [row_start[end - first]] among the block rows of the whole problem */
  double *value;          /* [b*b*row_start[end - first]] */
} karst_gallery_part;

/* The parts of NAME:SIZES[,key=value...]. */
typedef struct karst_gallery_spec {
  karst_index size[3];                     /* nx, ny, nz; 1 for the dimensions that the problem does not have */
  int block_size;                          /* requested unknowns per cell; 0: the problem's own number */
  const char *parameters;                  /* the text after the sizes, "key=value,key=value", or "" */
  const struct karst_generator *generator; /* the problem NAME */
  karst_gallery_part *part;                /* what to build instead of a matrix; NULL: the whole problem */
} karst_gallery_spec;

struct karst_generator {
  const char *name;
  const char *help; /* one line: the problem, its sizes, its keys */
  int dimensions;   /* number of sizes in SIZES */
  /* Builds the matrix, and unless rhs is NULL the right-hand side. *rhs stays NULL if the problem has none. With a part
   * in spec, *matrix stays NULL, and the right-hand side is that of its rows. */
  karst_status (*build)(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                        karst_vector **rhs);
  /* Makes the exact solution of the problem with its own right-hand side, one scalar per row; NULL: unknown. */
  karst_status (*exact)(karst_context *context, const karst_gallery_spec *spec, karst_vector **exact);
};

extern const struct karst_generator *const karst_generator_table[]; /* ends with NULL */

#endif
