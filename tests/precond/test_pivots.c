/* A pivot block that is singular in exact arithmetic is reported, or replaced if shift is set, by every factorization
 * that sums it, in any units, although rounding leaves a remainder. A pivot that keeps about 2^-22 of its summands, or
 * at most 2^-30 in rrb, is sound, and so is one with tiny entries.
 *
 * The systems are stars: arms that are coupled only with a centre. All blocks are of small integers, scaled by powers
 * of 2, so that the exact pivot is known:
 *
 *     D_p = 5 P_p    R_p = P_p S    C_p    A_cc = sum_p C_p S / 5 + E, where sum_p C_p is a multiple of 5
 *
 * has the pivot A_cc - sum_p C_p D_p^-1 R_p = E. */
#include "config.h"

#include "lib/backend/backend.h"
#include "lib/matrix/matrix.h"
#include "tests/support/opm_block.h"
#include "tests/support/problem.h"
#include "tests/support/named_values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 9, ARMS = 35, BEHIND = 4, ROWS = ARMS + 1 + BEHIND, PLACES = 5 * ROWS, SHARE = ARMS / 7, TRIALS = 2 };

typedef double block[LARGEST * LARGEST];

/* The units of equations and unknowns. */
typedef enum units { ONES, POWERS, ORDERS, UNITS } units;
static const char *const unit_name[] = {"no units", "units of 2^-60 to 2^60", "units of 1e-20 to 1e20"};

static double draw_unit(units kind)
{
  if (kind == ONES) return 1;
  return kind == POWERS ? ldexp(1, (int)tap_random_index(121) - 60) : pow(10, 20 * tap_random());
}

static void random_integers(int b, int least, int below, double *x)
{
  for (int i = 0; i < b * b; i++) x[i] = (double)(least + (int)tap_random_index(below - least));
}

/* Integers without 0, with a large one in each row and column. With units that differ by 40 orders of magnitude in rows
 * and in columns, the inversion of a block with zeros may lose digits. */
static void regular_integers(int b, double *x)
{
  random_integers(b, -2, 2, x);
  for (int i = 0; i < b * b; i++) x[i] += x[i] >= 0;
  for (int c = 0; c < b; c++) x[c * b + (c + 1) % b] = 3 * b;
}

static void multiply(int b, const double *x, const double *y, double *z)
{
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) {
      z[c * b + r] = 0;
      for (int k = 0; k < b; k++) z[c * b + r] += x[k * b + r] * y[c * b + k];
    }
}

static void transpose(int b, const double *x, double *y)
{
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) y[r * b + c] = x[c * b + r];
}

/* Adds E, a block of integers, which is singular, and not zero unless b = 1; or regular and 2^-22 times as large as A.
 * Its last bit still fits into 53 bits. */
static void leave(int b, bool sound, bool symmetric, double *A)
{
  block half, other, E;
  int size, own;
  double largest = 0, most = 0;
  regular_integers(b, half);
  for (int c = 0; c < b && !sound; c++) half[c * b] = 0; /* row 0 */
  if (symmetric)
    transpose(b, half, other);
  else
    regular_integers(b, other);
  multiply(b, other, half, E);
  for (int i = 0; i < b * b; i++) {
    largest = fmax(largest, fabs(A[i]));
    most = fmax(most, fabs(E[i]));
  }
  frexp(largest, &size);
  frexp(most, &own);
  for (int i = 0; i < b * b; i++) A[i] += sound ? ldexp(E[i], size - own - 22) : E[i];
}

/* A star as triplets of blocks. */
typedef struct star {
  int b, rows, centre, blocks;
  int row[PLACES], column[PLACES];
  block value[PLACES];
} star;

static double *put(star *s, int row, int column)
{
  s->row[s->blocks] = row;
  s->column[s->blocks] = column;
  memset(s->value[s->blocks], 0, sizeof(block));
  return s->value[s->blocks++];
}

/* Draws S so that S' P S, of symmetric stars, has no entry 0 either: in some units the small entry that E leaves there
 * would be the largest of its row, and the pivot be lost in the scaled block. */
static void draw_outer(int b, const double *P, double *S)
{
  block other, half, whole;
  bool zero = true;
  while (zero) {
    regular_integers(b, S);
    transpose(b, S, other);
    multiply(b, P, S, half);
    multiply(b, other, half, whole);
    zero = false;
    for (int v = 0; v < b * b; v++) zero = zero || whole[v] == 0;
  }
}

/* The arms before the centre cancel its block; those behind it have no effect. */
static void make_star(int b, bool sound, bool symmetric, star *s)
{
  block P, Q, S, E, total = {0};
  s->b = b;
  s->rows = ROWS;
  s->centre = ARMS;
  s->blocks = 0;
  regular_integers(b, E);
  transpose(b, E, Q);
  multiply(b, Q, E, P); /* symmetric and positive definite */
  draw_outer(b, P, S);
  for (int i = 0; i < ROWS; i++) {
    if (i == ARMS) continue;
    double *D = put(s, i, i), *R = put(s, i, ARMS), *C = put(s, ARMS, i);
    if (!symmetric) regular_integers(b, P);
    for (int v = 0; v < b * b; v++) D[v] = 5 * P[v];
    multiply(b, P, S, R);
    if (symmetric)
      transpose(b, R, C);
    else
      random_integers(b, -9, 10, C);
    for (int v = 0; v < b * b && i == ARMS - 1 && !symmetric; v++) C[v] -= fmod(total[v] + C[v], 5);
    for (int v = 0; v < b * b && i < ARMS; v++) total[v] += C[v];
  }
  double *A = put(s, ARMS, ARMS);
  multiply(b, total, S, A);
  for (int v = 0; v < b * b; v++) A[v] /= 5;
  leave(b, sound, symmetric, A);
}

/* With modified 1, the couplings between arms for which ILU(0) has no place are subtracted from their diagonal blocks:
 *
 *     D_0 = 7 P    R_j = P S    A_ii = C_i n S / 7 + E, where n, a multiple of 7, is the number of arms
 *
 * Arm number ARMS / 2 cancels. */
static void make_modified(int b, bool sound, star *s)
{
  block P, S, E;
  s->b = b;
  s->rows = ARMS + 1;
  s->centre = ARMS / 2;
  s->blocks = 0;
  regular_integers(b, S);
  regular_integers(b, P);
  double *D = put(s, 0, 0);
  for (int v = 0; v < b * b; v++) D[v] = 7 * P[v];
  for (int i = 1; i <= ARMS; i++) {
    double *R = put(s, 0, i), *C = put(s, i, 0), *A = put(s, i, i);
    multiply(b, P, S, R);
    random_integers(b, -9, 10, C);
    regular_integers(b, E);
    multiply(b, C, S, A);
    for (int v = 0; v < b * b; v++) A[v] = SHARE * A[v] + (i == s->centre ? 0 : E[v]);
    if (i == s->centre) leave(b, sound, false, A);
  }
}

/* Three arms in a grid of 2-by-2-by-2 cells, whose other couplings are zero: those of cell 7 are below it. */
static void make_corner(int b, bool sound, star *s)
{
  static const int arm[] = {3, 5, 6};
  block P, S, total = {0};
  s->b = b;
  s->rows = 8;
  s->centre = 7;
  s->blocks = 0;
  regular_integers(b, S);
  for (int i = 0; i < 7; i++)
    for (int axis = 1; axis < 8; axis *= 2) {
      if (i & axis || (i | axis) == 7) continue;
      put(s, i, i | axis);
      put(s, i | axis, i);
    }
  for (int i = 0; i < 7; i++) {
    regular_integers(b, P);
    double *D = put(s, i, i);
    for (int v = 0; v < b * b; v++) D[v] = 5 * P[v];
    for (int a = 0; a < 3; a++) {
      if (arm[a] != i) continue;
      double *R = put(s, i, 7), *C = put(s, 7, i);
      multiply(b, P, S, R);
      random_integers(b, -9, 10, C);
      for (int v = 0; v < b * b && a == 2; v++) C[v] -= fmod(total[v] + C[v], 5);
      for (int v = 0; v < b * b; v++) total[v] += C[v];
    }
  }
  double *A = put(s, 7, 7);
  multiply(b, total, S, A);
  for (int v = 0; v < b * b; v++) A[v] /= 5;
  leave(b, sound, false, A);
}

/* Scales each scalar row and each column by a unit of its own. Columns take the unit of the row if the matrix is to
 * stay symmetric, or none. */
typedef enum column_units { OWN, SYMMETRIC, NONE } column_units;

static void scale(units kind, column_units columns, star *s)
{
  static double row[ROWS * LARGEST], column[ROWS * LARGEST];
  const int b = s->b;
  for (int i = 0; i < s->rows * b; i++) {
    row[i] = draw_unit(kind);
    column[i] = columns == OWN ? draw_unit(kind) : columns == SYMMETRIC ? row[i] : 1;
  }
  for (int k = 0; k < s->blocks; k++)
    for (int c = 0; c < b; c++)
      for (int r = 0; r < b; r++) s->value[k][c * b + r] *= row[s->row[k] * b + r] * column[s->column[k] * b + c];
}

static karst_matrix *star_matrix(karst_context *context, const star *s)
{
  const int64_t bb = (int64_t)s->b * s->b;
  karst_index start[ROWS + 1] = {0}, column[PLACES], count = 0;
  double *value = malloc((size_t)(s->blocks * bb) * sizeof *value);
  for (int i = 0; i < s->rows; i++) {
    for (int j = 0; j < s->rows; j++)
      for (int k = 0; k < s->blocks; k++) {
        if (s->row[k] != i || s->column[k] != j) continue;
        memcpy(value + count * bb, s->value[k], (size_t)bb * sizeof *value);
        column[count++] = j;
      }
    start[i + 1] = count;
  }
  karst_matrix *A = matrix_of(context, s->rows, s->b, start, column, value);
  free(value);
  return A;
}

/* ---- the reports of the factorizations ---- */

/* A factorization, and the stars of its test. */
struct method {
  const char *precond, *what;
  double modified;
  bool symmetric, corner, shifts;
};

static void make(const struct method *method, int b, bool sound, units kind, star *s)
{
  if (method->modified != 0)
    make_modified(b, sound, s);
  else if (method->corner)
    make_corner(b, sound, s);
  else
    make_star(b, sound, method->symmetric, s);
  /* modified sums over columns, which therefore have one unit */
  scale(kind, method->symmetric ? SYMMETRIC : method->modified != 0 ? NONE : OWN, s);
}

/* Returns whether the star has the expected outcome, without a shift or with one. */
static bool has_outcome(karst_context *context, const struct method *method, const star *s, bool sound, double shift)
{
  karst_index row;
  tap_settings settings = settings_for(NULL, method->precond);
  settings.modified = method->modified;
  settings.shift = shift;
  settings.sweeps = 10;
  karst_matrix *A = star_matrix(context, s);
  if (method->corner) tap_need(context, karst_matrix_set_grid(A, 2, 2, 2), "a grid");
  karst_precond *P = precond_of(context, &settings, A);
  const karst_reason reason = karst_precond_outcome(P, &row);
  const double shifted = method->shifts ? tap_precond_number(P, "shifted") : 0;
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  const bool named = reason == KARST_SINGULAR_BLOCK && row == s->centre;
  if (sound) return reason == KARST_SOUND && shifted == 0;
  /* the replaced pivot may cancel another one behind it */
  return shift > 0 ? reason == KARST_SOUND && shifted >= 1 : named;
}

static void check(karst_context *context, const struct method *method, int b, bool sound)
{
  static star s;
  int right[UNITS] = {0}, wanted = 0;
  for (int trial = 0; trial < TRIALS; trial++, wanted += method->shifts ? 2 : 1)
    for (units kind = ONES; kind < UNITS; kind++) {
      make(method, b, sound, kind, &s);
      right[kind] += has_outcome(context, method, &s, sound, 0);
      if (method->shifts) right[kind] += has_outcome(context, method, &s, sound, 0.5);
    }
  bool all = true;
  for (units kind = ONES; kind < UNITS; kind++) {
    all = all && right[kind] == wanted;
    if (right[kind] < wanted) tap_note("%s: %d of %d", unit_name[kind], right[kind], wanted);
  }
  tap_ok(all, "%s, b = %d: a pivot that is %s", method->what, b, sound ? "small is sound" : "lost is singular");
}

static void test_stars(karst_context *context)
{
  static const struct method methods[] = {
      {"iluk", "iluk", 0, false, false, true},     {"iluk", "iluk, modified", 1, false, false, true},
      {"dilu", "dilu", 0, false, false, true},     {"dilu", "dilu, modified", 1, false, false, true},
      {"parilu", "parilu", 0, false, false, true}, {"paric", "paric", 0, true, false, true},
      {"fgbilu", "fgbilu", 0, false, true, false}};
  for (size_t m = 0; m < sizeof methods / sizeof *methods; m++) {
    if (methods[m].corner && !context->backend->fgbilu) {
      tap_skip("the device has no kernels of fgbilu", "%s", methods[m].what);
      continue;
    }
    for (int b = 1; b <= LARGEST; b++)
      for (int sound = 0; sound < 2; sound++) check(context, &methods[m], b, sound);
  }
}

/* ---- tiny entries ---- */

/* How the block rows are coupled: as a star, each with all others, or as a grid of 2-by-2-by-2 cells. */
typedef enum shape { ARMS_AND_CENTRE, ALL, CUBE, SHAPES } shape;

static bool coupled(shape kind, int i, int j)
{
  const int axis = i ^ j;
  if (kind == ARMS_AND_CENTRE) return i == ARMS || j == ARMS;
  return kind == ALL || axis == 1 || axis == 2 || axis == 4;
}

/* Couplings of zeros, and a diagonal block of OPM Flow's with its rows in each order. Pressures may have another unit.
 * Further unknowns have no couplings. */
static void make_dust(int b, shape kind, double unit, star *s)
{
  static const int rows[SHAPES] = {ARMS + 1, 13, 8};
  s->b = b;
  s->rows = rows[kind];
  s->blocks = 0;
  for (int i = 0; i < s->rows; i++)
    for (int j = 0; j < s->rows; j++) {
      if (i != j && !coupled(kind, i, j)) continue;
      double *D = put(s, i, j);
      const int turn = (int)tap_random_index(3), sign = tap_random() < 0 ? 1 : 2;
      for (int c = 0; c < b && i == j; c++)
        for (int r = 0; r < 3; r++)
          if (c < 3) D[c * b + (turn + sign * r) % 3] = opm_block[c * 3 + r] * (c == 1 ? unit : 1);
      for (int c = 3; c < b && i == j; c++) D[c * b + c] = 1;
    }
}

/* Returns whether the preconditioner solves with the block diagonal matrix. Pressures are large enough to matter. */
static bool solves(karst_context *context, const tap_settings *settings, shape kind, double unit, const star *s)
{
  const double pressure = 0x1p32 / unit;
  const int n = s->rows * s->b;
  double x[ROWS * LARGEST] = {0}, right[ROWS * LARGEST] = {0}, z[ROWS * LARGEST], worst = 0;
  karst_matrix *A = star_matrix(context, s);
  if (kind == CUBE) tap_need(context, karst_matrix_set_grid(A, 2, 2, 2), "a grid");
  karst_precond *P = precond_of(context, settings, A);
  for (int i = 0; i < n; i++) x[i] = tap_random() * (i % s->b == 1 ? pressure : 1);
  for (int k = 0; k < s->blocks; k++)
    for (int c = 0; c < s->b; c++)
      for (int i = 0; i < s->b; i++)
        right[s->row[k] * s->b + i] += s->value[k][c * s->b + i] * x[s->column[k] * s->b + c];
  karst_vector *r = vector_from(context, n, right), *solution = vector_of(context, n, 0);
  karst_index row;
  const bool sound = karst_precond_outcome(P, &row) == KARST_SOUND;
  if (sound) tap_need(context, karst_precond_apply(P, r, solution), "M^-1 r");
  if (sound) tap_need(context, karst_vector_get(solution, n, z), "a vector");
  for (int i = 0; i < n && sound; i++) worst = fmax(worst, fabs(z[i] - x[i]) / (i % s->b == 1 ? pressure : 1));
  karst_vector_destroy(solution);
  karst_vector_destroy(r);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  return sound && worst < 1e-12;
}

static void check_dust(karst_context *context, const char *precond, const char *ordering, const char *style)
{
  static const double unit[] = {1, 0x1p-40, 0x1p40};
  static star s;
  const bool grid = strcmp(precond, "fgbilu") == 0;
  tap_settings settings = settings_for(NULL, precond);
  settings.ordering = ordering;
  settings.fgbilu_style = style;
  int right = 0, all = 0;
  for (int b = 3; b <= LARGEST; b++)
    for (shape kind = grid ? CUBE : ARMS_AND_CENTRE; kind <= (grid ? CUBE : ALL); kind++)
      for (size_t u = 0; u < sizeof unit / sizeof *unit; u++, all++) {
        make_dust(b, kind, unit[u], &s);
        right += solves(context, &settings, kind, unit[u], &s);
      }
  tap_ok(right == all, "%s, %s order%s%s: pivots with tiny entries (%d of %d)", precond, ordering,
         grid ? ", style " : "", grid ? style : "", right, all);
}

static void test_dust(karst_context *context)
{
  static const char *const preconds[] = {"jacobi", "iluk", "dilu", "parilu"},
                           *const cpu_styles[] = {"sequential", "wavefront", "lines", NULL},
                           *const gpu_styles[] = {"acc", "tiles", KARST_BASELINES ? "cl" : NULL, NULL};
  const char *const *styles = context->backend->host_memory ? cpu_styles : gpu_styles;
  for (size_t p = 0; p < sizeof preconds / sizeof *preconds; p++) check_dust(context, preconds[p], "natural", "auto");
  check_dust(context, "iluk", "tiles", "auto");
  for (; *styles; styles++) {
    if (context->backend->fgbilu)
      check_dust(context, "fgbilu", "natural", *styles);
    else
      tap_skip("the device has no kernels of fgbilu", "style %s", *styles);
  }
}

/* ---- rrb ---- */

enum { WIDE = 7, HIGH = 5, NODES = WIDE * HIGH };

/* A grid of nodes without couplings but those of one black node with its four neighbours: a_k there, p on the diagonal
 * of these, and A_cc = sum_k a_k^2 / p + E. */
static void make_cross(bool sound, int centre, star *s)
{
  static const int primes[] = {3, 5, 7, 11, 13}, step[] = {-WIDE, -1, 1, WIDE};
  const int p = primes[tap_random_index(5)];
  int a[4], sum;
  do {
    sum = 0;
    for (int k = 0; k < 4; k++) a[k] = 1 + (int)tap_random_index(9);
    for (int k = 0; k < 4; k++) sum += a[k] * a[k];
  } while (sum % p > 0);
  s->b = 1;
  s->rows = NODES;
  s->centre = centre;
  s->blocks = 0;
  for (int i = 0; i < NODES; i++)
    for (int k = 0; k < 4; k++) {
      const int j = i + step[k];
      if (j < 0 || j >= NODES || (i / WIDE != j / WIDE && i % WIDE != j % WIDE)) continue;
      *put(s, i, j) = i == centre ? a[k] : j == centre ? a[3 - k] : 0;
    }
  for (int i = 0; i < NODES; i++) {
    double *A = put(s, i, i);
    *A = p;
    const int whole = sum / p; /* p divides it */
    if (i == centre) *A = whole + (sound ? 0x1p-30 : 0);
  }
}

static bool cross_has_outcome(karst_context *context, const star *s, bool sound, bool in_groups, const char *precision)
{
  karst_index row;
  tap_settings settings = settings_for(NULL, "rrb");
  settings.rrb_precision = precision;
  if (!in_groups) settings.rrb_grids = 0;
  karst_matrix *A = star_matrix(context, s);
  tap_need(context, karst_matrix_set_grid(A, WIDE, HIGH, 1), "a grid");
  karst_precond *P = precond_of(context, &settings, A);
  const karst_reason reason = karst_precond_outcome(P, &row);
  karst_precond_destroy(P);
  karst_matrix_destroy(A);
  return sound ? reason == KARST_SOUND : reason == KARST_INDEFINITE_PRECOND && row == s->centre;
}

/* The centres are (1, 1) and (3, 3), which the second elimination takes, and (2, 2), which the fourth takes. */
static void test_crosses(karst_context *context)
{
  enum { CROSSES = 10 };
  static const int centres[] = {WIDE + 1, 3 * WIDE + 3, 2 * WIDE + 2};
  static star s;
  if (!context->backend->rrb) {
    tap_skip("the device has no kernels of rrb", "crosses");
    return;
  }
  for (int way = KARST_BASELINES ? 0 : 2; way < 6; way++) {
    const bool sound = way % 2 > 0, in_groups = way > 1;
    const char *precision = way > 3 ? "float" : "double";
    int right = 0;
    for (int trial = 0; trial < CROSSES; trial++)
      for (units kind = ONES; kind < UNITS; kind++) {
        make_cross(sound, centres[trial % 3], &s);
        scale(way > 3 ? ONES : kind, SYMMETRIC, &s); /* a float has no room for units */
        right += cross_has_outcome(context, &s, sound, in_groups, precision);
      }
    tap_ok(right == CROSSES * UNITS, "rrb, %s, %s: a pivot that is %s (%d of %d)",
           in_groups ? "in groups" : "node by node", precision, sound ? "small is sound" : "lost is refused", right,
           CROSSES * UNITS);
  }
}

int main(void)
{
  tap_each_device(test_crosses, "crosses");
  tap_each_device(test_stars, "stars");
  tap_each_device(test_dust, "tiny entries");
  return tap_done();
}
