/* Bytes of a perf ring to records, bounds-checked: what is cut or of nonsense size is refused,
 * never read beyond. Fuzzed. */
#ifndef PFL_SAMPLE_RECORD_H
#define PFL_SAMPLE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/sample/attr.h"

/* x86-64 user registers, in this order (perf's, without flags and segments):
 * RAX RBX RCX RDX RSI RDI RBP RSP RIP R8 R9 R10 R11 R12 R13 R14 R15. */
#define SAMPLE_REGS         17
#define SAMPLE_REG_RBP      6
#define SAMPLE_REG_RSP      7
#define SAMPLE_REG_RIP      8
#define RECORD_BUILD_ID_MAX 20

/* Plain data; pointers are lent: they point into the ring until its tail moves. */
struct sample {
	uint64_t t_ns;
	/* As the kernel says. 0 or -1: the thread was past having a number (late in its exit), or
	 * belongs to another pid namespace. */
	pid_t pid, tid;
	uint32_t cpu;
	uint64_t id; /* of the event, as PERF_EVENT_IOC_ID */
	uint64_t ip;
	uint64_t period; /* the weight */
	bool kernel_ip;  /* the CPU was in the kernel */
	/* Prepared by the kernel for another event of the same kind (see events.h): the id is that
	 * one's, and user_chain is missing if that one does without. record_decode() leaves it
	 * false. */
	bool borrowed;
	const uint64_t *kernel_chain; /* innermost first; the context marks are left out */
	uint32_t kernel_count;
	const uint64_t *user_chain; /* the kernel's frame-pointer walk, if its event asked for it */
	uint32_t user_count;
	uint64_t abi; /* PERF_SAMPLE_REGS_ABI_NONE, _32, _64; NONE: no user side (kernel thread) */
	const uint64_t *regs; /* SAMPLE_REGS of them, or NULL */
	const uint8_t *stack; /* from the stack pointer upwards, or NULL */
	uint32_t stack_bytes; /* what the kernel could copy */
	uint32_t stack_asked; /* what it tried to: stack_bytes == stack_asked means there may be
				 more */
};

enum sideband_kind { SIDEBAND_MMAP, SIDEBAND_COMM, SIDEBAND_EXEC, SIDEBAND_FORK, SIDEBAND_EXIT };

struct sideband {
	enum sideband_kind kind;
	uint64_t t_ns;
	pid_t pid, tid;             /* pid == tid: the leader, or a new process (FORK) */
	pid_t ppid, ptid;           /* FORK, EXIT; ptid is the thread that forked */
	uint64_t start, end, pgoff; /* MMAP */
	dev_t dev;
	uint64_t inode;
	int prot;
	const char *text; /* MMAP: path; COMM, EXEC: comm. NUL-closed, lent */
	/* MMAP out of a recording, where it tells one in the place of dev and inode; lent. */
	const uint8_t *build_id;
	uint8_t build_id_bytes;
};

enum record_kind {
	RECORD_SAMPLE,
	RECORD_SIDEBAND,
	RECORD_LOST,
	RECORD_THROTTLE,
	RECORD_UNTHROTTLE,
	RECORD_OTHER, /* known, of no use here */
	RECORD_UNKNOWN
};

struct record {
	enum record_kind kind;
	uint64_t t_ns; /* 0: not stated */
	union {
		struct sample sample;
		struct sideband sideband;
		struct {
			uint64_t id, count;
			bool by_hardware; /* lost before the ring: samples. Else records of any kind
					   */
		} lost;
	};
};

/* What the attribute of an event makes of its records. */
struct record_layout {
	bool sampling; /* attr_for_sampling(), else attr_for_sideband() */
	enum stack_mode stack;
	bool period; /* attr_has_period(); without it a sample's period is 0 */
};

/* bytes: one whole record, aligned to 8. -EBADMSG: malformed. A sample may be longer than what is
 * in it: one that was prepared for an event with more to say. */
int record_decode(const void *bytes, size_t len, const struct record_layout *layout,
	struct record *ret_record);
/* The same for one that is no sample, without header and the fields of sample_id_all. */
int record_decode_body(const struct perf_event_header *header, const void *body, size_t len,
	uint64_t t_ns, struct record *ret_record);
/* Sets the chains of s from one array with context marks in it, which is lent like them. */
void record_split_chain(struct sample *s, const uint64_t *chain, uint64_t count);
/* The time stamp alone, for merging; 0: none. */
uint64_t record_time(const void *bytes, size_t len, bool sampling);

/* What stands at the same place in the samples of all layouts: enough to choose before decoding. */
struct sample_head {
	uint64_t t_ns, id;
	pid_t pid, tid;
	uint32_t cpu;
};
/* False: no sample, or too short a one. */
bool record_sample_head(const void *bytes, size_t len, struct sample_head *ret_head);

/* The most bytes that one sample may need. */
size_t record_sample_max(enum stack_mode stack, uint32_t stack_bytes, uint16_t max_stack);

#endif
