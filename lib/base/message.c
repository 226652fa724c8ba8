/* message.c - the messages of a context: the sentences of its last errors, and notes to the caller's function. */
#include "config.h"

#include "lib/base/context.h"
#include "lib/base/number.h"

#include <stdarg.h>

void karst_context_set_message(karst_context *context, karst_message_function function, void *user)
{
  if (!context) return;
  context->message = function;
  context->message_user = user;
}

unsigned karst_failures(const karst_context *context)
{
  return __atomic_load_n(&context->last_failure, __ATOMIC_ACQUIRE);
}

const char *karst_context_error(const karst_context *context)
{
  return context ? context->sentence[karst_failures(context) % KARST_SENTENCES] : "";
}

karst_status karst_fail(karst_context *context, karst_status status, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&context->failing);
  const unsigned number = context->last_failure + 1;
  char *sentence = context->sentence[number % KARST_SENTENCES];
  karst_vprint(sentence, sizeof context->sentence[0], format, arguments);
  __atomic_store_n(&context->last_failure, number, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&context->failing);
  va_end(arguments);
  return status;
}

karst_status karst_context_fail(karst_context *context, karst_status status, const char *sentence)
{
  if (context && status) karst_fail(context, status, "%s", sentence ? sentence : karst_status_text(status));
  return status;
}

karst_status karst_check_returned(karst_context *context, int returned, unsigned failures, const char *function,
                                  const char *owner)
{
  if (returned == KARST_SUCCESS) return KARST_SUCCESS;
  if (returned > 0 || returned < KARST_ERROR_TRANSPORT)
    return karst_fail(context, KARST_ERROR_ARGUMENT, "%s%s returned %d, which is no status", function, owner, returned);
  const karst_status status = (karst_status)returned;
  if (karst_failures(context) != failures) return status;
  return karst_fail(context, status, "%s%s failed: %s", function, owner, karst_status_text(status));
}

karst_status karst_missing(karst_context *context, const char *what)
{
  return context ? karst_fail(context, KARST_ERROR_ARGUMENT, "%s is NULL", what) : KARST_ERROR_ARGUMENT;
}

void karst_notify(karst_context *context, karst_message_kind kind, const char *format, ...)
{
  char text[256];
  va_list arguments;
  if (!context->message) return;
  va_start(arguments, format);
  karst_vprint(text, sizeof text, format, arguments);
  va_end(arguments);
  context->message(context->message_user, kind, text);
}
