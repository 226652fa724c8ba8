/* spy.c - the picture of --spy: the blocks of the matrix, the fill of its incomplete factors, and beside each
 * block row the level set that it is in, all in the order in which they are factored.
 *
 * The pattern is rasterised here, so that gnuplot gets at most PIXELS x PIXELS pixels however large the matrix is. The
 * margins are chosen so that each of them is a pixel of the picture: scaling would drop or double rows and columns at
 * different places, and a symmetric pattern would look asymmetric. A small matrix of blocks shows the scalars inside.
 * Levels are those of forward substitution with the lower triangle L of the factors: level(i) = 1 + max level(j) over
 * the j < i in row i; rows of one level depend on none of each other (Anderson and Saad, Solving sparse triangular
 * linear systems on parallel computers, 1989). */
#include "tools/src/common/gnuplot.h"
#include "tools/src/common/load.h"
#include "tools/src/common/text.h"
#include "tools/src/solve/solve_pictures.h"

#include <stdlib.h>
#include <string.h>

enum { SCALARS_MOST = 400, PIXELS = 800, BORDERS_MOST = 80 };
/* Pixels around the plot. */
enum { LEFT = 90, RIGHT = 150, TOP = 95, BOTTOM = 105 };
/* The strip of levels has two pixels across, for gnuplot's images have two at least; it and the gap before it take so
 * many per cent of the pattern's side. */
enum { STRIP = 2, STRIP_ROOM = 6 };

/* What one cell of the raster can hold. A block counts as one STORED; of scalars those that are not zero do, and the
 * zeros in blocks count as ZERO. */
enum kind { STORED, ZERO, FILL, KINDS };

struct raster {
  int64_t cells;      /* along each side */
  int64_t wide;       /* block rows of a cell, 1 or more */
  int inside;         /* cells of a block along each side, 1 or more; one of the two is 1 */
  uint32_t *count;    /* [KINDS * cells * cells] */
  uint32_t most;      /* the largest count of a cell, of all kinds together */
  karst_index *level; /* [block rows] from 1 */
  karst_index levels; /* the largest of them */
  int64_t block_rows, blocks;
  int64_t fill_blocks; /* beyond those of the matrix */
  karst_index *row;    /* [block rows] the block row of A at each place of the order */
  karst_index *place;  /* [block rows] the place of each block row of A */
  bool ordered;        /* it is not that of the file */
};

/* The plot in pixels: the pattern, each cell as repeat x repeat, and to the right of it room for the strip. */
struct plot_size {
  int64_t repeat, side, across;
};

/* Where the last cell ends, in block rows; it may have fewer of them than the others. */
static double end_of(const struct raster *raster)
{
  return (double)raster->cells * (raster->inside > 1 ? 1.0 / raster->inside : (double)raster->wide);
}

static struct plot_size size_of(const struct raster *raster)
{
  struct plot_size size = {.repeat = PIXELS / raster->cells};
  size.side = size.repeat * raster->cells;
  size.across = size.side + size.side * STRIP_ROOM / 100;
  return size;
}

static uint32_t *cell_of(const struct raster *raster, int64_t row, int64_t column)
{
  return raster->count + KINDS * (row * raster->cells + column);
}

static void add_entry(struct raster *raster, int64_t row, int64_t column, enum kind kind)
{
  uint32_t *cell = cell_of(raster, row, column), sum = 0;
  cell[kind]++;
  for (int i = 0; i < KINDS; i++) sum += cell[i];
  if (sum > raster->most) raster->most = sum;
}

/* Adds block (i,j). value: its b*b scalars, or NULL where they are not shown; fill has none. */
static void add_block(struct raster *raster, karst_index i, karst_index j, enum kind kind, const double *value)
{
  const int b = raster->inside;
  if (b == 1) {
    add_entry(raster, i / raster->wide, j / raster->wide, kind);
    return;
  }
  for (int c = 0; c < b; c++)
    for (int r = 0; r < b; r++) {
      const enum kind inside = kind == STORED && value && value[c * b + r] == 0 ? ZERO : kind;
      add_entry(raster, (int64_t)b * i + r, (int64_t)b * j + c, inside);
    }
}

static void add_matrix(struct raster *raster, const karst_matrix *A, const double *value)
{
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const int64_t bb = (int64_t)raster->inside * raster->inside;
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      add_block(raster, raster->place[i], raster->place[column[k]], STORED, value ? value + bb * k : NULL);
}

/* Adds what row i of the filled pattern has and the pattern A, in the same order, has not. Both ascend. */
static void add_fill(struct raster *raster, const karst_matrix *A, const karst_matrix *filled)
{
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const karst_index *fill_start = karst_matrix_row_start(filled), *fill_column = karst_matrix_column(filled);
  for (karst_index i = 0; i < karst_matrix_block_rows(A); i++) {
    karst_index next = start[i];
    for (karst_index k = fill_start[i]; k < fill_start[i + 1]; k++) {
      const bool has = next < start[i + 1] && column[next] == fill_column[k];
      next += has;
      if (!has) add_block(raster, i, fill_column[k], FILL, NULL);
    }
  }
  raster->fill_blocks = karst_matrix_blocks(filled) - karst_matrix_blocks(A);
}

/* Computes the levels of the pattern's lower triangle. */
static void find_levels(struct raster *raster, const karst_matrix *pattern)
{
  const karst_index *start = karst_matrix_row_start(pattern), *column = karst_matrix_column(pattern);
  for (karst_index i = 0; i < karst_matrix_block_rows(pattern); i++) {
    karst_index level = 0;
    for (karst_index k = start[i]; k < start[i + 1] && column[k] < i; k++)
      if (raster->level[column[k]] > level) level = raster->level[column[k]];
    raster->level[i] = level + 1;
    if (level + 1 > raster->levels) raster->levels = level + 1;
  }
}

/* The fill level of the preconditioner; 0 where it has no factors on a filled pattern. */
static int fill_level(const karst_options *options)
{
  return karst_options_used(options, "level") ? (int)tool_option_number(options, "level") : 0;
}

static int compare_indices(const void *a, const void *b)
{
  const karst_index *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

/* Makes the pattern of A in the order of the raster, with one scalar a block, in a context on the host: the values are
 * of no interest. */
static karst_status make_pattern(karst_context *host, const struct raster *raster, const karst_matrix *A,
                                 karst_matrix **pattern)
{
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  const karst_index rows = karst_matrix_block_rows(A);
  karst_index *new_start = malloc(((size_t)rows + 1) * sizeof *new_start);
  karst_index *new_column = malloc(((size_t)start[rows] + 1) * sizeof *new_column), used = 0;
  karst_status status = new_start && new_column ? KARST_SUCCESS : KARST_ERROR_NO_MEMORY;
  for (karst_index i = 0; i < rows && !status; i++) {
    const karst_index row = raster->row[i], first = used;
    new_start[i] = first;
    for (karst_index k = start[row]; k < start[row + 1]; k++) new_column[used++] = raster->place[column[k]];
    qsort(new_column + first, (size_t)(used - first), sizeof *new_column, compare_indices);
  }
  if (!status) new_start[rows] = used;
  if (!status) status = karst_matrix_create_pattern(host, rows, 1, new_start, new_column, KARST_COPY, pattern);
  free(new_start);
  free(new_column);
  return status;
}

/* Adds the fill of the factors, and finds the level sets. A matrix without some diagonal block has no factors. */
static int add_factors(struct raster *raster, const karst_matrix *A, int level)
{
  karst_context *host;
  karst_matrix *pattern = NULL, *filled = NULL;
  karst_status status = karst_context_create(NULL, &host);
  if (status) return tool_fail_memory("the picture of the pattern");
  status = make_pattern(host, raster, A, &pattern);
  if (!status && level > 0 && karst_matrix_check_diagonal(pattern) == KARST_SUCCESS)
    status = karst_matrix_create_filled(pattern, level, &filled);
  if (filled) add_fill(raster, pattern, filled);
  if (!status) find_levels(raster, filled ? filled : pattern);
  const int exit_status = status == KARST_ERROR_NO_MEMORY ? tool_fail_memory("the picture of the pattern")
                          : status                        ? tool_fail_library(host, status)
                                                          : TOOL_GO_ON;
  karst_matrix_destroy(pattern);
  karst_matrix_destroy(filled);
  karst_context_destroy(host);
  return exit_status;
}

/* Takes the order of a solver that has been set up; with NULL that of the file. */
static int find_order(karst_context *context, const karst_solver *solver, struct raster *raster)
{
  const int64_t rows = raster->block_rows;
  raster->row = malloc(((size_t)rows + 1) * sizeof *raster->row);
  raster->place = malloc(((size_t)rows + 1) * sizeof *raster->place);
  if (!raster->row || !raster->place) return tool_fail_memory("the picture of the pattern");
  for (int64_t i = 0; i < rows; i++) raster->row[i] = (karst_index)i;
  const karst_status status = solver ? karst_solver_get_order(solver, raster->row) : KARST_SUCCESS;
  for (int64_t i = 0; i < rows; i++) {
    raster->place[raster->row[i]] = (karst_index)i;
    raster->ordered = raster->ordered || raster->row[i] != i;
  }
  return status ? tool_fail_library(context, status) : TOOL_GO_ON;
}

static void raster_free(struct raster *raster)
{
  free(raster->count);
  free(raster->level);
  free(raster->row);
  free(raster->place);
}

static int raster_make(karst_context *context, const karst_solver *solver, const karst_matrix *A, int level,
                       struct raster *raster)
{
  const int64_t rows = karst_matrix_block_rows(A);
  const int b = karst_matrix_block_size(A);
  double *value = NULL;
  *raster = (struct raster){.wide = rows > PIXELS ? (rows + PIXELS - 1) / PIXELS : 1,
                            .inside = rows * b <= SCALARS_MOST ? b : 1,
                            .block_rows = rows,
                            .blocks = karst_matrix_blocks(A)};
  raster->cells = raster->inside > 1 ? rows * b : (rows + raster->wide - 1) / raster->wide;
  raster->count = calloc((size_t)(KINDS * raster->cells * raster->cells + 1), sizeof *raster->count);
  raster->level = calloc((size_t)rows + 1, sizeof *raster->level);
  if (!raster->count || !raster->level) return tool_fail_memory("the picture of the pattern");
  int exit_status = find_order(context, solver, raster);
  if (exit_status == TOOL_GO_ON && raster->inside > 1) exit_status = tool_matrix_to_host(context, A, &value);
  if (exit_status != TOOL_GO_ON) return exit_status;
  add_matrix(raster, A, value);
  free(value);
  return add_factors(raster, A, level);
}

/* The colour of a cell: blue for what is stored, orange for fill, grey-blue for zeros inside blocks, mixed by their
 * numbers, and the paler the less there is, but never invisible. */
static void colour(const struct raster *raster, const uint32_t *cell, unsigned char rgb[3])
{
  static const double paint[KINDS][3] = {{0, 0x50, 0x96}, {0xb4, 0xcd, 0xe1}, {0xe6, 0x78, 0}};
  const double sum = (double)cell[STORED] + (double)cell[ZERO] + (double)cell[FILL];
  const double strength = sum > 0 ? 0.4 + 0.6 * sqrt(sum / (double)raster->most) : 0;
  for (int c = 0; c < 3; c++) {
    double mixed = 0;
    for (int kind = 0; kind < KINDS && sum > 0; kind++) mixed += paint[kind][c] * (double)cell[kind] / sum;
    rgb[c] = (unsigned char)lrint(255 - strength * (255 - mixed));
  }
}

/* Writes the cells row by row, each as repeat x repeat pixels, so that what smooths the picture leaves them sharp. */
static void write_cells(FILE *script, const struct raster *raster, int64_t repeat)
{
  unsigned char rgb[3];
  for (int64_t y = 0; y < raster->cells * repeat; y++)
    for (int64_t x = 0; x < raster->cells * repeat; x++) {
      colour(raster, cell_of(raster, y / repeat, x / repeat), rgb);
      fwrite(rgb, 1, sizeof rgb, script);
    }
}

/* Writes the mean level of the block rows of each row of the raster, as floats. */
static void write_levels(FILE *script, const struct raster *raster, int64_t rows)
{
  const int64_t wide = raster->inside > 1 ? 1 : raster->wide;
  for (int64_t row = 0; row < rows; row++) {
    double sum = 0, count = 0;
    for (int64_t i = row * wide; i < (row + 1) * wide && i < raster->block_rows; i++, count++)
      sum += (double)raster->level[i];
    const float mean = (float)(count > 0 ? sum / count : 0);
    for (int i = 0; i < STRIP; i++) fwrite(&mean, sizeof mean, 1, script);
  }
}

/* Lines between the blocks of a matrix that is small enough for them to be seen. */
static void write_borders(FILE *script, const struct raster *raster)
{
  const double end = (double)raster->block_rows - 0.5;
  fputs("$borders << end_of_borders\n", script);
  for (int64_t i = 1; i < raster->block_rows; i++) {
    const double at = (double)i - 0.5;
    fprintf(script, "%g -0.5\n%g %g\n\n-0.5 %g\n%g %g\n\n", at, at, end, at, end, at);
  }
  fputs("end_of_borders\n", script);
}

/* The margins that give the plot so many pixels; what is left goes to both sides, and to the top. */
static void write_margins(FILE *script, const struct plot_size *size)
{
  const int strip = PIXELS * STRIP_ROOM / 100;
  const double wide = LEFT + PIXELS + strip + RIGHT, high = TOP + PIXELS + BOTTOM;
  const int64_t left = LEFT + (PIXELS + strip - size->across) / 2;
  fprintf(script,
          "set lmargin at screen %.9g\nset rmargin at screen %.9g\nset bmargin at screen %.9g\n"
          "set tmargin at screen %.9g\n",
          (double)left / wide, (double)(left + size->across) / wide, BOTTOM / high,
          (double)(BOTTOM + size->side) / high);
}

static void write_axes(struct tool_gnuplot *plot, const struct solve_report *report, const struct raster *raster,
                       const struct plot_size *size)
{
  FILE *script = plot->script;
  char text[160];
  const double rows = (double)raster->block_rows, end = end_of(raster);
  const char *ordering = raster->ordered ? tool_option_text(report->effective, "ordering") : NULL;
  snprintf(text, sizeof text, "%lld block%s", (long long)raster->blocks, tool_plural(raster->blocks));
  if (raster->fill_blocks > 0) tool_append(text, sizeof text, " and %lld of fill", (long long)raster->fill_blocks);
  tool_append(text, sizeof text, ", %lld level set%s of the lower triangle, in %s%s", (long long)raster->levels,
              tool_plural(raster->levels), ordering ? ordering : "the file's", ordering ? "'s order" : " order");
  solve_write_title(plot, report, text);
  fprintf(script,
          "set xrange [-0.5:%.9g]\nset yrange [%.9g:-0.5]\nset xlabel 'block column'\n"
          "set ylabel 'block row'\nset tics out nomirror\nset format '%%.0f'\n",
          end * (double)size->across / (double)size->side - 0.5, end - 0.5);
  write_margins(script, size);
  if (rows < 10) fputs("set xtics 1\nset ytics 1\n", script); /* gnuplot would number halves, too */
  if (raster->levels < 10) fputs("set cbtics 1\n", script);
  fprintf(script,
          "set palette defined (0 '#440154', 1 '#3b528b', 2 '#21918c', 3 '#5ec962', 4 '#fde725')\n"
          "set cbrange [1:%lld]\nset cblabel 'level set of the block row (strip)' offset 1.5\n"
          "set key outside bottom center horizontal samplen 1\n",
          (long long)(raster->levels > 1 ? raster->levels : 2));
}

static void write_spy(struct tool_gnuplot *plot, const struct solve_report *report, const struct raster *raster)
{
  FILE *script = plot->script;
  const double end = end_of(raster);
  const struct plot_size size = size_of(raster);
  const int64_t repeat = size.repeat, side = size.side;
  const int64_t strip = raster->inside > 1 ? raster->block_rows : raster->cells;
  const double step = raster->inside > 1 ? 1.0 / (double)raster->inside : (double)raster->wide;
  const double pixel = step / (double)repeat, wide = raster->inside > 1 ? 1 : (double)raster->wide;
  const bool borders = raster->block_rows <= BORDERS_MOST;
  write_axes(plot, report, raster, &size);
  if (borders) write_borders(script, raster);
  fprintf(script,
          "plot '-' binary array=(%lld,%lld) origin=(%.9g,%.9g) dx=%.9g dy=%.9g format='%%uchar%%uchar%%uchar' "
          "using 1:2:3 with rgbimage notitle, \\\n",
          (long long)side, (long long)side, (pixel - 1) / 2, (pixel - 1) / 2, pixel, pixel);
  fprintf(script,
          "'-' binary array=(%d,%lld) origin=(%.9g,%.9g) dx=%.9g dy=%.9g format='%%float' using 1 with image notitle",
          STRIP, (long long)strip, end * 1.03 - 0.5, (wide - 1) / 2, end * 0.02, wide);
  if (borders) fputs(", \\\n$borders with lines linecolor rgb '#c0c0c0' linewidth 0.5 notitle", script);
  fputs(", \\\nNaN with points pointtype 5 pointsize 1.5 linecolor rgb '#005096' title 'stored'", script);
  if (raster->inside > 1)
    fputs(", \\\nNaN with points pointtype 5 pointsize 1.5 linecolor rgb '#b4cde1' title 'zero in a block'", script);
  if (raster->fill_blocks > 0)
    fputs(", \\\nNaN with points pointtype 5 pointsize 1.5 linecolor rgb '#e67800' title 'fill'", script);
  fputc('\n', script);
  write_cells(script, raster, repeat);
  write_levels(script, raster, strip);
}

int solve_spy(karst_context *context, const struct solve_report *report, const karst_solver *solver,
              const karst_matrix *A)
{
  struct tool_gnuplot plot;
  struct raster raster;
  if (karst_matrix_block_rows(A) == 0)
    return tool_fail(TOOL_FAILED, "%s: the matrix has no rows, so there is no pattern to draw", report->settings->spy);
  int exit_status = raster_make(context, solver, A, fill_level(report->effective), &raster);
  if (exit_status == TOOL_GO_ON)
    exit_status = tool_gnuplot_begin(&plot, report->settings->spy, LEFT + PIXELS + PIXELS * STRIP_ROOM / 100 + RIGHT,
                                     TOP + PIXELS + BOTTOM);
  if (exit_status == TOOL_GO_ON) {
    write_spy(&plot, report, &raster);
    exit_status = tool_gnuplot_end(&plot);
  }
  raster_free(&raster);
  return exit_status;
}
