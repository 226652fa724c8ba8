/* options.h - the options that methods own, and the set of values that a caller gives them.
 *
 * A method describes its options in rows (karst_option in karst.h): a name, the kind of value, the smallest value, the
 * default, help, and the place of the value in the method's own settings. A set of options (karst_options) holds texts
 * for some names, and their parsed values. A method reads its settings from the set once, when it is made; no text is
 * compared after that. */
#ifndef KARST_LIB_OPTIONS_OPTIONS_H
#define KARST_LIB_OPTIONS_OPTIONS_H

#include "lib/base/context.h"

enum {
  KARST_OPTION_LENGTH = 40, /* characters of a row's name and of a method's */
  KARST_OPTION_DEPTH = 4,   /* preconditioners inside one another */
  KARST_OPTION_NAME_SIZE = (KARST_OPTION_DEPTH + 1) * (KARST_OPTION_LENGTH + 1)
};

/* The parsed value of a text: the number of an integer or a real, and sizes. */
typedef struct karst_option_value {
  double number;
  karst_index size[3];
} karst_option_value;

/* "no", "yes": a choice whose number is a truth value. */
const char *karst_no_or_yes(size_t i);

/* Compares names; '-' and '_' are equal. length: how many characters of name count. */
bool karst_option_is(const karst_option *row, const char *name, size_t length);
/* Writes "N", "R", "NXxNYxNZ", "FILE", or the allowed names, "right|left", with "..." last if not all fit. */
void karst_option_takes(const karst_context *context, const karst_option *row, char *text, size_t size);
/* Whether text is a valid value for the row; *value is the parsed value. */
bool karst_option_allows(const karst_context *context, const karst_option *row, const char *text,
                         karst_option_value *value);
/* The same; a sentence says why a text is not valid. */
karst_status karst_option_check(karst_context *context, const karst_option *row, const char *text,
                                karst_option_value *value);
/* The same for a number, which is whole if the row takes integers. */
karst_status karst_option_check_number(karst_context *context, const karst_option *row, double number);

karst_context *karst_options_context(const karst_options *options);
/* The value given to a name, or NULL; options may be NULL. */
const char *karst_options_find(const karst_options *options, const char *name);
/* Gives a checked value to a name: the row's own, behind the names of the rows that it is inside of. meaning: the
 * parsed value from the check. */
karst_status karst_options_put(karst_options *options, const char *name, const char *text,
                               const karst_option_value *meaning);
/* The name and text of value number i; false past the last. */
bool karst_options_at(const karst_options *options, int i, const char **name, const char **text);
/* KARST_ERROR_OPTION if this method's own rows do not allow a value, though another method's do. owner: the method, for
 * the sentence. */
karst_status karst_options_check(karst_context *context, const karst_options *options, const karst_option *const *list,
                                 const char *owner);
/* Fills the settings of a method from lists of rows (list: ends with NULL, may be NULL itself), each with the value
 * given to its name, or the default. The values have been checked. options may be NULL. Fields that own memory are
 * unchanged: karst_settings_create fills them. */
void karst_options_read(const karst_options *options, const karst_option *const *list, void *settings);
/* Reads the option of a single row into a value of its kind. */
void karst_options_read_row(const karst_options *options, const karst_option *row, void *value);
/* Makes a set for the preconditioner inside a row: the values under the row's name, and always the name of the
 * preconditioner. */
karst_status karst_options_inner(karst_context *context, const karst_options *options, const karst_option *row,
                                 karst_options **inner);

/* The settings of a method, of size bytes (0: *settings is NULL), and the texts and sets of options that they own. */
karst_status karst_settings_create(karst_context *context, const karst_options *options,
                                   const karst_option *const *list, size_t size, const void **settings);
void karst_settings_destroy(karst_context *context, const karst_option *const *list, const void *settings);

#endif
