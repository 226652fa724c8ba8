/* table.c - the table of the kernels of algebraic multigrid of the CPU. */
#include "cpu/amg/amg_cpu.h"

const struct karst_amg_kernels karst_amg_kernels_cpu = {
    .begin = karst_amg_begin_cpu,
    .destroy = karst_amg_destroy_cpu,
    .load = karst_amg_load_cpu,
    .square = karst_amg_square_cpu,
    .append = karst_amg_append_cpu,
    .split = karst_amg_split_cpu,
    .interpolate = karst_amg_interpolate_cpu,
    .match = karst_amg_match_cpu,
    .compose = karst_amg_compose_cpu,
    .aggregate = karst_amg_aggregate_cpu,
    .release_splitting = karst_amg_release_splitting_cpu,
    .transpose = karst_amg_transpose_cpu,
    .plan_product = karst_amg_plan_product_cpu,
    .multiply = karst_amg_multiply_cpu,
    .release_entries = karst_amg_release_entries_cpu,
    .release_matrix = karst_amg_release_matrix_cpu,
    .release_product = karst_amg_release_product_cpu,
    .finish = karst_amg_finish_cpu,
    .weigh = karst_amg_weigh_cpu,
    .apply = karst_amg_apply_cpu,
};
