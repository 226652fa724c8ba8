/* A context on a GPU works on the stream that it is given, which must belong to its device and be set before objects
 * are made. No call changes the calling thread's current device or context. A caller can wait for queued work. On the
 * CPU there is no stream. */
#include "tests/support/problem.h"
#include "tools/src/peers/peers.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void no_stream_on_the_cpu(void)
{
  karst_context *context;
  int stream;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  karst_status status = karst_context_set_stream(context, &stream);
  tap_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), "CPU"),
         "a stream on the CPU is refused: %s", karst_context_error(context));
  tap_ok(karst_context_set_stream(context, NULL) == KARST_SUCCESS && !karst_context_stream(context),
         "a NULL stream is accepted on the CPU");
  tap_ok(karst_context_synchronize(context) == KARST_SUCCESS, "synchronize returns at once on the CPU");
  tap_ok(karst_context_set_stream(NULL, NULL) == KARST_ERROR_ARGUMENT &&
             karst_context_synchronize(NULL) == KARST_ERROR_ARGUMENT,
         "a NULL context is refused");
  karst_context_destroy(context);
}

/* Opens a context on GPU number device; returns NULL if that GPU is absent, unless needed is set. */
static karst_context *open_gpu(const char *device, bool needed)
{
  karst_context *context;
  tap_need(NULL, karst_context_create(NULL, &context), "context");
  karst_status status = karst_context_set_device(context, device);
  if (needed) tap_need(context, status, device);
  tap_need(context, tool_peers_register(context), "cusparse");
  if (!status) return context;
  karst_context_destroy(context);
  return NULL;
}

/* Solves with one preconditioner and measures the residual. */
static bool solve(karst_context *context, const char *precond, const char *trisolve, const char *ordering)
{
  tap_settings options = settings_for(NULL, precond);
  karst_result result;
  double norm, b_norm;
  options.trisolve = trisolve;
  options.ordering = ordering;
  struct problem p = problem_from(context, "blackoil:6x5x4", 0, 8);
  karst_vector *r = vector_of(context, p.n, 0);
  karst_solver *solver = problem_solver(&p, &options);
  tap_need(context, karst_solver_update(solver), "update");
  result = problem_solve(&p, solver);
  tap_need(context, karst_matrix_residual(p.A, p.b, p.x, r, &norm), "residual");
  tap_need(context, karst_vector_norm(p.b, &b_norm), "norm");
  tap_need(context, karst_context_synchronize(context), "synchronize");
  karst_solver_destroy(solver);
  karst_vector_destroy(r);
  problem_destroy(&p);
  return result.reason > 0 && norm <= 2e-6 * b_norm;
}

static const char *const methods[][3] = {{"iluk", "level", "natural"},
                                         {"iluk", "dataflow", "rcm"},
                                         {"parilu", "jacobi", "natural"},
                                         {"jacobi", "auto", "rcm"},
                                         {"cusparse", "auto", "natural"}};

static void solve_with_all(karst_context *context, const char *what)
{
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    if (!tool_peers_explain("precond", methods[i][0]))
      tap_ok(solve(context, methods[i][0], methods[i][1], methods[i][2]), "%s, %s, %s on %s", methods[i][0],
             methods[i][1], methods[i][2], what);
}

/* The caller's streams in this test are those of another context, and CUDA's default stream. */
static void streams(void)
{
  static const uintptr_t per_thread = 2; /* cudaStreamPerThread */
  karst_context *context = open_gpu("cuda", true), *other = open_gpu("cuda", true);
  void *own = karst_context_stream(context), *given = karst_context_stream(other);
  tap_ok(own && given && own != given, "each context has a stream of its own");
  tap_ok(karst_context_set_stream(context, given) == KARST_SUCCESS && karst_context_stream(context) == given,
         "a context works on the stream that it is given");
  solve_with_all(context, "a stream that was given");
  karst_vector *vector = vector_of(context, 3, 0);
  karst_status status = karst_context_set_stream(context, own);
  tap_ok(status == KARST_ERROR_ARGUMENT && karst_context_stream(context) == given, "the stream stays under objects: %s",
         karst_context_error(context));
  karst_vector_destroy(vector);
  status = karst_context_set_stream(context, (void *)per_thread); /* NOLINT(performance-no-int-to-ptr): CUDA's name */
  tap_ok(status == KARST_ERROR_ARGUMENT, "the stream of each thread is refused: %s", karst_context_error(context));
  tap_ok(karst_context_set_stream(context, NULL) == KARST_SUCCESS && !karst_context_stream(context),
         "CUDA's default stream is accepted");
  solve_with_all(context, "the default stream");
  tap_ok(karst_context_set_stream(context, own) == KARST_SUCCESS, "the context takes its own stream again");
  solve_with_all(context, "its own stream");
  tap_need(context, karst_context_set_device(context, "cuda"), "the device again");
  tap_ok(karst_context_stream(context) != NULL, "a device that is set brings a stream of its own");
  karst_context_destroy(context);
  karst_context_destroy(other);
}

/* These functions belong to the CUDA runtime in this program; they are NULL in a build without CUDA. */
extern int cudaGetDevice(int *device) __attribute__((weak));
extern int cudaSetDevice(int device) __attribute__((weak));

static bool is_current(int device)
{
  int current = -1;
  return cudaGetDevice && cudaGetDevice(&current) == 0 && current == device;
}

/* Returns a function of the driver, or NULL; libcuda is loaded when a context on a GPU has been opened. dlopen is weak,
 * because a build without CUDA may lack libdl. */
#pragma weak dlopen
#pragma weak dlsym

static void *of_driver(const char *name)
{
  void *library = dlopen ? dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL) : NULL;
  return library ? dlsym(library, name) : NULL;
}

static void *current_context(void)
{
  int (*get)(void **);
  void *found = of_driver("cuCtxGetCurrent"), *current = NULL;
  memcpy(&get, &found, sizeof get);
  if (!get || get(&current) != 0) tap_note("the driver does not say which context is current");
  return current;
}

/* Returns whether the device has a primary context, which takes some hundreds of megabytes of its memory. */
static bool is_used(int device)
{
  int (*state)(int, unsigned *, int *), active = -1;
  unsigned flags;
  void *found = of_driver("cuDevicePrimaryCtxGetState");
  memcpy(&state, &found, sizeof state);
  return !state || state(device, &flags, &active) != 0 || active;
}

/* Works in a thread that has never used CUDA; returns NULL if the device is absent. */
static void *work_alone(void *device)
{
  karst_context *context = open_gpu(device, false);
  if (!context) return NULL;
  tap_ok(!current_context(), "opening %s leaves a thread without a context", (const char *)device);
  solve_with_all(context, device);
  tap_need(context, karst_context_set_threads(context, 1), "a call that describes the device");
  tap_ok(!current_context(), "work on the context leaves it unchanged");
  karst_context_destroy(context);
  tap_ok(!current_context() && is_current(0),
         "destroying the context leaves it unchanged, and its device is still the first");
  return device;
}

static void run_alone(const char *device, bool other_unused)
{
  pthread_t thread;
  char name[16];
  void *worked;
  snprintf(name, sizeof name, "%s", device);
  tap_need(NULL, pthread_create(&thread, NULL, work_alone, name) ? KARST_ERROR_NO_MEMORY : KARST_SUCCESS, "thread");
  pthread_join(thread, &worked);
  if (!worked)
    tap_skip("the GPU is absent", "a thread that never used CUDA, on %s", device);
  else if (other_unused)
    tap_ok(!is_used(0), "the first GPU is not touched by work on %s", device);
}

/* The caller has made a context with the driver, on the device that Karst uses. */
static void beside_a_context_of_the_driver(void)
{
  int (*create)(void **, unsigned, int), (*destroy)(void *);
  void *found[2] = {of_driver("cuCtxCreate_v2"), of_driver("cuCtxDestroy_v2")}, *own;
  memcpy(&create, &found[0], sizeof create);
  memcpy(&destroy, &found[1], sizeof destroy);
  if (!create || !destroy || create(&own, 0, 0) != 0) {
    tap_skip("the driver makes no context", "a context made with the driver");
    return;
  }
  karst_context *context = open_gpu("cuda:0", true);
  tap_ok(current_context() == own, "opening cuda:0 leaves a context of the driver unchanged");
  solve_with_all(context, "cuda:0 beside a context of the driver");
  tap_ok(current_context() == own, "work on the context leaves it unchanged");
  karst_context_destroy(context);
  tap_ok(current_context() == own, "destroying the context leaves it unchanged");
  destroy(own);
}

/* Opens a context on one GPU in a thread whose current GPU is another one or the same. */
static void work_beside(const char *device, int current)
{
  if (!cudaSetDevice || cudaSetDevice(current) != 0) return;
  karst_context *context = open_gpu(device, true);
  tap_ok(is_current(current), "opening %s leaves the current device, %d, unchanged", device, current);
  solve_with_all(context, device);
  tap_ok(is_current(current), "work on the context leaves it unchanged");
  karst_context_destroy(context);
  tap_ok(is_current(current), "destroying the context leaves it unchanged");
}

static void devices(void)
{
  karst_context *second = open_gpu("cuda:1", false), *first;
  work_beside("cuda:0", 0);
  if (!second) {
    tap_skip("there is one GPU", "two GPUs");
    return;
  }
  work_beside("cuda:0", 1);
  work_beside("cuda:1", 0);
  first = open_gpu("cuda:0", true);
  karst_status status = karst_context_set_stream(second, karst_context_stream(first));
  tap_ok(status == KARST_ERROR_ARGUMENT, "the stream of another GPU is refused: %s", karst_context_error(second));
  solve_with_all(second, "cuda:1 after that");
  karst_context_destroy(second);
  karst_context_destroy(first);
}

int main(void)
{
  no_stream_on_the_cpu();
  run_alone("cuda:1", true); /* before anything uses the first GPU */
  run_alone("cuda:0", false);
  karst_context *gpu = open_gpu("cuda", false);
  if (gpu) {
    karst_context_destroy(gpu);
    streams();
    devices();
    beside_a_context_of_the_driver();
  } else {
    tap_skip("there is no GPU", "streams and devices");
  }
  return tap_done();
}
