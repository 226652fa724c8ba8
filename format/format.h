/* format.h - what the file formats share: a file as lines or bytes, and a file to write.
 *
 * Reading goes through layers, each of which knows nothing of those above it:
 *   file.c     bytes of the file
 *   unpack.c   the same, decompressed by gzip.c where they are gzip
 *   archive.c  bytes of one member, where those are a tar archive
 *   input.c    lines with numbers, and the sentence that says what is wrong with one
 *   market.c   the header of a Matrix Market file
 *   entries.c  its entries, made into a scalar CSR matrix by csr.c
 *   room.c     the arrays that are read into
 *   vector.c, binary.c, matrix.c  vectors, .kbsr files, and the public functions
 * Writing goes the same way down: output.c, with place.c for where the file is, gzip.c, file.c.
 * What a file is is told from its content. All memory but libarchive's comes from the context's allocator. */
#ifndef KARST_FORMAT_H
#define KARST_FORMAT_H

#include "matrix.h"
#include "number.h"

#include <locale.h>

enum { KARST_NAME_SIZE = 256 }; /* of a file's name in a sentence; longer ones lose their front */

/* ---- input ---- */

typedef struct karst_input {
  karst_context *context;
  char name[KARST_NAME_SIZE];    /* for sentences: the path, and the archive's member in brackets */
  size_t member;                 /* where in the name the member begins, " (" before it; 0: no archive */
  int file;                      /* descriptor of a regular file */
  int64_t file_size;             /* bytes */
  int64_t text_limit;            /* bytes that can come out at most, when all is decompressed */
  struct karst_gunzip *gunzip;   /* NULL for a file that is not gzip */
  struct karst_archive *archive; /* NULL for a file that is no archive */
  char *buffer;                  /* bytes begin to end - 1 are not yet handed out */
  size_t begin, end;
  bool at_end;  /* nothing is left to be read into the buffer */
  int64_t line; /* number of the line handed out last, from 1; 0: no line yet */
} karst_input;

/* Opens a regular file. member: ".mtx" or "_b.mtx" for the member NAME/NAME.mtx or NAME/NAME_b.mtx where the file is an
 * archive, *result = NULL where the archive has none; NULL: an archive is refused. */
karst_status karst_input_open(karst_context *context, const char *path, const char *member, karst_input **result);
void karst_input_close(karst_input *input);

/* Whether the bytes not yet handed out begin with these (256 at most). */
bool karst_input_begins(const karst_input *input, const void *bytes, size_t count);

/* The next line that is not blank, from its first character that is no space, zero-terminated, in the input's buffer;
 * NULL at the end of the file. A zero byte in a line is an error. */
karst_status karst_input_line(karst_input *input, char **line);

/* Exactly count bytes; fewer are an error. */
karst_status karst_input_bytes(karst_input *input, void *to, size_t count);

/* KARST_ERROR_FORMAT with a sentence: the file's name, the line where there is one, and the text. */
karst_status karst_input_fail(karst_input *input, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Up to capacity bytes; fewer only at the end of the file. The layers below the lines. */
karst_status karst_file_read(karst_input *input, void *to, size_t capacity, size_t *got);

karst_status karst_gunzip_open(karst_input *input);
karst_status karst_gunzip_read(karst_input *input, void *to, size_t capacity, size_t *got);
void karst_gunzip_close(karst_input *input);

/* Looks at how the file begins, and sets its text_limit. */
karst_status karst_unpack_open(karst_input *input);
karst_status karst_unpack_read(karst_input *input, void *to, size_t capacity, size_t *got);
void karst_unpack_close(karst_input *input);

/* Takes over the decompressed bytes that the buffer holds. *found: whether the member is there. */
karst_status karst_archive_open(karst_input *input, const char *member, bool *found);
karst_status karst_archive_read(karst_input *input, void *to, size_t capacity, size_t *got);
void karst_archive_close(karst_input *input);

/* ---- room that grows with what is read ---- */

/* The next larger capacity of an array for as many elements as a file announces, at most 8 times the last one beyond
 * the first. The last step but one is an eighth of all: growing costs little beside what is announced and true. */
int64_t karst_room_announced(int64_t capacity, int64_t announced);
/* Moves count elements of an array to a larger one, which takes its place. */
karst_status karst_room_enlarge(karst_context *context, void *array /* T ** */, int64_t count, int64_t capacity,
                                size_t size, const char *what);

/* ---- Matrix Market ---- */

enum karst_market_symmetry { KARST_MARKET_GENERAL, KARST_MARKET_SYMMETRIC, KARST_MARKET_SKEW };

typedef struct karst_market_header {
  bool coordinate; /* else array */
  bool integer;
  enum karst_market_symmetry symmetry;
  int block_size;      /* of an ISTL_STRUCT line; 0 without one */
  karst_index grid[3]; /* of a %%karst grid line; 0 without one */
  int64_t grid_line;   /* the number of that line */
  int64_t rows, columns;
  int64_t entries; /* lines that follow */
} karst_market_header;

/* Whether the line is the first of a Matrix Market file. */
bool karst_market_begins(const char *line);
/* Reads up to the size line, given the first line. coordinate: whether a matrix or a vector is wanted. */
karst_status karst_market_read_header(karst_input *input, const char *line, bool coordinate,
                                      karst_market_header *header);

/* A scalar matrix from a coordinate file, and what its header says. path: to look up the line of an entry that comes
 * twice. */
karst_status karst_market_read_matrix(karst_input *input, const char *path, karst_matrix **matrix,
                                      karst_market_header *header);

/* Sorts count entries into CSR in place: in column and value, row by row, columns ascending. counts[i + 1] entries are
 * in row i on entry (counts[0] = 0), counts is the row starts on return. *twice: the place of an entry whose row and
 * column those of its predecessor are, or -1. */
karst_status karst_csr_from_entries(karst_context *context, karst_index rows, karst_index *counts, karst_index *row,
                                    karst_index *column, double *value, karst_index *twice);

/* ---- the binary form ---- */

bool karst_binary_begins(const karst_input *input);
karst_status karst_binary_read(karst_input *input, karst_matrix **matrix);

/* ---- output ---- */

typedef struct karst_output {
  karst_context *context;
  const char *path; /* the caller's */
  struct karst_place *place;
  int file;                /* descriptor; -1: none */
  struct karst_gzip *gzip; /* NULL for a file that is not compressed */
  char *buffer;
  size_t used;
  locale_t plain_locale; /* the C locale, in which printf writes a point whatever the program's language */
  locale_t program_locale;
} karst_output;

/* Creates a file, or one to replace what is there; compressed where the path ends in .gz. */
karst_status karst_output_open(karst_context *context, const char *path, karst_output **result);
karst_status karst_output_bytes(karst_output *output, const void *bytes, size_t count);
/* A line of at most 200 characters. */
karst_status karst_output_print(karst_output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the file and returns status. Only where that and the last write are a success does the path name the new file;
 * else it names what it named before, unless that had to be written to in its place. Accepts NULL. */
karst_status karst_output_close(karst_output *output, karst_status status);

/* Opens the file to write to, and at the end gives it its name, or where status is an error takes it away. */
karst_status karst_place_open(karst_output *output);
karst_status karst_place_close(karst_output *output, karst_status status);

karst_status karst_file_write(karst_output *output, const void *bytes, size_t count);
karst_status karst_gzip_open(karst_output *output);
karst_status karst_gzip_write(karst_output *output, const void *bytes, size_t count, bool last);
void karst_gzip_close(karst_output *output);

karst_status karst_binary_write(const karst_matrix *matrix, const double *value, karst_output *output);

bool karst_path_ends(const char *path, const char *ending);

#endif
