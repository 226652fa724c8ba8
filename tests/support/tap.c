/* tap.c - TAP output and test data; see tap.h. */
#include "tests/support/tap.h"

#include "lib/matrix/matrix.h"
#include "lib/base/random.h"

#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int tests_run, tests_failed;
static char scratch_directory[64];

bool tap_ok(bool condition, const char *format, ...)
{
  va_list arguments;
  printf("%s %d - ", condition ? "ok" : "not ok", ++tests_run);
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
  fflush(stdout);
  tests_failed += !condition;
  return condition;
}

void tap_note(const char *format, ...)
{
  va_list arguments;
  printf("# ");
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf("\n");
}

void tap_skip(const char *why, const char *format, ...)
{
  va_list arguments;
  printf("ok %d - ", ++tests_run);
  va_start(arguments, format);
  vprintf(format, arguments);
  va_end(arguments);
  printf(" # SKIP %s\n", why);
}

bool tap_lacks_kernels(const void *kernels, const char *method, const char *what)
{
  char why[64];
  if (kernels) return false;
  snprintf(why, sizeof why, "the device has no kernels of %s", method);
  tap_skip(why, "%s", what);
  return true;
}

void tap_skip_all(const char *why)
{
  printf("1..0 # SKIP %s\n", why);
  exit(0);
}

static void remove_folder(const char *folder)
{
  DIR *directory = opendir(folder);
  char path[512];
  if (!directory) return;
  for (struct dirent *entry; (entry = readdir(directory));) {
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 && unlink(path) != 0) remove_folder(path);
  }
  closedir(directory);
  rmdir(folder);
}

static void remove_scratch(void) { remove_folder(scratch_directory); }

int tap_done(void)
{
  printf("1..%d\n", tests_run);
  return tests_failed > 0;
}

void tap_need(karst_context *context, karst_status status, const char *step)
{
  if (status == KARST_SUCCESS) return;
  printf("Bail out! %s: %s: %s\n", step, karst_status_text(status), context ? karst_context_error(context) : "");
  exit(99);
}

karst_context *tap_context(void)
{
  karst_context *context;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  return context;
}

karst_status tap_set_threads(karst_context *context, int threads)
{
  karst_status status = karst_context_set_threads(context, threads);
  if (!status) context->crew.steady = true;
  return status;
}

static void run_on(const char *device, int threads, void (*test)(karst_context *), const char *what)
{
  karst_context *context = tap_context();
  if (karst_context_set_device(context, device) != KARST_SUCCESS) {
    tap_skip(karst_context_error(context), "%s on %s", what, device);
  } else if (threads > 1 && tap_set_threads(context, threads) != KARST_SUCCESS) {
    tap_skip(karst_context_error(context), "%s on %s with %d threads", what, device, threads);
  } else {
    tap_note("%s on %s", what, karst_context_device(context));
    test(context);
  }
  karst_context_destroy(context);
}

void tap_each_device(void (*test)(karst_context *context), const char *what)
{
  const char *text = getenv("KARST_TEST_THREADS");
  const int only = text ? atoi(text) : 0;
  for (int threads = 1; threads <= 2 && only <= 0; threads++) run_on("cpu", threads, test, what);
  if (only > 0) run_on("cpu", only, test, what);
  run_on("cuda", 1, test, what);
}

static uint64_t *random_state(void)
{
  static uint64_t state;
  static bool seeded;
  if (!seeded) {
    state = tap_seed();
    seeded = true;
  }
  return &state;
}

uint64_t tap_seed(void)
{
  static uint64_t seed;
  static bool chosen;
  if (!chosen) {
    const char *text = getenv("KARST_SEED");
    seed = text ? strtoull(text, NULL, 10) : (uint64_t)time(NULL) * 1000003U + (uint64_t)getpid();
    chosen = true;
    tap_note("KARST_SEED=%llu", (unsigned long long)seed);
  }
  return seed;
}

double tap_random(void) { return 2 * karst_random_uniform(random_state()) - 1; }

int64_t tap_random_index(int64_t below) { return (int64_t)(karst_random_bits(random_state()) % (uint64_t)below); }

const char *tap_matrix_path(const char *file)
{
  static char path[1024];
  const char *directory = getenv("KARST_MATRICES"), *source = getenv("srcdir");
  if (directory)
    snprintf(path, sizeof path, "%s/%s", directory, file);
  else
    snprintf(path, sizeof path, "%s/../shared/matrices/%s", source ? source : ".", file);
  return access(path, R_OK) == 0 ? path : NULL;
}

const char *tap_scratch(const char *file)
{
  static char path[512];
  if (!scratch_directory[0]) {
    snprintf(scratch_directory, sizeof scratch_directory, "/tmp/karst-test-XXXXXX");
    if (!mkdtemp(scratch_directory)) {
      printf("Bail out! no scratch directory\n");
      exit(99);
    }
    atexit(remove_scratch);
  }
  snprintf(path, sizeof path, "%s/%s", scratch_directory, file);
  return path;
}

const char *tap_write(const char *file, const char *text, long length)
{
  const char *path = tap_scratch(file);
  size_t bytes = length < 0 ? strlen(text) : (size_t)length;
  FILE *stream = fopen(path, "wb");
  if (!stream || fwrite(text, 1, bytes, stream) != bytes || fclose(stream) != 0) {
    printf("Bail out! cannot write %s\n", path);
    exit(99);
  }
  return path;
}

void *tap_memory(int64_t count, size_t size)
{
  void *memory = calloc((size_t)count + 1, size);
  if (!memory) {
    printf("Bail out! the test is out of memory\n");
    exit(99);
  }
  return memory;
}

/* Puts j into the ascending columns of a row, unless it is there, and returns their number. */
static int add_column(int count, karst_index *columns, karst_index j)
{
  int at = count;
  while (at > 0 && columns[at - 1] >= j) at--;
  if (at < count && columns[at] == j) return count;
  memmove(columns + at + 1, columns + at, (size_t)(count - at) * sizeof *columns);
  columns[at] = j;
  return count + 1;
}

karst_matrix *tap_random_matrix(karst_context *context, karst_index n, int b, int extra, double dominance)
{
  const int64_t most = (int64_t)n * (extra + 1), bb = (int64_t)b * b;
  karst_index *start = tap_memory((int64_t)n + 1, sizeof *start), *column = tap_memory(most, sizeof *column);
  double *value = tap_memory(most * bb, sizeof *value);
  karst_matrix *matrix;
  for (karst_index i = 0; i < n; i++) {
    int count = add_column(0, column + start[i], i);
    for (int e = 0; e < extra; e++) count = add_column(count, column + start[i], (karst_index)tap_random_index(n));
    const karst_index end = start[i] + count;
    start[i + 1] = end;
    for (int64_t v = start[i] * bb; v < end * bb; v++) value[v] = tap_random();
    for (karst_index k = start[i]; k < end; k++)
      for (int d = 0; d < b && column[k] == i; d++)
        value[k * bb + (int64_t)d * (b + 1)] += dominance * (double)(end - start[i]) * b;
  }
  tap_need(context, karst_matrix_create(context, n, b, start, column, value, KARST_COPY, &matrix), "random matrix");
  free(start);
  free(column);
  free(value);
  return matrix;
}

double *tap_dense(const karst_matrix *matrix)
{
  int b = karst_matrix_block_size(matrix);
  int64_t n = karst_matrix_rows(matrix);
  double *dense = tap_memory(n * n, sizeof *dense);
  const karst_index *start = karst_matrix_row_start(matrix), *column = karst_matrix_column(matrix);
  double *value;
  tap_need(NULL, karst_matrix_host_value(matrix, &value), "the matrix's values");
  for (karst_index i = 0; i < karst_matrix_block_rows(matrix); i++)
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      for (int c = 0; c < b; c++)
        for (int r = 0; r < b; r++)
          dense[((int64_t)column[k] * b + c) * n + (int64_t)i * b + r] = value[(int64_t)k * b * b + c * b + r];
  karst_matrix_host_value_done(matrix, value);
  return dense;
}

double tap_residual(const karst_matrix *A, const karst_vector *b, const karst_vector *x)
{
  const int size = karst_matrix_block_size(A);
  const int64_t n = karst_matrix_rows(A);
  const karst_index *start = karst_matrix_row_start(A), *column = karst_matrix_column(A);
  double *value, *host_b = tap_memory(n, sizeof *host_b), *host_x = tap_memory(n, sizeof *host_x);
  __extension__ __float128 square = 0, root;
  tap_need(NULL, karst_matrix_host_value(A, &value), "the matrix's values");
  tap_need(NULL, karst_vector_get(b, n, host_b), "the right-hand side");
  tap_need(NULL, karst_vector_get(x, n, host_x), "the solution");
  for (int64_t row = 0; row < n; row++) {
    const karst_index i = (karst_index)(row / size);
    __extension__ __float128 sum = host_b[row];
    for (karst_index k = start[i]; k < start[i + 1]; k++)
      for (int c = 0; c < size; c++)
        sum -=
            (__float128)value[(int64_t)k * size * size + c * size + row % size] * host_x[(int64_t)column[k] * size + c];
    square += sum * sum;
  }
  karst_matrix_host_value_done(A, value);
  free(host_b);
  free(host_x);
  if (square == 0 || square != square) return (double)square;
  double factor = 1; /* a power of two by which the square fits into double precision */
  while (square * factor * factor < 1e-200) factor *= 0x1p64;
  while (square * factor * factor > 1e200) factor *= 0x1p-64;
  root = sqrt((double)(square * factor * factor));
  return (double)(root / factor);
}

bool tap_dense_solve(int64_t n, double *a, double *x)
{
  for (int64_t k = 0; k < n; k++) {
    double *const factor = a + k * n;
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; i++)
      if (fabs(factor[i]) > fabs(factor[pivot])) pivot = i;
    if (factor[pivot] == 0) return false;
    for (int64_t j = k; j < n; j++) {
      double swap = a[j * n + k];
      a[j * n + k] = a[j * n + pivot];
      a[j * n + pivot] = swap;
    }
    double swap = x[k];
    x[k] = x[pivot];
    x[pivot] = swap;
    for (int64_t i = k + 1; i < n; i++) {
      factor[i] /= factor[k];
      x[i] -= factor[i] * x[k];
    }
    /* Most matrices are sparse, and a zero in row k leaves its column as it is. */
    for (int64_t j = k + 1; j < n; j++) {
      const double times = a[j * n + k];
      for (int64_t i = k + 1; i < n && times != 0; i++) a[j * n + i] -= factor[i] * times;
    }
  }
  for (int64_t k = n; k-- > 0;) {
    x[k] /= a[k * n + k];
    for (int64_t i = 0; i < k; i++) x[i] -= a[k * n + i] * x[k];
  }
  return true;
}
