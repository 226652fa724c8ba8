/* channel.h - the flow field in a channel at which ns3d is linearized; channel.c states it. */
#ifndef KARST_MATRICES_CHANNEL_H
#define KARST_MATRICES_CHANNEL_H

#include "lib/grid/grid.h"

/* The unknowns of a cell. A laminar flow has the first four. */
enum { KARST_NS_U, KARST_NS_V, KARST_NS_W, KARST_NS_P, KARST_NS_K, KARST_NS_EPSILON, KARST_NS_UNKNOWNS };

/* A coordinate from 0 to 1 across the channel, with the waves of the perturbation. */
typedef struct karst_channel_point {
  double t, sine, cosine;
} karst_channel_point;

typedef struct karst_channel {
  karst_index size[3];
  double h;         /* width of the cells, which are cubes; the channel's height is 1 */
  double viscosity; /* 1 / Reynolds number */
  bool turbulent;
  karst_channel_point *point[3]; /* [size + 1] along each axis: the face of the inlet, then the centres of the cells */
} karst_channel;

/* The state of a cell, and what the linearization keeps constant. */
typedef struct karst_channel_state {
  double q[KARST_NS_UNKNOWNS];
  double eddy_viscosity; /* 0 in a laminar flow */
} karst_channel_state;

/* Makes flow number `flow` of a family of flows, which differ a little in phase and Reynolds number. On failure nothing
 * stays allocated. */
karst_status karst_channel_create(karst_context *context, const karst_index size[3], double reynolds, uint64_t flow,
                                  bool turbulent, karst_channel *channel);
void karst_channel_destroy(karst_context *context, karst_channel *channel);

/* Computes the state at a position; x = -1 is the inlet's face. */
karst_channel_state karst_channel_evaluate(const karst_channel *channel, const karst_index position[3]);

#endif
