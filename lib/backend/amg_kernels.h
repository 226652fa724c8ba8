/* amg_kernels.h - the typed kernel table of algebraic multigrid, for matrices of one unknown a cell. Every backend has
 * an instance; the CPU's is the reference that others are tested against.
 *
 * Level 0 is the caller's matrix, level l + 1 is R A P with R = P^T, and the last level is solved by a dense inverse.
 * precond/amg/hierarchy.c makes the levels from these kernels, and precond/amg/cycle.c writes a cycle as a list of
 * steps that every backend runs. Rectangular matrices exist only here.
 *
 * Of a matrix that ranks share, each level has the rank's own rows, and columns behind the rows for the rows of other
 * ranks that they couple with, the ghosts (precond/amg/amg_ranks.h). The kernels know no ranks: a cycle has steps that call
 * back for what other ranks have.
 *
 * All arrays are device memory of the backend, which also releases them. Values of matrices, weights and the inverse
 * are float if single, else double; vectors are double. Kernels that return a number wait for the device. Every sum has
 * an order that depends only on the matrix. */
#ifndef KARST_LIB_BACKEND_AMG_KERNELS_H
#define KARST_LIB_BACKEND_AMG_KERNELS_H

#include "lib/backend/lines_kernels.h"
#include "lib/base/inline.h"
#include "lib/matrix/matrix.h"

enum {
  KARST_AMG_LEVELS = 25, /* at most, with the finest and the coarsest */
  KARST_AMG_DENSE = 512, /* most rows that are inverted */
  KARST_AMG_LONG = 512,  /* a row of more entries is long: it stays on the next level, and no other row is
                           * interpolated through it */
  KARST_AMG_VECTORS = 4  /* of a level, numbered as in karst_amg_step */
};

/* A sparse matrix of scalars, row by row, columns ascending. */
typedef struct karst_amg_matrix {
  karst_index rows, columns;
  int64_t entries;
  karst_index longest;    /* entries of the longest row */
  karst_index *row_start; /* [rows + 1] */
  karst_index *column;    /* [entries] */
  void *value;            /* [entries] float or double */
  bool borrows;           /* the pattern belongs to another matrix */
} karst_amg_matrix;

/* Which rows of a level make the next one. */
typedef struct karst_amg_splitting {
  karst_index coarse; /* rows of the next level */
  karst_index *place; /* [rows] the row of the next level that a row becomes, or whose aggregate it is in; -1: none */
  unsigned char *strong; /* [entries] 1 for a strong coupling; NULL for aggregates */
  int rounds;            /* of the parallel algorithm */
} karst_amg_splitting;

/* C = A B on a pattern that is found once. slot has, for each product a_ik b_kj in the order of k and then j, the
 * number of c_ij in row i of C, in slot_size bytes: 1 if no row of C has more than 256 entries, else 2 or 4. */
typedef struct karst_amg_product {
  karst_amg_matrix C;
  int64_t products;
  int64_t *first; /* [rows + 1] the products before each row */
  void *slot;     /* [products] */
  int slot_size;
} karst_amg_product;

typedef struct karst_amg_level {
  karst_amg_matrix A; /* [rows x rows and ghosts] of level 0: the pattern is the caller's matrix's. Of others: product.C
                       * of the level before */
  karst_amg_matrix P; /* [columns of A x columns of the next level's]; no rows on the last level */
  karst_amg_matrix R; /* the transpose of P's first rows, those of A */
  karst_amg_product AP, RAP;
  /* Where ranks share the matrix, others have a part of R A P, and this rank has one of theirs. */
  karst_amg_product part; /* the rows of ghosts of R A P, without the parts of others */
  karst_amg_matrix S; /* the own rows of R, and ones in the columns of rows that other ranks have computed, which are
                           * behind those of A P: RAP is S A P */
  void *weight;       /* [rows] of the smoother: 1 / d_i, or 0 where d_i is 0; in karst_amg.shared */
  double *
      vector[KARST_AMG_VECTORS]; /* [columns of A] each, in karst_amg.shared; the last one only where a step needs it */
} karst_amg_level;

typedef enum karst_amg_action {
  KARST_AMG_FIRST,    /* y = factor D^-1 f, the first sweep from 0 */
  KARST_AMG_SWEEP,    /* y = x + factor D^-1 (f - A x) */
  KARST_AMG_MOMENTUM, /* d = keep d + factor D^-1 (f - A x), y = x + d; keep = 0: d is not read. Number x = 0 here
                       * means that x is zero: d = factor D^-1 f, y = d */
  KARST_AMG_RESIDUAL, /* y = f - A x */
  KARST_AMG_RESTRICT, /* f of the next level = R x */
  KARST_AMG_PROLONG,  /* y = y + factor P x, with x of the next level */
  KARST_AMG_INVERT,   /* y = A^-1 f by the dense inverse of the last level */
  KARST_AMG_EXCHANGE, /* these three by karst_amg.call: the ghosts' part of x comes from other ranks; */
  KARST_AMG_RETURN,   /* the ghosts' part of x goes to them, and what they send is added to the own part; */
  KARST_AMG_GATHER,   /* y = M^-1 f on the last level, which all ranks have as a whole, also for ghosts */
  KARST_AMG_LINES     /* y = keep y + factor M^-1 x on level 0, where M is that of karst_amg.lines; keep = 0: y is not
                       * read. d is work space */
} karst_amg_action;

/* A step of a cycle. x and y: numbers of vectors of the level. 0 is the right-hand side f, 3 is d; y differs from x
 * except where it is updated in place. */
typedef struct karst_amg_step {
  karst_amg_action action;
  int level;
  int x, y;
  double factor, keep;
} karst_amg_step;

/* The outcome of new values. */
typedef struct karst_amg_outcome {
  karst_reason reason;   /* KARST_SOUND, KARST_NOT_FINITE, or KARST_SINGULAR_BLOCK for a row of level 0 that is 0 */
  karst_index block_row; /* of level 0, or -1 */
  karst_index pinned;    /* unknowns of the last level that the others determine up to rounding, as in a system with a
                          * null space: the inverse leaves them 0 */
} karst_amg_outcome;

typedef struct karst_amg {
  bool single;
  bool l1;            /* d_i = a_ii + sign(a_ii) sum |a_ij|; else d_i = a_ii */
  karst_index ghosts; /* columns of level 0 behind its rows */
  int exponent;       /* level 0 is A divided by 2^exponent; from load, or */
  bool has_exponent;  /* given to it */
  int levels;         /* at least 1 */
  karst_amg_level level[KARST_AMG_LEVELS];
  void *shared;  /* the weights and vectors, which cycles need, and in the same memory the values of each A P,
                         * which are only needed until those of R (A P) are computed; NULL before finish */
  void *inverse; /* [rows * rows] of the last level, in the backend's order; NULL: it has no INVERT step */
  const karst_lines_factors *lines; /* [axes] M = T_1 D^-1 T_2 ... for the caller's matrix, as lines_kernels.h says. The
                                     * caller factors them for the values that load has taken */
  int axes;
  karst_amg_step *step; /* [steps] host memory of the caller's */
  int steps;
  void (*call)(void *user, const karst_amg_step *step); /* does the steps EXCHANGE, RETURN and GATHER; NULL: there are
                                                         * none, the last level has an inverse, and the steps may be
                                                         * captured */
  void *user;
  bool gathers;        /* the last level has a step GATHER */
  int result;          /* the vector of level 0 that has the result of the steps */
  void *plan;          /* the backend's own */
  int64_t plan_memory; /* its bytes, with the inverse and the shared memory */
} karst_amg;

/* The bytes of a value of a matrix. */
static inline size_t karst_amg_scalar(const karst_amg *amg) { return amg->single ? sizeof(float) : sizeof(double); }

/* Places the weights, the vectors and the values of the products A P in shared memory, and returns its bytes; with
 * shared NULL it only counts them. */
static inline int64_t karst_amg_place_shared(karst_amg *amg, char *shared)
{
  enum { ALIGNED = 256 /* bytes */ };
  const int64_t scalar = (int64_t)karst_amg_scalar(amg);
  int vectors = KARST_AMG_VECTORS - 1;
  int64_t bytes = 0;
  for (int s = 0; s < amg->steps; s++)
    if (amg->step[s].action == KARST_AMG_MOMENTUM || amg->step[s].action == KARST_AMG_LINES)
      vectors = KARST_AMG_VECTORS;
  for (int l = 0; l < amg->levels; l++)
    for (int v = -1; v < vectors; v++) {
      if (shared && v < 0) amg->level[l].weight = shared + bytes;
      if (shared && v >= 0) amg->level[l].vector[v] = (double *)(void *)(shared + bytes);
      const karst_amg_matrix *A = &amg->level[l].A;
      bytes += ((v < 0 ? A->rows * scalar : A->columns * (int64_t)sizeof(double)) / ALIGNED + 1) * ALIGNED;
    }
  for (int l = 0; l + 1 < amg->levels; l++) {
    karst_amg_matrix *AP = &amg->level[l].AP.C;
    if (shared) AP->value = shared;
    if (AP->entries * scalar > bytes) bytes = AP->entries * scalar;
  }
  return bytes;
}

/* Fixed random bits of a number, the same on every backend (Wellons, lowbias32, 2018). */
KARST_INLINE uint32_t karst_amg_hash(uint32_t x)
{
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  return x ^ (x >> 16);
}

/* The measure |S^T_i| + hash(i) in units of 2^-32; of a long row it is larger than that of any other. Equal measures
 * are compared by the row's number. */
KARST_INLINE uint64_t karst_amg_measure(karst_index row, uint32_t dependents, bool is_long)
{
  return ((uint64_t)is_long << 63) + ((uint64_t)dependents << 32) + karst_amg_hash((uint32_t)row);
}

/* The hash of a coupling for ties in matching, the same from both of its rows. Equal ones go to the lower column. */
KARST_INLINE uint32_t karst_amg_tie(karst_index i, karst_index j)
{
  return karst_amg_hash((uint32_t)(i < j ? i : j) ^ karst_amg_hash((uint32_t)(i < j ? j : i)));
}

/* The errors of an entry of the last level in roundings: products of several levels have made it, however few rows it
 * has. */
KARST_INLINE double karst_amg_roundings(karst_index rows) { return rows > 32 ? (double)rows : 32; }

/* The elimination of the last level keeps the diagonal as the pivot if it has this share of the largest candidate. */
KARST_INLINE double karst_amg_diagonal_share(void) { return 0.1; }

/* The choice of strong couplings and of interpolation. */
typedef struct karst_amg_rule {
  double strength;           /* theta: -a_ij >= theta max_k -a_ik, signs relative to that of a_ii */
  int most_entries;          /* of a row of P */
  const karst_index *number; /* [rows] what a row's hash is of, device memory; NULL: its own number */
} karst_amg_rule;

struct karst_amg_kernels {
  /* Starts a hierarchy with amg->single, l1 and ghosts set: level 0 without values, on the pattern of A, b = 1. After a
   * failure of any kernel destroy releases what was taken; destroy accepts a hierarchy of zeros. */
  karst_status (*begin)(karst_context *context, const karst_matrix *A, karst_amg *amg);
  void (*destroy)(karst_context *context, karst_amg *amg);

  /* Takes the values of A into level 0, divided by a power of two near the largest one unless amg has_exponent, so that
   * float holds them. outcome: NOT_FINITE, or a row of zeros. */
  karst_status (*load)(karst_context *context, const karst_matrix *A, karst_amg *amg, karst_amg_outcome *outcome);

  /* Makes a square matrix of a level without its ghosts: each of their entries is added to the diagonal one of its row,
   * so that the sums of rows stay. release_matrix releases it. */
  karst_status (*square)(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                         karst_amg_matrix *square);
  /* Copies count rows of a matrix to host memory, with values in double, for the caller to release with karst_release;
   * also after a failure. row: host memory */
  karst_status (*fetch)(karst_context *context, const karst_amg *amg, const karst_amg_matrix *matrix, karst_index count,
                        const karst_index *row, karst_amg_matrix *host);
  /* Makes a matrix of so many columns with the rows of top, and below them others, which are in host memory with values
   * in double. release_matrix releases it. */
  karst_status (*stack)(karst_context *context, const karst_amg *amg, const karst_amg_matrix *top,
                        const karst_amg_matrix *below, karst_index columns, karst_amg_matrix *all);
  /* Column own + i of a matrix becomes own + place[i]; place ascends, host memory [count]. */
  karst_status (*renumber)(karst_context *context, karst_index own, karst_index count, const karst_index *place,
                           karst_amg_matrix *matrix);
  /* Converts values between the type of the levels and double. */
  void (*widen)(karst_context *context, const karst_amg *amg, int64_t count, const void *from, double *to);
  void (*narrow)(karst_context *context, const karst_amg *amg, int64_t count, const double *from, void *to);
  /* y[index[k]] = y[index[k]] + x[k] for k < count; no two are equal. Device memory. */
  void (*add)(karst_context *context, karst_index count, const karst_index *index, const double *x, double *y);

  /* Splits the rows of a level by PMIS (De Sterck, Yang, Heys 2006): strong couplings, the measure |S^T_i| + hash(i) in
   * [0, 1), and rounds in which the rows whose measure exceeds those of all undecided strong neighbours become C, and
   * those that depend strongly on a C row become F. A row without strong couplings, or on which none depends strongly,
   * becomes F at once. place is >= 0 for C rows, which keep their order. */
  karst_status (*split)(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                        const karst_amg_rule *rule, karst_amg_splitting *splitting);
  /* Corrects a splitting after other ranks have split those of its rows that are not the first ones: ghost[i] < 0 if they
   * do not take row rows + i for a C row. The first rows that depend strongly on such rows that place takes for C, and
   * on no row that is one, get place -2. ghost: device memory */
  void (*rescue)(karst_context *context, const karst_amg_matrix *A, karst_index rows, const karst_index *ghost,
                 karst_amg_splitting *splitting);
  /* Makes P by extended+i interpolation (De Sterck, Falgout, Nolting, Yang 2008). Of a row the most_entries largest
   * entries stay, scaled so that its sum does. A row without strong couplings has no entry. */
  karst_status (*interpolate)(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                              const karst_amg_rule *rule, const karst_amg_splitting *splitting, karst_amg_matrix *P);
  /* Pairs rows for aggregates: in each round every free row points at its strongest free neighbour by the weight
   * (|a_ij| + |a_ji|) / max(|a_ii|, |a_jj|), ties by hash, and two that point at each other are a pair. Rows left over
   * join the pair of their strongest neighbour, or stay alone. Rows without strong couplings get place -1. Aggregates
   * are numbered in the order of their first rows. */
  karst_status (*match)(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                        const karst_amg_rule *rule, karst_amg_splitting *splitting);
  /* place = next[place], where place is not -1, so that pairs of pairs become aggregates. */
  void (*compose)(karst_context *context, karst_index rows, karst_amg_splitting *splitting,
                  const karst_amg_splitting *next);
  /* P has a 1 in the column place of each row. */
  karst_status (*aggregate)(karst_context *context, const karst_amg *amg, karst_index rows,
                            const karst_amg_splitting *splitting, karst_amg_matrix *P);
  void (*release_splitting)(karst_context *context, karst_amg_splitting *splitting);

  /* R = P^T with its values. */
  karst_status (*transpose)(karst_context *context, const karst_amg *amg, const karst_amg_matrix *P,
                            karst_amg_matrix *R);
  /* Finds the pattern and the slots of C = A B, and takes its memory. */
  karst_status (*plan_product)(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                               const karst_amg_matrix *B, karst_amg_product *product);
  /* Computes the values of C. Allocates nothing. */
  void (*multiply)(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A, const karst_amg_matrix *B,
                   const karst_amg_product *product);
  /* Releases the columns and the values: those of a product A P are found by their slots in shared memory, once R (A P)
   * is made. */
  void (*release_entries)(karst_context *context, karst_amg_matrix *matrix);
  void (*release_matrix)(karst_context *context, karst_amg_matrix *matrix);
  void (*release_product)(karst_context *context, karst_amg_product *product);

  /* Takes the shared memory and, if the last level has at most KARST_AMG_DENSE rows, that of its inverse, and prepares
   * to run amg->step. All levels and the steps are there. */
  karst_status (*finish)(karst_context *context, karst_amg *amg);
  /* Computes the weights of all levels and the inverse of the last one by elimination with pivoting. Allocates nothing.
   * A pivot is pinned that errors of karst_amg_roundings epsilon of the levels' precision in the entries of the last
   * level, relative to each, may have made (cpu/amg/invert.c). */
  karst_status (*weigh)(karst_context *context, karst_amg *amg, karst_amg_outcome *outcome);
  /* z = M^-1 r: the right-hand side of level 0 is r divided by a power of two near its largest element; then the steps;
   * then z. With call the right-hand side is r itself. r, z: [rows], and they do not overlap. */
  void (*apply)(karst_context *context, const karst_amg *amg, const double *r, double *z);
};

#endif
