/* ilu_settings.c - see ilu_settings.h: the analysis and plan of triangular factors on the pattern of block ILU(k). */
#include "precond/ilu_settings.h"

#include "symbolic/symbolic.h"

#include <stdio.h>

static const char *trisolve_name(size_t i)
{
  static const char *const names[] = {
      [KARST_TRISOLVE_AUTO] = "auto",   [KARST_TRISOLVE_LEVEL] = "level",   [KARST_TRISOLVE_DATAFLOW] = "dataflow",
      [KARST_TRISOLVE_TILES] = "tiles", [KARST_TRISOLVE_JACOBI] = "jacobi", NULL};
  return names[i];
}

#define FIELD(name) offsetof(karst_ilu_settings, name)

static const char *precision_name(size_t i)
{
  static const char *const names[] = {[KARST_PRECISION_DOUBLE] = "double", [KARST_PRECISION_FLOAT] = "float", NULL};
  return names[i];
}

const karst_option karst_precision_rows[] = {
    {"factor-precision", KARST_OPTION_NAME, false, 0, precision_name, 0, "double",
     "precision of the factors that an application reads",
     "float halves the bytes of values that an application reads. Factors are computed in double and then rounded. "
     "Vectors and sums stay double, so that M^-1 is the same linear operator in each application. If float cannot hold "
     "a factor, the solve ends with the reason KARST_OUT_OF_RANGE and the number of the block row. trisolve jacobi "
     "refuses float. On a GPU fgbilu refuses it too, and dilu takes it only where it solves by tiles: with the "
     "ordering tiles or colour, blocks of up to 4, and modified 0."},
    {0}};

const karst_option karst_level_rows[] = {
    {"level", KARST_OPTION_INTEGER, false, FIELD(level), NULL, 0, "0", "fill level k of the incomplete factors",
     "Level 0 keeps the pattern of the matrix. A higher level usually takes fewer iterations, but more memory, set-up "
     "time and time in each iteration. N is at least 0. Source: Saad, Iterative Methods for Sparse Linear Systems, 2nd "
     "edition, section 10.3."},
    {0}};

const karst_option karst_ilu_rows[] = {
    {"trisolve", KARST_OPTION_NAME, false, FIELD(trisolve), trisolve_name, 0, "auto",
     "how the triangular systems of the factors are solved",
     "On a GPU level launches a kernel for each level set, and dataflow launches one kernel in which each row waits "
     "for the values that it needs; on a CPU both are the same. tiles solves both triangles in one launch, a warp for "
     "each tile; it needs the ordering tiles or colour and a block size up to 8. jacobi solves approximately, by "
     "trisolve-sweeps sweeps, for matrices with too many level sets. auto chooses tiles where they are predicted to "
     "be faster, otherwise level or dataflow; trisolve_used in the report says which."},
    {"trisolve-sweeps", KARST_OPTION_INTEGER, false, FIELD(trisolve_sweeps), NULL, 0, "5",
     "sweeps of trisolve jacobi for each triangle",
     "N is at least 0. More sweeps solve more exactly and take more time in each iteration."},
    {0},
};

const karst_option karst_shift_rows[] = {
    {"shift", KARST_OPTION_REAL, false, FIELD(shift), NULL, 0, "0",
     "replace a singular pivot block by R times the largest entry of its row; 0: never",
     "The block becomes R m I, where m is the largest absolute value in the block row as the elimination has left it, "
     "or in the whole matrix if that row is zero (a shut well). A block also counts as singular if only rounding "
     "errors are left of it. The report counts the replaced blocks as shifted. With 0 a singular block ends the solve "
     "with the reason KARST_SINGULAR_BLOCK and the number of the block row."},
    {0},
};

const karst_option karst_modified_rows[] = {
    {"modified", KARST_OPTION_REAL, false, FIELD(modified), NULL, 0, "0",
     "add R times the dropped entries to the diagonal blocks; 1: keeps block row sums",
     "With 1 (MILU) the block row sums of the preconditioner are those of the matrix, which takes fewer iterations for "
     "diffusion on fine grids. Values slightly below 1 are safer, because pivots may vanish with 1. 0 adds nothing. "
     "Source: Gustafsson, A class of first order factorization methods, BIT 18, 1978."},
    {0},
};

/* Warns before memory is taken if the factorization takes at least some seconds and a thousand times the work of a
 * product with the matrix. Level 3 on a 7-point stencil with blocks of 8 takes half of that. */
static void warn_of_work(const karst_precond *p, const karst_ilu_pattern *pattern)
{
  enum { MOST_AN_ENTRY = 1000 };
  const double least = 1e10, b = p->A->block_size, entries = (double)karst_entries(p->A);
  const double work = b * b * b * karst_ilu_pattern_products(pattern);
  const karst_index rows = pattern->rows;
  const long long blocks = (long long)pattern->lower_start[rows] + pattern->upper_start[rows] + rows;
  if (work <= least || work <= MOST_AN_ENTRY * entries) return;
  karst_notify(
      p->context, KARST_MESSAGE_WARNING,
      "level %d: the factors have %lld blocks, %.3g times those of the matrix, and the factorization up to %.1e "
      "multiplications; another ordering or a lower level may take less",
      karst_ilu_settings_of(p)->level, blocks, (double)blocks / (double)karst_matrix_blocks(p->A), work);
}

const char *karst_ilu_differ(const void *settings, const void *others)
{
  const karst_ilu_settings *mine = settings, *theirs = others;
  if (mine->level != theirs->level) return "level";
  if (mine->precision != theirs->precision) return "factor-precision";
  if ((mine->modified != 0) != (theirs->modified != 0)) return "modified";
  return mine->trisolve != theirs->trisolve ? "trisolve" : NULL;
}

karst_status karst_ilu_make_pattern(const karst_precond *p, karst_ilu_analysis *analysis)
{
  const karst_matrix *A = p->A;
  karst_ilu_pattern pattern; /* the analysis takes ownership */
  analysis->rows = A->block_rows;
  analysis->block_size = A->block_size;
  if (karst_ilu_settings_of(p)->level == 0 && p->context->backend->ilu->splits) return KARST_SUCCESS;
  karst_status status = karst_matrix_fetch_pattern(A);
  if (status) return status;
  status =
      karst_ilu_symbolic(p->context, A->block_rows, A->row_start, A->column, karst_ilu_settings_of(p)->level, &pattern);
  if (status) return status;
  analysis->lower_start = pattern.lower_start;
  analysis->lower_column = pattern.lower_column;
  analysis->upper_start = pattern.upper_start;
  analysis->upper_column = pattern.upper_column;
  analysis->lower_blocks = pattern.lower_start[analysis->rows];
  analysis->upper_blocks = pattern.upper_start[analysis->rows];
  warn_of_work(p, &pattern);
  return KARST_SUCCESS;
}

karst_status karst_ilu_analyse(const karst_precond *p, const karst_matrix *A, karst_ilu_analysis *analysis)
{
  const karst_trisolve trisolve = (karst_trisolve)karst_ilu_settings_of(p)->trisolve;
  if (trisolve == KARST_TRISOLVE_TILES && !p->A->tiling)
    return karst_fail(p->context, KARST_ERROR_OPTION,
                      "trisolve tiles needs an ordering that makes tiles: tiles or colour");
  if (trisolve == KARST_TRISOLVE_JACOBI && karst_precision_is_single(p->settings))
    return karst_fail(p->context, KARST_ERROR_OPTION, "trisolve jacobi has no factor-precision float");
  analysis->single = karst_precision_is_single(p->settings);
  analysis->tiling = p->A->tiling;
  analysis->modified = karst_ilu_settings_of(p)->modified != 0;
  return p->context->backend->ilu->analyse(p->context, A, trisolve, analysis);
}

void karst_ilu_analysis_destroy(karst_context *context, karst_ilu_analysis *analysis)
{
  context->backend->ilu->analysis_destroy(context, analysis);
  karst_release(context, analysis->lower_start);
  karst_release(context, analysis->lower_column);
  karst_release(context, analysis->upper_start);
  karst_release(context, analysis->upper_column);
}

/* Returns the bytes of values that an apply reads. Each Jacobi sweep reads a triangle. */
static double value_bytes(const karst_precond *p, const karst_ilu_analysis *analysis)
{
  const karst_ilu_settings *settings = karst_ilu_settings_of(p);
  const int64_t blocks = analysis->lower_blocks + analysis->upper_blocks;
  const int64_t times = settings->trisolve == KARST_TRISOLVE_JACOBI ? settings->trisolve_sweeps : 1;
  return (double)karst_block_offset(analysis->block_size, times * blocks + analysis->rows) *
         (analysis->single ? sizeof(float) : sizeof(double));
}

static karst_traffic traffic_of(const karst_precond *p, const karst_ilu_analysis *analysis)
{
  const karst_ilu_settings *settings = karst_ilu_settings_of(p);
  const int64_t blocks = analysis->lower_blocks + analysis->upper_blocks, rows = analysis->rows;
  const int64_t times = settings->trisolve == KARST_TRISOLVE_JACOBI ? settings->trisolve_sweeps : 1;
  const int64_t vectors = 2 * rows * analysis->block_size, indices = times * (blocks + 2 * (rows + 1));
  return (karst_traffic){.update = karst_traffic_of(karst_entries(p->A) + p->factor_entries, 0),
                         .apply = value_bytes(p, analysis) + karst_traffic_of(vectors, indices)};
}

karst_status karst_ilu_make_plan(karst_precond *p, const karst_ilu_analysis *analysis, karst_ilu *ilu)
{
  karst_status status =
      p->context->backend->ilu->plan(p->context, analysis, karst_ilu_settings_of(p)->trisolve_sweeps, ilu);
  const int64_t blocks = analysis->lower_blocks + analysis->upper_blocks, starts = 2 * ((int64_t)analysis->rows + 1);
  p->factor_entries = karst_block_offset(analysis->block_size, blocks + analysis->rows);
  p->memory = (analysis->lower_start ? (blocks + starts) * (int64_t)sizeof(karst_index) : 0) + analysis->plan_memory +
              ilu->plan_memory;
  p->traffic = traffic_of(p, analysis);
  if (!status) status = karst_precision_put(p, value_bytes(p, analysis));
  if (!status) status = karst_precond_put(p, "levels_lower", "level sets", (double)analysis->levels_lower);
  if (!status) status = karst_precond_put(p, "levels_upper", "level sets", (double)analysis->levels_upper);
  if (status || !analysis->trisolve) return status; /* a GPU does not solve with a matrix without rows */
  return karst_precond_put_text(p, "trisolve_used", analysis->trisolve);
}

karst_status karst_precision_put(karst_precond *p, double bytes)
{
  const karst_status status =
      karst_precond_put_text(p, "precision_used", precision_name((size_t)karst_precision_is_single(p->settings)));
  return status ? status : karst_precond_put(p, "factor_bytes", "bytes", bytes);
}

void karst_ilu_take_outcome(karst_precond *p, const karst_factor_outcome *outcome)
{
  p->reason = outcome->reason;
  p->block_row = outcome->block_row;
  if (outcome->reason == KARST_OUT_OF_RANGE)
    snprintf(p->explanation, sizeof p->explanation, "use factor-precision double");
}

karst_status karst_ilu_report(karst_precond *p, karst_status status, const karst_factor_outcome *outcome)
{
  karst_ilu_take_outcome(p, outcome);
  const karst_status put = karst_precond_put(p, "shifted", "blocks", (double)outcome->shifted);
  return status ? status : put;
}
