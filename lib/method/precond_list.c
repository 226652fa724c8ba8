/* precond_list.c - the preconditioners that a context has: the library's own, then the registered ones. */
#include "lib/method/precond.h"

#include <string.h>

const char *karst_precond_choice(size_t i) { return karst_precond_name(NULL, i); }

const struct karst_precond_ops *karst_precond_at(const karst_context *context, size_t i)
{
  for (size_t own = 0; karst_precond_table[own]; own++)
    if (i-- == 0) return karst_precond_table[own];
  const struct karst_registered *registered = context ? context->methods : NULL;
  for (; registered && i > 0; i--) registered = registered->next;
  return registered ? &registered->ops : NULL;
}

const char *karst_precond_name(const karst_context *context, size_t i)
{
  const struct karst_precond_ops *ops = karst_precond_at(context, i);
  return ops ? ops->name : NULL;
}

const struct karst_precond_ops *karst_precond_find(const karst_context *context, const char *name)
{
  const struct karst_precond_ops *ops;
  for (size_t i = 0; (ops = karst_precond_at(context, i)); i++)
    if (strcmp(ops->name, name) == 0) return ops;
  return NULL;
}

void karst_precond_forget(karst_context *context)
{
  struct karst_registered *registered = context->methods, *next;
  for (; registered; registered = next) {
    next = registered->next;
    karst_release(context, registered);
  }
  context->methods = NULL;
}
