/* extend.c - the next level of a hierarchy over ranks; see amg_ranks.h.
 *
 * The interpolation of a rank's own rows may use coarse rows among its ghosts, so the product R (A P) has parts on
 * several ranks. With the own columns first in every matrix,
 *
 *     A P          needs the rows of P for the ghosts: they come from their ranks, once
 *     R (A P)      rows of ghosts are this rank's part of other ranks' rows (part); they go there, and this rank gets X
 *     S [A P; X]   sums the own rows: S is the own rows of R, with ones in the columns of X
 *
 * Ghosts of the next level are found on the way: coarse rows among the ghosts, columns of the rows of P of ghosts, and
 * columns of X. Their list ascends, so columns that are already numbered keep their order when it grows. */
#include "precond/amg/amg_ranks.h"

static const char *const what = "the rows that ranks of a multigrid level share";

struct extension {
  karst_amg_spread *spread;
  karst_context *context;
  const struct karst_amg_kernels *kernels;
  int l;
  karst_amg_level *level;
  karst_amg_part *next;   /* the part of level l + 1 */
  karst_amg_range own;    /* of level l + 1 */
  karst_amg_matrix ghost; /* rows of P for the ghosts, on the host */
  karst_amg_matrix part;  /* rows of R A P for coarse ghosts, on the host: for others; */
  karst_amg_matrix X;     /* and those of others for this rank, of which each is a part of */
  karst_route route;      /*   the own row route.send[k] */
};

/* The first rows of a matrix, without memory of its own. */
static karst_amg_matrix first_rows(const karst_amg_matrix *matrix, karst_index rows, int64_t entries)
{
  karst_amg_matrix first = *matrix;
  first.rows = rows;
  first.entries = entries;
  first.borrows = true;
  return first;
}

/* The rows of R behind the own ones, for the ghosts of the next level. */
static karst_amg_matrix ghost_rows(karst_amg_range own, const karst_amg_matrix *R)
{
  karst_amg_matrix rows = *R;
  rows.rows = R->rows - (own.end - own.begin);
  rows.row_start = R->row_start + (own.end - own.begin);
  rows.borrows = true;
  return rows;
}

/* Renumbers columns after the list of ghosts has grown. */
static karst_status renumber(const struct extension *e, karst_index before, const karst_index *place,
                             karst_amg_matrix *matrix)
{
  const karst_index own = e->own.end - e->own.begin;
  matrix->columns = own + e->next->ghosts;
  return before == 0 ? KARST_SUCCESS : e->kernels->renumber(e->context, own, before, place, matrix);
}

/* Replaces a matrix by one with more rows below. */
static karst_status append(const struct extension *e, const karst_amg_matrix *below, karst_amg_matrix *matrix)
{
  karst_amg_matrix all = {0};
  const karst_status status =
      e->kernels->stack(e->context, e->spread->amg, matrix, below, e->own.end - e->own.begin + e->next->ghosts, &all);
  e->kernels->release_matrix(e->context, status ? &all : matrix);
  if (!status) *matrix = all;
  return status;
}

/* Gives P the rows of the ghosts of level l. */
static karst_status extend_interpolation(struct extension *e, karst_status status)
{
  const karst_amg_part *part = &e->spread->part[e->l];
  const karst_lists lists = karst_amg_lists_of(&part->route);
  const karst_index before = e->next->ghosts;
  karst_amg_matrix sent = {0};
  karst_index *place = NULL;
  if (!status)
    status = e->kernels->fetch(e->context, e->spread->amg, &e->level->P, part->route.send_start[part->route.neighbours],
                               part->route.send, &sent);
  if (!status) karst_amg_globalise(e->own, e->next->ghost, &sent);
  status = karst_amg_exchange_rows(e->context, status, &lists, &sent, &e->ghost);
  if (!status) status = karst_amg_add_ghosts(e->context, e->own, &e->ghost, e->next, &place);
  if (!status) status = renumber(e, before, place, &e->level->P);
  if (!status) status = karst_amg_localise(e->context, e->own, e->next, -1, &e->ghost);
  if (!status) status = append(e, &e->ghost, &e->level->P);
  karst_amg_rows_release(e->context, &sent);
  karst_release(e->context, place);
  return status;
}

/* Plans and computes A P, and finds the pattern of this rank's part of the rows of ghosts. */
static karst_status multiply_part(struct extension *e, int64_t entries)
{
  const karst_amg *amg = e->spread->amg;
  const karst_amg_matrix P = first_rows(&e->level->P, e->level->A.rows, entries);
  karst_amg_matrix R = {0};
  karst_amg_product part = {0};
  karst_status status = e->kernels->plan_product(e->context, amg, &e->level->A, &e->level->P, &e->level->AP);
  if (!status) e->kernels->multiply(e->context, amg, &e->level->A, &e->level->P, &e->level->AP);
  if (!status) status = e->kernels->transpose(e->context, amg, &P, &R);
  if (!status) {
    const karst_amg_matrix ghosts = ghost_rows(e->own, &R);
    status = e->kernels->plan_product(e->context, amg, &ghosts, &e->level->AP.C, &part);
  }
  if (!status) status = karst_amg_fetch_first(e->context, amg, &part.C, e->next->ghosts, &e->part);
  if (!status) karst_amg_globalise(e->own, e->next->ghost, &e->part);
  e->kernels->release_product(e->context, &part);
  e->kernels->release_matrix(e->context, &R);
  return status;
}

/* Sends the parts to their ranks, and appends those of others to A P. Instead of values, X has the number of each entry as
 * it was received, for its columns are sorted. */
static karst_status exchange_parts(struct extension *e, karst_status status)
{
  const karst_index before = e->next->ghosts;
  karst_index *place = NULL;
  status = karst_ranks_agree(e->context, status);
  if (!status) status = karst_route_find(e->context, e->next->first, e->next->ghosts, e->next->ghost, &e->route);
  if (status) return status;
  const karst_lists back = {e->route.neighbours, e->route.rank, 1, e->route.receive_start, e->route.send_start};
  status = karst_amg_exchange_rows(e->context, status, &back, &e->part, &e->X);
  for (int64_t k = 0; k < e->X.entries && !status; k++) ((double *)e->X.value)[k] = (double)k;
  if (!status) status = karst_amg_add_ghosts(e->context, e->own, &e->X, e->next, &place);
  if (!status) status = renumber(e, before, place, &e->level->P);
  if (!status) status = renumber(e, before, place, &e->level->AP.C);
  if (!status) status = karst_amg_localise(e->context, e->own, e->next, -1, &e->X);
  e->next->appended = e->level->AP.C.entries;
  if (!status) status = append(e, &e->X, &e->level->AP.C);
  karst_release(e->context, place);
  return status;
}

/* A row with a 1 for each row of X, in the column of the own row that it is a part of. */
static karst_status make_ones(const struct extension *e, karst_amg_matrix *ones)
{
  const karst_index rows = e->X.rows;
  double *value = NULL;
  *ones = (karst_amg_matrix){.rows = rows, .entries = rows, .longest = 1};
  karst_status status = karst_allocate(e->context, &ones->row_start, (int64_t)rows + 1, sizeof(karst_index), what);
  if (!status) status = karst_allocate(e->context, &ones->column, rows, sizeof(karst_index), what);
  if (!status) status = karst_allocate(e->context, &value, rows, sizeof *value, what);
  ones->value = value;
  for (karst_index k = 0; k <= rows && !status; k++) ones->row_start[k] = k;
  for (karst_index k = 0; k < rows && !status; k++) {
    ones->column[k] = e->route.send[k];
    value[k] = 1;
  }
  return status;
}

/* Makes R and S. */
static karst_status make_restrictions(const struct extension *e, int64_t entries)
{
  const karst_amg *amg = e->spread->amg;
  const karst_index own = e->own.end - e->own.begin;
  const karst_amg_matrix P = first_rows(&e->level->P, e->level->A.rows, entries);
  karst_amg_matrix ones, all = {0};
  karst_amg_matrix *S = &e->level->S;
  karst_index end = 0;
  karst_status status = e->kernels->transpose(e->context, amg, &P, &e->level->R);
  const karst_status made = make_ones(e, &ones);
  if (!status) status = made;
  if (!status) status = e->kernels->stack(e->context, amg, &P, &ones, P.columns, &all);
  if (!status) status = e->kernels->transpose(e->context, amg, &all, S);
  if (!status) status = e->context->backend->download(e->context, &end, S->row_start + own, sizeof end);
  S->rows = own; /* the others are those of ghosts */
  S->entries = end;
  e->kernels->release_matrix(e->context, &all);
  karst_amg_rows_release(e->context, &ones);
  return status;
}

/* Lists where the entries behind A P are among those received. */
static karst_status place_entries(const struct extension *e)
{
  const double *number = e->X.value;
  const karst_index entries = (karst_index)e->X.entries;
  karst_index *order;
  karst_status status = karst_allocate(e->context, &order, entries, sizeof *order, what);
  for (karst_index k = 0; k < entries && !status; k++) order[k] = (karst_index)number[k];
  if (!status) status = karst_device_indices(e->context, entries, order, what, &e->next->order);
  if (!status) status = karst_device_doubles(e->context, entries, what, &e->next->ordered);
  karst_release(e->context, order);
  return status;
}

/* Prepares to send the values of the parts. */
static karst_status make_value_exchange(const struct extension *e)
{
  karst_amg_part *next = e->next;
  const int neighbours = e->route.neighbours;
  karst_index *send_start = NULL, *receive_start = NULL, *send = NULL;
  karst_status status = karst_allocate(e->context, &send_start, (int64_t)neighbours + 1, sizeof *send_start, what);
  if (!status) status = karst_allocate(e->context, &receive_start, (int64_t)neighbours + 1, sizeof *send_start, what);
  if (!status) status = karst_allocate(e->context, &send, e->part.entries, sizeof *send, what);
  for (int n = 0; n <= neighbours && !status; n++) {
    send_start[n] = e->part.row_start[e->route.receive_start[n]];
    receive_start[n] = e->X.row_start[e->route.send_start[n]];
  }
  for (karst_index k = 0; k < e->part.entries && !status; k++) send[k] = k;
  const karst_route route = {neighbours, e->route.rank, send_start, send, receive_start};
  if (!status) status = karst_exchange_create(e->context, &route, 1, &next->values);
  if (!status) status = karst_device_doubles(e->context, e->part.entries, what, &next->widened);
  if (!status) status = place_entries(e);
  karst_release(e->context, send_start);
  karst_release(e->context, receive_start);
  karst_release(e->context, send);
  return status;
}

/* Plans and computes the next level. */
static karst_status multiply_all(const struct extension *e, int64_t entries)
{
  karst_amg_level *level = e->level;
  const karst_amg *amg = e->spread->amg;
  karst_status status = make_restrictions(e, entries);
  if (!status) {
    const karst_amg_matrix ghosts = ghost_rows(e->own, &level->R);
    status = e->kernels->plan_product(e->context, amg, &ghosts, &level->AP.C, &level->part);
  }
  if (!status) status = make_value_exchange(e);
  status = karst_ranks_agree(e->context, status);
  if (!status) status = karst_ranks_agree(e->context, karst_amg_spread_multiply(e->spread, e->l));
  if (!status) status = e->kernels->plan_product(e->context, amg, &level->S, &level->AP.C, &level->RAP);
  if (!status) e->kernels->multiply(e->context, amg, &level->S, &level->AP.C, &level->RAP);
  if (!status) e->kernels->release_entries(e->context, &level->AP.C);
  return status;
}

karst_status karst_amg_spread_multiply(karst_amg_spread *spread, int l)
{
  karst_context *context = spread->p->context;
  const struct karst_amg_kernels *kernels = context->backend->amg;
  const karst_amg *amg = spread->amg;
  karst_amg_level *level = &spread->amg->level[l];
  const karst_amg_part *next = &spread->part[l + 1];
  const karst_amg_matrix ghosts = ghost_rows(karst_amg_range_of(spread, l + 1), &level->R);
  kernels->multiply(context, amg, &ghosts, &level->AP.C, &level->part);
  kernels->widen(context, amg, next->values->sent, level->part.C.value, next->widened);
  karst_exchange_begin(next->values, next->widened);
  const karst_status status = karst_exchange_end(next->values);
  if (status) return status;
  context->backend->gather(context, next->values->received, 1, next->order, next->values->incoming, next->ordered);
  kernels->narrow(context, amg, next->values->received, next->ordered,
                  (char *)level->AP.C.value + next->appended * (int64_t)karst_amg_scalar(amg));
  return KARST_SUCCESS;
}

/* Makes the exchanges of the next level's ghosts. */
static karst_status connect(const struct extension *e, karst_status status)
{
  karst_amg_part *next = e->next;
  status = karst_ranks_agree(e->context, status);
  if (!status) status = karst_route_find(e->context, next->first, next->ghosts, next->ghost, &next->route);
  if (status) return status;
  status = karst_exchange_create(e->context, &next->route, 1, &next->exchange);
  if (!status) status = karst_exchange_reverse(next->exchange, 1, &next->back);
  return karst_ranks_agree(e->context, status);
}

karst_status karst_amg_spread_add_level(karst_amg_spread *spread, int l)
{
  karst_context *context = spread->p->context;
  karst_amg_level *level = &spread->amg->level[l];
  struct extension e = {.spread = spread,
                        .context = context,
                        .kernels = context->backend->amg,
                        .l = l,
                        .level = level,
                        .next = &spread->part[l + 1],
                        .own = karst_amg_range_of(spread, l + 1)};
  const int64_t entries = level->P.entries;
  karst_status status = extend_interpolation(&e, KARST_SUCCESS);
  if (!status) status = multiply_part(&e, entries);
  status = exchange_parts(&e, status);
  status = karst_ranks_agree(context, status);
  if (!status) status = multiply_all(&e, entries);
  status = connect(&e, status);
  karst_route_release(context, &e.route);
  karst_amg_rows_release(context, &e.ghost);
  karst_amg_rows_release(context, &e.part);
  karst_amg_rows_release(context, &e.X);
  if (status) return status;
  level[1].A = level->RAP.C;
  level[1].A.borrows = true;
  spread->amg->levels++;
  return KARST_SUCCESS;
}
