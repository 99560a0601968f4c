#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "daemon/engine.h"

static int read_setup(struct engine_setup *setup)
{
	ssize_t n;

	if (fcntl(ENGINE_FD_SETUP, F_GETFD) < 0)
		return -errno;
	n = pread(ENGINE_FD_SETUP, setup, sizeof(*setup), 0);
	close(ENGINE_FD_SETUP);
	if (n != sizeof(*setup) || setup->bytes != sizeof(*setup))
		return -EPROTO;
	return 0;
}

int engine_read_setup(struct engine_setup *setup)
{
	int r = read_setup(setup);

	/* They had to outlive the exec that brought us here, and no other. */
	for (int fd = ENGINE_FD_BROKER; r == 0 && fd <= ENGINE_FD_LOCK; fd++)
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	return r;
}
