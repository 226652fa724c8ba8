/* options.h - the options that methods own, and the set of values that a caller makes for them.
 *
 * A method describes its options in rows (karst_option in karst.h): a name, what it takes, the smallest value, the
 * default, help, and where the value goes in the method's own settings. A set of options (karst_options)
 * holds text for some names, and what it means; a method's settings are read from it once, when the method is made, and
 * nothing is compared with text after that. */
#ifndef KARST_LIB_OPTIONS_OPTIONS_H
#define KARST_LIB_OPTIONS_OPTIONS_H

#include "lib/base/context.h"

enum {
  KARST_OPTION_LENGTH = 40, /* characters of a row's name and of a method's */
  KARST_OPTION_DEPTH = 4,   /* preconditioners inside one another */
  KARST_OPTION_NAME_SIZE = (KARST_OPTION_DEPTH + 1) * (KARST_OPTION_LENGTH + 1)
};

/* What a text means to a row: the number of an integer or a real, and sizes. */
typedef struct karst_option_value {
  double number;
  karst_index size[3];
} karst_option_value;

/* "no", "yes": a choice whose number is a truth value. */
const char *karst_no_or_yes(size_t i);

/* Names are equal with '-' and '_' alike; length: how many characters of name count. */
bool karst_option_is(const karst_option *row, const char *name, size_t length);
/* Number i of the names allowed, for rows that take one; NULL past the last. */
const char *karst_option_choice(const karst_context *context, const karst_option *row, size_t i);
/* "N", "R", "NXxNYxNZ", "FILE", or the names allowed, "right|left", of which the last is "..." where there is no room
 * for all. */
void karst_option_takes(const karst_context *context, const karst_option *row, char *text, size_t size);
/* Whether text is a value for the row, and what it means. */
bool karst_option_allows(const karst_context *context, const karst_option *row, const char *text,
                         karst_option_value *value);
/* The same; if it is none, a sentence says why. */
karst_status karst_option_check(karst_context *context, const karst_option *row, const char *text,
                                karst_option_value *value);
/* The same of a number, which is whole where the row takes integers. */
karst_status karst_option_check_number(karst_context *context, const karst_option *row, double number);

karst_context *karst_options_context(const karst_options *options);
/* The value that was given to a name, or NULL; options may be NULL. */
const char *karst_options_find(const karst_options *options, const char *name);
/* Gives a value, which has been checked, to a name, which is the row's own, behind those of the rows it is inside of;
 * meaning: as it was checked. */
karst_status karst_options_put(karst_options *options, const char *name, const char *text,
                               const karst_option_value *meaning);
/* The name and text of value number i; false past the last. */
bool karst_options_at(const karst_options *options, int i, const char **name, const char **text);
/* KARST_ERROR_OPTION where a value is none of those that this method's own rows allow, though it is another's. owner:
 * the method, for the sentence. */
karst_status karst_options_check(karst_context *context, const karst_options *options, const karst_option *const *list,
                                 const char *owner);
/* Fills the settings of a method from lists of rows (list: ends with NULL, may be NULL itself), each with the value
 * that was given to its name or else the default. The values have been checked. options may be NULL. Fields that own
 * something stay as they are: karst_settings_create fills them. */
void karst_options_read(const karst_options *options, const karst_option *const *list, void *settings);
/* Reads the option of one row alone, into a value of its kind. */
void karst_options_read_row(const karst_options *options, const karst_option *row, void *value);
/* A set for the preconditioner inside a row: the values under its name, and the name of the preconditioner in any
 * case. */
karst_status karst_options_inner(karst_context *context, const karst_options *options, const karst_option *row,
                                 karst_options **inner);

/* The settings of a method, of size bytes (0: *settings is NULL), with what they own: texts and sets of options. */
karst_status karst_settings_create(karst_context *context, const karst_options *options,
                                   const karst_option *const *list, size_t size, const void **settings);
void karst_settings_destroy(karst_context *context, const karst_option *const *list, const void *settings);

#endif
