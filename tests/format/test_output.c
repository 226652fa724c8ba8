/* Files can be written through links, to files with several names, in folders that allow no new files, and under the
 * longest names. They keep their owners. A process that is killed while it writes leaves no file. */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): for O_TMPFILE */
#include "tests/support/problem.h"
#include "tests/support/refusal.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOBODY = 65534, LONGEST_NAME = 255 };

static char folder[400];

/* Returns a path in the folder, which the next few calls do not overwrite. */
static const char *in_folder(const char *name)
{
  static char path[4][800];
  static unsigned next;
  char *text = path[next++ % 4];
  snprintf(text, sizeof path[0], "%s/%s", folder, name);
  return text;
}

static int count_files(void)
{
  int count = 0;
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory && (entry = readdir(directory));)
    count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
  if (directory) closedir(directory);
  return count;
}

static void empty_folder(void)
{
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory && (entry = readdir(directory));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) unlink(in_folder(entry->d_name));
  if (directory) closedir(directory);
}

static void put(const char *path, const char *text)
{
  FILE *file = fopen(path, "w");
  if (!file) return;
  fputs(text, file);
  fclose(file);
}

/* Returns whether the file holds the vector and nothing else. */
static bool is_written(karst_context *context, const char *path, const karst_vector *vector)
{
  karst_vector *read;
  if (karst_vector_read(context, path, &read)) return false;
  bool same = karst_vector_length(read) == karst_vector_length(vector);
  karst_vector_destroy(read);
  return same;
}

static bool is_link(const char *path)
{
  struct stat file;
  return lstat(path, &file) == 0 && S_ISLNK(file.st_mode);
}

static void test_links(karst_context *context, const karst_vector *vector)
{
  struct stat a, b;
  bool linked = symlink("target.mtx", in_folder("link.mtx")) == 0 && symlink("link.mtx", in_folder("second.mtx")) == 0;
  tap_ok(linked && !karst_vector_write(vector, in_folder("second.mtx")) && is_link(in_folder("link.mtx")) &&
             is_link(in_folder("second.mtx")) && is_written(context, in_folder("target.mtx"), vector) &&
             count_files() == 3,
         "links to a missing file create the file that they name");
  put(in_folder("target.mtx"), "old\n");
  tap_ok(!karst_vector_write(vector, in_folder("second.mtx")) && is_link(in_folder("link.mtx")) &&
             is_written(context, in_folder("target.mtx"), vector) && count_files() == 3,
         "links to a file replace this file");
  empty_folder();
  linked = symlink("/nonexistent/target.mtx", in_folder("link.mtx")) == 0;
  karst_status status = karst_vector_write(vector, in_folder("link.mtx"));
  tap_ok(linked && status == KARST_ERROR_FILE && strstr(karst_context_error(context), "link.mtx cannot be created"),
         "the error names a link into a missing folder: %s", karst_context_error(context));
  linked = symlink("circle.mtx", in_folder("circle.mtx")) == 0;
  status = karst_vector_write(vector, in_folder("circle.mtx"));
  tap_ok(linked && status == KARST_ERROR_FILE, "the error names a link to itself: %s", karst_context_error(context));
  empty_folder();
  put(in_folder("one.mtx"), "old\n");
  linked = link(in_folder("one.mtx"), in_folder("other.mtx")) == 0;
  tap_ok(linked && !karst_vector_write(vector, in_folder("one.mtx")) && stat(in_folder("one.mtx"), &a) == 0 &&
             stat(in_folder("other.mtx"), &b) == 0 && a.st_ino == b.st_ino &&
             is_written(context, in_folder("other.mtx"), vector) && count_files() == 2,
         "a file with two names keeps both");
  empty_folder();
}

static void test_long_name(karst_context *context, const karst_vector *vector)
{
  char name[LONGEST_NAME + 2];
  memset(name, 'x', sizeof name);
  strcpy(name + LONGEST_NAME - 4, ".mtx");
  for (int i = 0; i < 2; i++)
    tap_ok(!karst_vector_write(vector, in_folder(name)) && is_written(context, in_folder(name), vector) &&
               count_files() == 1,
           "a name of %d bytes, %s", LONGEST_NAME, i ? "to replace" : "new");
  empty_folder();
}

/* Writes to the file in a process that is not root. Returns the step that failed: 0: none, 9: the process cannot give
 * up root. */
static int write_as_another(const karst_vector *vector, bool closed)
{
  int outcome = -1;
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (setgid(NOBODY) || setuid(NOBODY))) _exit(9);
    if (karst_vector_write(vector, in_folder("x.mtx"))) _exit(1);
    _exit(!closed || karst_vector_write(vector, in_folder("new.mtx")) == KARST_ERROR_FILE ? 0 : 2);
  }
  return child > 0 && waitpid(child, &outcome, 0) == child && WIFEXITED(outcome) ? WEXITSTATUS(outcome) : -1;
}

/* Writes as a user who may write to the file, but may not create files in its folder or, with the sticky bit, not
 * replace the file. */
static void test_closed_folder(const karst_vector *vector, karst_context *context)
{
  for (int sticky = 0; sticky < 2; sticky++) {
    const char *what = sticky ? "lets only owners replace them" : "takes no others";
    if (sticky && geteuid() != 0) {
      tap_skip("only root can make another user's file", "a file in a folder that %s", what);
      continue;
    }
    put(in_folder("x.mtx"), "old\n");
    chmod(in_folder("x.mtx"), 0666);
    chmod(folder, sticky ? 01777 : 0555);
    int outcome = write_as_another(vector, !sticky);
    chmod(folder, 0755);
    if (outcome == 9)
      tap_skip("root cannot become another user", "a file in a folder that %s", what);
    else
      tap_ok(outcome == 0 && is_written(context, in_folder("x.mtx"), vector) && count_files() == 1,
             "a file in a folder that %s is replaced in its place (%d)", what, outcome);
    empty_folder();
  }
}

/* A file that is replaced keeps its owner, group and permissions as far as the user may give them. */
static void test_owner(const karst_vector *vector)
{
  enum { OTHER = 12345 };
  const char *what = "a file that root replaces keeps its owner, group and permissions";
  struct stat old, new;
  put(in_folder("x.mtx"), "old\n");
  const bool given = chown(in_folder("x.mtx"), NOBODY, OTHER) == 0 && chmod(in_folder("x.mtx"), 0660) == 0;
  if (geteuid() != 0 || !given || stat(in_folder("x.mtx"), &old) != 0)
    tap_skip("only root gives files away", "%s", what);
  else
    tap_ok(!karst_vector_write(vector, in_folder("x.mtx")) && stat(in_folder("x.mtx"), &new) == 0 &&
               new.st_ino != old.st_ino &&new.st_uid == NOBODY &&new.st_gid == OTHER && (new.st_mode & 0777) == 0660,
           "%s", what);
  chmod(in_folder("x.mtx"), 0666);
  chown(in_folder("x.mtx"), 0, OTHER);
  chmod(folder, 0777);
  const int outcome = geteuid() == 0 ? write_as_another(vector, false) : 9;
  chmod(folder, 0755);
  if (outcome == 9)
    tap_skip("root cannot become another user", "a user who cannot give it its owner replaces it");
  else
    tap_ok(outcome == 0 && stat(in_folder("x.mtx"), &new) == 0 && new.st_uid == NOBODY && (new.st_mode & 0777) == 0666,
           "a user who cannot give it its owner replaces it (%d)", outcome);
  empty_folder();
}

/* Returns whether files without a name are possible here. */
static bool has_nameless(void)
{
#ifdef O_TMPFILE
  int file = open(folder, O_TMPFILE | O_WRONLY, 0600);
  if (file >= 0) close(file);
  return file >= 0;
#else
  return false;
#endif
}

static void test_signals(karst_context *context)
{
  const int signals[] = {SIGTERM, SIGINT, SIGKILL};
  static const char bytes[100000];
  for (int i = 0; i < 6; i++) {
    int outcome = -1;
    if (!has_nameless()) {
      tap_skip("the file system has no files without names", "a process ended by a signal leaves no file");
      continue;
    }
    if (i >= 3) put(in_folder("x.mtx"), "old\n");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      karst_output *output;
      signal(signals[i % 3], SIG_DFL);
      if (!karst_output_open(context, in_folder("x.mtx"), &output) && !karst_output_bytes(output, bytes, sizeof bytes))
        raise(signals[i % 3]);
      _exit(1);
    }
    bool ended = child > 0 && waitpid(child, &outcome, 0) == child && WIFSIGNALED(outcome);
    char text[16] = "";
    if (i >= 3) text[slurp(in_folder("x.mtx"), text, sizeof text - 1)] = '\0';
    tap_ok(ended && count_files() == (i >= 3) && (i < 3 || strcmp(text, "old\n") == 0),
           "a process ended by signal %d leaves %s", signals[i % 3], i < 3 ? "no file" : "the old file alone");
    empty_folder();
  }
}

int main(void)
{
  karst_context *context = tap_context();
  karst_vector *vector = vector_of(context, 1000, 0);
  snprintf(folder, sizeof folder, "%s", tap_scratch("folder"));
  *strrchr(folder, '/') = '\0';
  chmod(folder, 0755); /* so that another user can enter */
  snprintf(folder, sizeof folder, "%s", tap_scratch("folder"));
  mkdir(folder, 0755);
  test_links(context, vector);
  test_long_name(context, vector);
  test_closed_folder(vector, context);
  test_owner(vector);
  test_signals(context);
  empty_folder();
  rmdir(folder);
  karst_vector_destroy(vector);
  karst_context_destroy(context);
  return tap_done();
}
