/* batch_lists.c - reads the lists --batches, --methods and --precision. */
#include "tools/src/bench/batches/batches.h"

#include "tools/src/common/text.h"

#include <stdio.h>
#include <string.h>

/* The sizes of the paper's Figure 1, and with --rows those of which some fit into a multiprocessor and some do not. */
static const char figure_sizes[] = "16,32,64,128,256,512,1024,16/4,32/4,64/4,128/4";
static const char rate_sizes[] = "128,1024,8192,128/2,1024/2,128/3,1024/3,64/4,512/4,64/5,512/5,32/6,256/6,32/7,256/7,"
                                 "32/8,256/8";

/* Reads [SYSTEMSx]ROWS[/M]. */
static bool parse_item(const char *word, batch_item *item)
{
  char text[64];
  long long systems = 0, rows, block = 1;
  if (snprintf(text, sizeof text, "%s", word) >= (int)sizeof text) return false;
  char *slash = strchr(text, '/'), *times = strchr(text, 'x'), *begin = text;
  if (slash) *slash++ = '\0';
  if (slash && !tool_integer(slash, 1, 1024, &block)) return false;
  if (times) {
    *times = '\0';
    begin = times + 1;
    if (!tool_integer(text, 1, INT64_C(1) << 40, &systems)) return false;
  }
  if (!tool_integer(begin, 1, INT64_C(1) << 30, &rows)) return false;
  *item = (batch_item){.systems = systems, .rows = (karst_index)rows, .block = (int)block};
  return true;
}

/* An item that does not say how many systems has as many as the paper, or enough for the rows of --rows. */
static void complete_item(const bench_settings *settings, batch_item *item)
{
  if (item->systems) return;
  item->systems = settings->rows ? (settings->rows + item->rows - 1) / item->rows : BATCH_SYSTEMS;
}

/* Whether the bytes of all arrays of an item, in double, can be counted. */
static bool is_countable(const batch_item *item)
{
  const int64_t m = item->block, scalars = 3 * m * m + 2 * m;
  int64_t bytes;
  return !__builtin_mul_overflow(item->systems, (int64_t)item->rows, &bytes) &&
         !__builtin_mul_overflow(bytes, scalars * (int64_t)sizeof(double), &bytes);
}

/* Takes the next word of a list, and moves rest behind it; NULL at the end or if it is too long. */
static const char *next_word(const char **rest, char *word, size_t size)
{
  if (!*rest) return NULL;
  const size_t length = strcspn(*rest, ",");
  snprintf(word, size, "%.*s", (int)length, *rest);
  *rest = (*rest)[length] ? *rest + length + 1 : NULL;
  return word;
}

static int parse_items(const bench_settings *settings, bench_batches *batches)
{
  char word[64];
  const char *rest = settings->batches ? settings->batches : settings->rows ? rate_sizes : figure_sizes;
  for (batches->items = 0; next_word(&rest, word, sizeof word); batches->items++) {
    batch_item *item = &batches->item[batches->items];
    if (batches->items == BATCH_ITEMS) return tool_fail(TOOL_FAILED, "--batches: at most %d sizes", BATCH_ITEMS);
    if (!parse_item(word, item))
      return tool_fail(TOOL_FAILED, "--batches takes [SYSTEMSx]ROWS[/M],..., such as 128,4096x64/5, not '%s'", word);
    complete_item(settings, item);
    if (!is_countable(item))
      return tool_fail(TOOL_FAILED, "--batches: %lld systems of %lld rows with blocks of %d have more than 2^63 bytes",
                       (long long)item->systems, (long long)item->rows, item->block);
  }
  return TOOL_GO_ON;
}

/* Reads METHOD[:LAYOUT]. */
static int parse_way(const char *given, bench_batches *batches)
{
  static const char *const method[] = {"auto", "thomas", "cr", "pcr", "hybrid", "split"};
  char word[64];
  snprintf(word, sizeof word, "%s", given);
  char *layout = strchr(word, ':');
  if (layout) *layout++ = '\0';
  if (layout && strcmp(layout, "aos") != 0 && strcmp(layout, "soa") != 0)
    return tool_fail(TOOL_FAILED, "--methods: the layout is aos or soa, not '%s'", layout);
  for (size_t m = 0; m < sizeof method / sizeof *method; m++) {
    if (strcmp(word, method[m]) != 0) continue;
    batches->way[batches->ways].name = method[m];
    batches->way[batches->ways].method = (karst_tridiagonal_method)m;
    batches->way[batches->ways].layout[0] = !layout || strcmp(layout, "aos") == 0;
    batches->way[batches->ways].layout[1] = !layout || strcmp(layout, "soa") == 0;
    batches->ways++;
    return TOOL_GO_ON;
  }
  return tool_fail(TOOL_FAILED, "--methods takes a list of auto, thomas, cr, pcr, hybrid and split, not '%s'", word);
}

static int parse_ways(const bench_settings *settings, bench_batches *batches)
{
  char word[64];
  int exit_status = TOOL_GO_ON;
  const char *rest = settings->methods ? settings->methods
                     : settings->rows  ? "auto:soa"
                                       : "thomas,cr,pcr,hybrid,split,auto";
  for (batches->ways = 0; exit_status == TOOL_GO_ON && next_word(&rest, word, sizeof word);)
    exit_status = batches->ways == BATCH_WAYS ? tool_fail(TOOL_FAILED, "--methods: at most %d", BATCH_WAYS)
                                              : parse_way(word, batches);
  return exit_status;
}

static int parse_precisions(const bench_settings *settings, bench_batches *batches)
{
  char word[64];
  const char *rest = settings->precision ? settings->precision : "float,double";
  while (next_word(&rest, word, sizeof word)) {
    const bool single = strcmp(word, "float") == 0;
    if (!single && strcmp(word, "double") != 0)
      return tool_fail(TOOL_FAILED, "--precision takes float, double or both, not '%s'", word);
    batches->precision[single] = true;
  }
  return TOOL_GO_ON;
}

int bench_batches_parse(const bench_settings *settings, bench_batches *batches)
{
  int exit_status = parse_items(settings, batches);
  if (exit_status == TOOL_GO_ON) exit_status = parse_ways(settings, batches);
  return exit_status == TOOL_GO_ON ? parse_precisions(settings, batches) : exit_status;
}
