/* ordering.c - lists the orderings. */
#include "config.h"

#include "lib/method/ordering.h"
#include "symbolic/symbolic.h"

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

static const struct karst_ordering_ops colour = {
    .name = "colour",
    .help = "rows sorted by colours, which differ where fill may couple: few levels",
    .compute = karst_order_colour,
};

static const karst_option tile_rows[] = {{"tile-size", KARST_OPTION_INTEGER, false,
                                          offsetof(karst_ordering_settings, tile_size), NULL, 0, "0",
                                          "most block rows of a tile; 0: chosen by the device and the matrix"},
                                         {0}};

static const char *shape_name(size_t i)
{
  static const char *const names[] = {[KARST_TILES_AUTO] = "auto", [KARST_TILES_GROWN] = "grown", NULL};
  return names[i];
}

static const karst_option shape_rows[] = {
    {"tile-shape", KARST_OPTION_NAME, false, offsetof(karst_ordering_settings, tile_shape), shape_name, 0, "auto",
     "tiles: boxes where there is a grid; grown: along strong couplings also there"},
    {0}};

static const karst_option *const size_options[] = {tile_rows, NULL};
static const karst_option *const tile_options[] = {tile_rows, shape_rows, NULL};

static const struct karst_ordering_ops tiles = {
    .name = "tiles",
    .help = "tiles of rows sorted by colours, rows in order inside: few levels, hardly more iterations",
    .compute = karst_order_tiles,
    .options = tile_options,
};

static const struct karst_ordering_ops automatic = {
    .name = "auto",
    .help = "tiles where they are predicted to make triangular solves faster, as on a GPU; else natural",
    .options = size_options,
    .chooses = true,
};

const struct karst_ordering_ops *const karst_ordering_table[] = {&natural, &rcm,   &amd,       &metis,
                                                                 &colour,  &tiles, &automatic, NULL};
