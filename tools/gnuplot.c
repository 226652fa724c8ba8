/* gnuplot.c - pictures drawn by the program gnuplot; see gnuplot.h. The script, the picture and what gnuplot complains
 * of are nameless files, so that no file name is part of a command, and a picture that fails leaves the last one. */
#include "gnuplot.h"

#include "output.h"
#include "text.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The palette of Okabe and Ito, Color Universal Design (2008). */
static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                      "#E69F00", "#56B4E9", "#000000", "#999933"};

int tool_gnuplot_check(void)
{
  if (system("command -v gnuplot >/dev/null 2>&1") == 0) return TOOL_GO_ON; // NOLINT(cert-env33-c): a fixed command
  return tool_fail(TOOL_FAILED, "pictures take the program gnuplot, which is not there");
}

static bool ends_in(const char *path, const char *ending)
{
  size_t length = strlen(path), tail = strlen(ending);
  return length > tail && strcmp(path + length - tail, ending) == 0;
}

int tool_gnuplot_check_output(const char *path)
{
  if (!ends_in(path, ".svg") && !ends_in(path, ".png"))
    return tool_fail(TOOL_FAILED, "%s: a picture's name ends in .svg or .png", path);
  const int status = tool_check_output(path);
  return status == TOOL_GO_ON ? tool_gnuplot_check() : status;
}

/* Between single quotes nothing but the quote itself, which is doubled, means anything to gnuplot. */
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
    fprintf(script, "set linetype %d linecolor rgb '%s' linewidth 2 dashtype %d pointtype %d\n", i + 1, colours[i],
            i % 4 + 1, i + 4);
}

static FILE *open_nameless(void)
{
  FILE *file = tmpfile();
  if (!file) tool_fail(TOOL_FAILED, "a temporary file for a picture cannot be made: %s", strerror(errno));
  return file;
}

int tool_gnuplot_begin(struct tool_gnuplot *plot, const char *path, int width, int height)
{
  *plot = (struct tool_gnuplot){.path = path};
  const int status = tool_gnuplot_check_output(path);
  if (status != TOOL_GO_ON) return status;
  plot->script = open_nameless();
  if (!plot->script) return TOOL_FAILED;
  set_terminal(plot->script, ends_in(path, ".svg"), width, height);
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
  if (fflush(script) != 0 || ferror(script) || lseek(fileno(script), 0, SEEK_SET) != 0) return false;
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

/* The last line of gnuplot's complaint, which says what is wrong; without its blanks. */
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

/* Whether a picture ends as one of its kind does. gnuplot does not tell where a disk is full. */
static bool is_whole(FILE *picture, bool svg)
{
  char tail[33] = "";
  if (fseek(picture, -32, SEEK_END) != 0) return false;
  const size_t count = fread(tail, 1, 32, picture);
  tail[count] = '\0';
  return svg ? strstr(tail, "</svg>") != NULL : count == 32 && memcmp(tail + 24, "IEND", 4) == 0;
}

static bool copy(FILE *from, FILE *to)
{
  char bytes[1 << 14];
  size_t count;
  bool lost = false;
  rewind(from);
  while (!lost && (count = fread(bytes, 1, sizeof bytes, from)) > 0) lost = fwrite(bytes, 1, count, to) < count;
  return !lost && !ferror(from);
}

/* Copies the picture to a new file beside target, which then takes its place. Returns false, with errno, where that
 * cannot be. */
static bool replace(FILE *picture, const char *target, mode_t mode)
{
  static const char ending[] = ".XXXXXX";
  char *path = malloc(strlen(target) + sizeof ending);
  if (!path) return false;
  sprintf(path, "%s%s", target, ending);
  const int descriptor = mkstemp(path);
  FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "wb");
  bool done = file && copy(picture, file) && fchmod(descriptor, mode) == 0;
  if (file) done &= fclose(file) == 0;
  done = done && rename(path, target) == 0;
  const int error = errno;
  if (descriptor >= 0 && !done) unlink(path);
  free(path);
  errno = error;
  return done;
}

/* Puts the picture into its file: in one step, unless it is no file that can be replaced, such as a pipe. */
static int place(FILE *picture, const char *path)
{
  struct stat status;
  const bool there = stat(path, &status) == 0;
  char *target = there ? realpath(path, NULL) : strdup(path);
  const mode_t mask = umask(0);
  umask(mask);
  errno = 0;
  bool done = target && (!there || S_ISREG(status.st_mode)) &&
              replace(picture, target, there ? status.st_mode & 07777 : 0666 & ~mask);
  if (!done && errno != ENOSPC && errno != EFBIG) {
    FILE *file = fopen(path, "wb");
    errno = 0;
    done = file && copy(picture, file);
    if (file) done &= fclose(file) == 0;
  }
  free(target);
  return done ? TOOL_GO_ON : tool_fail(TOOL_FAILED, "%s: %s", path, errno ? strerror(errno) : "writing failed");
}

int tool_gnuplot_end(struct tool_gnuplot *plot)
{
  FILE *script = plot->script, *picture, *complaint = NULL;
  char text[256];
  int status = TOOL_FAILED;
  plot->script = NULL;
  if (!script) return TOOL_GO_ON;
  picture = open_nameless();
  if (picture) complaint = open_nameless();
  if (complaint && run(script, picture, complaint)) {
    status = is_whole(picture, ends_in(plot->path, ".svg"))
                 ? place(picture, plot->path)
                 : tool_fail(TOOL_FAILED, "%s: gnuplot has not finished the picture", plot->path);
  } else if (complaint) {
    read_complaint(complaint, text, sizeof text);
    status = tool_fail(TOOL_FAILED, "%s: gnuplot could not draw the picture: %s", plot->path, text);
  }
  if (complaint) fclose(complaint);
  if (picture) fclose(picture);
  fclose(script);
  return status;
}
