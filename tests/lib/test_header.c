/* karst.h can be included alone, and its constants agree with the library's at run time. */
#include "karst.h"

#include "tests/support/tap.h"

#include <stdio.h>
#include <string.h>

#if KARST_VERSION_NUMBER < 1 ||                                                                                        \
    KARST_VERSION_NUMBER != KARST_VERSION_MAJOR * 10000 + KARST_VERSION_MINOR * 100 + KARST_VERSION_PATCH
#error the number of the version is not made of its parts
#endif

/* The version numbers of the header agree with its text, and with those of the library. */
static void test_version_numbers(void)
{
  char text[64];
  const size_t length =
      (size_t)snprintf(text, sizeof text, "%d.%d.%d", KARST_VERSION_MAJOR, KARST_VERSION_MINOR, KARST_VERSION_PATCH);
  tap_ok(strncmp(karst_version(), text, length) == 0 &&
             !(karst_version()[length] >= '0' && karst_version()[length] <= '9'),
         "version %s is %s, number %d", karst_version(), text, KARST_VERSION_NUMBER);
  tap_ok(KARST_VERSION_MINOR < 100 && KARST_VERSION_PATCH < 100, "the number has room for its parts");
}

int main(void)
{
  test_version_numbers();
  tap_ok(strcmp(karst_version(), KARST_VERSION) == 0, "the library's version %s is the header's %s", karst_version(),
         KARST_VERSION);
  tap_ok(sizeof(karst_index) * 8 == KARST_INDEX_BITS, "karst_index has %d bits", KARST_INDEX_BITS);
  tap_ok(karst_build_features() && *karst_build_features(), "built with: %s", karst_build_features());
  for (int status = 0; status >= KARST_ERROR_TRANSPORT; status--)
    tap_ok(*karst_status_text((karst_status)status), "status %d is \"%s\"", status,
           karst_status_text((karst_status)status));
  return tap_done();
}
