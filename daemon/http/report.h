/* One recording to one profile, without a server or a store: the same question as to
 * /v1/sessions/ID/profile, about a file. */
#ifndef PFL_HTTP_REPORT_H
#define PFL_HTTP_REPORT_H

#include <sys/types.h>
#include "daemon/broker/client.h"
#include "daemon/config.h"
#include "daemon/symbol/names.h"

struct report_setup {
	const struct config *config;
	struct broker *broker;
	struct names *names;
	int recording_fd; /* a regular file */
	int profile_fd;   /* the profile goes there */
	int session_fd;   /* the session as JSON; when there is no profile, the problem instead */
	uid_t owner;
	const char *query; /* as after the question mark; name= is what the recording is called */
};

/* A negative errno: there is no profile, or not all of it, and why is at session_fd or in the log.
 */
int report_write(const struct report_setup *setup);

#endif
