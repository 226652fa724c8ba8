/* folder.c - the folder of a report: whether a report may be written into it, for of what others have put there
 * nothing is to be lost. */
#include "config.h"

#ifdef HAVE_JANSSON
#include "tools/src/compare/report/compare_write.h"
#include "tools/src/common/gnuplot.h"
#include "tools/src/common/output.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char compare_own_title[] = "<title>Comparison of ";

char *compare_page_path(const char *folder)
{
  char *path = malloc(strlen(folder) + sizeof "/index.html");
  if (path) sprintf(path, "%s/index.html", folder);
  return path;
}

bool compare_is_folder(const char *path)
{
  struct stat file;
  return stat(path, &file) == 0 && S_ISDIR(file.st_mode);
}

/* Whether a page is the work of this program, or is not there. */
static bool is_own(const char *page)
{
  char text[256];
  FILE *file = fopen(page, "rb");
  if (!file) return true;
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return strstr(text, compare_own_title) != NULL;
}

/* Refuses a folder whose page or pictures are another's, or where a link would lead what is written elsewhere. */
static int check_contents(const char *folder, const char *page)
{
  struct stat file;
  DIR *directory = opendir(folder);
  const bool has_page = access(page, F_OK) == 0;
  int status = TOOL_GO_ON;
  for (struct dirent *entry; directory && status == TOOL_GO_ON && (entry = readdir(directory));) {
    const size_t length = strlen(entry->d_name);
    const bool picture = length > 4 && strcmp(entry->d_name + length - 4, ".svg") == 0;
    if ((picture || strcmp(entry->d_name, "index.html") == 0) &&
        fstatat(dirfd(directory), entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(file.st_mode))
      status = tool_fail(TOOL_FAILED, "%s/%s is not a regular file and will not be overwritten; choose another folder",
                         folder, entry->d_name);
    else if (picture && !has_page)
      status =
          tool_fail(TOOL_FAILED, "%s/%s was not written by compare and will not be overwritten; choose another folder",
                    folder, entry->d_name);
  }
  if (directory) closedir(directory);
  if (status == TOOL_GO_ON && !is_own(page))
    return tool_fail(TOOL_FAILED, "%s was not written by compare and will not be overwritten; choose another folder",
                     page);
  return status;
}

int compare_report_check(const char *folder)
{
  struct stat file;
  int status = tool_gnuplot_check();
  if (status != TOOL_GO_ON) return status;
  if (stat(folder, &file) == 0 && !S_ISDIR(file.st_mode))
    return tool_fail(TOOL_FAILED, "%s is not a folder, and the report needs one", folder);
  char *page = compare_page_path(folder);
  if (!page) return tool_fail_memory("the report");
  status = compare_is_folder(folder) ? check_contents(folder, page) : TOOL_GO_ON;
  if (status == TOOL_GO_ON) status = tool_check_output(compare_is_folder(folder) ? page : folder);
  free(page);
  return status;
}
#endif
