/* Lines "name value" as options: each is set or refused with a sentence, and what was accepted makes a solver. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct failing_allocator memory;
  karst_context *context = fuzz_open(&memory, 1 << 20);
  karst_options options;
  karst_options_default(&options);
  fuzz_input input = {data, size};
  while (input.size) {
    char line[256], *value;
    fuzz_text(&input, line, sizeof line);
    value = strchr(line, ' ');
    if (value) *value++ = 0;
    karst_options before = options;
    karst_status status = karst_options_set(context, &options, line, value);
    fuzz_must(!status || (status == KARST_ERROR_OPTION && *karst_context_error(context)) ||
                  (!value && status == KARST_ERROR_ARGUMENT),
              "option '%s': status %d", line, (int)status);
    fuzz_must(!status || !memcmp(&before, &options, sizeof options), "a refused option '%s' changed something", line);
  }
  karst_solver *solver = NULL;
  karst_status status = karst_solver_create(context, &options, &solver);
  fuzz_made(context, status, solver);
  karst_solver_destroy(solver);
  fuzz_close(&memory, context);
  return 0;
}
