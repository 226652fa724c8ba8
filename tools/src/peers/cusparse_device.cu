/* cusparse_device.cu - see cusparse_device.h. The driver is opened by name, as the runtime does, and not linked, so
 * that programs start without it. */
#include "tools/src/peers/cusparse_device.h"

#include <dlfcn.h>

namespace
{

/* NULL where the driver is missing: then no context is on a GPU, and nothing here runs. */
struct driver_functions {
  decltype(&::cuCtxGetCurrent) get;
  decltype(&::cuCtxSetCurrent) set;
  decltype(&::cuPointerGetAttribute) attribute;
};

driver_functions open_driver()
{
  driver_functions found = {};
  void *opened = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!opened) return found;
  found.get = reinterpret_cast<decltype(found.get)>(dlsym(opened, "cuCtxGetCurrent"));
  found.set = reinterpret_cast<decltype(found.set)>(dlsym(opened, "cuCtxSetCurrent"));
  found.attribute = reinterpret_cast<decltype(found.attribute)>(dlsym(opened, "cuPointerGetAttribute"));
  return found;
}

const driver_functions &driver()
{
  static const driver_functions opened = open_driver();
  return opened;
}

} // namespace

CUcontext tool_cusparse_owner(const void *memory)
{
  CUcontext owner = nullptr;
  driver().attribute(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, reinterpret_cast<CUdeviceptr>(memory));
  return owner;
}

tool_cusparse_guard::tool_cusparse_guard(CUcontext context) : own(context), before(nullptr)
{
  driver().get(&before); /* NULL where the thread has none */
  if (before != own) driver().set(own);
}

tool_cusparse_guard::~tool_cusparse_guard()
{
  if (before != own) driver().set(before);
}
