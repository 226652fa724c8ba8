/* gallery.h - the tables of the model problems; gallery.c lists them. */
#ifndef KARST_MATRICES_GALLERY_H
#define KARST_MATRICES_GALLERY_H

#include "lib/method/generator.h"

/* diffusion.c */
extern const struct karst_generator karst_poisson2d, karst_poisson3d, karst_laplace27, karst_anisotropic,
    karst_discontinuous;
extern const struct karst_generator karst_jump2d, karst_bilinear2d; /* jump.c */
extern const struct karst_generator karst_convdiff;                 /* convection.c */
extern const struct karst_generator karst_blackoil, karst_deadoil;  /* reservoir.c */
extern const struct karst_generator karst_ns3d;                     /* navier_stokes.c */
extern const struct karst_generator karst_unitsquare;               /* unit_square.c */

#endif
