/* compare_write.h - what the writers of compare share: the table of all cases, files, numbers and names as text, the
 * best choice of a matrix, and the layout of a matrix' table, which Markdown and HTML show alike. All functions of type
 * int report their own errors and return TOOL_GO_ON or an exit status. */
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

/* A case. Texts that are not known are "". */
struct compare_row {
  const json_t *line; /* NULL: not run yet, and nothing else is known */
  size_t place;       /* among the lines */
  size_t matrix;      /* which of the table's matrices; their number where it is not known */
  enum compare_outcome outcome;
  bool own_block;     /* the block size was the file's */
  bool is_baseline;   /* it has the values that the baseline names */
  const char **value; /* [dimensions] what the case has of each, or NULL */
  const char *sentence, *reason, *version, *host, *device_name, *started;
  double number[COMPARE_NUMBERS];
};

/* What cases may differ in, but for the matrix: block, device, threads, and the options of the batch. */
struct compare_dimension {
  const char *name;
  size_t values;
  const char **value; /* [values] all that occur, numbers in their order, others as they come in the plan */
  bool is_said;       /* all cases have one and the same value */
};

struct compare_table {
  size_t rows, dimensions, matrices;
  struct compare_row *row;             /* [rows], as the lines */
  struct compare_dimension *dimension; /* [dimensions] block, the options, level, device, threads */
  const char **matrix;                 /* [matrices] as they come */
  const char *baseline;                /* or NULL */
  size_t outcomes[OUTCOME_COUNT];      /* how many cases have each */
  json_t *kept;                        /* the owner of texts that the lines do not have */
};

/* compare_table_free is to be called whatever this returns. */
int compare_table_make(struct compare_table *table, const struct compare_set *set);
void compare_table_free(struct compare_table *table);
/* Makes the table of the set and has it printed into a file, "-" being standard output. */
int compare_write_table(const struct compare_set *set, const char *path,
                        int (*print)(FILE *file, const struct compare_table *table));

/* Sets is_baseline and the speed-ups, where the table has a baseline (speed_ups.c). */
int compare_speed_ups(struct compare_table *table);

/* What a column of this number is called in CSV and JSON. */
const char *compare_number_name(enum compare_number number);
/* The dimension of this name, with '-' and '_' equal, or the number of dimensions. */
size_t compare_find_dimension(const struct compare_table *table, const char *name);
bool compare_same_value(const char *a, const char *b);
/* Whether the dimension is where a case runs, device or threads, and not what is done. */
bool compare_is_place(const struct compare_dimension *dimension);
/* Whether two cases do the same on any matrix: all values are equal, where they run included. */
bool compare_same_method(const struct compare_table *table, const struct compare_row *a, const struct compare_row *b);

/* text.c: opens what a file, "-" being standard output, is to hold, and puts it in place whole, unless status
 * says that another error has been reported already. */
int compare_open(const char *path, FILE **file);
int compare_close(FILE *file, const char *path, int status);
/* Prints a text so that no reader of the format takes part of it for more than text. */
void compare_print_html(FILE *file, const char *text);
void compare_print_markdown(FILE *file, const char *text);

enum { COMPARE_DIGITS = 40, COMPARE_LABEL = 160 };
/* A number by a format of printf for one double, with a decimal point in every locale; "" for one that is not known. */
void compare_format(char text[COMPARE_DIGITS], const char *format, double number);
/* A number with 0 to 9 decimals. */
void compare_fixed(char text[COMPARE_DIGITS], double number, int decimals);
/* A time with its unit. */
void compare_time(char text[COMPARE_DIGITS], double seconds);
/* A matrix' name without its folder, and a dimension's name for readers. */
const char *compare_short_name(const char *matrix);
const char *compare_title(const struct compare_dimension *dimension);
/* Names a case by those of its values that vary among all cases, but for the dimensions left out: left_out[dimensions],
 * or NULL for none. Where none varies, by its preconditioner. */
void compare_label(char text[COMPARE_LABEL], const struct compare_table *table, const struct compare_row *row,
                   const bool *left_out);

/* choice.c: the fastest case of a matrix that converged, the next, and the slowest; NULL where there is
 * none. */
struct compare_choice {
  const struct compare_row *best, *second, *slowest;
  size_t cases, converged;
};
struct compare_choice compare_choose(const struct compare_table *table, size_t matrix);
/* The text that all rows have, but for those that have none; "" where two differ. */
const char *compare_common(const struct compare_table *table, const char *(*text)(const struct compare_row *row));
/* The texts of a row that it may be asked for: the machine, and Karst's version. */
const char *compare_host_of(const struct compare_row *row);
const char *compare_version_of(const struct compare_row *row);
/* The first and the last moment at which a case began, or "". */
void compare_dates(const struct compare_table *table, const char **first, const char **last);

/* layout.c: a matrix' table. A line has what several places (device, threads) did with the same block size and
 * options. */
struct compare_cell {
  const char *text; /* what the line's cases have in common; else number counts */
  char number[COMPARE_DIGITS];
  const struct compare_row *failed; /* the case whose sentence explains the cell, or NULL */
  bool is_best;
};
struct compare_column {
  char title[COMPARE_LABEL];
  bool is_text, is_shown;
};
struct compare_layout {
  size_t columns, lines;
  struct compare_column *column; /* [columns] */
  struct compare_cell *cell;     /* [lines * columns] line by line */
  bool *is_section;              /* [lines] whether the line begins another block size */
  bool *is_said;                 /* [dimensions] whether all lines have the value said[d] */
  const char **said;             /* [dimensions] */
};
/* unit: of times, in seconds: 1 or 1e-3. compare_layout_free is to be called whatever this returns. */
int compare_layout_make(struct compare_layout *layout, const struct compare_table *table, size_t matrix, double unit);
void compare_layout_free(struct compare_layout *layout);

/* auto.c: the preconditioner auto against the fastest of the others on the same system, solver and device. Near
 * is a time of at most COMPARE_NEAR times the other's. */
#define COMPARE_NEAR 1.3
struct compare_share {
  size_t near, solved; /* lines: near, among those where auto or another preconditioner converged */
};
struct compare_auto {
  struct compare_layout layout; /* no lines where there is nothing to compare */
  struct compare_share total, update;
};
/* compare_layout_free(&found->layout) is to be called whatever this returns. */
int compare_auto_make(struct compare_auto *found, const struct compare_table *table);
/* Says on how many lines auto is near. */
void compare_auto_sentence(FILE *file, const struct compare_auto *found);

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
  char label[COMPARE_CURVES][COMPARE_LABEL]; /* what the picture numbers from 1 */
};
/* Draws a picture, unless there is nothing to show; path ends in .svg. */
int compare_draw(enum compare_picture picture, const struct compare_table *table, size_t matrix, const char *path,
                 struct compare_legend *legend);

/* folder.c: FOLDER/index.html, which the caller frees; NULL: no memory. */
char *compare_page_path(const char *folder);
bool compare_is_folder(const char *path);
/* Begins the title of a page, by which the program knows one of its own. */
extern const char compare_own_title[];

/* template.c: the parts of the page, with places to fill. */
extern const struct compare_template {
  const char *head, *choice, *table_end, *figure, *curve, *figure_end, *missing, *automatic, *profile, *matrix, *table,
      *failures, *failure, *end;
} compare_page;

#endif
