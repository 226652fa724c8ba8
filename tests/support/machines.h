/* machines.h - the numbers of devices, for tests of rules without the devices. */
#ifndef KARST_TESTS_SUPPORT_MACHINES_H
#define KARST_TESTS_SUPPORT_MACHINES_H

#include "lib/backend/backend.h"

static inline const karst_machine *machine_of(bool host)
{
  int number;
  return karst_backend_find(host ? "cpu" : "cuda", &number)->machine;
}

#endif
