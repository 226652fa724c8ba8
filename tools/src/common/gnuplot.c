/* gnuplot.c - pictures drawn by the program gnuplot; see gnuplot.h. The script, the picture and gnuplot's error
 * messages are nameless files, so that no file name is part of a command, and a picture that fails leaves the older
 * one. */
#include "tools/src/common/gnuplot.h"

#include "tools/src/common/output.h"
#include "tools/src/common/text.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The palette of Okabe and Ito, Color Universal Design (2008). */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000", "#999933"};

/* The dashes of the same lines: some of gnuplot's own, and lengths of strokes and gaps. */
static const char *const dashes[] = {"1", "2", "3", "4", "(24,5)", "(4,10)", "5", "(16,4,16,4,3,4)"};

int tool_gnuplot_check(void)
{
  if (system("command -v gnuplot >/dev/null 2>&1") == 0) return TOOL_GO_ON; // NOLINT(cert-env33-c): a fixed command
  return tool_fail(TOOL_FAILED, "gnuplot not found; it is needed for pictures");
}

int tool_gnuplot_check_output(const char *path)
{
  if (!tool_ends_in(path, ".svg") && !tool_ends_in(path, ".png"))
    return tool_fail(TOOL_FAILED, "%s: the name of a picture must end in .svg or .png", path);
  const int status = tool_check_output(path);
  return status == TOOL_GO_ON ? tool_gnuplot_check() : status;
}

/* Between single quotes only the quote itself is special to gnuplot; it is doubled. */
void tool_gnuplot_text(struct tool_gnuplot *plot, const char *text)
{
  char *copy = tool_utf8(text);
  fputc('\'', plot->script);
  for (const char *c = copy ? copy : ""; *c; c++) {
    if ((unsigned char)*c < ' ' || *c == 0x7f) continue;
    if (*c == '\'') fputc('\'', plot->script);
    fputc(*c, plot->script);
  }
  fputc('\'', plot->script);
  free(copy);
}

static void set_terminal(FILE *script, bool svg, int width, int height)
{
  fputs("set encoding utf8\n", script);
  if (svg)
    fprintf(script, "set terminal svg size %d,%d dynamic noenhanced font 'sans,13' background '#ffffff'\n", width,
            height);
  else
    fprintf(script,
            "if (strstrt(GPVAL_TERMINALS, 'pngcairo') > 0) { set terminal pngcairo size %d,%d noenhanced } else "
            "{ set terminal png size %d,%d noenhanced }\n",
            width, height, width, height);
  for (int i = 0; i < 8; i++)
    fprintf(script, "set linetype %d linecolor rgb '%s' linewidth 2 dashtype %s pointtype %d\n", i + 1, colours[i],
            dashes[i], i + 4);
}

static FILE *open_temporary(void)
{
  FILE *file = tmpfile();
  if (!file) tool_fail(TOOL_FAILED, "cannot create a temporary file for a picture: %s", strerror(errno));
  return file;
}

int tool_gnuplot_begin(struct tool_gnuplot *plot, const char *path, int width, int height)
{
  *plot = (struct tool_gnuplot){.path = path};
  const int status = tool_gnuplot_check_output(path);
  if (status != TOOL_GO_ON) return status;
  plot->script = open_temporary();
  if (!plot->script) return TOOL_FAILED;
  set_terminal(plot->script, tool_ends_in(path, ".svg"), width, height);
  return TOOL_GO_ON;
}

/* Runs gnuplot on the script, without the user's start-up files. Returns whether it succeeded. */
static bool run(FILE *script, FILE *picture, FILE *complaint)
{
  char name[] = "gnuplot", defaults[] = "-d";
  char *const argv[] = {name, defaults, NULL};
  posix_spawn_file_actions_t actions;
  pid_t child, ended;
  int status = 0;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(picture), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fileno(complaint), STDERR_FILENO);
  const int error = posix_spawnp(&child, name, &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) return false;
  while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) continue;
  return ended == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The last line of gnuplot's error messages, which says what is wrong; without its blanks. */
static void read_complaint(FILE *complaint, char *text, size_t size)
{
  char line[256];
  snprintf(text, size, "no reason given");
  rewind(complaint);
  while (fgets(line, sizeof line, complaint)) {
    const char *begin = line + strspn(line, " \t");
    line[strcspn(line, "\n")] = '\0';
    if (*begin) snprintf(text, size, "%s", begin);
  }
}

/* Whether a picture ends as one of its kind does. gnuplot does not report a full disk. */
static bool is_whole(FILE *picture, bool svg)
{
  char tail[33] = "";
  if (fseek(picture, -32, SEEK_END) != 0) return false;
  const size_t count = fread(tail, 1, 32, picture);
  tail[count] = '\0';
  return svg ? strstr(tail, "</svg>") != NULL : count == 32 && memcmp(tail + 24, "IEND", 4) == 0;
}

/* Whether the script is whole and stands at its begin. */
static bool finish_script(FILE *script)
{
  return fflush(script) == 0 && !ferror(script) && lseek(fileno(script), 0, SEEK_SET) == 0;
}

int tool_gnuplot_end(struct tool_gnuplot *plot)
{
  FILE *script = plot->script, *picture, *complaint = NULL;
  char text[256];
  int status = TOOL_FAILED;
  plot->script = NULL;
  if (!script) return TOOL_GO_ON;
  const bool finished = finish_script(script);
  if (!finished)
    tool_fail(TOOL_FAILED, "%s: cannot write the temporary file with gnuplot's commands; is the disk full?",
              plot->path);
  picture = finished ? open_temporary() : NULL;
  if (picture) complaint = open_temporary();
  if (complaint && run(script, picture, complaint)) {
    status =
        is_whole(picture, tool_ends_in(plot->path, ".svg"))
            ? tool_write_whole(picture, plot->path)
            : tool_fail(TOOL_FAILED,
                        "%s: gnuplot did not finish the picture; is the disk full, or the one for temporary files?",
                        plot->path);
  } else if (complaint) {
    read_complaint(complaint, text, sizeof text);
    status = tool_fail(TOOL_FAILED, "%s: gnuplot could not draw the picture: %s", plot->path, text);
  }
  if (complaint) fclose(complaint);
  if (picture) fclose(picture);
  fclose(script);
  return status;
}
