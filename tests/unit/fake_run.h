/* A run, its targets and what else the HTTP side asks, made up: sessions that no thread samples
 * for. */
#ifndef PFL_TESTS_FAKE_RUN_H
#define PFL_TESTS_FAKE_RUN_H

#include <stdatomic.h>
#include "daemon/run/run.h"
#include "daemon/run/targets.h"

/* What the fake does beyond remembering sessions. */
struct fake_run {
	struct run_stats stats;
	int start_error;        /* an enum run_error that the next starts answer with */
	const char *error_text; /* its sentence */
	bool no_log;            /* profiles have no sample log */
	int (*during_profile)(
		void); /* called in run_profile(); its result becomes that of the call */
	struct session_request last; /* of the last start */
	uint64_t imported_bytes;     /* of the last import */
	char imported_name[128];
	uint64_t changed_freq_hz;
	int changed_kernel;
	char changed_name[128];
	atomic_uint profiles; /* made */
	pid_t reader_pid;     /* 0: none */
	uint64_t reader_ticks;
};
extern struct fake_run fake_run;

/* Forgets all. */
void fake_run_reset(void);
/* Adds a session that belongs to uid; ended: it has stopped. */
uint64_t fake_run_add(uid_t owner, bool ended);

#endif
