/* perfmap: asks a Java process itself, with the rights of who runs this. */
#include <errno.h>
#include <stdio.h>

#include "base/hotspot.h"
#include "base/parse.h"
#include "cli/cli.h"

#define TIMEOUT_MS 10000
#define PID_MAX    4194304

static int exit_code(int error)
{
	return error == -EPERM ? EXIT_REFUSED : EXIT_FAILED;
}

int cmd_perfmap(struct cli *cli, int argc, char **argv)
{
	AUTO(buf_done) struct buf why = BUF_INIT;
	struct hotspot_map map;
	uint64_t pid;
	int r;

	if (argc != 2 || parse_u64(argv[1], PID_MAX, &pid) < 0 || pid == 0)
		return usage_error("perfmap takes the pid of one Java process");
	r = hotspot_write_perfmap((pid_t)pid, TIMEOUT_MS, &map, &why);
	if (r < 0) {
		fprintf(stderr, "profilectl: %s\n", why.data ? why.data : "no memory");
		return exit_code(r);
	}
	printf(cli->json ? "{\"pid\":%d,\"ns_pid\":%d,\"map_bytes\":%llu}\n"
			 : "process %d wrote /tmp/perf-%d.map: %llu bytes\n",
		(int)pid, (int)map.ns_pid, (unsigned long long)map.map_bytes);
	return EXIT_OK;
}
