/* cli.c - runs the commands; see cli.h. */
#include "tests/support/cli.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ARGUMENTS_MAX = 32 };

extern char **environ;

const char *cli_path(const char *tool)
{
  static char path[1024];
  const char *folder = getenv("KARST_TOOLS"), *build = getenv("builddir");
  snprintf(path, sizeof path, "%s%s/%s", folder ? folder : build ? build : ".", folder ? "" : "/tools", tool);
  return path;
}

bool cli_has(const char *tool) { return access(cli_path(tool), X_OK) == 0; }

void cli_need(const char *tool)
{
  static char why[1100];
  if (cli_has(tool)) return;
  snprintf(why, sizeof why, "%s is not built", cli_path(tool));
  tap_skip_all(why);
}

static void read_back(const char *path, char *text, size_t size)
{
  FILE *file = fopen(path, "r");
  size_t length = file ? fread(text, 1, size - 1, file) : 0;
  text[length] = '\0';
  if (file) fclose(file);
}

/* With descriptor -1, standard output goes to a scratch file, which is read into run.out. */
const struct cli_run *cli_run_into(int descriptor, const char *tool, const char *const argument[])
{
  static struct cli_run run;
  const char *path = cli_path(tool);
  char *argv[ARGUMENTS_MAX + 2] = {NULL}, out_path[512], err_path[512];
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = 0;
  argv[0] = strdup(path); /* copied, because an argument may be in tap_scratch's storage */
  for (size_t i = 0; i < ARGUMENTS_MAX && argument[i]; i++) argv[i + 1] = strdup(argument[i]);
  snprintf(out_path, sizeof out_path, "%s", tap_scratch("stdout"));
  snprintf(err_path, sizeof err_path, "%s", tap_scratch("stderr"));
  setenv("OMP_WAIT_POLICY", "passive", 0); /* several short runs may share the processors */
  posix_spawn_file_actions_init(&actions);
  if (descriptor >= 0)
    posix_spawn_file_actions_adddup2(&actions, descriptor, STDOUT_FILENO);
  else
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, err_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  fflush(stdout);
  if (posix_spawn(&child, path, &actions, NULL, argv, environ) != 0 || waitpid(child, &status, 0) != child) {
    printf("Bail out! cannot run %s\n", path);
    exit(99);
  }
  posix_spawn_file_actions_destroy(&actions);
  for (size_t i = 0; argv[i]; i++) free(argv[i]);
  run.status = WIFEXITED(status) ? WEXITSTATUS(status) : CLI_SIGNAL + WTERMSIG(status);
  run.out[0] = '\0';
  if (descriptor < 0) read_back(out_path, run.out, sizeof run.out);
  read_back(err_path, run.err, sizeof run.err);
  return &run;
}

const struct cli_run *cli_run(const char *tool, const char *const argument[])
{
  return cli_run_into(-1, tool, argument);
}

bool cli_is_one_sentence(const struct cli_run *run, const char *tool)
{
  size_t length = strlen(run->err), name = strlen(tool);
  return run->out[0] == '\0' && length > name + 10 && strncmp(run->err, tool, name) == 0 && run->err[name] == ':' &&
         strchr(run->err, '\n') == run->err + length - 1;
}
