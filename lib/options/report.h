/* report.h - the report of a method: a short list of named values, which its set-up and updates fill. */
#ifndef KARST_LIB_OPTIONS_REPORT_H
#define KARST_LIB_OPTIONS_REPORT_H

#include "lib/base/context.h"

/* The most values of a report, and the bytes of their texts with the terminating zero. karst.h names the limits. */
enum { KARST_REPORT_VALUES = 64, KARST_REPORT_NAME = 48, KARST_REPORT_UNIT = 24, KARST_REPORT_TEXT = 96 };

/* A value and its texts. The pointers in value lead into the arrays beside it, so a filled report must not move. */
struct karst_report_entry {
  karst_value value;
  char name[KARST_REPORT_NAME];
  char unit[KARST_REPORT_UNIT];
  char text[KARST_REPORT_TEXT];
};

typedef struct karst_report {
  int count;
  int kept; /* the values of set-up, which come first and which an update keeps */
  struct karst_report_entry entry[KARST_REPORT_VALUES];
} karst_report;

/* Sets the value of this name to the number, or to the text unless it is NULL; a new name is added at the end. All
 * texts are copied. KARST_ERROR_ARGUMENT if one is too long, if the name has other characters than a-z, 0-9 and '_', or
 * if the report is full. Allocates nothing. */
karst_status karst_report_put(karst_context *context, karst_report *report, const karst_value *value);

/* Marks the current values as those of set-up, which stay. */
void karst_report_keep(karst_report *report);
/* Removes later values. */
void karst_report_begin_update(karst_report *report);

/* Returns 1 and value number i from 0; 0 past the last, with *value unchanged. */
int karst_report_get(const karst_report *report, size_t i, karst_value *value);

#endif
