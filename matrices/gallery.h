/* gallery.h - the tables of the model problems; gallery.c lists them. */
#ifndef KARST_MATRICES_GALLERY_H
#define KARST_MATRICES_GALLERY_H

#include "lib/method/generator.h"

extern const struct karst_generator karst_poisson2d;     /* diffusion.c */
extern const struct karst_generator karst_poisson3d;     /* diffusion.c */
extern const struct karst_generator karst_laplace27;     /* diffusion.c */
extern const struct karst_generator karst_anisotropic;   /* diffusion.c */
extern const struct karst_generator karst_discontinuous; /* diffusion.c */
extern const struct karst_generator karst_jump2d;        /* jump.c */
extern const struct karst_generator karst_bilinear2d;    /* jump.c */
extern const struct karst_generator karst_convdiff;      /* convection.c */
extern const struct karst_generator karst_blackoil;      /* reservoir.c */
extern const struct karst_generator karst_deadoil;       /* reservoir.c */
extern const struct karst_generator karst_ns3d;          /* navier_stokes.c */
extern const struct karst_generator karst_unitsquare;    /* unit_square.c */

#endif
