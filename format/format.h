/* format.h - the input and output layers that the file formats share.
 *
 * Reading goes through layers, listed from the lowest up. A layer does not call those listed after it:
 *   file.c     bytes of the file
 *   unpack.c   these bytes, decompressed by gzip.c (gzip) or filter.c (xz, zstd, bzip2)
 *   archive.c  bytes of one member, if the file is a tar archive
 *   input.c    numbered lines, and error sentences that name the line
 *   room.c     the growth of the arrays that entries are read into
 *   market.c   the header of a Matrix Market file
 *   entries.c  its entries, sorted into a scalar CSR matrix by csr.c
 *   blocks.c   the block size that a scalar matrix seems to have
 *   petsc.c    PETSc's binary matrices and vectors, with the block size that petsc_info.c finds beside them
 *   istl.c     the files beside a matrix file of dune-istl
 *   vector.c, binary.c, matrix.c  vectors, .kbsr files, and the public functions
 * Writing goes through output.c, support/place.c (where the file is written), gzip.c and file.c. The format of a file
 * is recognised by its content, not by its name. All memory but libarchive's comes from the context's allocator. */
#ifndef KARST_FORMAT_FORMAT_H
#define KARST_FORMAT_FORMAT_H

#include "lib/matrix/matrix.h"
#include "lib/base/number.h"
#include "support/place.h"

enum { KARST_NAME_SIZE = 256 }; /* bytes of a file's name in a message; a longer name loses its beginning */

/* ---- input ---- */

typedef struct karst_input {
  karst_context *context;
  char name[KARST_NAME_SIZE];    /* for messages: the path, and the archive's member in brackets */
  size_t member;                 /* where " (" and the member begin in the name; 0: no archive */
  int file;                      /* descriptor of a regular file */
  int64_t file_size;             /* bytes */
  int64_t text_limit;            /* most bytes that decompression can produce; INT64_MAX: unknown */
  struct karst_gunzip *gunzip;   /* NULL if the file is not gzip */
  struct karst_filter *filter;   /* NULL if the file is not compressed otherwise */
  struct karst_archive *archive; /* NULL if the file is no archive */
  char *buffer;                  /* bytes begin to end - 1 are not handed out yet */
  size_t begin, end;
  bool at_end;  /* no bytes are left to read into the buffer */
  int64_t line; /* number of the last line handed out, from 1; 0: none yet */
} karst_input;

/* Opens a regular file. member is ".mtx" or "_b.mtx" for the member NAME/NAME.mtx or NAME/NAME_b.mtx of an archive;
 * *result is NULL if the archive has no such member. With member NULL an archive is refused. */
karst_status karst_input_open(karst_context *context, const char *path, const char *member, karst_input **result);
void karst_input_close(karst_input *input);

/* Reads ahead, so that the two functions below can look at the next 256 bytes. */
karst_status karst_input_look(karst_input *input);
/* Returns whether no bytes are left. */
bool karst_input_is_at_end(const karst_input *input);
/* Returns whether the bytes not yet handed out begin with these count bytes, at most 256. */
bool karst_input_begins(const karst_input *input, const void *bytes, size_t count);

/* Sets *line to the next line that is not blank, without its leading spaces and zero-terminated, in the input's buffer.
 * *line is NULL at the end of the file. A zero byte in a line is an error. */
karst_status karst_input_line(karst_input *input, char **line);

/* Returns whether the file is read as it is, neither unpacked nor from an archive: its size is known then. */
static inline bool karst_input_is_plain(const karst_input *input)
{
  return !input->gunzip && !input->filter && !input->archive;
}

/* Reads exactly count bytes. A file that ends before them is an error. */
karst_status karst_input_bytes(karst_input *input, void *to, size_t count);

/* Refuses a file that announces far more rows than entries: empty rows take memory, but no bytes of the file. */
karst_status karst_input_check_rows(karst_input *input, int64_t rows, int64_t entries);

/* Reports KARST_ERROR_FORMAT with the file's name, the line number if there is one, and the text. */
karst_status karst_input_fail(karst_input *input, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The layers below the lines. Each reads up to capacity bytes, and fewer only at the end of the file. */
karst_status karst_file_read(karst_input *input, void *to, size_t capacity, size_t *got);

karst_status karst_gunzip_open(karst_input *input);
karst_status karst_gunzip_read(karst_input *input, void *to, size_t capacity, size_t *got);
void karst_gunzip_close(karst_input *input);

/* Recognise and read files of xz, zstd and bzip2 by their first bytes. */
enum { KARST_FILTER_BEGIN = 10 };
bool karst_filter_begins(const unsigned char begin[KARST_FILTER_BEGIN]);
karst_status karst_filter_open(karst_input *input, const unsigned char begin[KARST_FILTER_BEGIN]);
karst_status karst_filter_read(karst_input *input, void *to, size_t capacity, size_t *got);
void karst_filter_close(karst_input *input);

/* Recognises compressed files by their first bytes and sets text_limit. */
karst_status karst_unpack_open(karst_input *input);
karst_status karst_unpack_read(karst_input *input, void *to, size_t capacity, size_t *got);
void karst_unpack_close(karst_input *input);

/* Takes over the decompressed bytes in the buffer. *found: whether the archive has the member. */
karst_status karst_archive_open(karst_input *input, const char *member, bool *found);
karst_status karst_archive_read(karst_input *input, void *to, size_t capacity, size_t *got);
void karst_archive_close(karst_input *input);

/* ---- room that grows with what is read ---- */

/* Returns the next larger capacity for an array of announced elements. A step multiplies the capacity by at most 8. The
 * last step but one is an eighth of the whole, so that growing costs little if the file holds what it announces. */
int64_t karst_room_announced(int64_t capacity, int64_t announced);
/* Moves count elements of an array to a larger array that replaces it. */
karst_status karst_room_enlarge(karst_context *context, void *array /* T ** */, int64_t count, int64_t capacity,
                                size_t size, const char *what);
/* Makes room for elements done to done + part - 1 of announced in an array that holds *room. */
karst_status karst_room_grow(karst_context *context, void *array /* T ** */, int64_t *room, int64_t done, int64_t part,
                             int64_t announced, size_t size, const char *what);

/* ---- Matrix Market ---- */

enum karst_market_symmetry { KARST_MARKET_GENERAL, KARST_MARKET_SYMMETRIC, KARST_MARKET_SKEW };

typedef struct karst_market_header {
  bool coordinate; /* else array */
  bool integer;
  enum karst_market_symmetry symmetry;
  int block_size;      /* of an ISTL_STRUCT line; 0 if there is none */
  karst_index grid[3]; /* of a %%karst grid line; 0 if there is none */
  int64_t grid_line;   /* the number of the %%karst grid line */
  int64_t rows, columns;
  int64_t entries; /* number of lines that follow */
} karst_market_header;

/* Returns whether the line is the first of a Matrix Market file. */
bool karst_market_begins(const char *line);
/* Reads the header from its first line to the size line. coordinate: whether a matrix or a vector is expected. */
karst_status karst_market_read_header(karst_input *input, const char *line, bool coordinate,
                                      karst_market_header *header);

/* Reads a scalar matrix from a coordinate file or a list of entries, and its header, which says general for a list.
 * stored: whether the triangle that a symmetric file stores is the whole matrix. path: to read the file again
 * if entries are repeated. */
karst_status karst_market_read_matrix(karst_input *input, const char *path, bool stored, karst_matrix **matrix,
                                      karst_market_header *header);

/* Sorts count entries into CSR in place: column and value by rows, with ascending columns. On entry counts[i + 1]
 * entries are in row i and counts[0] = 0; on return counts holds the row starts. *repeated is the position of an
 * entry with the row and column of the one before it, or -1. */
karst_status karst_csr_from_entries(karst_context *context, karst_index rows, karst_index *counts, karst_index *row,
                                    karst_index *column, double *value, karst_index *repeated);

/* Adds up entries with the same row and column, in their order, in the place of the first. Rows need not be sorted.
 * row_start and the arrays then hold fewer entries. */
karst_status karst_csr_add_up(karst_context *context, karst_index rows, karst_index *row_start, karst_index *column,
                              double *value);

/* Sorts each row by columns. *repeated: as above. */
void karst_csr_sort_rows(karst_index rows, const karst_index *row_start, karst_index *column, double *value,
                         karst_index *repeated);

/* Returns the row of entry number k, for a message. */
long long karst_csr_row_of(const karst_index *row_start, int64_t k);

/* Sends a note on how many entries of a file were added to others with the same row and column; for 0 it sends none. */
void karst_csr_note_repeats(karst_context *context, const char *name, int64_t repeats);

/* Sends a note with the size, 2 to 8, of the full blocks that make up a scalar matrix, if its pattern has any. */
void karst_blocks_note(const karst_matrix *A, const char *path);

/* ---- PETSc's binary files ---- */

/* Returns whether the next bytes are an object of PETSc, in either width of indices and either byte order. */
bool karst_petsc_begins(const karst_input *input);
/* Reads the scalar matrix that the file begins with. */
karst_status karst_petsc_read_matrix(karst_input *input, karst_matrix **matrix);
/* Reads past the matrix that the file begins with. *found: whether a vector is next. */
karst_status karst_petsc_skip_matrix(karst_input *input, bool *found);
/* Reads the vector that is next. *values: [*count], owned by the caller, or NULL after an error. */
karst_status karst_petsc_read_vector(karst_input *input, int64_t *count, double **values);
/* Reads the block size that NAME.info gives for the file NAME or NAME.gz; 0 if NAME.info is missing or gives none. */
karst_status karst_petsc_block_size(karst_context *context, const char *path, int *block_size);

/* Sends a note if the scalar matrix has entries above its diagonal blocks of this size, but none below. */
void karst_petsc_note_triangle(const karst_matrix *matrix, int block_size, const char *path);

/* ---- files beside a matrix file of dune-istl ---- */

/* Sets *path to the name of the right-hand side that belongs to a matrix file ...matrix_istl... of OPM Flow; NULL for
 * other names. The caller releases it. */
karst_status karst_istl_rhs_path(karst_context *context, const char *matrix_path, char **path);
/* Sends a note that the file NAME_R.mm is the part of one process, if the part of another process is in its folder. */
karst_status karst_istl_note_part(karst_context *context, const char *path);

/* ---- the binary form ---- */

bool karst_binary_begins(const karst_input *input);
karst_status karst_binary_read(karst_input *input, karst_matrix **matrix);

/* ---- output ---- */

typedef struct karst_output {
  karst_context *context;
  const char *path;          /* owned by the caller */
  struct karst_place *place; /* where it is written, and the descriptor */
  struct karst_gzip *gzip;   /* NULL if the file is not compressed */
  char *buffer;
  size_t used;
} karst_output;

/* Creates a file, or one that will replace an existing file; it is compressed if the path ends in .gz. */
karst_status karst_output_open(karst_context *context, const char *path, karst_output **result);
karst_status karst_output_bytes(karst_output *output, const void *bytes, size_t count);
/* Writes a line of at most 200 characters. */
karst_status karst_output_print(karst_output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Ends the file and returns status, or the error of ending it. Only on success does the path name the new file.
 * Otherwise the path names what it named before, unless an existing file had to be overwritten in place. Accepts
 * NULL. */
karst_status karst_output_close(karst_output *output, karst_status status);

karst_status karst_file_write(karst_output *output, const void *bytes, size_t count);
karst_status karst_gzip_open(karst_output *output);
karst_status karst_gzip_write(karst_output *output, const void *bytes, size_t count, bool last);
void karst_gzip_close(karst_output *output);

karst_status karst_binary_write(const karst_matrix *matrix, const double *value, karst_output *output);

bool karst_path_ends(const char *path, const char *ending);

#endif
