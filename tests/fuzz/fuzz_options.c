/* Uses lines "name value" as options. Each option is set or refused with a sentence, and accepted options make a
 * solver. */
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct failing_allocator memory;
  karst_context *context = fuzz_open(&memory, 1 << 20);
  karst_options *options = NULL;
  karst_status status = karst_options_create(context, &options);
  fuzz_must(!status, "options: status %d", (int)status);
  fuzz_input input = {data, size};
  while (input.size) {
    char line[256], before[64], *value;
    const char *known = NULL, *after;
    fuzz_text(&input, line, sizeof line);
    value = strchr(line, ' ');
    if (value) *value++ = 0;
    (void)karst_options_get(options, line, &known);
    snprintf(before, sizeof before, "%s", known ? known : "");
    status = karst_options_set(options, line, value);
    fuzz_must(!status || status == KARST_ERROR_NO_MEMORY ||
                  (status == KARST_ERROR_OPTION && *karst_context_error(context)) ||
                  (!value && status == KARST_ERROR_ARGUMENT),
              "option '%s': status %d", line, (int)status);
    if (status && known)
      fuzz_must(!karst_options_get(options, line, &after) && !strncmp(before, after, sizeof before - 1),
                "a refused option '%s' changed", line);
  }
  karst_solver *solver = NULL;
  status = karst_solver_create(context, options, &solver);
  fuzz_made(context, status, solver);
  karst_solver_destroy(solver);
  karst_options_destroy(options);
  fuzz_close(&memory, context);
  return 0;
}
