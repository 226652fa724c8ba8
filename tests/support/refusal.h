/* refusal.h - checks of refused files, and functions that make compressed files and archives. */
#ifndef KARST_TESTS_SUPPORT_REFUSAL_H
#define KARST_TESTS_SUPPORT_REFUSAL_H

#include "format/format.h"
#include "tests/support/tap.h"

#include <stdio.h>
#include <string.h>

#define GENERAL "%%MatrixMarket matrix coordinate real general\n"

/* Checks a refusal: the status, no object, and one sentence with the expected words. */
static inline void check_refusal(karst_context *context, karst_status status, karst_status expected, const void *made,
                                 const char *says, const char *what)
{
  const char *sentence = karst_context_error(context);
  bool right = status == expected && !made && strstr(sentence, says) && !strpbrk(sentence, "\n\r\x1b");
  if (!tap_ok(right, "refused: %s", what))
    tap_note("%s: \"%s\" should say \"%s\"", karst_status_text(status), sentence, says);
}

static inline void refuse_matrix(karst_context *context, const char *path, karst_status expected, const char *says,
                                 const char *what)
{
  karst_matrix *matrix = (karst_matrix *)context; /* any pointer but NULL */
  karst_status status = karst_matrix_read(context, path, 0, &matrix);
  check_refusal(context, status, expected, matrix, says, what);
}

static inline void refuse_vector(karst_context *context, const char *path, karst_status expected, const char *says,
                                 const char *what)
{
  karst_vector *vector = (karst_vector *)context;
  karst_status status = karst_vector_read(context, path, &vector);
  check_refusal(context, status, expected, vector, says, what);
}

/* Expects that a problem of the gallery is refused. */
static inline void refuse_gallery(karst_context *context, const char *spec, int b, karst_status expected,
                                  const char *says)
{
  karst_matrix *matrix = (karst_matrix *)context;
  karst_vector *rhs = (karst_vector *)context;
  const karst_status status = karst_gallery_create(context, spec, b, &matrix, &rhs);
  check_refusal(context, status, expected, rhs ? (const void *)rhs : matrix, says, spec);
}

/* Reads a file, at most size bytes of it, and returns the number of bytes. */
static inline long slurp(const char *path, char *bytes, size_t size)
{
  FILE *stream = fopen(path, "rb");
  if (!stream) return 0;
  size_t count = fread(bytes, 1, size, stream);
  fclose(stream);
  return (long)count;
}

/* Writes count bytes (-1: up to the terminating zero) as a gzip file. */
static inline void write_gzip(karst_context *context, const char *path, const char *bytes, long count)
{
  karst_output *output;
  tap_need(context, karst_output_open(context, path, &output), "compressed file");
  karst_status status = karst_output_bytes(output, bytes, count < 0 ? strlen(bytes) : (size_t)count);
  tap_need(context, karst_output_close(output, status), "compressed file");
}

/* Appends a tar header block (POSIX ustar) and the content in whole blocks; returns the number of bytes. */
static inline long add_member(char *tar, const char *name, const char *content)
{
  enum { BLOCK = 512 };
  size_t length = strlen(content);
  unsigned sum = 0;
  memset(tar, 0, BLOCK);
  strcpy(tar, name);
  strcpy(tar + 100, "0000644");
  sprintf(tar + 124, "%011o", (unsigned)length);
  strcpy(tar + 136, "00000000000");
  memset(tar + 148, ' ', 8);
  tar[156] = '0';
  strcpy(tar + 257, "ustar");
  memset(tar + 263, '0', 2); /* the version field */
  for (int i = 0; i < BLOCK; i++) sum += (unsigned char)tar[i];
  sprintf(tar + 148, "%06o", sum);
  size_t padded = (length + BLOCK - 1) / BLOCK * BLOCK;
  memset(tar + BLOCK, 0, padded);
  strcpy(tar + BLOCK, content);
  return (long)(BLOCK + padded);
}

#endif
