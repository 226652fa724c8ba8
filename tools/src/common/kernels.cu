/* kernels.cu - records the times of kernels by CUPTI's activities, one by one also in graphs.
 *
 * As cuSPARSE, the library is opened by its name when something needs it, so that commands start where it is
 * missing. */
#include "config.h"

#include "tools/src/common/kernels.h"

#include <cupti.h>

#include <cxxabi.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace
{

#define CUPTI_FUNCTIONS(X)                                                                                             \
  X(cuptiActivityEnable)                                                                                               \
  X(cuptiActivityDisable)                                                                                              \
  X(cuptiActivityRegisterCallbacks)                                                                                    \
  X(cuptiActivityFlushAll)                                                                                             \
  X(cuptiActivityGetNextRecord)                                                                                        \
  X(cuptiGetResultString)

struct cupti {
#define DECLARE(name) decltype(&::name) name;
  CUPTI_FUNCTIONS(DECLARE)
#undef DECLARE
};

cupti library;
tool_kernel list[TOOL_KERNELS];
int count, lost;

template <typename F> bool find(void *opened, const char *name, F *function)
{
  *function = reinterpret_cast<F>(dlsym(opened, name));
  return *function != NULL;
}

/* Where the loader looks, then in the folder of the toolkit that Karst was built with. */
bool open_library()
{
  char name[64];
  void *opened = NULL;
  const int major = CUDART_VERSION / 1000;

  snprintf(name, sizeof name, "libcupti.so.%d", major);
  opened = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!opened) opened = dlopen("libcupti.so", RTLD_NOW | RTLD_LOCAL);
  if (!opened) opened = dlopen(CUDA_LIBRARY_FOLDER "/libcupti.so", RTLD_NOW | RTLD_LOCAL);
  if (!opened) opened = dlopen(CUDA_LIBRARY_FOLDER "/../extras/CUPTI/lib64/libcupti.so", RTLD_NOW | RTLD_LOCAL);
  if (!opened) return false;
  bool whole = true;
#define FIND(name) whole = find(opened, #name, &library.name) && whole;
  CUPTI_FUNCTIONS(FIND)
#undef FIND
  return whole;
}

void add(const CUpti_ActivityKernel9 *record)
{
  const long long blocks = static_cast<long long>(record->gridX) * record->gridY * record->gridZ;
  const int threads = record->blockX * record->blockY * record->blockZ;
  int k = 0;

  while (k < count && (list[k].blocks != blocks || list[k].threads != threads ||
                       strncmp(list[k].name, record->name, sizeof list[k].name - 1) != 0))
    k++;
  if (k == TOOL_KERNELS) {
    lost++;
    return;
  }
  if (k == count) {
    list[k] = tool_kernel();
    snprintf(list[k].name, sizeof list[k].name, "%s", record->name);
    list[k].blocks = blocks;
    list[k].threads = threads;
    count++;
  }
  list[k].launches++;
  list[k].seconds += 1e-9 * static_cast<double>(record->end - record->start);
}

void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *records)
{
  *size = static_cast<size_t>(8) << 20;
  *buffer = static_cast<uint8_t *>(aligned_alloc(8, *size));
  if (!*buffer) *size = 0;
  *records = 0;
}

void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t *buffer, size_t, size_t valid)
{
  CUpti_Activity *record = NULL;

  while (library.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
      add(reinterpret_cast<const CUpti_ActivityKernel9 *>(record));
  free(buffer);
}

} // namespace

bool tool_kernels_start(void)
{
  static const bool opened = open_library();

  count = lost = 0;
  if (!opened) {
    fprintf(stderr, "%s: note: CUPTI's library is not found, so that no kernels are listed\n", tool_name());
    return false;
  }
  CUptiResult result = library.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  if (result == CUPTI_SUCCESS) result = library.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (result == CUPTI_SUCCESS) return true;
  const char *why = "";
  library.cuptiGetResultString(result, &why);
  fprintf(stderr, "%s: note: CUPTI records no kernels: %s\n", tool_name(), why);
  return false;
}

void tool_kernels_forget(void)
{
  library.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  count = lost = 0;
}

int tool_kernels_stop(const tool_kernel **kernel)
{
  library.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  library.cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (lost > 0)
    fprintf(stderr, "%s: note: %d launches of more than %d kinds are not listed\n", tool_name(), lost,
            static_cast<int>(TOOL_KERNELS));
  *kernel = list;
  return count;
}

/* Without what it returns, the namespace of its file, and its parameters, which begin outside of a template's. */
void tool_kernel_name(const tool_kernel *kernel, char *text, size_t size)
{
  static const char space[] = "(anonymous namespace)::";
  char *whole = abi::__cxa_demangle(kernel->name, NULL, NULL, NULL);
  const char *name = whole ? whole : kernel->name;
  int depth = 0;

  if (strncmp(name, "void ", 5) == 0) name += 5;
  if (strncmp(name, space, sizeof space - 1) == 0) name += sizeof space - 1;
  const char *end = name;
  for (; *end && (*end != '(' || depth > 0); end++) depth += (*end == '<') - (*end == '>');
  snprintf(text, size, "%.*s", static_cast<int>(end - name), name);
  free(whole);
}
