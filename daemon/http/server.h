/* The HTTP servers: one on the Unix socket, one on TCP. */
#ifndef PFL_HTTP_SERVER_H
#define PFL_HTTP_SERVER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/config.h"
#include "daemon/run/run.h"
#include "daemon/run/targets.h"

struct http_setup {
	const struct config *config;
	struct run *run;
	struct targets *targets;
	struct names *names;
	struct store *store;
	struct broker *broker;
	struct attacher *attacher; /* NULL: see javamap.h */
	int unix_fd;               /* listening; -1: none. Taken */
	int tcp_fd;                /* listening; -1: none. Taken */
	const char *token;         /* for TCP: 64 hex digits */
	uid_t self_uid;            /* whoever started the daemon: sees all, as root does */
	gid_t group;               /* whose members see all; (gid_t)-1: none */
};

struct http;
int http_new(const struct http_setup *setup, struct http **ret_http);
/* Stops taking requests, lets running answers end (at most 2 s), closes. */
void http_free(struct http *h);
void http_reload(struct http *h, const struct config *config);

#endif
