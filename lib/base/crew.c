/* crew.c - chooses how many threads a piece of work gets; see crew.h. */
#include "config.h"

#include "lib/base/crew.h"

/* The number of threads is halved when this many seconds, more than one time slice, are lost. At one millisecond, the
 * noise of a quiet machine makes two threads nearly as slow as one. */
static const double most_lost = 5e-3;
static const double most_saved = 10e-3;  /* seconds saved that can offset losses, at most */
static const double first_pause = 20e-3; /* seconds: a few time slices */
static const double pause_growth = 4;
static const double longest_pause = 1; /* seconds, so that the losses per pause are only a few per cent */
static const double long_stay = 10;    /* in pauses: time after a rise when the machine counts as quiet again */
static const double settled = 10e-3;   /* seconds in which simpler work shows whether more threads pay */

/* NOLINTBEGIN(readability-non-const-parameter): the checker does not know that __atomic_store writes */
static int load_int(const int *field) { return __atomic_load_n(field, __ATOMIC_RELAXED); }
static void store_int(int *field, int value) { __atomic_store_n(field, value, __ATOMIC_RELAXED); }

static double load(const double *field)
{
  double value;
  __atomic_load(field, &value, __ATOMIC_RELAXED);
  return value;
}

static void store(double *field, double value) { __atomic_store(field, &value, __ATOMIC_RELAXED); }

static double load_cost(const float *field)
{
  float value;
  __atomic_load(field, &value, __ATOMIC_RELAXED);
  return (double)value;
}

static void store_cost(float *field, double cost)
{
  float value = (float)cost;
  __atomic_store(field, &value, __ATOMIC_RELAXED);
}

/* NOLINTEND(readability-non-const-parameter) */

int karst_crew_present(const karst_crew *crew, int threads)
{
  int present = threads >> load_int(&crew->halvings);
  return present > 1 ? present : 1;
}

static karst_crew_record *find_crew_record(karst_crew *crew, karst_kind kind, int64_t work)
{
  int size = 0;
  while (size < KARST_CREW_SIZES - 1 && work >= (int64_t)KARST_CREW_LEAST << 2 * (size + 1)) size++;
  return &crew->record[kind][size];
}

/* Returns whether one thread takes this piece: piece number 1, 32, 1024 and so on. */
static bool is_trial(uint32_t piece) { return (piece & (piece - 1)) == 0 && (piece & 0x42108421) != 0; }

/* Raises the number of threads if the pause is over. */
static void go_up(karst_crew *crew, double now)
{
  int halvings = load_int(&crew->halvings);
  if (halvings == 0 || now < load(&crew->resume)) return;
  store_int(&crew->halvings, halvings - 1);
  store(&crew->lost, 0);
  store(&crew->raised, now);
}

int karst_crew_choose(karst_crew *crew, int threads, karst_kind kind, int64_t work, double now)
{
  if (karst_crew_worth(crew, threads, kind, work) == 1) return 1;
  if (crew->steady) return threads;
  go_up(crew, now);
  int present = karst_crew_present(crew, threads);
  if (kind >= KARST_KIND_FORWARD && kind <= KARST_KIND_FACTOR && now - load(&crew->raised) < settled) present = 1;
  if (present == 1 || kind >= KARST_KIND_FACTOR) return present;
  return is_trial(__atomic_add_fetch(&find_crew_record(crew, kind, work)->pieces, 1, __ATOMIC_RELAXED)) ? 1 : present;
}

/* Updates the smoothed cost of one thread. A piece that is much slower than the record counts as disturbed; one that is
 * much faster shows that the record was disturbed. */
static void note_alone(karst_crew_record *record, double cost)
{
  double known = load_cost(&record->alone);
  double next = cost < 2 * known ? cost : 2 * known;
  store_cost(&record->alone, known <= 0 || cost < known / 2 ? cost : known + (next - known) / 4);
}

/* Lowers the number of threads until a pause is over. */
static void go_down(karst_crew *crew, double now)
{
  double pause = load(&crew->pause);
  if (now - load(&crew->raised) > long_stay * pause) pause = 0;
  pause = pause > 0 ? pause_growth * pause : first_pause;
  if (pause > longest_pause) pause = longest_pause;
  store(&crew->pause, pause);
  store(&crew->resume, now + pause);
  store(&crew->lost, 0);
  store_int(&crew->halvings, load_int(&crew->halvings) + 1);
}

/* Returns the seconds that one thread would have needed; 0 if they are not known. */
static double seconds_alone(const karst_crew_record *record, int64_t work, const karst_crew_cost *cost)
{
  return cost->own > 0 ? cost->own : load_cost(&record->alone) * (double)work;
}

void karst_crew_note(karst_crew *crew, int threads, karst_kind kind, int64_t work, const karst_crew_cost *cost)
{
  if (karst_crew_worth(crew, threads, kind, work) == 1 || crew->steady) return;
  karst_crew_record *record = find_crew_record(crew, kind, work);
  const double seconds = cost->now - cost->start;
  if (cost->used == 1) {
    note_alone(record, seconds / (double)work);
    return;
  }
  const double alone = seconds_alone(record, work, cost);
  if (alone <= 0) return;
  double lost = load(&crew->lost) + seconds - alone;
  store(&crew->lost, lost > -most_saved ? lost : -most_saved);
  if (lost > most_lost && karst_crew_present(crew, threads) > 1) go_down(crew, cost->now);
}
