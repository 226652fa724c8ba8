/* table.c - the CPU instance of the kernels of lines: its table, and the memory of a factorization. */
#include "cpu/lines/lines_cpu.h"

/* Enough lines side by side that neighbouring cells of a vector fill cache lines, and independent chains a core. */
static int width(int block_size)
{
  return block_size == 1 ? KARST_LINES_WIDEST : block_size <= 4 ? KARST_LINES_WIDEST / 2 : 2;
}

static karst_status plan(karst_context *context, karst_lines_factors *factors)
{
  static const char what[] = "the factors of lines";
  const karst_lines *lines = factors->lines;
  const int b = lines->block_size;
  const int64_t entries = karst_block_offset(b, lines->slots), space = 2 * ((int64_t)b * b + b);
  const int64_t chain = karst_lines_chain(lines);
  karst_lines_cpu *own;
  karst_status status = karst_allocate_zero(context, &own, 1, sizeof *own, what);
  if (status) return status;
  factors->plan = own;
  own->threads = karst_threads_worth(context, 3 * entries);
  status = karst_allocate(context, &own->space, own->threads * space, sizeof *own->space, what);
  if (!status) status = karst_allocate(context, &own->pivot, (int64_t)own->threads * b, sizeof *own->pivot, what);
  if (!status) status = karst_device_doubles(context, own->threads * chain, what, &own->y);
  if (!status) status = karst_device_doubles(context, entries, what, &factors->P);
  if (!status) status = karst_device_doubles(context, entries, what, &factors->Q);
  if (!status) status = karst_device_doubles(context, entries, what, &factors->W);
  factors->memory = (3 * entries + own->threads * (space + chain)) * (int64_t)sizeof(double);
  return status;
}

static void plan_destroy(karst_context *context, karst_lines_factors *factors)
{
  karst_lines_cpu *own = factors->plan;
  context->backend->release(context, factors->P);
  context->backend->release(context, factors->Q);
  context->backend->release(context, factors->W);
  if (!own) return;
  context->backend->release(context, own->y);
  karst_release(context, own->space);
  karst_release(context, own->pivot);
  karst_release(context, own);
}

const struct karst_lines_kernels karst_lines_kernels_cpu = {
    .width = width,
    .plan = plan,
    .plan_destroy = plan_destroy,
    .factor = karst_lines_factor_cpu,
    .solve = karst_lines_solve_cpu,
    .residual = karst_lines_residual_cpu,
};
