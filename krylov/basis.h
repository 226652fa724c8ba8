/* basis.h - the options of methods that keep an orthogonal basis: gmres, fgmres and orthomin. */
#ifndef KARST_KRYLOV_BASIS_H
#define KARST_KRYLOV_BASIS_H

#include "lib/method/krylov.h"

/* The second pass of Gram-Schmidt. */
typedef enum karst_passes { KARST_PASSES_AUTO, KARST_PASSES_ONCE, KARST_PASSES_TWICE } karst_passes;

/* Begins the settings of each method that lists the rows. */
typedef struct karst_basis {
  int restart; /* vectors or directions kept */
  int passes;  /* a karst_passes */
} karst_basis;

extern const karst_option karst_basis_rows[];

static inline const karst_basis *karst_basis_of(const karst_krylov *k) { return k->settings; }

/* Reduces restart to what the system and the iteration limit can use. */
void karst_basis_limit(const karst_krylov *k, karst_basis *basis);

#endif
