/* The processors that a process may use follow from its affinity mask, from quotas of control groups, and in the
 * commands from OMP_NUM_THREADS. The test makes its own folders as groups. */
#define _GNU_SOURCE /* the affinity mask; NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
#include "tests/support/cli.h"
#include "lib/base/processors.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[512];

static void make_folder(const char *name)
{
  char path[600];
  snprintf(path, sizeof path, "%s%s", root, name);
  if (mkdir(path, 0700) != 0) {
    printf("Bail out! cannot make %s\n", path);
    exit(99);
  }
}

static void write_file(const char *name, const char *text)
{
  char path[600];
  snprintf(path, sizeof path, "%s%s", root, name);
  FILE *file = fopen(path, "w");
  if (!file || fputs(text, file) < 0 || fclose(file) != 0) {
    printf("Bail out! cannot write %s\n", path);
    exit(99);
  }
}

static void check_quota(const char *groups, double expected, const char *what)
{
  char text[256];
  snprintf(text, sizeof text, "%s", groups);
  double quota = karst_groups_quota(root, text);
  tap_ok(fabs(quota - expected) < 1e-12, "%s: %g processors, 0 for no limit", what, quota);
}

static void test_groups(void)
{
  snprintf(root, sizeof root, "%s", tap_scratch("groups"));
  make_folder("");
  make_folder("/a");
  make_folder("/a/b");
  make_folder("/cpu,cpuacct");
  make_folder("/cpu,cpuacct/job");
  check_quota("0::/\n", 0, "no file");
  write_file("/a/b/cpu.max", "max 100000\n");
  check_quota("0::/a/b\n", 0, "version 2, no quota");
  write_file("/a/cpu.max", "150000 100000\n");
  check_quota("0::/a/b\n", 1.5, "version 2, the parent group has a quota");
  write_file("/a/b/cpu.max", "300000 100000\n");
  check_quota("0::/a/b\n", 1.5, "version 2, the parent's quota is less than the group's");
  check_quota("0::/a/b/absent\n", 1.5, "version 2, the group's folder is missing");
  check_quota("0::/\n", 0, "version 2, the group has no quota");
  write_file("/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  write_file("/cpu,cpuacct/job/cpu.cfs_period_us", "50000\n");
  check_quota("3:cpuset:/a\n2:cpu,cpuacct:/job\n", 0, "version 1, no quota");
  write_file("/cpu,cpuacct/job/cpu.cfs_quota_us", "100000\n");
  check_quota("3:cpuset:/a\n2:cpu,cpuacct:/job\n0::/\n", 2, "version 1");
  check_quota("2:cpu,cpuacct:/job\n0::/a\n", 1.5, "both versions, the smaller quota holds");
  check_quota("2:cpuacct:/a\nnonsense\n1:\n", 0, "other controllers and other lines");
}

/* Returns the threads in a report, "cpu, 2 threads". */
static int threads_used(void)
{
  const struct cli_run *run = CLI_RUN("solve", "poisson2d:4x4");
  const char *device = strstr(run->out, "cpu, ");
  return run->status == 0 && device ? atoi(device + strlen("cpu, ")) : -1;
}

static void test_variable(int processors)
{
#ifdef __clang__
  const bool clang = true;
#else
  const bool clang = false;
#endif
  const struct {
    const char *value;
    int least;
  } cases[] = {{"1", 1}, {"1,4", 1}, {"100000", processors}, {"0", processors}, {"many", processors}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (clang && strcmp(cases[i].value, "many") == 0) {
      tap_skip("clang's OpenMP (LLVM 14) sometimes ends a program because of it",
               "an OMP_NUM_THREADS that is no number");
      continue;
    }
    setenv("OMP_NUM_THREADS", cases[i].value, 1);
    int used = threads_used();
    tap_ok(used == cases[i].least, "OMP_NUM_THREADS=%s: %d threads of %d processors", cases[i].value, used, processors);
  }
  unsetenv("OMP_NUM_THREADS");
}

int main(void)
{
  const bool threaded = strstr(karst_build_features(), "OpenMP");
  test_groups();
  cli_need("solve");
  const int processors = karst_processors();
  tap_ok(processors >= 1, "there are processors: %d", processors);
  test_variable(threaded ? processors : 1);
  cpu_set_t mask, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) {
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
      if (CPU_ISSET(i, &mask)) CPU_SET(i, &one);
    tap_need(NULL, sched_setaffinity(0, sizeof one, &one) == 0 ? KARST_SUCCESS : KARST_ERROR_ARGUMENT, "affinity");
    tap_ok(karst_processors() == 1, "an affinity mask of one processor gives one");
    tap_ok(threads_used() == 1, "and solve uses one thread");
  }
  return tap_done();
}
