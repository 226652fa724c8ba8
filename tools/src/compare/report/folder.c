/* folder.c - the folder of a report: whether a report may be written into it without the loss of what others have put
 * there, and which pictures of an older report are removed. */
#include "tools/src/common/gnuplot.h"
#include "tools/src/common/output.h"
#include "tools/src/common/text.h"
#include "tools/src/compare/report/compare_write.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool compare_is_folder(const char *path)
{
  struct stat file;
  return stat(path, &file) == 0 && S_ISDIR(file.st_mode);
}

/* Whether a page is the work of this program, or does not exist. */
static bool is_own(const char *page)
{
  char text[256];
  FILE *file = fopen(page, "rb");
  if (!file) return true;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return strstr(text, COMPARE_OWN_TITLE) != NULL;
}

/* Refuses a folder whose page or pictures compare did not write, or in which a link would redirect them. */
static int check_contents(const char *folder)
{
  static const char other[] = "was not written by compare and will not be overwritten; choose another folder";
  struct stat file;
  char page[PATH_MAX];
  DIR *directory = opendir(folder);
  snprintf(page, sizeof page, "%s/index.html", folder);
  const bool has_page = access(page, F_OK) == 0;
  int status = TOOL_GO_ON;
  for (struct dirent *entry; directory && status == TOOL_GO_ON && (entry = readdir(directory));) {
    const char *name = entry->d_name;
    const bool picture = tool_ends_in(name, ".svg");
    if ((picture || strcmp(name, "index.html") == 0) &&
        fstatat(dirfd(directory), name, &file, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(file.st_mode))
      status = tool_fail(TOOL_FAILED, "%s/%s is not a regular file and will not be overwritten; choose another folder",
                         folder, name);
    else if (picture && !has_page)
      status = tool_fail(TOOL_FAILED, "%s/%s %s", folder, name, other);
  }
  if (directory) closedir(directory);
  if (status == TOOL_GO_ON && !is_own(page)) return tool_fail(TOOL_FAILED, "%s %s", page, other);
  return status == TOOL_GO_ON ? tool_check_output(page) : status;
}

int compare_report_check(const char *folder)
{
  const int status = tool_gnuplot_check();
  if (status != TOOL_GO_ON) return status;
  if (compare_is_folder(folder)) return check_contents(folder);
  if (access(folder, F_OK) == 0) return tool_fail(TOOL_FAILED, "%s is not a folder, and the report needs one", folder);
  return tool_check_output(folder);
}

/* Whether a report may have a picture of this name, as profile.svg or times-3.svg. */
static bool is_picture(const char *name)
{
  for (int p = 0; p < COMPARE_PICTURES; p++) {
    const size_t length = strlen(compare_pictures[p].name);
    if (strncmp(name, compare_pictures[p].name, length) != 0) continue;
    const bool numbered = p >= COMPARE_OF_MATRIX && name[length] == '-';
    const size_t digits = numbered ? strspn(name + length + 1, "0123456789") : 0;
    if ((digits > 0) == (p >= COMPARE_OF_MATRIX) && strcmp(name + length + numbered + digits, ".svg") == 0) return true;
  }
  return false;
}

void compare_remove_others(const char *folder, const char *names)
{
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory && (entry = readdir(directory));)
    if (is_picture(entry->d_name) && !strstr(names, compare_text(" %s ", entry->d_name)))
      unlinkat(dirfd(directory), entry->d_name, 0);
  if (directory) closedir(directory);
}
