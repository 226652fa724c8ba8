/* commands.h - what tests of the commands share: files that stay, checks of a run, and numbers in what it printed. */
#ifndef KARST_TESTS_SUPPORT_COMMANDS_H
#define KARST_TESTS_SUPPORT_COMMANDS_H

#include "tests/support/cli.h"
#include "tests/support/refusal.h"

#define ARRAY "%%MatrixMarket matrix array real general\n"

/* The path of a scratch file, and that of a new one with a text, or of an executable one. They stay valid. */
const char *scratch_path(const char *file);
const char *scratch_file(const char *file, const char *text);
const char *scratch_script(const char *file, const char *text);
/* The folder of the scratch files. It stays valid. */
const char *scratch_folder(void);
/* The path of a real matrix, which stays valid; NULL after a skip, where the file or a library to read it is absent. */
const char *real_matrix(const char *file, const char *what);

/* The bytes of a file and a zero; "" without the file. The next call overwrites them. */
const char *file_text(const char *path);
long file_length(void); /* of the text that the last call returned */

/* Checks a condition, and shows what the run printed where it is false. */
void check_run(const struct cli_run *run, bool condition, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether a run was refused: status 2, and one sentence with these words. The second function checks it. */
bool is_refused(const struct cli_run *run, const char *tool, const char *words);
void expect_refused(const struct cli_run *run, const char *tool, const char *words, const char *what);

/* How often a word occurs. */
int count_of(const char *text, const char *word);
/* The number after the first place of these words; NaN without them. */
double number_after(const char *text, const char *words);
/* The whole number before the first place of these words; -1 without them. */
long number_before(const char *text, const char *words);

/* Starts a command without its standard output; its standard error goes to a file. -1: it did not start. */
int start_command(const char *tool, const char *const argument[], const char *error);

#endif
