/* folder.c - the folder of a report: whether a report may be written into it without the loss of what others have put
 * there, and which pictures of an older report are removed. */
#include "tools/src/common/gnuplot.h"
#include "tools/src/common/output.h"
#include "tools/src/common/text.h"
#include "tools/src/compare/report/compare_write.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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
  if (!file) return errno == ENOENT;
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

char *compare_read_page(const char *folder)
{
  char *text = NULL;
  size_t size = 0;
  FILE *file = fopen(compare_text("%s/index.html", folder), "r");
  if (!file) return strdup("");
  if (getdelim(&text, &size, '\0', file) < 0 && text) *text = '\0';
  fclose(file);
  return text;
}

void compare_remove_others(const char *folder, const char *older, const char *names)
{
  DIR *directory = opendir(folder);
  for (struct dirent *entry; directory && (entry = readdir(directory));) {
    const char *name = entry->d_name;
    if (tool_ends_in(name, ".svg") && strstr(older, compare_text("<img src='%s'", name)) &&
        !strstr(names, compare_text(" %s ", name)))
      unlinkat(dirfd(directory), name, 0);
  }
  if (directory) closedir(directory);
}
