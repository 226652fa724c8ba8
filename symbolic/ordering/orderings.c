/* orderings.c - lists the orderings. */
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
    .details =
        "METIS draws numbers from rand(), which has one state for the whole process. Karst seeds it for METIS and "
        "restores it afterwards, so that the order is the same in each run and the program's numbers are not "
        "disturbed, unless another thread calls rand(), random() or METIS at the same time. No signal handler is "
        "touched. METIS ends the process if malloc fails inside it. Karst checks beforehand that the memory is there, "
        "which does not help if the system promises more memory than it has or another thread allocates meanwhile.",
    .compute = karst_order_metis,
};

static const struct karst_ordering_ops colour = {
    .name = "colour",
    .help = "rows sorted by colours, which differ where fill may couple: few levels",
    .details = "Two rows have different colours if they are coupled or, for a preconditioner with the option level, "
               "may be coupled by its fill. It usually takes more iterations than natural order.",
    .compute = karst_order_colour,
};

static const karst_option tile_rows[] = {
    {"tile-size", KARST_OPTION_INTEGER, false, offsetof(karst_ordering_settings, tile_size), NULL, 0, "0",
     "most block rows of a tile; 0: chosen by the device and the matrix",
     "With 0 a tile has at most a 256th of the block rows on a CPU, but 128 to 1024. On a GPU it has at most 8 where "
     "rows have 16 entries or more on average; otherwise 32 for levels from 1 and block sizes from 4, 64 for block "
     "sizes 2 and 3, and for block size 1 a 128th of the rows, but 32 to 128."},
    {0}};

static const char *shape_name(size_t i)
{
  static const char *const names[] = {[KARST_TILES_AUTO] = "auto", [KARST_TILES_GROWN] = "grown", NULL};
  return names[i];
}

static const karst_option shape_rows[] = {
    {"tile-shape", KARST_OPTION_NAME, false, offsetof(karst_ordering_settings, tile_shape), shape_name, 0, "auto",
     "shape of the tiles of the ordering tiles",
     "auto takes boxes where the matrix has a grid or its pattern fits one, and elsewhere lets tiles grow along strong "
     "couplings. grown lets them grow everywhere."},
    {0}};

static const karst_option *const size_options[] = {tile_rows, NULL};
static const karst_option *const tile_options[] = {tile_rows, shape_rows, NULL};

static const struct karst_ordering_ops tiles = {
    .name = "tiles",
    .help = "tiles of rows sorted by colours, rows in order inside: few levels, hardly more iterations",
    .details = "Tiles are boxes of the matrix's grid, or of a grid that its pattern fits; otherwise they grow along "
               "couplings. Both follow the couplings that are strong by the values at set-up, and updates keep them. "
               "Rows keep their order inside a tile.",
    .compute = karst_order_tiles,
    .options = tile_options,
};

static const struct karst_ordering_ops automatic = {
    .name = "auto",
    .help = "tiles where they are predicted to make triangular solves faster, as on a GPU; else natural",
    .details = "Set-up may predict a gain for iluk, dilu, parilu and paric on a GPU, for matrices on a grid (given or "
               "found) with 1000 block rows or more. It also takes tiles where trisolve is tiles. With "
               "precond auto, that preconditioner chooses the ordering; an analysis that is given to set-up brings its "
               "own. ordering_used and ordering_reason in the report say what was chosen and why.",
    .options = size_options,
    .chooses = true,
};

const struct karst_ordering_ops *const karst_ordering_table[] = {&natural, &rcm,   &amd,       &metis,
                                                                 &colour,  &tiles, &automatic, NULL};
