/* profiled-report: the engine of one report, which reads a recording and writes its profile. A
 * program of its own, so that it starts without the libraries for HTTP. Started by profiled
 * --report, of no use by itself.
 */
#include <config.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include "base/heap.h"
#include "base/log.h"
#include "daemon/broker/client.h"
#include "daemon/engine.h"
#include "daemon/http/report.h"
#include "daemon/sandbox.h"
#include "daemon/symbol/names.h"
#include "daemon/symbol/sigbus.h"

static int step(int r, const char *what)
{
	if (r < 0)
		log_error("%s: %s", what, strerror(-r));
	return r;
}

/* Whoever waits for it may end it by any signal: there is nothing to save. */
static int run(const struct engine_setup *setup)
{
	struct report_setup report = {
		.config = &setup->config,
		.recording_fd = ENGINE_FD_RECORDING,
		.profile_fd = ENGINE_FD_PROFILE,
		.session_fd = ENGINE_FD_SESSION,
		.owner = setup->self_uid,
		.query = setup->query,
	};
	struct broker *broker = NULL;
	struct names *names = NULL;
	int r = step(sigbus_install(), "SIGBUS handler");

	signal(SIGPIPE, SIG_IGN);
	if (r == 0)
		r = step(broker_new(ENGINE_FD_BROKER, &broker), "broker");
	if (r == 0)
		r = step(names_new(broker, setup->config.names_cache_bytes, &names), "names");
	if (r == 0)
		names_keep_kernel(names, ENGINE_FD_KERNEL);
	report.broker = broker;
	report.names = names;
	if (r == 0)
		r = report_write(&report);
	names_free(names);
	broker_free(broker);
	return r;
}

int main(int argc, char **argv)
{
	static struct engine_setup setup;
	int r;

	if (argc != 1 || engine_read_setup(&setup) < 0) {
		fputs("profiled-report is started by profiled(8)\n", stderr);
		return 2;
	}
	prctl(PR_SET_NAME, "profiled-report");
	heap_setup();
	umask(077);
	log_init("report", setup.config.log_level);
	r = step(sandbox_engine(setup.config.log_level == LOG_LEVEL_DEBUG), "sandbox");
	if (r == 0)
		r = run(&setup);
	return r < 0 ? 1 : 0;
}
