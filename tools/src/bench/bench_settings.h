/* bench_settings.h - the settings of a run of bench. */
#ifndef KARST_TOOLS_SRC_BENCH_BENCH_SETTINGS_H
#define KARST_TOOLS_SRC_BENCH_BENCH_SETTINGS_H

#include "tools/src/common/common.h"

enum {
  BENCH_LIST = 7,   /* most levels or numbers of threads in an option */
  BENCH_WAYS = 64,  /* most preconditioners in an option */
  BENCH_PEERS = 8,  /* most peers in an option */
  BENCH_GRIDS = 24, /* most grids in an option */
  BENCH_REPEATS = 100,
  BENCH_FEW = 3,            /* repetitions by default */
  BENCH_REFERENCE_LEVEL = 2 /* of the reference of --errors, if it has levels */
};

/* A preconditioner with options of its own, an item of --precond. */
typedef struct bench_way {
  char name[128];         /* the item, such as "fgbilu:tiles" */
  karst_options *options; /* of Karst: those of --set, then the item's, and for whole solves the order */
  bool cpu, gpu;          /* the devices that it is for */
  bool alone;             /* it is for one thread only */
} bench_way;

/* A grid of --grids. */
typedef struct bench_grid {
  long long size[3];
  int block; /* 0: that of --block */
} bench_grid;

typedef struct bench_settings {
  const struct bench_mode *mode; /* what is measured */
  const char *matrix;
  const char *level_text, *threads_text, *device, *precond, *grid_text, *tile_text;
  int level[BENCH_LIST], levels;
  int threads[BENCH_LIST], thread_counts;
  int block, restart, iterations, repeat;
  int correction; /* steps of the correction; 0: none */
  double rtol;
  bool cpu, gpu;
  const char *ordering; /* another order of the rows, beside the natural one; NULL: none */
  int tile_size;        /* of that order; 0: its own choice, or it has none */
  const char *solves;   /* the solver whose whole solves are timed, or NULL */
  const char *peer, *set;
  const char *errors;                            /* of --sequence, or NULL */
  const char *plot;                              /* of --sequence and the matrix tridiagonal, or NULL */
  const char *batches, *methods, *precision;     /* of the matrix tridiagonal, or NULL */
  int rows;                                      /* of each batch in all; 0: as in the paper */
  const char *program;                           /* the path of bench, beside which its peers are */
  char *peer_text, peer_path[BENCH_PEERS][1024]; /* what the next two point into */
  const char *peer_program[BENCH_PEERS], *peer_style[BENCH_PEERS];
  int peers;
  karst_options *options;   /* those of --set */
  karst_options *reference; /* of the solves of --errors; NULL: none */
  bench_way way[BENCH_WAYS];
  int ways;
  bench_grid grid[BENCH_GRIDS];
  int grids;
  bool negate, quick, json, profile, sequence;
} bench_settings;

/* Something that bench does. */
struct bench_mode {
  bool (*is_asked_for)(const bench_settings *settings);
  const char *ways;    /* its preconditioners where --precond names none, as far as the build has them; NULL: one */
  bool way_each_level; /* a way of --precond for each level and order */
  int repeat;          /* repetitions where --repeat does not say how many; 0: BENCH_FEW */
  /* Checks its own options and reads them further. Returns TOOL_GO_ON, or the exit status of a reported error. */
  int (*check)(karst_context *context, bench_settings *settings);
  /* Returns the exit status. */
  int (*run)(karst_context *cpu, karst_context *gpu, const bench_settings *settings);
};

/* Reads --ordering and --tile-size. Natural order, which is always timed, becomes NULL, and auto is refused: it chooses
 * by what a solve needs, which kernels alone do not show. */
int bench_order_parse(karst_context *context, bench_settings *settings);
/* Parses the command line. The first mode is for when no other is asked for; the list ends in NULL. Returns
 * TOOL_GO_ON, or the exit status after --help, --version or a reported error. */
int bench_settings_parse(karst_context *context, int argc, char *argv[], const struct bench_mode *const modes[],
                         bench_settings *settings);
/* Gives back what a parse, also one that failed, has taken. */
void bench_settings_free(bench_settings *settings);

/* Appends the ways of a list ITEM,... to those of settings, ITEM being NAME[:STYLE][:OPTION=VALUE]...: precond NAME,
 * and its option NAME-style. If optional, an item for
 * another device is left out, and with a note one that this build does not know; else it is an error. A VALUE A/B/...
 * makes a way of each of A, B, ...; for whole solves so does each level, where there are levels, and each order. */
int bench_ways_parse(karst_context *context, const char *list, bool optional, bench_settings *settings);
/* Makes the options of the reference solves of --errors, if it is given. */
int bench_reference_parse(karst_context *context, bench_settings *settings);
/* The options of bench itself (bench_options.c). */
extern const struct tool_option bench_options[];
/* Sets an option of Karst for what is timed; bench's own options and those that bench fixes are refused. */
int bench_option_set(karst_context *context, karst_options *options, const char *name, const char *value);
/* Whether the preconditioner of a set of options has a fill level of its own. */
bool bench_has_level(const karst_options *options);

#endif
