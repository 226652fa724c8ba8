/* report.h - what a method has to say: a short list of named values, which its set-up and updates fill. */
#ifndef KARST_LIB_OPTIONS_REPORT_H
#define KARST_LIB_OPTIONS_REPORT_H

#include "lib/base/context.h"

/* How many values a report takes, and the bytes of their texts with the zero at the end. karst.h names the limits. */
enum { KARST_REPORT_VALUES = 32, KARST_REPORT_NAME = 48, KARST_REPORT_UNIT = 24, KARST_REPORT_TEXT = 96 };

/* A value and its texts. The pointers of value lead into the arrays beside it, so that a report must stay where it was
 * filled. */
struct karst_report_entry {
  karst_value value;
  char name[KARST_REPORT_NAME];
  char unit[KARST_REPORT_UNIT];
  char text[KARST_REPORT_TEXT];
};

typedef struct karst_report {
  int count;
  int kept; /* the values of set-up, which come first and which an update does not forget */
  struct karst_report_entry entry[KARST_REPORT_VALUES];
} karst_report;

/* Gives the value of this name the number, or the text unless it is NULL; a name that is new goes behind the others.
 * All texts are copied. KARST_ERROR_ARGUMENT where one is too long, the name has other characters than a-z, 0-9 and
 * '_', or the report is full. Allocates nothing. */
karst_status karst_report_put(karst_context *context, karst_report *report, const karst_value *value);

/* What the report has is from set-up, and stays. */
void karst_report_keep(karst_report *report);
/* Forgets what was put since then. */
void karst_report_begin_update(karst_report *report);

/* Value number i from 0; 0 past the last, and *value stays. */
int karst_report_get(const karst_report *report, size_t i, karst_value *value);

#endif
