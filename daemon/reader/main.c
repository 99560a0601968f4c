/* profiled-reader: parses ELF files and DWARF for the engine, with no rights but to its one socket.
 */
#include "config.h"
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include "base/heap.h"
#include "base/log.h"
#include "base/parse.h"
#include "daemon/reader/request.h"
#include "daemon/reader/sandbox.h"

#define SOCK_FD 3

struct options {
	uint64_t memory_bytes, cpu_seconds;
};

static int usage(void)
{
	fputs("usage: profiled-reader --memory BYTES --cpu-seconds N\n"
	      "Started by profiled, with its requests as descriptor 3; of no use by itself.\n",
		stderr);
	return 2;
}

static int parse_options(int argc, char **argv, struct options *o)
{
	static const struct option longs[] = {{"memory", required_argument, NULL, 'm'},
		{"cpu-seconds", required_argument, NULL, 'c'}, {0}};
	int c, r = 0;

	while (r == 0 && (c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'm')
			r = parse_u64(optarg, UINT64_MAX >> 1, &o->memory_bytes);
		else if (c == 'c')
			r = parse_u64(optarg, 3600, &o->cpu_seconds);
		else
			r = -EINVAL;
	}
	if (r == 0 && (optind != argc || o->cpu_seconds == 0 || o->memory_bytes == 0))
		r = -EINVAL;
	return r;
}

static int has_socket(void)
{
	int type = 0;
	socklen_t len = sizeof(type);

	return getsockopt(SOCK_FD, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

/* The timers end a request by their signals' own effect, whatever was set up by whoever started us.
 */
static void default_signals(void)
{
	sigset_t none;

	signal(SIGPROF, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* meant for the daemon, which ends us in its own time */
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

int main(int argc, char **argv)
{
	struct options o = {.memory_bytes = 512u << 20, .cpu_seconds = 3};
	struct sandbox_limits limits;
	int r;

	log_init("reader", LOG_LEVEL_INFO);
	heap_setup();
	if (parse_options(argc, argv, &o) < 0)
		return usage();
	if (!has_socket())
		return usage();
	default_signals();
	prctl(PR_SET_NAME, "profiled-reader");
	(void)setpriority(PRIO_PROCESS, 0, 0); /* names can wait: no better than anyone */
	limits = (struct sandbox_limits){
		.memory_bytes = o.memory_bytes, .answer_bytes = READER_ANSWER_MAX};
	r = sandbox_enter(&limits, SOCK_FD);
	if (r < 0) {
		log_error("cannot enter the sandbox: %s", strerror(-r));
		return 1;
	}
	return reader_serve(SOCK_FD, (unsigned)o.cpu_seconds) < 0;
}
