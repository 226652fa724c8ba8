/* memory_apart.h - the CPU's operations as those of a device with a memory of its own: arrays are copied there and back. */
#ifndef KARST_TESTS_SUPPORT_MEMORY_APART_H
#define KARST_TESTS_SUPPORT_MEMORY_APART_H

#include "lib/backend/backend.h"

static karst_status place_apart(karst_context *context, const void *host, size_t bytes, const char *what, void **memory)
{
  karst_status status = context->backend->allocate(context, bytes ? bytes : 1, what, memory);
  return status ? status : context->backend->upload(context, *memory, host, bytes);
}

static karst_status view_apart(karst_context *context, const void *memory, size_t bytes, const char *what, void **host)
{
  karst_status status = karst_allocate(context, host, (int64_t)bytes, 1, what);
  return status ? status : context->backend->download(context, *host, memory, bytes);
}

static struct karst_backend backend_apart(void)
{
  struct karst_backend apart = *karst_backends[0];
  apart.host_memory = false;
  apart.place = place_apart;
  apart.view = view_apart;
  return apart;
}

#endif
