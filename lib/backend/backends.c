/* backends.c - lists the backends, and finds the one that a device's name means. A new one adds its name to both
 * lists. */
#include "lib/backend/backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct karst_backend karst_backend_cpu, karst_backend_cuda;

const struct karst_backend *const karst_backends[] = {
    &karst_backend_cpu,
    &karst_backend_cuda,
    NULL,
};

enum { LAST_DEVICE = 999 }; /* the largest N of "cuda:N" */

/* Reads the N of ":N" into *number; 0 for an empty text. */
static bool parse_number(const char *text, int *number)
{
  char *end;
  *number = 0;
  if (*text == '\0') return true;
  if (text[0] != ':' || text[1] < '0' || text[1] > '9') return false;
  const long n = strtol(text + 1, &end, 10);
  if (*end != '\0' || n > LAST_DEVICE) return false;
  *number = (int)n;
  return true;
}

const struct karst_backend *karst_backend_find(const char *device, int *number)
{
  *number = 0;
  for (size_t i = 0; karst_backends[i]; i++) {
    const struct karst_backend *backend = karst_backends[i];
    const size_t length = strlen(backend->name);
    if (strncmp(device, backend->name, length) != 0) continue;
    if (device[length] == '\0' || (backend->open && parse_number(device + length, number))) return backend;
  }
  return NULL;
}

void karst_backend_list(char *text, size_t size)
{
  size_t length = 0;
  for (size_t i = 0; karst_backends[i] && length < size; i++) {
    const char *name = karst_backends[i]->name, *before_last = karst_backends[i + 1] ? ", " : " or ";
    if (karst_backends[i]->open)
      length += (size_t)snprintf(text + length, size - length, "%s%s%s%s:N", i ? ", " : "", name, before_last, name);
    else
      length += (size_t)snprintf(text + length, size - length, "%s%s", i ? before_last : "", name);
  }
  if (length < size) snprintf(text + length, size - length, ", N from 0 to %d", LAST_DEVICE);
}
