/* ordering.c - lists the orderings. */
#include "config.h"

#include "ordering.h"
#include "symbolic.h"

static const struct karst_ordering_ops natural = {
    .name = "natural",
    .help = "the rows as they come",
};

static const struct karst_ordering_ops rcm = {
    .name = "rcm",
    .help = "reverse Cuthill-McKee: small bandwidth",
    .compute = karst_order_rcm,
};

static const struct karst_ordering_ops amd = {
    .name = "amd",
    .help = "approximate minimum degree, by SuiteSparse: little fill",
    .compute = karst_order_amd,
};

static const struct karst_ordering_ops metis = {
    .name = "metis",
    .help = "nested dissection, by METIS: little fill and few levels",
    .compute = karst_order_metis,
};

const struct karst_ordering_ops *const karst_ordering_table[] = {&natural, &rcm, &amd, &metis, NULL};
