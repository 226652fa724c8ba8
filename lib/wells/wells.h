/* wells.h - the inside of wells beside a matrix (karst_wells), and the view of them that a system in another order has.
 *
 * With the unknowns w of all wells the system is
 *
 *     [ A  C^T ] [x]   [b]
 *     [ B  D   ] [w] = [g],   w = D^-1 (g - B x),   (A - C^T D^-1 B) x = b - C^T D^-1 g
 *
 * B and C have one block a perforation, of n equations of its well by b unknowns of its cell; D has one block a well,
 * of n by n. All blocks are stored column by column. Perforations are numbered well after well. */
#ifndef KARST_LIB_WELLS_WELLS_H
#define KARST_LIB_WELLS_WELLS_H

#include "lib/matrix/matrix.h"

typedef struct karst_well {
  karst_index first, count; /* its perforations */
  int equations;            /* n */
  int64_t unknown;          /* the place of its first unknown in w */
  int64_t entry;            /* of its first scalar in B and C: perforation p begins at entry + (p - first) b n */
  int64_t square;           /* of its block in D and the inverse */
} karst_well;

/* What follows from the perforated cells. */
typedef struct karst_wells_lists {
  karst_index *cell;       /* [perforations] */
  karst_index *owner;      /* [perforations] the well of each */
  karst_index *in_list;    /* [perforations] the place of each one's cell in list_cell */
  karst_index *list_cell;  /* [cells] the perforated cells, ascending in the caller's order */
  karst_index *list_start; /* [cells + 1] where the perforations of each of these begin in list */
  karst_index *list;       /* [perforations] by cells, ascending in each */
} karst_wells_lists;

struct karst_wells {
  karst_context *context;
  karst_index block_rows; /* of the matrix */
  int block_size;         /* b */
  karst_index count, perforations;
  karst_index cells; /* perforated ones */
  int64_t unknowns, entries, squares;
  int most_equations;            /* of a well */
  karst_index most_perforations; /* of a well */
  karst_index most_in_cell;      /* perforations */
  karst_well *host_well, *well;  /* [count], host and device memory */
  karst_wells_lists host, device;
  double *B, *C;        /* [entries], device memory as all that follow */
  double *D, *inverse;  /* [squares]; the inverse is 0 for a well with an outcome */
  double *space;        /* [KARST_WELLS_SPACE unknowns] for calls for the wells alone */
  karst_reason reason;  /* of the last values: KARST_SOUND, _SINGULAR_BLOCK or _NOT_FINITE */
  karst_index bad;      /* the first well with that outcome; -1: none, and if not KARST_SOUND, the update failed */
  char explanation[96]; /* of an outcome, else "" */
  int64_t generation;   /* number of updates of the values, also of those that failed */
};

enum { KARST_WELLS_SPACE = 5 };

/* The wells of a system whose block rows are in an order of their own. Values and lists are those of the wells; a view
 * has the cells in its order, and work space, so that systems in several threads can share wells. */
typedef struct karst_wells_view {
  const karst_wells *wells;          /* NULL: there are no wells */
  const karst_index *host_cell;      /* [perforations], host */
  const karst_index *cell;           /* [perforations], device */
  const karst_index *list_cell;      /* [cells], device */
  double *space;                     /* [KARST_WELLS_SPACE unknowns], device */
  karst_index *owned[2], *placed[2]; /* the lists and their places, if they are not those of the wells; else NULL */
  double *owned_space;               /* the work space, if it belongs to this view; else NULL */
} karst_wells_view;

/* A view in the caller's order with the given work space, which owns nothing. */
karst_wells_view karst_wells_view_of(const karst_wells *wells, double *space);
/* A view in the caller's order, and one in the order of a permutation: block row i is permutation[i] of the caller,
 * which shares the other's work space. The wells outlive both. After a failure release frees what was made. */
karst_status karst_wells_view_make(const karst_wells *wells, karst_wells_view *view);
karst_status karst_wells_view_permute(const karst_wells_view *caller, const karst_index *permutation,
                                      karst_wells_view *view);
void karst_wells_view_release(karst_context *context, karst_wells_view *view);
int64_t karst_wells_view_memory(const karst_wells_view *view);

/* y = y + sign C^T w with w = -D^-1 B x, and sign 1 or -1. unknown < 0: x and y have b scalars a block row. Else x has
 * one, the unknown of that number in the cell, and its others are 0. */
void karst_wells_multiply(const karst_wells_view *view, int unknown, double sign, const double *x, double *y);
/* size = size + |C|^T |D^-1| (|B| |x| + |D| |D^-1| |B| |x|), which bounds the rounding errors in that product, also
 * those of the inverse, if the unit of rounding is multiplied by karst_wells_terms: at least the terms that an element
 * of the product sums. */
void karst_wells_add_size(const karst_wells_view *view, const double *x, double *size);
int64_t karst_wells_terms(const karst_wells *wells);
/* Computes the elements of r = b - (A - C^T D^-1 B) x in perforated cells to twice the working precision. */
void karst_wells_residual_precise(const karst_wells_view *view, const karst_matrix *A, const double *b, const double *x,
                                  double *r);

#endif
