/* backend_cpu.c - the CPU backend: its memory and its table. Device memory is host memory. */
#include "lib/backend/backend.h"

#include "cpu/amg/amg_cpu.h"
#include "cpu/cpu.h"
#include "cpu/cpr/cpr_cpu.h"
#include "cpu/dilu/dilu_cpu.h"
#include "cpu/fgbilu/fgbilu_cpu.h"
#include "cpu/ilu/ilu_cpu.h"
#include "cpu/lines/lines_cpu.h"
#include "cpu/rrb/rrb_cpu.h"
#include "cpu/sweeps/sweeps_cpu.h"
#include "cpu/tridiagonal/tridiagonal_cpu.h"
#include "cpu/wells/wells_cpu.h"

#include <stdio.h>
#include <string.h>

/* Arrays begin on a cache line. The allocator's address is stored just before the array. */
enum { ALIGNMENT = 64 };

static karst_status allocate(karst_context *context, size_t bytes, const char *what, void **memory)
{
  char *base;
  *memory = NULL;
  if (bytes > PTRDIFF_MAX - 2 * ALIGNMENT) return karst_short_of_memory(context, SIZE_MAX, what);
  karst_status status = karst_allocate(context, &base, (int64_t)bytes + 2 * ALIGNMENT, 1, what);
  if (status) return status;
  char *aligned = base + 2 * ALIGNMENT - (uintptr_t)base % ALIGNMENT;
  memcpy(aligned - sizeof base, &base, sizeof base);
  *memory = aligned;
  return KARST_SUCCESS;
}

static void release(karst_context *context, void *memory)
{
  char *base;
  if (!memory) return;
  memcpy(&base, (char *)memory - sizeof base, sizeof base);
  karst_release(context, base);
}

static karst_status transfer(karst_context *context, void *to, const void *from, size_t bytes)
{
  (void)context;
  if (to != from && bytes > 0) memcpy(to, from, bytes);
  return KARST_SUCCESS;
}

/* The device and the host use the same arrays. */
static karst_status share(karst_context *context, const void *from, size_t bytes, const char *what, void **shared)
{
  (void)context, (void)bytes, (void)what;
  *shared = (void *)from;
  return KARST_SUCCESS;
}

static double *scalar(karst_context *context, double *own)
{
  (void)context;
  return own;
}

static void describe(karst_context *context)
{
  snprintf(context->device_text, sizeof context->device_text, "cpu, %d thread%s", context->threads,
           context->threads == 1 ? "" : "s");
}

/* A core of a server. Threads do not wait for single rows there, so that the steps are 0. */
static const karst_machine machine = {
    .host = true,
    .copy_bandwidth = 1e10,
    .small_sweep_bandwidth = 1e10,
    .sweep_bandwidth = 1e10,
    .tile_bandwidth = 1e10,
};

extern const struct karst_backend karst_backend_cpu;

const struct karst_backend karst_backend_cpu = {
    .name = "cpu",
    .host_memory = true,
    .machine = &machine,
    .ilu = &karst_ilu_kernels_cpu,
    .parilu = &karst_parilu_kernels_cpu,
    .dilu = &karst_dilu_kernels_cpu,
    .fgbilu = &karst_fgbilu_kernels_cpu,
    .rrb = &karst_rrb_kernels_cpu,
    .amg = &karst_amg_kernels_cpu,
    .cpr = &karst_cpr_kernels_cpu,
    .wells = &karst_wells_kernels_cpu,
    .lines = &karst_lines_kernels_cpu,
    .halo = &karst_halo_kernels_cpu,
    .tridiagonal = &karst_tridiagonal_kernels_cpu,
    .ilu_residual = &karst_ilu_residual_kernels_cpu,
    .describe = describe,
    .allocate = allocate,
    .release = release,
    .upload = transfer,
    .download = transfer,
    .place = share,
    .view = share,
    .copy = karst_copy_cpu,
    .scalar = scalar,
    .fill = karst_fill_cpu,
    .dots = karst_dots_cpu,
    .combine = karst_combine_cpu,
    .normalise = karst_normalise_cpu,
    .quotient = karst_quotient_cpu,
    .gather = karst_gather_cpu,
    .scatter = karst_scatter_cpu,
    .permute = karst_permute_cpu,
    .multiply = karst_multiply_cpu,
    .residual = karst_residual_cpu,
    .residual_bounded = karst_residual_bounded_cpu,
    .residual_precise = karst_residual_precise_cpu,
    .invert_diagonal = karst_invert_diagonal_cpu,
    .couple = karst_couple_cpu,
    .multiply_diagonal = karst_multiply_diagonal_cpu,
    .scale_rows = karst_scale_rows_cpu,
    .diagonal_scale = karst_diagonal_scale_cpu,
    .scale_symmetric = karst_scale_symmetric_cpu,
    .multiply_elements = karst_multiply_elements_cpu,
    .divide_elements = karst_divide_elements_cpu,
};
