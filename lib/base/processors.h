/* processors.h - the quota of processors that control groups set; karst_processors is in karst.h. */
#ifndef KARST_LIB_BASE_PROCESSORS_H
#define KARST_LIB_BASE_PROCESSORS_H

/* Returns the least quota, in processors, of all groups in a text such as /proc/self/cgroup, with lines
 * "ID:CONTROLLERS:GROUP"; 0 without a quota. The call changes the text. Groups of version 2 have no controllers and are
 * in root, those of version 1 are in ROOT/CONTROLLERS. */
double karst_groups_quota(const char *root, char *groups);

#endif
