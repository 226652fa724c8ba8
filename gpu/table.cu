/* table.cu - the table of the CUDA backend. Operations that reach the device go through karst_cuda_entry, all but open,
 * which guards itself. */
#include "gpu/cuda.h"

#define GUARDED(operation) karst_cuda_entry<karst_##operation##_cuda>::call

extern "C" {
extern const karst_machine karst_machine_cuda;                                /* machine_cuda.c */
extern const struct karst_cpr_kernels karst_cpr_kernels_cuda;                 /* cpr/plan.cu */
extern const struct karst_fgbilu_kernels karst_fgbilu_kernels_cuda;           /* fgbilu/table.cu */
extern const struct karst_halo_kernels karst_halo_kernels_cuda;               /* halo.cu */
extern const struct karst_ilu_kernels karst_ilu_kernels_cuda;                 /* ilu/table.cu */
extern const struct karst_dilu_kernels karst_dilu_kernels_cuda;               /* dilu/table.cu */
extern const struct karst_parilu_kernels karst_parilu_kernels_cuda;           /* sweeps/passes.cu */
extern const struct karst_rrb_kernels karst_rrb_kernels_cuda;                 /* rrb/table.cu */
extern const struct karst_amg_kernels karst_amg_kernels_cuda;                 /* amg/table.cu */
extern const struct karst_wells_kernels karst_wells_kernels_cuda;             /* wells/factor.cu */
extern const struct karst_tridiagonal_kernels karst_tridiagonal_kernels_cuda; /* tridiagonal/plan.cu */
extern const struct karst_lines_kernels karst_lines_kernels_cuda;             /* lines/table.cu */

extern const struct karst_backend karst_backend_cuda;
const struct karst_backend karst_backend_cuda = {
    .name = "cuda",
    .host_memory = false,
    .machine = &karst_machine_cuda,
    .ilu = &karst_ilu_kernels_cuda,
    .parilu = &karst_parilu_kernels_cuda,
    .fgbilu = &karst_fgbilu_kernels_cuda,
    .dilu = &karst_dilu_kernels_cuda,
    .rrb = &karst_rrb_kernels_cuda,
    .amg = &karst_amg_kernels_cuda,
    .cpr = &karst_cpr_kernels_cuda,
    .wells = &karst_wells_kernels_cuda,
    .tridiagonal = &karst_tridiagonal_kernels_cuda,
    .lines = &karst_lines_kernels_cuda,
    .halo = &karst_halo_kernels_cuda,
    .open = karst_open_cuda,
    .count = karst_count_cuda,
    .close = GUARDED(close),
    .describe = karst_describe_cuda,
    .stream = karst_stream_cuda,
    .set_stream = GUARDED(set_stream),
    .synchronize = GUARDED(synchronize),
    .mark_create = GUARDED(mark_create),
    .mark_destroy = GUARDED(mark_destroy),
    .mark_set = GUARDED(mark_set),
    .mark_seconds = GUARDED(mark_seconds),
    .allocate = GUARDED(allocate),
    .release = GUARDED(release),
    .upload = GUARDED(upload),
    .download = GUARDED(download),
    .download_begin = GUARDED(download_begin),
    .download_end = GUARDED(download_end),
    .owns = GUARDED(owns),
    .place = GUARDED(place),
    .view = GUARDED(view),
    .copy = GUARDED(copy),
    .scalar = GUARDED(scalar),
    .fill = GUARDED(fill),
    .dots = GUARDED(dots),
    .combine = GUARDED(combine),
    .grid_reach = GUARDED(grid_reach),
    .missing_diagonal = GUARDED(missing_diagonal),
    .normalise = GUARDED(normalise),
    .quotient = GUARDED(quotient),
    .step = GUARDED(step),
    .turn = GUARDED(turn),
    .turn_stabilised = GUARDED(turn_stabilised),
    .gather = GUARDED(gather),
    .scatter = GUARDED(scatter),
    .permute = GUARDED(permute),
    .multiply = GUARDED(multiply),
    .multiply_dots = GUARDED(multiply_dots),
    .residual = GUARDED(residual),
    .residual_bounded = GUARDED(residual_bounded),
    .residual_precise = GUARDED(residual_precise),
    .invert_diagonal = GUARDED(invert_diagonal),
    .couple = GUARDED(couple),
    .multiply_diagonal = GUARDED(multiply_diagonal),
    .scale_rows = GUARDED(scale_rows),
    .diagonal_scale = GUARDED(diagonal_scale),
    .scale_symmetric = GUARDED(scale_symmetric),
    .multiply_elements = GUARDED(multiply_elements),
    .divide_elements = GUARDED(divide_elements),
};
}
