/* What the commands print. */
#ifndef PFL_CLI_OUTPUT_H
#define PFL_CLI_OUTPUT_H

#include <cjson/cJSON.h>
#include <stdint.h>
#include <stdio.h>
#include "base/buf.h"

/* Parses an answer; NULL, and said so, when it is no JSON. */
cJSON *parse_answer(const struct buf *body);
const char *get_text(const cJSON *object, const char *key); /* "" when not there */
double get_number(const cJSON *object, const char *key);
/* Text from a stranger, for a terminal: control bytes shown as U+FFFD. Returns out. */
const char *for_terminal(const char *text, char *out, size_t out_bytes);
void print_body(const struct buf *body);
void print_ledger(const cJSON *session, FILE *out);
/* A bar on stderr, over the one before; part from 0 to 1. */
void progress_draw(double part, const char *text);
void progress_clear(void);
void progress_end(void); /* leaves it there, and goes on below */
/* A session's id from the command line; 0, and said so, for anything else. */
uint64_t parse_id(const char *text);
/* Usage error: says so and answers EXIT_USAGE. */
int usage_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
