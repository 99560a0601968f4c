/* The command line of profiled, and the settings that come of it and of the file. */
#ifndef PFL_START_OPTIONS_H
#define PFL_START_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include "base/buf.h"
#include "daemon/config.h"

enum options_todo { OPTIONS_RUN, OPTIONS_REPORT, OPTIONS_CHECK, OPTIONS_HELP, OPTIONS_VERSION };

struct options {
	enum options_todo todo;
	char config_path[4096]; /* absolute */
	bool config_named;      /* then it has to be there */
	struct buf overrides;   /* "section.key=value", each closed by a zero, in their order */
	const char *report;     /* OPTIONS_REPORT: the query; lent by argv */
};
void options_done(struct options *o);

/* -EINVAL and a sentence. */
int options_parse(int argc, char **argv, struct options *ret_options, struct buf *message);
const char *options_usage(void);

/* Built-in values, file, command line, in this order; all that is wrong is in message, a line each.
 */
int options_config(const struct options *o, const struct config *builtin, struct config *ret_config,
	struct buf *message);
/* Applies the overrides alone. */
int options_override(const char *overrides, size_t len, struct config *config, struct buf *message);

#endif
