/* options.h - the options that methods own, and the set of values that a caller makes for them.
 *
 * A method describes its options in rows: a name, what it takes, the smallest value, the default, a line of help, and
 * where the value goes in the method's own settings. A set of options (karst_options) holds text for some names; a
 * method's settings are read from it once, when the method is made, and nothing is compared with text after that. */
#ifndef KARST_LIB_OPTIONS_H
#define KARST_LIB_OPTIONS_H

#include "context.h"

typedef enum karst_option_kind {
  KARST_OPTION_INTEGER, /* int */
  KARST_OPTION_REAL,    /* double */
  KARST_OPTION_NAME     /* int: the number of the name among the choices */
} karst_option_kind;

typedef struct karst_option {
  const char *name; /* as in --name; NULL behind the last row */
  karst_option_kind kind;
  bool experiment;                 /* of no use in everyday work */
  size_t field;                    /* offset of the value in the settings of each method that has this row */
  const char *(*choice)(size_t i); /* NAME: the names allowed, NULL past the last */
  double least;                    /* INTEGER, REAL: the smallest value; the largest integer is INT_MAX */
  const char *default_value;       /* as text, which is valid */
  const char *help;                /* one line */
} karst_option;

/* "no", "yes": a choice whose number is a truth value. */
const char *karst_no_or_yes(size_t i);

/* Names are equal with '-' and '_' alike. */
bool karst_option_is(const karst_option *row, const char *name);
/* "N", "R", or the names allowed, "right|left", as much as there is room for. */
void karst_option_takes(const karst_option *row, char *text, size_t size);
/* Whether text is a value for the row; if not, a sentence says why. *number: the value where it is one. */
karst_status karst_option_check(karst_context *context, const karst_option *row, const char *text, double *number);
/* The same of a number, which is whole where the row takes integers. */
karst_status karst_option_check_number(karst_context *context, const karst_option *row, double number);

karst_context *karst_options_context(const karst_options *options);
/* The value that was given to a name, or NULL; options may be NULL. */
const char *karst_options_find(const karst_options *options, const char *name);
/* Gives a value, which has been checked, to a name, which is the row's own; number: as it was checked. */
karst_status karst_options_put(karst_options *options, const char *name, const char *text, double number);
/* KARST_ERROR_OPTION where a value is none of those that this method's own rows allow, though it is another's. owner:
 * the method, for the sentence. */
karst_status karst_options_check(karst_context *context, const karst_options *options, const karst_option *const *list,
                                 const char *owner);
/* Fills the settings of a method from lists of rows (list: ends with NULL, may be NULL itself), each with the value
 * that was given to its name or else the default. The values have been checked. options may be NULL. */
void karst_options_read(const karst_options *options, const karst_option *const *list, void *settings);

#endif
