/* product.c - C = A B of sparse matrices: the pattern and the slots once (Gustavson, Two fast algorithms for sparse
 * matrices, ACM Trans. Math. Softw. 4 (1978)), the values as often as they change. */
#include "cpu/amg/amg_cpu.h"

#include <string.h>

static const char what[] = "the product of two multigrid matrices";

/* 64 columns of the row of C under way. */
struct word {
  uint64_t found;     /* a bit for each column that the row has */
  karst_index before; /* columns of the row in the words before */
};

/* The work space of one thread. Its rows are those of its part. */
struct workspace {
  struct word *word;    /* [columns of C / 64 + 1] */
  karst_index *touched; /* [columns of C / 64 + 2] the words with a column of the row */
  karst_index *product; /* [most products of a row] the column of each */
  karst_index first;    /* of the rows */
  int64_t entries;      /* of them */
  bool fits;            /* slots of this size number the entries of each row */
};

KARST_INLINE void put_slot(int size, void *slot, int64_t n, karst_index number)
{
  if (size == 1)
    ((uint8_t *)slot)[n] = (uint8_t)number;
  else if (size == 2)
    ((uint16_t *)slot)[n] = (uint16_t)number;
  else
    ((uint32_t *)slot)[n] = (uint32_t)number;
}

/* Counts the products of rows in first, one element further on. */
static void count_products(const karst_amg_matrix *A, const karst_amg_matrix *B, const karst_part *part, int64_t *first)
{
  for (karst_index i = part->first; i < part->last; i++) {
    int64_t products = 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++)
      products += B->row_start[A->column[k] + 1] - B->row_start[A->column[k]];
    first[i + 1] = products;
  }
}

/* Lists the column of each product of row i of C, and the words with these columns, whose number it returns. */
KARST_INLINE karst_index collect_columns(const karst_amg_matrix *A, const karst_amg_matrix *B, karst_index i,
                                         const struct workspace *w)
{
  karst_index *restrict product = w->product, *restrict touched = w->touched, words = 0;
  struct word *restrict word = w->word;
  for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
    const karst_index end = B->row_start[A->column[k] + 1];
    for (karst_index q = B->row_start[A->column[k]]; q < end; q++) {
      const karst_index j = B->column[q];
      *product++ = j;
      touched[words] = j >> 6;
      words += word[j >> 6].found == 0; /* as a number: a branch would often be mispredicted */
      word[j >> 6].found |= UINT64_C(1) << (j & 63);
    }
  }
  return words;
}

/* Sorts numbers in ascending order: Shell's method. */
static void sort(karst_index count, karst_index *number)
{
  static const karst_index gap[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1}; /* Ciura 2001 */
  for (size_t g = 0; g < sizeof gap / sizeof *gap; g++)
    for (karst_index i = gap[g]; i < count; i++) {
      const karst_index moved = number[i];
      karst_index j = i;
      for (; j >= gap[g] && number[j - gap[g]] > moved; j -= gap[g]) number[j] = number[j - gap[g]];
      number[j] = moved;
    }
}

/* The slots of a row: the number of each product's column among those of the row. */
KARST_INLINE void number_products(int size, const struct word *restrict word, const karst_index *restrict column,
                                  int64_t products, void *restrict slot)
{
  for (int64_t n = 0; n < products; n++) {
    const struct word *at = &word[column[n] >> 6];
    const uint64_t below = (UINT64_C(1) << (column[n] & 63)) - 1;
    put_slot(size, slot, n, at->before + __builtin_popcountll(at->found & below));
  }
}

/* Finds the columns of the rows of a part, one row after the other, and their slots. */
KARST_INLINE void find_rows(int size, const karst_amg_matrix *A, const karst_amg_matrix *B, const karst_part *part,
                            karst_index *column, const karst_amg_product *product, struct workspace *w)
{
  const int64_t most = INT64_C(1) << 8 * size;
  for (karst_index i = part->first; i < part->last; i++) {
    const karst_index words = collect_columns(A, B, i, w);
    karst_index count = 0;
    sort(words, w->touched);
    for (karst_index n = 0; n < words; n++) {
      struct word *word = &w->word[w->touched[n]];
      word->before = count;
      for (uint64_t left = word->found; left != 0; left &= left - 1)
        column[count++] = 64 * w->touched[n] + __builtin_ctzll(left);
    }
    number_products(size, w->word, w->product, product->first[i + 1] - product->first[i],
                    (char *)product->slot + product->first[i] * size);
    for (karst_index n = 0; n < words; n++) w->word[w->touched[n]].found = 0;
    product->C.row_start[i + 1] = count;
    column += count;
    w->entries += count;
    w->fits = w->fits && count <= most;
  }
}

#define INSTANCE(SIZE)                                                                                                 \
  KARST_KERNEL static void karst_amg_find_##SIZE(const karst_amg_matrix *A, const karst_amg_matrix *B,                 \
                                                 const karst_part *part, karst_index *column,                          \
                                                 const karst_amg_product *product, struct workspace *w)                \
  {                                                                                                                    \
    find_rows(SIZE, A, B, part, column, product, w);                                                                   \
  }
INSTANCE(1)
INSTANCE(2)
INSTANCE(4)
#undef INSTANCE

/* Finds the columns of C, where each thread has those of its rows from the place of their first product on, and slots
 * of this size. Returns whether the size suffices. */
static bool find_columns(karst_context *context, const karst_amg_matrix *A, const karst_amg_matrix *B, int threads,
                         karst_index *column, const karst_amg_product *product, struct workspace *w)
{
  typedef void function(const karst_amg_matrix *, const karst_amg_matrix *, const karst_part *, karst_index *,
                        const karst_amg_product *, struct workspace *);
  static function *const instance[] = {karst_amg_find_1, karst_amg_find_2, karst_amg_find_4};
  bool fits = true;
  for (int t = 0; t < threads; t++) {
    w[t].entries = 0;
    w[t].fits = true;
  }
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_ONCE, 4 * A->entries, threads);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    struct workspace *mine = &w[karst_thread()];
    mine->first = part.first;
    instance[product->slot_size / 2](A, B, &part, column + product->first[part.first], product, mine);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  for (int t = 0; t < threads; t++) fits = fits && w[t].fits;
  return fits;
}

/* Finds the columns and slots, of one byte, or of more if these do not suffice, and makes C. column: [products] work
 * space */
static karst_status fill_product(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                 const karst_amg_matrix *B, int threads, karst_index *column, struct workspace *w,
                                 karst_amg_product *product)
{
  karst_status status;
  for (product->slot_size = 1;; product->slot_size *= 2) {
    status = karst_amg_take_cpu(context, &product->slot, product->products, (size_t)product->slot_size, what);
    if (status) return status;
    if (find_columns(context, A, B, threads, column, product, w)) break;
    context->backend->release(context, product->slot);
  }
  status = karst_amg_take_matrix_cpu(context, amg, what, &product->C);
  for (int t = 0; t < threads && !status; t++)
    if (w[t].entries > 0)
      memcpy(product->C.column + product->C.row_start[w[t].first], column + product->first[w[t].first],
             (size_t)w[t].entries * sizeof *column);
  return status;
}

/* Counts the products of all rows, and returns the largest number. */
static int64_t measure_rows(karst_context *context, const karst_amg_matrix *A, const karst_amg_matrix *B,
                            karst_amg_product *product)
{
  int64_t most = 0;
  karst_piece piece = karst_begin(context, KARST_KIND_ONCE, A->entries);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    count_products(A, B, &part, product->first);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
  product->first[0] = 0;
  for (karst_index i = 0; i < A->rows; i++) {
    if (product->first[i + 1] > most) most = product->first[i + 1];
    product->first[i + 1] += product->first[i];
  }
  product->products = product->first[A->rows];
  return most;
}

karst_status karst_amg_plan_product_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                        const karst_amg_matrix *B, karst_amg_product *product)
{
  const int threads = karst_threads_for(context, 4 * A->entries);
  const int64_t words = B->columns / 64 + 1;
  struct workspace *w = NULL;
  karst_index *column = NULL;
  product->C.rows = A->rows;
  product->C.columns = B->columns;
  karst_status status =
      karst_amg_take_cpu(context, &product->C.row_start, (int64_t)A->rows + 1, sizeof(karst_index), what);
  if (!status) status = karst_amg_take_cpu(context, &product->first, (int64_t)A->rows + 1, sizeof(int64_t), what);
  if (!status) status = karst_allocate_zero(context, &w, threads, sizeof *w, what);
  if (status) return status;
  const int64_t most = measure_rows(context, A, B, product);
  status = karst_allocate(context, &column, product->products, sizeof *column, what);
  for (int t = 0; t < threads && !status; t++) {
    status = karst_allocate_zero(context, &w[t].word, words, sizeof *w[t].word, what);
    if (!status) status = karst_allocate(context, &w[t].touched, words + 1, sizeof *w[t].touched, what);
    if (!status) status = karst_allocate(context, &w[t].product, most, sizeof *w[t].product, what);
  }
  if (!status) status = fill_product(context, amg, A, B, threads, column, w, product);
  for (int t = 0; t < threads; t++) {
    karst_release(context, w[t].word);
    karst_release(context, w[t].touched);
    karst_release(context, w[t].product);
  }
  karst_release(context, w);
  karst_release(context, column);
  return status;
}

/* The values of rows first .. last - 1 of C for numbers of type T and slots of type SLOT. Each row of C is summed where
 * it is stored. NOLINTBEGIN(bugprone-macro-parentheses): T is a type */
#define INSTANCE(T, SLOT)                                                                                              \
  KARST_KERNEL static void karst_amg_multiply_##T##_##SLOT(const karst_amg_matrix *A, const karst_amg_matrix *B,       \
                                                           const karst_amg_product *product, karst_index first,        \
                                                           karst_index last)                                           \
  {                                                                                                                    \
    const T *a = A->value, *b = B->value;                                                                              \
    for (karst_index i = first; i < last; i++) {                                                                       \
      const karst_index start = product->C.row_start[i], length = product->C.row_start[i + 1] - start;                 \
      T *c = (T *)product->C.value + start;                                                                            \
      const SLOT *slot = (const SLOT *)product->slot + product->first[i];                                              \
      for (karst_index n = 0; n < length; n++) c[n] = 0;                                                               \
      for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {                                            \
        const karst_index end = B->row_start[A->column[k] + 1];                                                        \
        for (karst_index q = B->row_start[A->column[k]]; q < end; q++) c[*slot++] += a[k] * b[q];                      \
      }                                                                                                                \
    }                                                                                                                  \
  }
INSTANCE(float, uint8_t)
INSTANCE(float, uint16_t)
INSTANCE(float, uint32_t)
INSTANCE(double, uint8_t)
INSTANCE(double, uint16_t)
INSTANCE(double, uint32_t)
#undef INSTANCE
/* NOLINTEND(bugprone-macro-parentheses) */

void karst_amg_multiply_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                            const karst_amg_matrix *B, const karst_amg_product *product)
{
  typedef void function(const karst_amg_matrix *, const karst_amg_matrix *, const karst_amg_product *, karst_index,
                        karst_index);
  static function *const instance[2][3] = {
      {karst_amg_multiply_double_uint8_t, karst_amg_multiply_double_uint16_t, karst_amg_multiply_double_uint32_t},
      {karst_amg_multiply_float_uint8_t, karst_amg_multiply_float_uint16_t, karst_amg_multiply_float_uint32_t}};
  function *rows = instance[amg->single][product->slot_size / 2];
  karst_piece piece = karst_begin(context, KARST_KIND_FACTOR, product->products);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    rows(A, B, product, part.first, part.last);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}
