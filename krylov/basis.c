/* basis.c - see basis.h. */
#include "krylov/basis.h"

static const char *passes_name(size_t i)
{
  static const char *const names[] = {
      [KARST_PASSES_AUTO] = "auto", [KARST_PASSES_ONCE] = "once", [KARST_PASSES_TWICE] = "twice", NULL};
  return names[i];
}

const karst_option karst_basis_rows[] = {
    {"restart", KARST_OPTION_INTEGER, false, offsetof(karst_basis, restart), NULL, 1, "30",
     "basis vectors of gmres and fgmres, directions kept by orthomin",
     "N is at least 1. The memory for N vectors, for fgmres twice as many, is taken at set-up. With solver auto, gmres "
     "keeps 100 vectors unless the option is given."},
    {"orthogonalise", KARST_OPTION_NAME, false, offsetof(karst_basis, passes), passes_name, 0, "auto",
     "passes of Gram-Schmidt in gmres, fgmres and orthomin",
     "auto makes a second pass only if the first one has lost digits that matter, once never does, and twice always "
     "does."},
    {0},
};

void karst_basis_limit(const karst_krylov *k, karst_basis *basis)
{
  const int64_t useful = k->all < k->limits->max_iterations ? k->all : k->limits->max_iterations;
  if (basis->restart > useful) basis->restart = useful > 1 ? (int)useful : 1;
}
