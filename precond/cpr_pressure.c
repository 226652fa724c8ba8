/* cpr_pressure.c - see cpr_pressure.h. */
#include "precond/cpr_pressure.h"

#include "lib/matrix/residual.h"

#include <string.h>

enum { AUTO = 0, BALANCE = 20, UNKNOWNS = 16 /* that cpr-pressure has numbers for */ };

/* A wrong pressure unknown costs iterations silently. On ten systems of simulators the right one had couplings of 0.6
 * to 0.95 a cell, and others at most 0.05. */
static const double coupling_wrong = 0.5;
/* With more cells guarded, column sums say little about this matrix. */
static const double guarded_most = 0.1;

static const char *const weights_names[] = {"auto",    "column-sum", "quasi-impes", "true-impes",
                                            "row-sum", "given",      NULL};

const char *karst_cpr_weights_name(size_t i) { return weights_names[i]; }

static const struct karst_cpr_kernels *kernels_of(const karst_precond *p) { return p->context->backend->cpr; }

static karst_status prepare_ranks(const karst_halo *halo, karst_cpr_pressure *pressure)
{
  const int64_t size = 2 * karst_block_offset(halo->block_size, 1);
  karst_status status = karst_halo_resize(halo, 1, &pressure->matrix->halo);
  if (!status) status = karst_exchange_reverse(halo->exchange, (int)size, &pressure->blocks);
  if (!status) status = karst_exchange_reverse(halo->exchange, 1, &pressure->scales);
  return status ? status
                : karst_device_doubles(halo->context, size * halo->ghosts, "sums over columns", &pressure->sums);
}

karst_status karst_cpr_pressure_prepare(const karst_precond *p, karst_cpr_pressure *pressure)
{
  const karst_halo *halo = karst_precond_halo(p);
  karst_status status = halo ? karst_columns_create(halo, p->A->block_rows, &pressure->columns) : KARST_SUCCESS;
  pressure->cpr.columns = pressure->columns;
  if (!status) status = kernels_of(p)->plan(p->context, p->A, &pressure->cpr);
  if (!status) status = karst_matrix_on_blocks_of(p->A, 1, &pressure->matrix);
  return status || !halo ? status : prepare_ranks(halo, pressure);
}

void karst_cpr_pressure_destroy(const karst_precond *p, karst_cpr_pressure *pressure)
{
  karst_matrix_destroy(pressure->matrix);
  kernels_of(p)->plan_destroy(p->context, &pressure->cpr);
  karst_columns_destroy(pressure->columns);
  karst_exchange_destroy(pressure->blocks);
  karst_exchange_destroy(pressure->scales);
  p->context->backend->release(p->context, pressure->sums);
}

int64_t karst_cpr_pressure_memory(const karst_cpr_pressure *pressure)
{
  const int64_t bytes = pressure->cpr.memory + pressure->matrix->blocks * (int64_t)sizeof(double);
  if (!pressure->columns) return bytes;
  const int64_t sums = 2 * karst_block_offset(pressure->cpr.block_size, pressure->columns->halo->ghosts);
  return bytes + pressure->columns->memory + karst_halo_memory(pressure->matrix->halo) +
         karst_exchange_memory(pressure->blocks) + karst_exchange_memory(pressure->scales) +
         sums * (int64_t)sizeof(double);
}

static void take_outcome(karst_precond *p, const karst_cpr_outcome *outcome)
{
  p->reason = outcome->reason;
  p->block_row = outcome->block_row;
}

/* Lets the ranks that share the matrix agree. */
static karst_status agree(karst_precond *p, karst_status status)
{
  return karst_precond_halo(p) ? karst_precond_agree(p, status) : status;
}

/* The same, which makes numbers sums over these ranks. */
static karst_status add(const karst_precond *p, karst_status status, int count, double *numbers)
{
  return karst_precond_halo(p) ? karst_ranks_agree_and_add(p->context, status, count, numbers) : status;
}

/* The cells of all ranks. */
static double cells_of(const karst_precond *p)
{
  return (double)(karst_precond_halo(p) ? karst_matrix_all_block_rows(p->A) : p->A->block_rows);
}

/* Sends other ranks their parts of sums over columns, and receives the own ones. */
static karst_status exchange(karst_exchange *exchange, const double *sums)
{
  karst_exchange_begin(exchange, sums);
  return karst_exchange_end(exchange);
}

/* ---- the pressure unknown ---- */

/* The sum over the rank's cells of the couplings in both directions of unknown number i, with quasi-IMPES weights. */
static karst_status couple(karst_precond *p, karst_cpr_pressure *pressure, int i, double *coupling)
{
  const struct karst_cpr_kernels *kernels = kernels_of(p);
  const struct karst_backend *backend = p->context->backend;
  karst_cpr *cpr = &pressure->cpr;
  double *root = cpr->solution;
  karst_cpr_outcome outcome = {.reason = KARST_SOUND, .block_row = -1};
  double own, *sum = backend->scalar(p->context, &own);
  cpr->pressure = i;
  karst_status status = kernels->weigh(p->context, p->A, KARST_CPR_QUASI_IMPES, NULL, NULL, cpr, &outcome);
  if (!status && outcome.reason == KARST_SOUND)
    status = kernels->pressure(p->context, p->A, cpr, pressure->matrix, &outcome);
  take_outcome(p, &outcome);
  if (status || outcome.reason != KARST_SOUND) return status;
  kernels->couple(p->context, cpr, pressure->matrix, root);
  backend->dots(p->context, cpr->rows, 1, (const double *[]){root}, root, sum);
  return backend->download(p->context, coupling, sum, sizeof *coupling);
}

static void warn_of_pressure(const karst_precond *p, bool given, const karst_cpr_pressure *pressure)
{
  const int unknown = pressure->cpr.pressure;
  if (given && pressure->coupling < coupling_wrong * pressure->coupling_next)
    karst_notify(p->context, KARST_MESSAGE_WARNING,
                 "cpr-pressure %d is probably not the pressure: its couplings are %.2g a cell, and those of another "
                 "unknown %.2g, where an elliptic equation has about 1; a wrong one costs iterations",
                 unknown, pressure->coupling, pressure->coupling_next);
  else if (!given && pressure->coupling_next > coupling_wrong * pressure->coupling)
    karst_notify(p->context, KARST_MESSAGE_WARNING,
                 "cpr is not sure that unknown %d is the pressure: its couplings are %.2g a cell, and those of "
                 "another unknown %.2g; name the pressure with cpr-pressure",
                 unknown, pressure->coupling, pressure->coupling_next);
}

/* The unknown stays for later values: another pressure in the middle of a simulation would be a surprise. */
karst_status karst_cpr_pressure_choose(karst_precond *p, const karst_cpr_choices *choices, karst_cpr_pressure *pressure)
{
  const int unknowns = p->A->block_size < UNKNOWNS ? p->A->block_size : UNKNOWNS, given = choices->pressure - 1;
  const double cells = cells_of(p);
  double coupling[UNKNOWNS] = {0};
  karst_status status = KARST_SUCCESS;
  if (pressure->found) return status;
  for (int i = 0; i < unknowns && !status && p->reason == KARST_SOUND; i++)
    status = couple(p, pressure, i, &coupling[i]);
  status = agree(p, status);
  if (!status && p->reason == KARST_SOUND) status = add(p, status, UNKNOWNS, coupling);
  if (status || p->reason != KARST_SOUND) return status;
  int best = 0;
  for (int i = 0; i < unknowns; i++) coupling[i] /= cells > 0 ? cells : 1;
  for (int i = 1; i < unknowns; i++)
    if (coupling[i] > coupling[best]) best = i;
  const int unknown = choices->pressure == AUTO ? best : given;
  pressure->cpr.pressure = unknown;
  pressure->coupling = coupling[unknown];
  pressure->coupling_next = 0;
  for (int i = 0; i < unknowns; i++)
    if (i != unknown && coupling[i] > pressure->coupling_next) pressure->coupling_next = coupling[i];
  pressure->found = true;
  warn_of_pressure(p, choices->pressure != AUTO, pressure);
  return KARST_SUCCESS;
}

/* ---- the pressure matrix ---- */

static karst_status find_weighting(const karst_precond *p, const karst_cpr_choices *choices,
                                   karst_cpr_weighting *weighting)
{
  const double *storage = p->A->cells.storage, *given = p->A->cells.weights;
  *weighting = (karst_cpr_weighting){.sweeps = choices->balance};
  weighting->weights = choices->weights != AUTO ? (karst_cpr_weights)(choices->weights - 1)
                       : given                  ? KARST_CPR_GIVEN
                       : storage                ? KARST_CPR_TRUE_IMPES
                       : p->A->block_size == 1  ? KARST_CPR_ROW_SUM /* the only equation as it is */
                                                : KARST_CPR_COLUMN_SUM;
  if (weighting->weights == KARST_CPR_TRUE_IMPES) weighting->given = storage;
  if (weighting->weights == KARST_CPR_GIVEN) weighting->given = given;
  if (weighting->weights == KARST_CPR_TRUE_IMPES && !storage)
    return karst_fail(p->context, KARST_ERROR_ARGUMENT,
                      "cpr-weights true-impes needs the storage blocks of the cells: call karst_matrix_set_storage");
  if (weighting->weights == KARST_CPR_GIVEN && !given)
    return karst_fail(p->context, KARST_ERROR_ARGUMENT,
                      "cpr-weights given needs the weights of the cells: call karst_matrix_set_weights");
  return KARST_SUCCESS;
}

/* Refuses ranks that have other weights, for only some have got storage blocks or weights for their cells; their options
 * are the same. status: of what this rank has found. */
static karst_status compare_weights(const karst_precond *p, karst_status status, const karst_cpr_weighting *weighting)
{
  karst_context *context = p->context;
  const int own = (int)weighting->weights;
  int first, other;
  if (!karst_precond_halo(p)) return status;
  status = karst_ranks_agree_and_tell(context, status, &own, sizeof own);
  if (!status) memcpy(&first, context->ranks->words[0].sentence, sizeof first);
  for (int r = 1; r < karst_context_ranks(context) && !status; r++) {
    memcpy(&other, context->ranks->words[r].sentence, sizeof other);
    if (other != first)
      status = karst_fail(context, KARST_ERROR_ARGUMENT,
                          "cpr takes %s weights on rank %d and %s weights on rank 0: give storage blocks or weights to "
                          "the cells of all ranks or of none",
                          karst_cpr_weights_name(1 + (size_t)other), r, karst_cpr_weights_name(1 + (size_t)first));
  }
  return status;
}

/* Adds up what the ranks have found with their weights. A block that is not finite may be due to an entry of A on
 * another rank than where it was met, so all look for the first such entry. */
static karst_status join_outcomes(karst_precond *p, karst_status status, karst_cpr_outcome *outcome)
{
  double count[] = {(double)outcome->guarded, (double)outcome->singular, (double)outcome->suspect};
  karst_index row = -1;
  if (outcome->suspect > 0) {
    p->reason = KARST_SOUND;
    p->block_row = -1;
  }
  status = agree(p, status);
  if (!status && p->reason == KARST_SOUND) status = add(p, status, 3, count);
  if (status || p->reason != KARST_SOUND) return status;
  outcome->guarded = (int64_t)count[0];
  outcome->singular = (int64_t)count[1];
  if (count[2] == 0) return status;
  status = karst_ranks_agree(p->context, karst_matrix_find_not_finite(p->A, &row));
  if (status || row < 0) return status;
  p->reason = KARST_NOT_FINITE;
  p->block_row = row;
  p->agreed = true;
  return status;
}

static karst_status weigh(karst_precond *p, const karst_cpr_weighting *weighting, karst_cpr_pressure *pressure,
                          karst_cpr_outcome *outcome)
{
  const struct karst_cpr_kernels *kernels = kernels_of(p);
  const bool exchanges = pressure->columns && weighting->weights == KARST_CPR_COLUMN_SUM;
  karst_status status = KARST_SUCCESS;
  *outcome = (karst_cpr_outcome){.reason = KARST_SOUND, .block_row = -1};
  if (exchanges) {
    kernels->sum_ghosts(p->context, &pressure->cpr, pressure->sums);
    status = exchange(pressure->blocks, pressure->sums);
  }
  if (!status)
    status = kernels->weigh(p->context, p->A, weighting->weights, weighting->given,
                            exchanges ? pressure->blocks->incoming : NULL, &pressure->cpr, outcome);
  take_outcome(p, outcome);
  return pressure->columns ? join_outcomes(p, status, outcome) : status;
}

/* Balances the rows of A_p with its columns. A rank whose exchange fails goes on, since others wait for it. */
static karst_status balance(const karst_precond *p, int sweeps, karst_cpr_pressure *pressure)
{
  const struct karst_cpr_kernels *kernels = kernels_of(p);
  karst_cpr *cpr = &pressure->cpr;
  double *const scale[] = {cpr->solution, cpr->residual + cpr->rows}; /* before a sweep and after it */
  karst_status status = KARST_SUCCESS;
  p->context->backend->fill(p->context, cpr->rows, 1, scale[0]);
  for (int n = 0; n < sweeps; n++) {
    double *const before = scale[n % 2], *const after = scale[(n + 1) % 2];
    const double *parts = NULL;
    if (pressure->columns) {
      kernels->sum_scales(p->context, cpr, pressure->matrix, before, pressure->sums);
      const karst_status ended = exchange(pressure->scales, pressure->sums);
      if (!ended) parts = pressure->scales->incoming;
      if (!status) status = ended;
    }
    kernels->balance(p->context, cpr, pressure->matrix, parts, before, after);
  }
  kernels->scale(p->context, cpr, scale[sweeps % 2], pressure->matrix);
  return status;
}

/* Computes A_p with the weights. */
static karst_status fill(karst_precond *p, int sweeps, karst_cpr_pressure *pressure, karst_cpr_outcome *outcome)
{
  karst_status status = kernels_of(p)->pressure(p->context, p->A, &pressure->cpr, pressure->matrix, outcome);
  take_outcome(p, outcome);
  status = agree(p, status);
  if (status || p->reason != KARST_SOUND) return status;
  double empty = (double)outcome->empty;
  if (sweeps > 0) status = balance(p, sweeps, pressure);
  status = add(p, status, 1, &empty);
  outcome->empty = (int64_t)empty;
  return status;
}

/* auto takes quasi-IMPES weights, balanced, if column sums fail in many cells. */
karst_status karst_cpr_pressure_make(karst_precond *p, const karst_cpr_choices *choices, karst_cpr_pressure *pressure)
{
  karst_cpr_outcome outcome;
  karst_cpr_weighting weighting;
  karst_status status = find_weighting(p, choices, &weighting);
  status = compare_weights(p, status, &weighting);
  if (!status) status = weigh(p, &weighting, pressure, &outcome);
  if (status || p->reason != KARST_SOUND) return status;
  if (choices->weights == AUTO && (double)outcome.guarded > guarded_most * cells_of(p)) {
    const int sweeps = choices->balance > 0 ? choices->balance : BALANCE;
    weighting = (karst_cpr_weighting){KARST_CPR_QUASI_IMPES, NULL, sweeps};
    status = weigh(p, &weighting, pressure, &outcome);
  }
  if (!status && p->reason == KARST_SOUND) status = fill(p, weighting.sweeps, pressure, &outcome);
  if (status || p->reason != KARST_SOUND) return status;
  pressure->matrix->generation++;
  pressure->weighting = weighting;
  pressure->outcome = outcome;
  return KARST_SUCCESS;
}

karst_status karst_cpr_pressure_subtract(const karst_precond *p, const karst_cpr_pressure *pressure, const double *r,
                                         const double *z_p, double *s)
{
  const struct karst_cpr_kernels *kernels = kernels_of(p);
  const karst_halo *halo = pressure->matrix->halo;
  if (halo) karst_exchange_begin(halo->exchange, z_p);
  kernels->subtract(p->context, p->A, &pressure->cpr, r, z_p, s);
  if (!halo) return KARST_SUCCESS;
  const karst_status status = karst_exchange_end(halo->exchange);
  if (!status) kernels->subtract_ghosts(p->context, &pressure->cpr, halo->exchange->incoming, s);
  return karst_ranks_postpone(p->context, status, karst_matrix_rows(p->A), s);
}
