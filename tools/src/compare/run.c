/* run.c - runs a command in a process group of its own, with a limit of time and of memory.
 *
 * Memory is the resident memory of the process, measured every few milliseconds: a limit of the address space would
 * refuse CUDA, which reserves much more than it uses. A process over a limit is killed, and so are all processes that
 * it has left behind. If this program is killed itself, the system kills the process (on Linux). */
#include "tools/src/compare/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { OUT, ERR, HISTORY, STREAMS };
enum { LOOK_MILLISECONDS = 10, DRAIN_SECONDS = 2, HISTORY_DESCRIPTOR = 3 };
static const size_t out_most = (size_t)64 << 20, err_most = (size_t)64 << 10;

/* What a user or a scheduler ends a batch with. */
static const int interrupts[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGXCPU};
enum { INTERRUPTS = sizeof interrupts / sizeof interrupts[0] };

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
  (void)number;
  interrupted = 1;
}

void compare_catch_signals(void)
{
  struct sigaction action = {.sa_handler = interrupt}, known;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < INTERRUPTS; i++)
    if (sigaction(interrupts[i], NULL, &known) == 0 && known.sa_handler != SIG_IGN)
      sigaction(interrupts[i], &action, NULL);
}

bool compare_interrupted(void) { return interrupted != 0; }

/* A process, and the ends of the pipes that it writes to; -1: closed. */
struct child {
  pid_t pid;
  int from[STREAMS];
  char *text[2]; /* of OUT and ERR; [room] zero-terminated */
  size_t used[2], room[2];
  bool full; /* memory for the text has run out */
};

/* In the child: starts the new program, by functions that are safe after fork. An errno goes to the pipe report. */
static void exec_program(const char *path, char *const argv[], const int to[STREAMS], int report, pid_t parent)
{
  setpgid(0, 0);
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC); /* the first to go where memory runs out */
  if (score >= 0 && write(score, "1000", 4) != 4) close(score);
#else
  (void)parent;
#endif
  const int none = open("/dev/null", O_RDONLY);
  if (none < 0 || dup2(none, STDIN_FILENO) < 0 || dup2(to[OUT], STDOUT_FILENO) < 0 || dup2(to[ERR], STDERR_FILENO) < 0)
    _exit(127);
  if (to[HISTORY] == HISTORY_DESCRIPTOR)
    fcntl(HISTORY_DESCRIPTOR, F_SETFD, 0);
  else if (dup2(to[HISTORY], HISTORY_DESCRIPTOR) < 0)
    _exit(127);
  if (none > HISTORY_DESCRIPTOR) close(none);
  execv(path, argv);
  const int error = errno;
  _exit(write(report, &error, sizeof error) == (ssize_t)sizeof error ? 127 : 126);
}

/* Waits until the child is the new program, which closes the pipe, or has failed to start it; returns errno or 0. */
static int read_start_error(int report)
{
  int error = 0;
  ssize_t got;
  do got = read(report, &error, sizeof error);
  while (got < 0 && errno == EINTR);
  return got == (ssize_t)sizeof error ? error : 0;
}

static bool make_pipe(int ends[2])
{
  if (pipe(ends) != 0) return false;
  fcntl(ends[0], F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFD, FD_CLOEXEC);
  return true;
}

static int start(struct child *child, const char *path, char *const argv[])
{
  int to[STREAMS], report[2] = {-1, -1}, made = 0, error = 0;
  for (int ends[2]; made < STREAMS && make_pipe(ends); made++) {
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    child->from[made] = ends[0];
    to[made] = ends[1];
  }
  const pid_t parent = getpid();
  child->pid = made == STREAMS && make_pipe(report) ? fork() : -1;
  if (child->pid == 0) exec_program(path, argv, to, report[1], parent);
  if (child->pid < 0) error = errno;
  if (child->pid > 0) setpgid(child->pid, child->pid); /* whichever of the two comes first */
  for (int i = 0; i < made; i++) close(to[i]);
  if (report[1] >= 0) close(report[1]);
  if (child->pid > 0) error = read_start_error(report[0]);
  if (report[0] >= 0) close(report[0]);
  if (!error) return TOOL_GO_ON;
  while (child->pid > 0 && waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {}
  return tool_fail(TOOL_FAILED, "%s cannot be started: %s", path, strerror(error));
}

/* Lines "ITERATION<tab>RESIDUAL"; others, as the heading, are skipped. */
static void take_history(struct compare_history *history, const char *text, size_t length)
{
  for (size_t i = 0; i < length; i++) {
    if (text[i] != '\n') {
      if (history->used < sizeof history->line - 1) history->line[history->used++] = text[i];
      continue;
    }
    char *end;
    history->line[history->used] = '\0';
    history->used = 0;
    const long iteration = strtol(history->line, &end, 10);
    if (end == history->line || *end != '\t') continue;
    tool_curve_add(&history->curve, (struct tool_point){iteration, strtod(end + 1, NULL)});
  }
}

/* Keeps all of standard output, up to a size beyond any report, and the end of standard error. */
static void take_text(struct child *child, int stream, const char *text, size_t length)
{
  if (stream == OUT && child->used[OUT] + length > out_most) return;
  if (stream == ERR && child->used[ERR] > 2 * err_most) {
    memmove(child->text[ERR], child->text[ERR] + child->used[ERR] - err_most, err_most);
    child->used[ERR] = err_most;
  }
  if (child->used[stream] + length >= child->room[stream]) {
    const size_t room = 2 * (child->used[stream] + length) + 1024;
    char *larger = realloc(child->text[stream], room);
    child->full |= !larger;
    if (!larger) return;
    child->text[stream] = larger;
    child->room[stream] = room;
  }
  memcpy(child->text[stream] + child->used[stream], text, length);
  child->used[stream] += length;
  child->text[stream][child->used[stream]] = '\0';
}

/* Waits for the pipes, some milliseconds at most, and reads them. Returns whether one is still open. */
static bool read_pipes(struct child *child, struct compare_history *history, int milliseconds)
{
  static char buffer[1 << 16];
  struct pollfd waiting[STREAMS];
  bool open = false;
  for (int i = 0; i < STREAMS; i++) waiting[i] = (struct pollfd){.fd = child->from[i], .events = POLLIN};
  if (poll(waiting, STREAMS, milliseconds) < 0) return true; /* a signal */
  for (int i = 0; i < STREAMS; i++) {
    if (child->from[i] < 0) continue;
    open = true;
    if (!waiting[i].revents) continue;
    const ssize_t got = read(child->from[i], buffer, sizeof buffer);
    if (got > 0 && i == HISTORY) take_history(history, buffer, (size_t)got);
    if (got > 0 && i != HISTORY) take_text(child, i, buffer, (size_t)got);
    if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) continue;
    close(child->from[i]);
    child->from[i] = -1;
  }
  return open;
}

/* Bytes that a process has resident; 0 where the system does not say. */
static int64_t resident(pid_t pid)
{
  char path[64];
  long long total = 0, pages = 0;
  snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
  FILE *file = fopen(path, "r");
  if (!file) return 0;
  if (fscanf(file, "%lld %lld", &total, &pages) != 2) pages = 0; // NOLINT(cert-err34-c): the system's own numbers
  fclose(file);
  return pages * (int64_t)sysconf(_SC_PAGESIZE);
}

static bool has_ended(pid_t pid)
{
  siginfo_t info = {.si_pid = 0};
  return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* Watches the process until it has ended. Returns whether the user has interrupted it. */
static bool watch_child(struct child *child, const struct compare_limits *limits, compare_tick *tick, void *user,
                        struct compare_ended *ended, double began)
{
  bool killed = false, open = true;
  while (!has_ended(child->pid)) {
    const double seconds = tool_clock() - began;
    const int64_t memory = resident(child->pid);
    if (memory > ended->peak_memory) ended->peak_memory = memory;
    if (!killed) {
      if (seconds > limits->seconds) ended->why = COMPARE_OUT_OF_TIME;
      if (memory > limits->memory) ended->why = COMPARE_OUT_OF_MEMORY;
      killed = ended->why != COMPARE_ENDED || compare_interrupted();
      if (killed) kill(-child->pid, SIGKILL);
    }
    open = read_pipes(child, &ended->history, open ? LOOK_MILLISECONDS : 1);
    tick(user, seconds);
  }
  return killed && ended->why == COMPARE_ENDED;
}

/* Kills the rest of the process group, reaps the process, and reads the rest of the pipes. */
static void end_child(struct child *child, struct compare_ended *ended, double began)
{
  struct rusage usage = {.ru_maxrss = 0};
  kill(-child->pid, SIGKILL); /* before the process is reaped, while no other process can have its number */
  while (wait4(child->pid, &ended->status, 0, &usage) < 0 && errno == EINTR) {}
  const double now = tool_clock();
  ended->wall = now - began;
  const int64_t peak = (int64_t)usage.ru_maxrss * 1024;
  if (peak > ended->peak_memory) ended->peak_memory = peak;
  while (read_pipes(child, &ended->history, LOOK_MILLISECONDS) && tool_clock() < now + DRAIN_SECONDS) {}
  tool_curve_end(&ended->history.curve);
}

int compare_run(const char *solve, char *const argv[], const struct compare_limits *limits, compare_tick *tick,
                void *user, struct compare_ended *ended)
{
  struct child child = {.from = {-1, -1, -1}};
  *ended = (struct compare_ended){.out = NULL};
  tool_curve_begin(&ended->history.curve, COMPARE_HISTORY_MAX);
  const double began = tool_clock();
  int status = start(&child, solve, argv);
  bool stopped = false;
  if (status == TOOL_GO_ON) {
    stopped = watch_child(&child, limits, tick, user, ended, began);
    end_child(&child, ended, began);
  }
  for (int i = 0; i < STREAMS; i++)
    if (child.from[i] >= 0) close(child.from[i]);
  ended->out = child.text[OUT];
  ended->err = child.text[ERR];
  if (status != TOOL_GO_ON) return status;
  if (child.full) return tool_fail_memory("what solve has printed");
  /* When a whole session is ended, solve may be gone before the signal arrives here. */
  const int number = WIFSIGNALED(ended->status) ? WTERMSIG(ended->status) : 0;
  bool was_interrupted = false;
  for (size_t i = 0; i < INTERRUPTS; i++) was_interrupted |= number == interrupts[i];
  if (was_interrupted && ended->why == COMPARE_ENDED && !interrupted) poll(NULL, 0, 200);
  return stopped || (was_interrupted && interrupted) ? TOOL_NO : TOOL_GO_ON;
}
