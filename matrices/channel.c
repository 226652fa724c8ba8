/* channel.c - the flow field in a channel: a parabolic profile and a smooth perturbation in three dimensions.
 *
 * The channel has the height 1 along y, the length nx/ny along x and the width nz/ny along z. X, Y and Z go from 0 to 1
 * along them, B(t) = 4 t (1 - t), phi = 0.3 + 0.7 f for flow number f, and
 *   s(t) = sin(pi t + phi),   c(t) = cos(pi t + phi),   a = 0.07
 *   u = B(Y) (1 + a s(X) c(Z))          v = a B(Y) c(X) s(Z)          w = a B(Y) B(Z) s(X)
 *   p = 8 nu (1 - X) nx/ny + a (1 - X) c(Y) s(Z)
 *   k = (1 + 3 B(Y)) (1 + a s(X) s(Y) c(Z)) / 400                     epsilon = C^(3/4) k^(3/2) / l
 * with the mixing length l = (1 + 3 B(Y)) / 80, C = 0.09, the eddy viscosity C k^2 / epsilon, and the viscosity nu =
 * 1 / (Re (1 + f/8)). The field satisfies the boundary conditions of navier_stokes.c apart from those of k and epsilon
 * at the walls, so that its residual is smooth. */
#include "config.h"

#include "matrices/channel.h"

#include <math.h>

static const double pi = 3.141592653589793238;

karst_status karst_channel_create(karst_context *context, const karst_index size[3], double reynolds, uint64_t flow,
                                  bool turbulent, karst_channel *channel)
{
  double phase = 0.3 + 0.7 * (double)flow;
  karst_status status = KARST_SUCCESS;
  *channel = (karst_channel){.size = {size[0], size[1], size[2]},
                             .h = 1 / (double)size[1],
                             .viscosity = 1 / (reynolds * (1 + (double)flow / 8)),
                             .turbulent = turbulent};
  for (int axis = 0; axis < 3 && !status; axis++) {
    status = karst_allocate(context, &channel->point[axis], (int64_t)size[axis] + 1, sizeof *channel->point[axis],
                            "the coordinates of the channel");
    for (karst_index i = 0; i <= size[axis] && !status; i++) {
      double t = i > 0 ? ((double)i - 0.5) / (double)size[axis] : 0;
      channel->point[axis][i] = (karst_channel_point){t, sin(pi * t + phase), cos(pi * t + phase)};
    }
  }
  if (status) karst_channel_destroy(context, channel);
  return status;
}

void karst_channel_destroy(karst_context *context, karst_channel *channel)
{
  for (int axis = 0; axis < 3; axis++) {
    karst_release(context, channel->point[axis]);
    channel->point[axis] = NULL;
  }
}

static double parabola(double t) { return 4 * t * (1 - t); }

karst_channel_state karst_channel_evaluate(const karst_channel *channel, const karst_index position[3])
{
  const double a = 0.07;
  karst_channel_point x = channel->point[0][position[0] + 1];
  karst_channel_point y = channel->point[1][position[1] + 1];
  karst_channel_point z = channel->point[2][position[2] + 1];
  double profile = parabola(y.t), length = (double)channel->size[0] * channel->h;
  karst_channel_state state = {.eddy_viscosity = 0};
  state.q[KARST_NS_U] = profile * (1 + a * x.sine * z.cosine);
  state.q[KARST_NS_V] = a * profile * x.cosine * z.sine;
  state.q[KARST_NS_W] = a * profile * parabola(z.t) * x.sine;
  state.q[KARST_NS_P] = (1 - x.t) * (8 * channel->viscosity * length + a * y.cosine * z.sine);
  if (!channel->turbulent) return state;
  double thickness = 1 + 3 * profile;
  double k = thickness * (1 + a * x.sine * y.sine * z.cosine) / 400;
  double epsilon = sqrt(sqrt(0.09 * 0.09 * 0.09)) * k * sqrt(k) / (thickness / 80);
  state.q[KARST_NS_K] = k;
  state.q[KARST_NS_EPSILON] = epsilon;
  state.eddy_viscosity = 0.09 * k * k / epsilon;
  return state;
}
