/* A session that is looked at again and again: on the whole terminal, or as a table each time. */
#ifndef PFL_CLI_LIVE_H
#define PFL_CLI_LIVE_H

#include "cli/cli.h"
#include "cli/topview.h"

struct live {
	struct cli *cli;
	uint64_t id;
	const char *event;    /* NULL: the session's first one */
	double interval_s;    /* between two looks */
	uint64_t count;       /* of looks; 0: until the end */
	double last_s;        /* of the session's time; 0: all of it */
	bool leave_when_over; /* the whole terminal too, not only at q */
	struct top_view view;

	/* What the last look has seen, and with view.changes the one before. */
	cJSON *session;
	struct tree *tree, *tree_before;
	struct function *f, *f_before;
	size_t count_f, count_before;
	char title[256], state[64], ledger[256], window[64];
	bool over; /* the session does not run any more */
};

/* Until q, Ctrl-C, the end of the session or so many looks: an exit code. */
int live_run(struct live *l);
/* After SIGTERM and the like, or when nobody reads what we write, ends us by it: all is cleaned up.
 */
void live_end(void);
void live_done(struct live *l);
/* "2", "0.5s": of the option that is named; false, and said so: no such time. */
bool live_seconds(const char *option, const char *value, double *ret_seconds);

#endif
