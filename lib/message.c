/* message.c - the messages of a context: the sentences of its last errors, and notes to the caller's function. */
#include "config.h"

#include "context.h"

#include <stdarg.h>
#include <stdio.h>

void karst_context_set_message(karst_context *context, karst_message_function function, void *user)
{
  if (!context) return;
  context->message = function;
  context->message_user = user;
}

unsigned karst_last_failure(const karst_context *context)
{
  return __atomic_load_n(&context->last_failure, __ATOMIC_ACQUIRE);
}

const char *karst_context_error(const karst_context *context)
{
  return context ? context->sentence[karst_last_failure(context) % KARST_SENTENCES] : "";
}

karst_status karst_fail(karst_context *context, karst_status status, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&context->failing);
  const unsigned number = context->last_failure + 1;
  char *sentence = context->sentence[number % KARST_SENTENCES];
  vsnprintf(sentence, sizeof context->sentence[0], format, arguments);
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

karst_status karst_missing(karst_context *context, const char *what)
{
  return context ? karst_fail(context, KARST_ERROR_ARGUMENT, "%s is NULL", what) : KARST_ERROR_ARGUMENT;
}

void karst_tell(karst_context *context, karst_message_kind kind, const char *format, ...)
{
  char text[256];
  va_list arguments;
  if (!context->message) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  context->message(context->message_user, kind, text);
}
