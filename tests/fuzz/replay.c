/* replay.c - feeds the inputs of a harness's corpus to it, without libFuzzer: corpus/NAME/ for the program fuzz_NAME.
 * Inputs of earlier crashes are among them. Files named on the command line are fed instead of the corpus. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>

static void feed(const char *path)
{
  static uint8_t data[1 << 20];
  FILE *file = fopen(path, "rb");
  fuzz_must(file, "%s cannot be opened", path);
  size_t size = fread(data, 1, sizeof data, file);
  fclose(file);
  tap_note("%s", path); /* printed first, because a violated property aborts */
  fflush(stdout);
  /* The copy has the exact size, so that reading past its end is detected. */
  uint8_t *copy = malloc(size ? size : 1);
  fuzz_must(copy, "out of memory");
  memcpy(copy, data, size);
  LLVMFuzzerTestOneInput(copy, size);
  free(copy);
  tap_ok(true, "%s", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
}

int main(int argc, char **argv)
{
  char folder[512], path[1024];
  const char *source = getenv("srcdir"), *name = strstr(argv[0], "fuzz_");
  for (int i = 1; i < argc; i++) feed(argv[i]);
  if (argc > 1) return tap_done();
  while (name && strstr(name + 1, "fuzz_")) name = strstr(name + 1, "fuzz_");
  snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", source ? source : ".", name ? name + 5 : "");
  DIR *directory = opendir(folder);
  if (!directory) tap_skip_all("no corpus here");
  for (struct dirent *entry; (entry = readdir(directory));) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    feed(path);
  }
  closedir(directory);
  return tap_done();
}
