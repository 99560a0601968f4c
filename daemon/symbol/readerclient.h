/* The engine's end of the reader: one request at a time over its socket, each bound of an answer
 * checked, a new reader when the old one has died. Belongs to one thread at a time. */
#ifndef PFL_SYMBOL_READERCLIENT_H
#define PFL_SYMBOL_READERCLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "daemon/reader/wire.h"

/* Starts a reader and hands out its socket. -EAGAIN: too soon after the last one. */
typedef int (*reader_spawn_fn)(void *arg, int *ret_sock, pid_t *ret_pid);

struct readerclient;
int readerclient_new(reader_spawn_fn spawn, void *arg, struct readerclient **ret_client);
void readerclient_free(struct readerclient *c);
AUTO_FREE_FN(struct readerclient, readerclient_free)

/* An answer: pointers into its mapping, all of it checked. */
struct reader_result {
	int status;     /* 0, or the negative errno with which the reader refused: the rest is empty
			   then */
	uint32_t flags; /* READER_FLAG_… */
	const void *map;
	size_t bytes;
	const struct reader_names *head;
	const uint32_t *starts;
	const struct reader_frame *frames;
	const char *strings;
};
void reader_result_done(struct reader_result *r);

/* The descriptors of a question, lent; -1: none. */
struct reader_fds {
	int file, debug;
	int alt;   /* what its DWARF has in common with other files */
	int split; /* split DWARF */
	bool split_is_package;
};

/* Which split files there could be: pointers into the mapping of a result, all of it checked. */
struct reader_split_list {
	uint32_t count;
	const struct reader_split *splits;
	const char *strings;
};

/* Asks with these files. request_flags: READER_WITH_RAW_NAMES or 0.
 * 0: there is an answer, see its status. -EIO: the reader died over it, took too long or answered
 * nonsense; it is gone then. Other errors: there is no reader to ask, which is not the file's
 * fault. */
int readerclient_names(struct readerclient *c, enum reader_op op, uint32_t request_flags,
	const struct reader_fds *files, const uint64_t *addrs, uint32_t count,
	struct reader_result *ret_result);
/* The same for READER_SPLIT; the list is good until the result is done. */
int readerclient_split(struct readerclient *c, const struct reader_fds *files,
	const uint64_t *addrs, uint32_t count, struct reader_split_list *ret_list,
	struct reader_result *ret_result);
/* The same for READER_DEBUGLINK. */
int readerclient_debuglink(struct readerclient *c, int fd, int debug_fd,
	struct reader_debuglink *ret_link, struct reader_result *ret_result);

/* The same for READER_UNWIND; debug_fd: -1: none. *ret_table is on the heap, its mapping is its
 * own: for module_set_table(). */
struct cfi_table;
int readerclient_unwind(struct readerclient *c, int fd, int debug_fd, struct cfi_table **ret_table,
	struct reader_result *ret_result);

struct readerclient_stats {
	uint64_t requests, deaths, refusals;
	pid_t pid; /* of the present reader; 0: none */
};
/* Any thread. */
void readerclient_get_stats(struct readerclient *c, struct readerclient_stats *ret_stats);

/* The bytes of an answer to READER_SPLIT. -EBADMSG: not one. Pure. */
int reader_splits_check(const void *data, size_t bytes, struct reader_split_list *ret_list);
/* The bytes of an answer to a question for count addresses. -EBADMSG: not one. Pure; fuzzed. */
int reader_answer_check(
	const void *data, size_t bytes, uint32_t count, struct reader_result *ret_result);

#endif
