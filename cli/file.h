/* Files that profiles are written to, and what their names say. */
#ifndef PFL_CLI_FILE_H
#define PFL_CLI_FILE_H

#include <stdbool.h>
#include <stdio.h>
#include "base/buf.h"

/* What the daemon can write. */
struct format {
	const char *name, *ending, *what; /* name NULL ends the list */
};
extern const struct format formats[];
const struct format *format_named(const char *name); /* NULL: there is none */
/* "svg" unless the file's name ends otherwise. */
const char *format_of_file(const char *file);

/* A file that is whole when it has its name; what is no regular file is written in place. */
struct output {
	FILE *out;
	const char *file; /* NULL: stdout */
	bool in_place;
	struct buf part; /* what is written */
};
/* NULL or "-": stdout. False, and said so: it cannot be written; to be closed all the same. */
bool output_open(struct output *o, const char *file);
/* e: how the writing went. Answers that, or what went wrong at the end, and said so. */
int output_close(struct output *o, int e);

#endif
