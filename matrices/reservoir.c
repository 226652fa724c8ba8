/* reservoir.c - generates blackoil and deadoil: the linear system of the first Newton step of an implicit time step of
 * a reservoir model. The matrix is the Jacobian of the equations in oil.c, and the right-hand side is minus their
 * residual, both in the initial state of the time step. b = 3 with gas, 2 without. */
#include "config.h"

#include "matrices/gallery.h"
#include "matrices/oil.h"
#include "matrices/parameters.h"
#include "matrices/permeability.h"

struct settings {
  uint64_t seed;
  double time_step;
  double ratio; /* kz / kx if no file has kz; negative: 0.1, or that of the generated field */
  char kx_file[KARST_PARAMETER_PATH_SIZE];
  char kz_file[KARST_PARAMETER_PATH_SIZE];
};

#define KEYS                                                                                                           \
  "seed=1, dt=0.01 (days), perm=FILE (mD, plain or Eclipse PERMX and PERMZ), permz=FILE, kvkh=R (kz / kx "             \
  "without PERMZ; 0.1 with perm)"

static karst_status read_settings(karst_context *context, const karst_gallery_spec *spec, struct settings *settings)
{
  const karst_parameter parameter[] = {
      {"seed", KARST_PARAMETER_COUNT, &settings->seed, 0, 1e15},
      {"dt", KARST_PARAMETER_NUMBER, &settings->time_step, 1e-6, 1e6},
      {"kvkh", KARST_PARAMETER_NUMBER, &settings->ratio, 0, 1e6},
      {"perm", KARST_PARAMETER_PATH, settings->kx_file, 0, 0},
      {"permz", KARST_PARAMETER_PATH, settings->kz_file, 0, 0},
  };
  *settings = (struct settings){.seed = 1, .time_step = 0.01, .ratio = -1};
  karst_status status = karst_parameters_read(context, spec, 5, parameter);
  if (!status && settings->kz_file[0] && !settings->kx_file[0])
    status = karst_fail(context, KARST_ERROR_OPTION, "%s: permz is given without perm", spec->generator->name);
  return status;
}

/* Reads kx from the first file. kz comes from the second file, else from the first, else as a ratio to kx. */
static karst_status read_permeability(karst_context *context, const struct settings *settings, karst_oil_model *model)
{
  karst_index cells = karst_grid_cells(model->size);
  bool found, own_file = settings->kz_file[0] != '\0';
  const char *kx_file = settings->kx_file, *kz_file = own_file ? settings->kz_file : kx_file;
  karst_status status = karst_permeability_read(context, kx_file, "PERMX", true, cells, model->kx, &found);
  if (!status && !found)
    status = karst_fail(context, KARST_ERROR_FORMAT, "%.256s: no keyword PERMX with values", kx_file);
  if (!status) status = karst_permeability_read(context, kz_file, "PERMZ", own_file, cells, model->kz, &found);
  if (!status && !found && own_file)
    status = karst_fail(context, KARST_ERROR_FORMAT, "%.256s: no keyword PERMZ with values", kz_file);
  if (status) return status;
  bool permeable = false;
  for (karst_index i = 0; i < cells; i++) {
    permeable = permeable || model->kx[i] > 0;
    if (!found) model->kz[i] = (settings->ratio < 0 ? 0.1 : settings->ratio) * model->kx[i];
  }
  return permeable ? KARST_SUCCESS
                   : karst_fail(context, KARST_ERROR_FORMAT, "%.256s: every permeability is 0", kx_file);
}

/* A ratio that is given replaces that of the generated field. */
static void generate_permeability(const struct settings *settings, karst_oil_model *model)
{
  const karst_index cells = karst_grid_cells(model->size);
  karst_permeability_generate(model->size, settings->seed, model->kx, model->kz);
  for (karst_index i = 0; i < cells && settings->ratio >= 0; i++) model->kz[i] = settings->ratio * model->kx[i];
}

static karst_status make_model(karst_context *context, const struct settings *settings, karst_oil_model *model)
{
  karst_index cells = karst_grid_cells(model->size);
  karst_status status = karst_allocate(context, &model->kx, cells, sizeof *model->kx, "the permeability");
  if (!status) status = karst_allocate(context, &model->kz, cells, sizeof *model->kz, "the permeability");
  if (!status && settings->kx_file[0])
    status = read_permeability(context, settings, model);
  else if (!status)
    generate_permeability(settings, model);
  if (!status) karst_oil_place_wells(model);
  return status;
}

/* Makes the right-hand side from the residual. */
static karst_status make_rhs(karst_context *context, int64_t rows, double *residual, karst_vector **rhs)
{
  karst_status status = karst_vector_create(context, rows, rhs);
  if (status) return status;
  for (int64_t i = 0; i < rows; i++) residual[i] = -residual[i];
  return karst_vector_set(*rhs, rows, residual);
}

/* The state of all cells decides which is upwind of which, also for the rows of a part. */
static karst_status make_system(karst_context *context, const karst_oil_model *model, uint64_t seed,
                                karst_gallery_part *part, karst_matrix **matrix, karst_vector **rhs)
{
  karst_index cells = karst_grid_cells(model->size);
  int64_t rows = (int64_t)(part ? part->end - part->first : cells) * model->phases;
  karst_grid_arrays arrays = {0};
  double *state = NULL, *residual = NULL;
  karst_status status =
      karst_allocate(context, &state, (int64_t)cells * model->phases, sizeof *state, "the reservoir's state");
  if (!status) status = karst_allocate(context, &residual, rows, sizeof *residual, "the residual");
  if (!status)
    status = karst_grid_pattern(context, model->size, part, model->phases, karst_oil_coupled, model, &arrays);
  if (status) goto done;
  karst_oil_fill_state(model, seed, state);
  karst_oil_assemble(model, state, state, residual, &arrays);
  status = karst_grid_adopt(context, model->size, model->phases, &arrays, matrix);
  if (!status && rhs) status = make_rhs(context, rows, residual, rhs);
done:
  karst_release(context, residual);
  karst_release(context, state);
  return status;
}

static karst_status build(karst_context *context, const karst_gallery_spec *spec, karst_matrix **matrix,
                          karst_vector **rhs)
{
  struct settings settings;
  karst_oil_model model = {.phases = spec->generator == &karst_blackoil ? 3 : 2,
                           .size = {spec->size[0], spec->size[1], spec->size[2]}};
  karst_status status = read_settings(context, spec, &settings);
  model.time_step = settings.time_step;
  if (!status) status = make_model(context, &settings, &model);
  if (!status) status = make_system(context, &model, settings.seed, spec->part, matrix, rhs);
  karst_release(context, model.kx);
  karst_release(context, model.kz);
  return status;
}

const struct karst_generator karst_blackoil = {
    .name = "blackoil",
    .help = "NXxNYxNZ: Newton step of an implicit oil, water and gas model, b = 3; " KEYS,
    .dimensions = 3,
    .build = build,
};

const struct karst_generator karst_deadoil = {
    .name = "deadoil",
    .help = "NXxNYxNZ: Newton step of an implicit oil and water model, b = 2; " KEYS,
    .dimensions = 3,
    .build = build,
};
