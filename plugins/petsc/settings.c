/* settings.c - the options of the library as options of PETSc, -pc_karst_NAME or -ksp_karst_NAME under the prefix of
 * the object.
 *
 * The names come from the library's list (karst_options_info), so that the plugin knows none of its methods. Those that
 * the chosen methods read are offered, with their texts for -help; PETSc reports others as unused (-options_left). */
#include "plugins/petsc/plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 256 }; /* bytes of an option's name; names nest at most four deep, and each has at most 40 */

PetscErrorCode karst_petsc_settings_create(const char *kind, karst_petsc_settings *settings)
{
  PetscFunctionBegin;
  settings->kind = kind;
  settings->threads = 1;
  settings->changed = PETSC_TRUE;
  PetscCall(PetscStrncpy(settings->device, "cpu", sizeof settings->device));
  KARST_CALL(NULL, karst_context_create(NULL, &settings->context));
  KARST_CALL(settings->context, karst_options_create(settings->context, &settings->options));
  if (*kind == 'p') {
    KARST_CALL(settings->context, karst_options_create(settings->context, &settings->bare));
    KARST_CALL(settings->context, karst_options_set(settings->bare, "precond", "none"));
  }
  PetscFunctionReturn(0);
}

void karst_petsc_settings_destroy(karst_petsc_settings *settings)
{
  karst_options_destroy(settings->bare);
  karst_options_destroy(settings->options);
  karst_context_destroy(settings->context);
}

/* Whether the text is this name; '-' and '_' are the same. */
static PetscBool is(const char *text, const char *name)
{
  for (; *text && (*text == *name || (*text == '-' && *name == '_')); text++) name++;
  return *text == *name ? PETSC_TRUE : PETSC_FALSE;
}

/* Writes a name of the library as PETSc writes names. */
static void underscored(char *name)
{
  for (; *name; name++)
    if (*name == '-') *name = '_';
}

/* Whether the KSP has an option of PETSc's own for this. */
static PetscBool has_own(const char *name)
{
  return is(name, "rtol") || is(name, "atol") || is(name, "max_iterations");
}

/* Whether the chosen methods read the option, and the PC or KSP may set it. */
static PetscBool is_offered(const karst_petsc_settings *settings, const char *name)
{
  if (is(name, "precond")) return PETSC_TRUE;
  if (!karst_options_used(settings->options, name) || has_own(name)) return PETSC_FALSE;
  return !settings->bare || !karst_options_used(settings->bare, name);
}

static PetscErrorCode set_number(karst_petsc_settings *settings, PetscInt *number, const char *name, const char *value,
                                 PetscInt least)
{
  char *end;

  PetscFunctionBegin;
  const long n = strtol(value, &end, 10);
  PetscCheck(end != value && !*end && n >= least && n <= PETSC_MAX_INT, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "Karst: %s takes a number from %d on, and not \"%s\"", name, (int)least, value);
  if (*number != n) settings->changed = PETSC_TRUE;
  *number = (PetscInt)n;
  PetscFunctionReturn(0);
}

static PetscErrorCode set_device(karst_petsc_settings *settings, const char *value)
{
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(settings->device, value, &same));
  if (!same) settings->changed = PETSC_TRUE;
  PetscCall(PetscStrncpy(settings->device, value, sizeof settings->device));
  PetscFunctionReturn(0);
}

static PetscErrorCode set_option(karst_petsc_settings *settings, const char *name, const char *value)
{
  char *before = NULL;
  const char *now;
  PetscBool same;

  PetscFunctionBegin;
  if (!karst_options_get(settings->options, name, &now)) PetscCall(PetscStrallocpy(now, &before));
  const karst_status status = karst_options_set(settings->options, name, value);
  if (!status) {
    KARST_CALL(settings->context, karst_options_get(settings->options, name, &now));
    PetscCall(PetscStrcmp(before, now, &same));
    if (!same) settings->changed = PETSC_TRUE;
  }
  PetscCall(PetscFree(before));
  KARST_CALL(settings->context, status);
  PetscFunctionReturn(0);
}

/* A value that an option has already changes nothing: programs read their options again and again. */
PetscErrorCode karst_petsc_settings_set(karst_petsc_settings *settings, const char *name, const char *value)
{
  PetscFunctionBegin;
  if (is(name, "device"))
    PetscCall(set_device(settings, value));
  else if (is(name, "threads"))
    PetscCall(set_number(settings, &settings->threads, "threads", value, 1));
  else if (is(name, "block_size"))
    PetscCall(set_number(settings, &settings->block_size, "block_size", value, 0));
  else
    PetscCall(set_option(settings, name, value));
  PetscFunctionReturn(0);
}

/* Offers one option, which has the value now. */
static PetscErrorCode read_one(karst_petsc_settings *settings, karst_petsc_items PetscOptionsObject, const char *name,
                               const char *values, const char *help, const char *now)
{
  char key[NAME_SIZE + 16], text[512], value[PETSC_MAX_PATH_LEN] = "";
  PetscBool given;

  PetscFunctionBegin;
  snprintf(key, sizeof key, "-%s_karst_%s", settings->kind, name);
  underscored(key + 1);
  snprintf(text, sizeof text, "%s: %s", values, help);
  PetscCall(PetscOptionsString(key, text, "Karst", now, value, sizeof value, &given));
  if (given) PetscCall(karst_petsc_settings_set(settings, name, value));
  PetscFunctionReturn(0);
}

/* Offers the option of the library that is called so behind the prefix "" or "NAME." of an inner preconditioner. */
static PetscErrorCode read_option(karst_petsc_settings *settings, karst_petsc_items PetscOptionsObject,
                                  const char *prefix, const karst_option_info *info)
{
  char name[NAME_SIZE];
  const char *now;

  PetscFunctionBegin;
  snprintf(name, sizeof name, "%s%s", prefix, info->name);
  KARST_CALL(settings->context, karst_options_get(settings->options, name, &now));
  PetscCall(read_one(settings, PetscOptionsObject, name, info->value, info->help, now));
  PetscFunctionReturn(0);
}

/* Offers the options behind the prefix. Those that name a method come first, for they decide which others are read. */
static PetscErrorCode read_options(karst_petsc_settings *settings, karst_petsc_items PetscOptionsObject,
                                   const char *prefix)
{
  char name[NAME_SIZE];
  karst_option_info info;

  PetscFunctionBegin;
  for (int methods = 1; methods >= 0; methods--) {
    for (size_t i = 0; karst_options_info(settings->context, i, &info); i++) {
      if (methods != (karst_options_method(settings->context, info.name, 0, NULL, NULL) != NULL)) continue;
      snprintf(name, sizeof name, "%s%s", prefix, info.name);
      if (*prefix && methods) continue; /* an inner preconditioner is the option before the dot */
      if (!is_offered(settings, name)) continue;
      PetscCall(read_option(settings, PetscOptionsObject, prefix, &info));
      if (info.kind != KARST_OPTION_PRECOND) continue;
      strcat(name, ".");
      PetscCall(read_options(settings, PetscOptionsObject, name));
    }
  }
  PetscFunctionReturn(0);
}

PetscErrorCode karst_petsc_settings_read(karst_petsc_settings *settings, karst_petsc_items PetscOptionsObject)
{
  char number[32];

  PetscFunctionBegin;
  PetscOptionsHeadBegin(PetscOptionsObject, "Karst options");
  PetscCall(read_options(settings, PetscOptionsObject, ""));
  PetscCall(read_one(settings, PetscOptionsObject, "device", "cpu|cuda|cuda:N",
                     "Where to compute; cuda: the GPU of the process's number on its host", settings->device));
  snprintf(number, sizeof number, "%" PetscInt_FMT, settings->threads);
  PetscCall(read_one(settings, PetscOptionsObject, "threads", "N", "Threads of each process on the CPU", number));
  snprintf(number, sizeof number, "%" PetscInt_FMT, settings->block_size);
  PetscCall(read_one(settings, PetscOptionsObject, "block_size", "N",
                     "Block size of a matrix of scalars; 0: that of MatGetBlockSize", number));
  PetscOptionsHeadEnd();
  PetscFunctionReturn(0);
}

/* Prints the options behind the prefix. */
static PetscErrorCode view_options(const karst_petsc_settings *settings, PetscViewer viewer, const char *prefix)
{
  char name[NAME_SIZE];
  const char *value;
  karst_option_info info;

  PetscFunctionBegin;
  for (size_t i = 0; karst_options_info(settings->context, i, &info); i++) {
    if (*prefix && karst_options_method(settings->context, info.name, 0, NULL, NULL)) continue;
    snprintf(name, sizeof name, "%s%s", prefix, info.name);
    if (!is_offered(settings, name)) continue;
    KARST_CALL(settings->context, karst_options_get(settings->options, name, &value));
    underscored(name);
    PetscCall(PetscViewerASCIIPrintf(viewer, "  %s: %s\n", name, value));
    if (info.kind != KARST_OPTION_PRECOND) continue;
    strcat(name, ".");
    PetscCall(view_options(settings, viewer, name));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode karst_petsc_settings_view(const karst_petsc_settings *settings, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(view_options(settings, viewer, ""));
  PetscFunctionReturn(0);
}
