#include "tests/unit/make_table.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "daemon/cfi/table.h"
#include "daemon/reader/request.h"

void make_table(void *arg, struct module *m)
{
	struct reader_request req = {.version = READER_VERSION, .op = READER_UNWIND};
	struct cfi_table *t = calloc(1, sizeof(*t));
	struct reader_reply reply = {.fd = -1};
	void *map;

	(void)arg;
	if (!t || m->fd < 0 || !module_claim_table(m)) {
		free(t);
		return;
	}
	reader_handle(&req, &m->fd, 1, 0, &reply);
	map = reply.fd < 0 ? MAP_FAILED
			   : mmap(NULL, reply.head.bytes, PROT_READ, MAP_PRIVATE, reply.fd, 0);
	if (reply.fd >= 0)
		close(reply.fd);
	if (map == MAP_FAILED) {
		free(t);
		return;
	}
	if (cfi_table_check(map, reply.head.bytes, t) < 0)
		abort();
	cfi_table_index(t);
	module_set_table(m, t);
}
