/* compare_write.h - what the writers of compare share: the table of all cases, memory, numbers and names as text, and
 * the layout of tables, which Markdown and HTML share. Functions of type int report their own errors and return
 * TOOL_GO_ON or an exit status. */
#ifndef KARST_TOOLS_SRC_COMPARE_REPORT_COMPARE_WRITE_H
#define KARST_TOOLS_SRC_COMPARE_REPORT_COMPARE_WRITE_H

#include "tools/src/compare/report/compare_outcomes.h"
#include "tools/src/compare/report/compare_table.h"

#include <stdio.h>

/* The numbers of a row; times are in seconds, and NaN is a number that is not known. */
enum compare_number {
  COMPARE_ITERATIONS,
  COMPARE_RESIDUAL, /* true, relative */
  COMPARE_SETUP,    /* order + symbolic + factor */
  COMPARE_ORDER,
  COMPARE_SYMBOLIC,
  COMPARE_FACTOR, /* with --repeat its median; so is the next */
  COMPARE_SOLVE,
  COMPARE_TOTAL,  /* set-up + solve */
  COMPARE_FIRST,  /* the same of the first set-up and solve, without a median */
  COMPARE_UPDATE, /* factor + solve with new values, medians of --repeat */
  COMPARE_TRANSFER,
  COMPARE_SPEED_UP,  /* total of the baseline over this total */
  COMPARE_FILL,      /* entries of the factors over those of A's blocks */
  COMPARE_FILL_FILE, /* and over those stored in the file */
  COMPARE_LEVELS_LOWER,
  COMPARE_LEVELS_UPPER,
  COMPARE_FACTOR_ENTRIES,
  COMPARE_ROWS,
  COMPARE_FILE_ENTRIES,
  COMPARE_MEMORY,      /* of the solver, bytes */
  COMPARE_PEAK_MEMORY, /* of the process, bytes */
  COMPARE_WALL,        /* of the process */
  COMPARE_NUMBERS
};

/* The texts of a row, "" for one that is not known; sentence says what happened. */
enum compare_word {
  COMPARE_REASON,
  COMPARE_VERSION,
  COMPARE_HOST,
  COMPARE_DEVICE_NAME,
  COMPARE_STARTED,
  COMPARE_WORDS
};

struct compare_row {
  const json_t *line; /* NULL: not run yet, and nothing else is known */
  size_t place;       /* among the lines */
  size_t matrix;      /* which of the table's matrices; their number where it is not known */
  enum compare_outcome outcome;
  bool own_block;     /* the block size was the file's */
  bool is_baseline;   /* it has the values that the baseline names */
  const char **value; /* [dimensions] what the case has of each, or NULL */
  const char *sentence, *word[COMPARE_WORDS];
  double number[COMPARE_NUMBERS];
};

/* What cases may differ in, except the matrix: block, device, threads, and the options of the batch. */
struct compare_dimension {
  const char *name;
  size_t values;
  const char **value; /* [values] all that occur, numbers in their order, others as they come in the plan */
  bool is_said;       /* all cases have one and the same value */
};

/* The fastest case of a matrix that converged, the next, and the slowest; NULL if no case converged. */
struct compare_choice {
  const struct compare_row *best, *second, *slowest;
  size_t cases, converged;
};

struct compare_table {
  size_t rows, dimensions, matrices;
  struct compare_row *row;             /* [rows], as the lines */
  struct compare_dimension *dimension; /* [dimensions] block, the options, level, device, threads */
  const char **matrix;                 /* [matrices] as they come */
  struct compare_choice *choice;       /* [matrices] */
  const char *baseline;                /* or NULL */
  size_t outcomes[OUTCOME_COUNT];      /* how many cases have each */
};

int compare_table_make(struct compare_table *table, const struct compare_set *set);
/* Makes the table of the set and has it printed into a file, "-" being standard output. */
int compare_write_table(const struct compare_set *set, const char *path,
                        int (*print)(FILE *file, const struct compare_table *table));

/* Sets is_baseline and the speed-ups, where the table has a baseline (speed_ups.c). */
int compare_speed_ups(struct compare_table *table);

/* What a column of this number is called in CSV and JSON. */
const char *compare_number_name(enum compare_number number);
/* dimension.c: the dimension of this name, with '-' and '_' equal, or the number of dimensions. */
size_t compare_find_dimension(const struct compare_table *table, const char *name);
bool compare_same_value(const char *a, const char *b);
/* Whether the dimension is where a case runs, device or threads, and not what is done. */
bool compare_is_place(const struct compare_dimension *dimension);
/* Whether two cases do the same on any matrix: all values are equal, including where they run. */
bool compare_same_method(const struct compare_table *table, const struct compare_row *a, const struct compare_row *b);

/* room.c: memory of zeros, and a text made by printf, which live until compare_free: a table and all that is written of
 * it. Without memory the program ends with a sentence; rows are on the disk. */
void *compare_room(size_t count, size_t size);
const char *compare_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void compare_free(void);

/* The text so that no reader of HTML takes part of it for more than text; a dash for NULL and "". */
const char *compare_html(const char *text);
/* Prints a text, as such for Markdown. */
void compare_print_markdown(FILE *file, const char *text);

/* A number by a format of printf for one double, and a time with its unit; NULL for one that is not known. */
const char *compare_format(const char *format, double number);
const char *compare_time(double seconds);
/* A matrix' name without its folder, and a dimension's name for readers. */
const char *compare_short_name(const char *matrix);
const char *compare_title(const struct compare_dimension *dimension);
/* Names a case by those of its values that vary among all cases, except in the dimensions left out:
 * left_out[dimensions], or NULL for none. Where none varies, by its preconditioner. */
const char *compare_label(const struct compare_table *table, const struct compare_row *row, const bool *left_out);
/* "72 cases of 3 matrices", "70 converged, 2 crashed", and all different words of the rows with "; " between them. */
const char *compare_count(const struct compare_table *table);
const char *compare_outcomes(const struct compare_table *table);
const char *compare_all_words(const struct compare_table *table, enum compare_word word, size_t *count);
/* When the first and the last case began, or "". */
void compare_dates(const struct compare_table *table, const char **first, const char **last);

/* layout.c: a matrix' table. A line has what several places (device, threads) did with the same block size and
 * options. */
struct compare_cell {
  const char *text;                 /* NULL: not known */
  const struct compare_row *failed; /* the case whose sentence explains the cell, or NULL */
  bool is_best;
};
struct compare_column {
  const char *title;
  bool is_text, is_shown;
};
struct compare_layout {
  size_t columns, lines;
  struct compare_column *column; /* [columns] */
  struct compare_cell *cell;     /* [lines * columns] line by line */
  const char **said;             /* [dimensions] the value that all lines have, or NULL */
};
/* unit: of times, in seconds: 1 or 1e-3. */
struct compare_layout compare_layout_make(const struct compare_table *table, size_t matrix, double unit);
/* "block size 2, threads 1": what has one value for all cases, or with a layout for those of the layout alone; or "".
 */
const char *compare_said(const struct compare_table *table, const struct compare_layout *layout);

/* auto.c: the preconditioner auto against the fastest of the others on the same system, solver and device. Near is a
 * time of at most COMPARE_NEAR times the other's. No lines if there is nothing to compare. */
#define COMPARE_NEAR 1.3
/* *sentence: on how many lines auto is near. */
struct compare_layout compare_auto_make(const struct compare_table *table, const char **sentence);

/* pictures.c: the pictures of the report: of the whole set the best choice of each matrix and the performance profile,
 * and of each matrix residuals by iteration, total times by level or else by block size, and iterations by fill. */
enum compare_picture {
  COMPARE_BEST,
  COMPARE_PROFILE,
  COMPARE_CONVERGENCE,
  COMPARE_TIMES,
  COMPARE_FILL_PICTURE,
  COMPARE_PICTURES,
  COMPARE_OF_MATRIX = COMPARE_CONVERGENCE /* the first one of a matrix */
};
extern const struct compare_picture_kind {
  const char *name, *caption, *x, *y, *settings, *style; /* the last two are gnuplot's */
} compare_pictures[COMPARE_PICTURES];
enum { COMPARE_CURVES = 8 }; /* as many as line types that readers can tell apart */
struct compare_legend {
  bool drawn;
  size_t curves;
  const char *label[COMPARE_CURVES]; /* what the picture numbers from 1 */
};
/* Draws a picture, unless there is nothing to show; path ends in .svg. */
int compare_draw(enum compare_picture picture, const struct compare_table *table, size_t matrix, const char *path,
                 struct compare_legend *legend);

/* folder.c: begins the title of a page, by which the program knows one of its own. */
#define COMPARE_OWN_TITLE "<title>Comparison of "
bool compare_is_folder(const char *path);
/* Returns the text of the folder's page, "" without one. The caller frees it; NULL: no memory. */
char *compare_read_page(const char *folder);
/* Removes the pictures of an older page that are not among the names " a.svg b.svg ". */
void compare_remove_others(const char *folder, const char *older, const char *names);

#endif
