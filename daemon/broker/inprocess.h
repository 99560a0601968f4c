/* For tests alone: a broker in a child with the rights of the caller, and a client of it. */
#ifndef PFL_BROKER_INPROCESS_H
#define PFL_BROKER_INPROCESS_H

#include <sys/types.h>
#include "daemon/broker/client.h"

/* reader_path: the program that broker_new_reader() starts; NULL: none. config_path likewise. The
 * child ends when the client is freed, and at the latest with the caller; *ret_pid may be NULL. */
int broker_inprocess(const char *reader_path, const char *config_path, struct broker **ret_broker,
	pid_t *ret_pid);
/* Frees the client and waits for the child: its exit status, or a negative errno. */
int broker_inprocess_end(struct broker *b, pid_t pid);

#endif
