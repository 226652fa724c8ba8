/* processors.h - the quota of processors that control groups set; karst_processors is in karst.h. */
#ifndef KARST_LIB_PROCESSORS_H
#define KARST_LIB_PROCESSORS_H

enum { KARST_GROUP_PATH = 4096 }; /* bytes of a folder's name */

/* The least quota, in processors, of a group and of those around it, whose folders are ROOT/GROUP and above, up to
 * ROOT; 0: none. group: "" or "/A/B". */
double karst_group_quota(const char *root, const char *group);

/* The least of all groups in a text such as /proc/self/cgroup, lines "ID:CONTROLLERS:GROUP"; cuts the text to pieces.
 * Version 2 has no controllers and its groups in root, version 1 those of a list of controllers in ROOT/LIST. */
double karst_groups_quota(const char *root, char *groups);

#endif
