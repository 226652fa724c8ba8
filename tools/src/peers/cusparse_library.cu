/* cusparse_library.cu - opens cuSPARSE by its name. */
#include "config.h"

#include "tools/src/peers/cusparse_library.h"

#include <dlfcn.h>
#include <stdio.h>

namespace
{

template <typename F> void find(void *opened, const char *name, F *function, tool_cusparse_library *found)
{
  *function = opened ? reinterpret_cast<F>(dlsym(opened, name)) : NULL;
  if (!*function && !found->missing[0]) snprintf(found->missing, sizeof found->missing, "it has no function %s", name);
}

#define TEXT_OF(number) #number
#define LIBRARY_NAME(version) "libcusparse.so." TEXT_OF(version)

/* Where the loader looks, then in the folder of the toolkit that Karst was built with. */
tool_cusparse_library open_library()
{
  tool_cusparse_library found = {};
  void *opened = dlopen(LIBRARY_NAME(CUSPARSE_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
  if (!opened) snprintf(found.missing, sizeof found.missing, "%s", dlerror());
  if (!opened) opened = dlopen(CUDA_LIBRARY_FOLDER "/" LIBRARY_NAME(CUSPARSE_VER_MAJOR), RTLD_NOW | RTLD_LOCAL);
  if (opened) found.missing[0] = '\0';
#define FIND(name) find(opened, #name, &found.name, &found);
  TOOL_CUSPARSE_FUNCTIONS(FIND)
#undef FIND
  return found;
}

} // namespace

const tool_cusparse_library &tool_cusparse_functions()
{
  static const tool_cusparse_library opened = open_library();
  return opened;
}
