/* A context gets the ranks of an MPI communicator: messages arrive, in pieces too, and never meet the program's own;
 * what is no communicator is refused with a sentence, and an error of MPI is a status with MPI's sentence. */
#include "lib/ranks/ranks.h"
#include "tests/mpi/all.h"

#include <limits.h>
#include <stdlib.h>

static struct karst_mpi *mpi_of(const karst_context *context) { return context->ranks->transport.user; }

static bool refused(MPI_Comm communicator, const char *sentence)
{
  karst_context *context = tap_context();
  const karst_status status = karst_context_set_communicator(context, communicator);
  const bool right = status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), sentence) != NULL;
  if (!right) printf("# %s: %s\n", karst_status_text(status), karst_context_error(context));
  karst_context_destroy(context);
  return right;
}

static void refusals(void)
{
  karst_context *context = all_context(MPI_COMM_WORLD);
  all_ok(karst_context_set_communicator(NULL, MPI_COMM_WORLD) == KARST_ERROR_ARGUMENT, "no context is refused");
  all_ok(refused(MPI_COMM_NULL, "MPI_COMM_NULL"), "MPI_COMM_NULL is refused");
  all_ok(karst_context_set_communicator(context, MPI_COMM_WORLD) == KARST_ERROR_ARGUMENT &&
             karst_context_ranks(context) == all_ranks(),
         "a second communicator is refused");
  karst_context_destroy(context);
  if (all_ranks() == 1) return;
  MPI_Comm half, between;
  MPI_Comm_split(MPI_COMM_WORLD, all_rank() == 0, all_rank(), &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, all_rank() == 0 ? 1 : 0, 0, &between);
  all_ok(refused(between, "intercommunicator"), "an intercommunicator is refused");
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

/* Each rank sends numbers to all others: rank r sends (r + 1) 1000 of them to those that follow it, and 1 back. */
struct round {
  int count;
  double *send, *receive[8];
  karst_transfer transfers[8];
};

static size_t numbers(int from, int to) { return from < to ? 1000 * ((size_t)from + 1) : 1; }

static void fill_round(struct round *round)
{
  const int me = all_rank();
  round->count = 0;
  round->send = tap_memory(1000 * ((int64_t)me + 1), sizeof(double));
  for (int i = 0; i < 1000 * (me + 1); i++) round->send[i] = 1e6 * me + i;
  for (int r = 0; r < all_ranks(); r++) {
    round->receive[r] = tap_memory((int64_t)numbers(r, me), sizeof(double));
    if (r == me) continue;
    round->transfers[round->count++] = (karst_transfer){r, round->send, numbers(me, r) * sizeof(double),
                                                        round->receive[r], numbers(r, me) * sizeof(double)};
  }
}

/* Whether all has arrived. The memory is released. */
static bool check_round(struct round *round)
{
  bool right = true;
  for (int r = 0; r < all_ranks(); r++) {
    for (size_t i = 0; i < numbers(r, all_rank()) && r != all_rank(); i++)
      right = right && round->receive[r][i] == 1e6 * r + (double)i;
    free(round->receive[r]);
  }
  free(round->send);
  return right;
}

static bool exchange(const karst_transport *transport)
{
  struct round round;
  fill_round(&round);
  bool right = !transport->exchange_begin(transport->user, round.count, round.transfers);
  right = right && !transport->exchange_end(transport->user);
  return check_round(&round) && right;
}

static bool gather(const karst_transport *transport)
{
  const double own[2] = {all_rank(), -1};
  double all[16] = {0};
  bool right = !transport->gather(transport->user, own, sizeof own, all);
  for (int r = 0; r < all_ranks(); r++) right = right && all[2 * r] == r && all[2 * r + 1] == -1;
  return right;
}

static void messages(void)
{
  karst_context *context = all_context(MPI_COMM_WORLD);
  const karst_transport *transport = &context->ranks->transport;
  char sentence[64];
  all_ok(karst_context_rank(context) == all_rank() && karst_context_ranks(context) == all_ranks() &&
             strcmp(karst_context_transport(context), "MPI") == 0,
         "the context has the ranks of the communicator");
  all_ok(gather(transport), "a gather is in the order of ranks");
  all_ok(exchange(transport), "an exchange delivers all messages");
  mpi_of(context)->piece = 3000;
  all_ok(exchange(transport), "so it does in pieces");
  all_ok(exchange(transport), "and again, with the room of the one before");
  double unread = 0;
  const karst_status status = transport->gather(transport->user, &unread, (size_t)INT_MAX + 1, &unread);
  snprintf(sentence, sizeof sentence, "MPI counts at most %d", INT_MAX);
  all_ok(status == KARST_ERROR_ARGUMENT && strstr(karst_context_error(context), sentence),
         "a gather of more than MPI counts is refused");
  karst_context_destroy(context);
}

/* The program's own message with any tag waits meanwhile, and gets what the program sends afterwards. */
static void own_messages(void)
{
  karst_context *context = all_context(MPI_COMM_WORLD);
  const int next = (all_rank() + 1) % all_ranks();
  double received = 0, sent = 7;
  MPI_Request request;
  MPI_Irecv(&received, 1, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
  const bool right = exchange(&context->ranks->transport) && gather(&context->ranks->transport);
  MPI_Send(&sent, 1, MPI_DOUBLE, next, 5, MPI_COMM_WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  all_ok(right && received == 7, "messages do not meet those of the program");
  karst_context_destroy(context);
}

static bool has_failed(karst_context *context, karst_status status, const char *call)
{
  const bool right = status == KARST_ERROR_TRANSPORT &&
                     strncmp(karst_context_error(context), call, strlen(call)) == 0 &&
                     strstr(karst_context_error(context), "MPI_ERR");
  if (!right) printf("# %s: %s\n", karst_status_text(status), karst_context_error(context));
  return right;
}

/* A rank that is not there, and a message that is longer than the memory for it, which breaks the communicator's
 * promises on purpose. */
static void errors(void)
{
  karst_context *context = all_context(MPI_COMM_WORLD);
  const karst_transport *transport = &context->ranks->transport;
  double own = 1, received[4] = {0};
  const karst_transfer nowhere[2] = {{all_rank(), &own, sizeof own, received, sizeof own},
                                     {all_ranks(), &own, sizeof own, received, sizeof own}};
  all_ok(has_failed(context, transport->exchange_begin(transport->user, 1, nowhere + 1), "MPI_Irecv failed: "),
         "a rank that is not there is an error of MPI");
  all_ok(has_failed(context, transport->exchange_begin(transport->user, 2, nowhere), "MPI_Irecv failed: ") &&
             mpi_of(context)->messages == 0,
         "what was begun before is given up");
  karst_context_destroy(context);
  if (all_ranks() == 1) return;

  context = all_context(MPI_COMM_WORLD);
  transport = &context->ranks->transport;
  if (all_rank() < 2) {
    const karst_transfer too_long = {1 - all_rank(), received, all_rank() == 0 ? 4 * sizeof own : sizeof own,
                                     received + 2, sizeof own};
    karst_status status = transport->exchange_begin(transport->user, 1, &too_long);
    if (!status) status = transport->exchange_end(transport->user);
    all_ok(all_rank() == 0 ? !status : has_failed(context, status, "MPI_Waitall failed: "),
           "a message that is too long is an error of MPI");
  } else {
    all_ok(true, "a message that is too long");
  }
  karst_context_destroy(context);
}

/* As many contexts as a long run makes: a communicator that leaks would soon be one too many. */
static void many(void)
{
  bool right = true;
  for (int i = 0; i < 3000; i++) {
    karst_context *context = all_context(MPI_COMM_WORLD);
    right = right && (i % 100 != 0 || gather(&context->ranks->transport));
    karst_context_destroy(context);
  }
  all_ok(right, "contexts come and go");
}

int main(int argc, char **argv)
{
  karst_context *last;
  const bool early = refused(MPI_COMM_WORLD, "call MPI_Init before");
  MPI_Init(&argc, &argv);
  all_ok(early, "MPI that is not initialised is refused");
  refusals();
  messages();
  own_messages();
  errors();
  many();
  /* The last context outlives MPI. */
  last = all_context(MPI_COMM_WORLD);
  const int rank = all_rank();
  MPI_Finalize();
  karst_context_destroy(last);
  const bool late = refused(MPI_COMM_WORLD, "MPI was finalized");
  return rank == 0 ? tap_ok(late, "MPI that is finalized is refused"), tap_done() : !late;
}
