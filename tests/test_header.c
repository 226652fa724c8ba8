/* karst.h is complete by itself, and what it says at compile time the library says at run time. */
#include "karst.h"

#include "tap.h"

#include <string.h>

int main(void)
{
  tap_ok(strcmp(karst_version(), KARST_VERSION) == 0, "the library's version %s is the header's %s", karst_version(),
         KARST_VERSION);
  tap_ok(sizeof(karst_index) * 8 == KARST_INDEX_BITS, "karst_index has %d bits", KARST_INDEX_BITS);
  tap_ok(karst_build_features() && *karst_build_features(), "built with: %s", karst_build_features());
  for (int status = 0; status >= KARST_ERROR_INDEX_OVERFLOW; status--)
    tap_ok(*karst_status_text((karst_status)status), "status %d is \"%s\"", status,
           karst_status_text((karst_status)status));
  return tap_done();
}
