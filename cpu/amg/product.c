/* product.c - C = A B of sparse matrices: the pattern and the slots once (Gustavson, Two fast algorithms for sparse
 * matrices, ACM Trans. Math. Softw. 4 (1978)), the values as often as they change. */
#include "cpu/amg/amg_cpu.h"

static const char what[] = "the product of two multigrid matrices";

/* The work space of one thread. */
struct workspace {
  karst_index *marker; /* [columns of C] */
  karst_index *column; /* [longest row of C + 1] its columns in the order in which they were found */
  karst_index *place;  /* [longest row of C] the place of each in ascending order */
};

/* Counts the entries of rows of C in row_start, and their products in first, one element further on. */
static void count_rows(const karst_amg_matrix *A, const karst_amg_matrix *B, const karst_part *part,
                       karst_index *marker, karst_amg_product *product)
{
  for (karst_index j = 0; j < B->columns; j++) marker[j] = -1;
  for (karst_index i = part->first; i < part->last; i++) {
    int64_t products = 0;
    karst_index entries = 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const karst_index j = A->column[k];
      products += B->row_start[j + 1] - B->row_start[j];
      for (karst_index q = B->row_start[j]; q < B->row_start[j + 1]; q++) {
        entries += marker[B->column[q]] != i;
        marker[B->column[q]] = i;
      }
    }
    product->C.row_start[i + 1] = entries;
    product->first[i + 1] = products;
  }
}

KARST_INLINE karst_index get_slot(int size, const void *slot, int64_t n)
{
  return size == 1   ? ((const uint8_t *)slot)[n]
         : size == 2 ? ((const uint16_t *)slot)[n]
                     : (karst_index)((const uint32_t *)slot)[n];
}

KARST_INLINE void put_slot(int size, void *slot, int64_t n, karst_index number)
{
  if (size == 1)
    ((uint8_t *)slot)[n] = (uint8_t)number;
  else if (size == 2)
    ((uint16_t *)slot)[n] = (uint16_t)number;
  else
    ((uint32_t *)slot)[n] = (uint32_t)number;
}

/* Sorts the columns of row i of C, w->column in the order in which they were found, and finds the place of each. */
static void sort_columns(karst_index i, const karst_amg_matrix *C, const struct workspace *w)
{
  const karst_index count = C->row_start[i + 1] - C->row_start[i];
  karst_index *column = C->column + C->row_start[i];
  for (karst_index n = 0; n < count; n++) column[n] = w->column[n];
  karst_amg_sort_cpu(count, column);
  for (karst_index n = 0; n < count; n++) w->marker[column[n]] = n;
  for (karst_index n = 0; n < count; n++) {
    w->place[n] = w->marker[w->column[n]];
    w->marker[w->column[n]] = -1;
  }
}

/* Finds the columns and the slots of rows of C. At first a slot is the number of its column as they were found. */
KARST_INLINE void find_slots(int size, const karst_amg_matrix *A, const karst_amg_matrix *B, const karst_part *part,
                             const struct workspace *w, const karst_amg_product *product)
{
  karst_index *restrict marker = w->marker;
  for (karst_index j = 0; j < B->columns; j++) marker[j] = -1;
  for (karst_index i = part->first; i < part->last; i++) {
    int64_t n = product->first[i];
    karst_index count = 0;
    for (karst_index k = A->row_start[i]; k < A->row_start[i + 1]; k++) {
      const karst_index end = B->row_start[A->column[k] + 1];
      for (karst_index q = B->row_start[A->column[k]]; q < end; q++) {
        const karst_index j = B->column[q];
        const bool is_new = marker[j] < 0; /* as a number: a branch would be mispredicted every few products */
        const karst_index number = is_new ? count : marker[j];
        w->column[count] = j;
        marker[j] = number;
        count += is_new;
        put_slot(size, product->slot, n++, number);
      }
    }
    sort_columns(i, &product->C, w);
    for (n = product->first[i]; n < product->first[i + 1]; n++)
      put_slot(size, product->slot, n, w->place[get_slot(size, product->slot, n)]);
  }
}

/* Takes the memory of C and of the slots, once all rows are counted. */
static karst_status take_product(karst_context *context, const karst_amg *amg, karst_amg_product *product)
{
  karst_status status = karst_amg_take_matrix_cpu(context, amg, what, &product->C);
  if (status) return status;
  product->first[0] = 0;
  for (karst_index i = 0; i < product->C.rows; i++) product->first[i + 1] += product->first[i];
  product->products = product->first[product->C.rows];
  product->slot_size = product->C.longest <= UINT8_MAX + 1 ? 1 : product->C.longest <= UINT16_MAX + 1 ? 2 : 4;
  return karst_amg_take_cpu(context, &product->slot, product->products, (size_t)product->slot_size, what);
}

/* Counts all rows, or finds their columns and slots: two walks with the same work space. */
static void walk_rows(karst_context *context, const karst_amg_matrix *A, const karst_amg_matrix *B, int threads,
                      bool count, struct workspace *w, karst_amg_product *product)
{
  karst_piece piece = karst_begin_at_most(context, KARST_KIND_ONCE, 4 * A->entries, threads);
#pragma omp parallel num_threads(piece.threads)
  {
    const karst_part part = karst_part_rows(&piece, A->rows, A->row_start);
    const struct workspace *mine = &w[karst_thread()];
    if (count)
      count_rows(A, B, &part, mine->marker, product);
    else if (product->slot_size == 1)
      find_slots(1, A, B, &part, mine, product);
    else if (product->slot_size == 2)
      find_slots(2, A, B, &part, mine, product);
    else
      find_slots(4, A, B, &part, mine, product);
    karst_part_end(&piece, &part);
  }
  karst_end(context, &piece);
}

karst_status karst_amg_plan_product_cpu(karst_context *context, const karst_amg *amg, const karst_amg_matrix *A,
                                        const karst_amg_matrix *B, karst_amg_product *product)
{
  const int threads = karst_threads_for(context, 4 * A->entries);
  struct workspace *w = NULL;
  karst_amg_matrix *C = &product->C;
  C->rows = A->rows;
  C->columns = B->columns;
  karst_status status = karst_amg_take_cpu(context, &C->row_start, (int64_t)A->rows + 1, sizeof *C->row_start, what);
  if (!status)
    status = karst_amg_take_cpu(context, &product->first, (int64_t)A->rows + 1, sizeof *product->first, what);
  if (!status) status = karst_allocate_zero(context, &w, threads, sizeof *w, what);
  if (status) return status;
  for (int t = 0; t < threads && !status; t++)
    status = karst_allocate(context, &w[t].marker, B->columns, sizeof *w[t].marker, what);
  if (!status) {
    walk_rows(context, A, B, threads, true, w, product);
    status = take_product(context, amg, product);
  }
  for (int t = 0; t < threads && !status; t++) {
    status = karst_allocate(context, &w[t].column, (int64_t)C->longest + 1, sizeof *w[t].column, what);
    if (!status) status = karst_allocate(context, &w[t].place, C->longest, sizeof *w[t].place, what);
  }
  if (!status) walk_rows(context, A, B, threads, false, w, product);
  for (int t = 0; t < threads; t++) {
    karst_release(context, w[t].marker);
    karst_release(context, w[t].column);
    karst_release(context, w[t].place);
  }
  karst_release(context, w);
  return status;
}

void karst_amg_sort_cpu(karst_index count, karst_index *number)
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
