/* gallery.c - lists the model problems, and builds one from its text NAME:SIZES[,key=value...]. */
#include "config.h"

#include "matrices/gallery.h"
#include "lib/grid/grid.h"
#include "lib/ranks/ranks.h"
#include "support/nearest.h"

#include <stdio.h>
#include <string.h>

const struct karst_generator *const karst_generator_table[] = {
    &karst_poisson2d,
    &karst_poisson3d,
    &karst_laplace27,
    &karst_anisotropic,
    &karst_discontinuous,
    &karst_convdiff,
    &karst_blackoil,
    &karst_deadoil,
    &karst_ns3d,
    &karst_unitsquare,
    &karst_jump2d,
    &karst_bilinear2d,
    NULL,
};

/* With this many cells, the entries of 27 blocks a cell can still be counted in 64 bits. */
#define CELLS_MAX (KARST_INDEX_BITS == 64 ? INT64_C(1) << 48 : INT32_MAX)

static const char *const size_form[] = {"", "NX", "NXxNY", "NXxNYxNZ"};

const char *karst_gallery_name(size_t i)
{
  size_t count = sizeof karst_generator_table / sizeof *karst_generator_table - 1;
  return i < count ? karst_generator_table[i]->name : NULL;
}

const char *karst_gallery_help(size_t i) { return karst_gallery_name(i) ? karst_generator_table[i]->help : NULL; }

static karst_status find_generator(karst_context *context, const char *spec, size_t length,
                                   const struct karst_generator **generator)
{
  char names[256] = "";
  const char *suggestion = NULL;
  size_t used = 0;
  int nearest = 0;
  for (size_t i = 0; karst_generator_table[i]; i++) {
    const char *name = karst_generator_table[i]->name;
    const int nearness = karst_nearness(spec, length, name);
    if (nearness > nearest) suggestion = name;
    if (nearness > nearest) nearest = nearness;
    *generator = karst_generator_table[i];
    if (strlen(name) == length && strncmp(name, spec, length) == 0) return KARST_SUCCESS;
    if (used < sizeof names)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", name);
  }
  return karst_fail(context, KARST_ERROR_OPTION, "the gallery has no problem \"%.*s\": it has %s%s%s%s",
                    length < 64 ? (int)length : 64, spec, names, suggestion ? "; did you mean " : "",
                    suggestion ? suggestion : "", suggestion ? "?" : "");
}

/* Reads the digits at *text as a number, which saturates above CELLS_MAX, and moves *text past them. */
static int64_t read_size(const char **text)
{
  int64_t size = 0;
  for (; **text >= '0' && **text <= '9'; (*text)++)
    if (size <= CELLS_MAX) size = 10 * size + (**text - '0');
  return size;
}

/* Reads SIZES at *text into size and moves *text past them. */
static karst_status read_sizes(karst_context *context, const struct karst_generator *generator, const char **text,
                               karst_index size[3])
{
  const char *sizes = *text;
  int64_t cells = 1;
  for (int axis = 0; axis < generator->dimensions; axis++) {
    const char *start = *text;
    int64_t count = read_size(text);
    if (*text == start || **text != (axis + 1 < generator->dimensions ? 'x' : **text == ',' ? ',' : '\0'))
      return karst_fail(context, KARST_ERROR_OPTION, "%s needs its sizes as %s:%s, whole numbers, not \"%.64s\"",
                        generator->name, generator->name, size_form[generator->dimensions], sizes);
    if (count == 0)
      return karst_fail(context, KARST_ERROR_OPTION, "%s:%.64s: a size is 0, but the smallest is 1", generator->name,
                        sizes);
    if (count > CELLS_MAX || cells > CELLS_MAX / count)
      return karst_fail(context, KARST_ERROR_INDEX_OVERFLOW, "%s:%.64s: more cells than %d-bit indices can count%s",
                        generator->name, sizes, KARST_INDEX_BITS,
                        KARST_INDEX_BITS == 32 ? ": configure with --enable-int64" : "");
    cells *= count;
    size[axis] = (karst_index)count;
    if (axis + 1 < generator->dimensions) (*text)++;
  }
  return KARST_SUCCESS;
}

/* Appends zeros to *rhs for a matrix that the conversion has padded. */
static karst_status pad_vector(karst_context *context, int64_t length, karst_vector **rhs)
{
  karst_vector *padded;
  int64_t old_length = karst_vector_length(*rhs);
  double *host;
  karst_status status = karst_allocate(context, &host, old_length, sizeof *host, "the right-hand side");
  if (status) return status;
  status = karst_vector_get(*rhs, old_length, host);
  if (!status) status = karst_vector_create(context, length, &padded);
  if (!status) {
    karst_vector_destroy(*rhs);
    *rhs = padded;
    status = karst_vector_set(padded, old_length, host);
  }
  karst_release(context, host);
  return status;
}

/* Converts *matrix to another block size and pads *rhs to match it. */
static karst_status change_block_size(karst_context *context, int block_size, karst_matrix **matrix, karst_vector **rhs)
{
  karst_matrix *converted;
  karst_status status = karst_matrix_convert(*matrix, block_size, &converted);
  if (status) return status;
  karst_matrix_destroy(*matrix);
  *matrix = converted;
  if (!rhs || !*rhs || karst_vector_length(*rhs) == karst_matrix_rows(converted)) return KARST_SUCCESS;
  return pad_vector(context, karst_matrix_rows(converted), rhs);
}

/* Reads a problem's name and sizes, and finds where its parameters begin. */
static karst_status parse(karst_context *context, const char *spec, karst_gallery_spec *parsed)
{
  if (!spec) return karst_fail(context, KARST_ERROR_ARGUMENT, "the name of the gallery problem is NULL");
  size_t length = strcspn(spec, ":");
  karst_status status = find_generator(context, spec, length, &parsed->generator);
  if (status) return status;
  const char *text = spec + length + (spec[length] == ':' ? 1 : 0);
  status = read_sizes(context, parsed->generator, &text, parsed->size);
  if (status) return status;
  if (*text == ',') parsed->parameters = text + 1;
  if (*text == ',' && text[1] == '\0')
    return karst_fail(context, KARST_ERROR_OPTION, "%.128s: key=value must follow the comma", spec);
  return KARST_SUCCESS;
}

karst_status karst_gallery_create(karst_context *context, const char *spec, int block_size, karst_matrix **matrix,
                                  karst_vector **rhs)
{
  karst_gallery_spec parsed = {.size = {1, 1, 1}, .block_size = block_size, .parameters = ""};
  if (matrix) *matrix = NULL;
  if (rhs) *rhs = NULL;
  if (!context || !matrix) return karst_missing(context, "the place for the matrix");
  if (block_size < 0 || block_size > KARST_BLOCK_SIZE_MAX)
    return karst_fail(context, KARST_ERROR_ARGUMENT,
                      "the block size %d is out of range (1 to %d, or 0 for the problem's own)", block_size,
                      KARST_BLOCK_SIZE_MAX);
  karst_status status = parse(context, spec, &parsed);
  if (status) return status;
  status = parsed.generator->build(context, &parsed, matrix, rhs);
  if (!status && block_size > 0 && karst_matrix_block_size(*matrix) != block_size)
    status = change_block_size(context, block_size, matrix, rhs);
  if (!status) return KARST_SUCCESS;
  karst_matrix_destroy(*matrix);
  *matrix = NULL;
  if (rhs) {
    karst_vector_destroy(*rhs);
    *rhs = NULL;
  }
  return status;
}

/* Builds this rank's block rows. */
static karst_status build_part(karst_context *context, const char *spec, int block_size, karst_gallery_part *part,
                               karst_vector **rhs)
{
  karst_gallery_spec parsed = {.size = {1, 1, 1}, .block_size = block_size, .parameters = "", .part = part};
  karst_matrix *none = NULL;
  const int64_t rank = karst_context_rank(context), ranks = karst_context_ranks(context);
  karst_status status = parse(context, spec, &parsed);
  if (status) return status;
  const int64_t rows = karst_grid_cells(parsed.size);
  part->first = (karst_index)(rows * rank / ranks);
  part->end = (karst_index)(rows * (rank + 1) / ranks);
  status = parsed.generator->build(context, &parsed, &none, rhs);
  if (!status && block_size > 0 && part->block_size != block_size)
    status = karst_fail(context, KARST_ERROR_ARGUMENT, "ranks can make %s in blocks of %d only, not %d",
                        parsed.generator->name, part->block_size, block_size);
  return status;
}

karst_status karst_gallery_create_distributed(karst_context *context, const char *spec, int block_size,
                                              karst_matrix **matrix, karst_vector **rhs)
{
  karst_gallery_part part = {0};
  if (matrix) *matrix = NULL;
  if (rhs) *rhs = NULL;
  if (!context || !matrix) return karst_missing(context, "the place for the matrix");
  karst_status status = karst_ranks_enter(context, build_part(context, spec, block_size, &part, rhs));
  if (!status)
    status = karst_matrix_create_distributed(context, part.end - part.first, part.block_size, part.row_start,
                                             part.column, part.value, matrix);
  karst_release(context, part.row_start);
  karst_release(context, part.column);
  karst_release(context, part.value);
  if (status && rhs) {
    karst_vector_destroy(*rhs);
    *rhs = NULL;
  }
  return status;
}

karst_status karst_gallery_exact(karst_context *context, const char *spec, karst_vector **exact)
{
  karst_gallery_spec parsed = {.size = {1, 1, 1}, .parameters = ""};
  if (exact) *exact = NULL;
  if (!context || !exact) return karst_missing(context, "the place for the exact solution");
  karst_status status = parse(context, spec, &parsed);
  if (status) return status;
  if (!parsed.generator->exact)
    return karst_fail(context, KARST_ERROR_OPTION, "the gallery does not know the exact solution of %s",
                      parsed.generator->name);
  status = parsed.generator->exact(context, &parsed, exact);
  if (!status) return KARST_SUCCESS;
  karst_vector_destroy(*exact);
  *exact = NULL;
  return status;
}
