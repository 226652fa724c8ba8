/* parameters.h - the "key=value,key=value" part of a gallery problem's name. */
#ifndef KARST_MATRICES_PARAMETERS_H
#define KARST_MATRICES_PARAMETERS_H

#include "lib/method/generator.h"

enum { KARST_PARAMETER_PATH_SIZE = 1024 };

enum karst_parameter_kind {
  KARST_PARAMETER_NUMBER, /* double, in [low, high] */
  KARST_PARAMETER_COUNT,  /* uint64_t, in [low, high] */
  KARST_PARAMETER_WORD,   /* char[KARST_PARAMETER_PATH_SIZE], without a comma */
  KARST_PARAMETER_PATH    /* char[KARST_PARAMETER_PATH_SIZE], not empty, without a comma */
};

typedef struct karst_parameter {
  const char *key;
  enum karst_parameter_kind kind;
  void *field; /* receives the value; holds the default before */
  double low, high;
} karst_parameter;

/* Reads the parameters of a problem, which may be empty, into the fields of count parameters. The error for an unknown
 * key lists the keys. */
karst_status karst_parameters_read(karst_context *context, const karst_gallery_spec *spec, int count,
                                   const karst_parameter *parameter);

#endif
