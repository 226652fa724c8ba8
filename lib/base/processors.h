/* processors.h - the quota of processors that control groups set; karst_processors is in karst.h. */
#ifndef KARST_LIB_BASE_PROCESSORS_H
#define KARST_LIB_BASE_PROCESSORS_H

enum { KARST_GROUP_PATH = 4096 }; /* bytes of a folder's name */

/* Returns the least quota, in processors, of a group and of those around it, whose folders are ROOT/GROUP and its
 * parents up to ROOT; 0 if there is none. group: "" or "/A/B". */
double karst_group_quota(const char *root, const char *group);

/* Returns the least quota of all groups in a text such as /proc/self/cgroup, with lines "ID:CONTROLLERS:GROUP"; cuts
 * the text to pieces. Groups of version 2 have no controllers and are in root, those of version 1 are in
 * ROOT/CONTROLLERS. */
double karst_groups_quota(const char *root, char *groups);

#endif
