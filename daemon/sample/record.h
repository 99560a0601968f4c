/* Bytes of a perf ring to records, bounds-checked: what is cut or of nonsense size is refused, never read
 * beyond. Fuzzed. */
#ifndef PFL_SAMPLE_RECORD_H
#define PFL_SAMPLE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/sample/attr.h"

#define SAMPLE_REGS 17 /* x86-64 user registers, in perf's order: see regs.h in unwind/ */

/* Plain data; pointers are lent: they point into the ring until its tail moves. */
struct sample {
	uint64_t t_ns;
	pid_t pid, tid;
	uint32_t cpu;
	uint64_t id;	      /* of the event, as PERF_EVENT_IOC_ID */
	uint64_t ip;
	uint64_t period;      /* the weight */
	bool kernel_ip;	      /* the CPU was in the kernel */
	const uint64_t *kernel_chain; /* innermost first; the context marks are left out */
	uint32_t kernel_count;
	const uint64_t *user_chain; /* the kernel's frame-pointer walk; none for STACK_DWARF */
	uint32_t user_count;
	uint64_t abi;	      /* PERF_SAMPLE_REGS_ABI_NONE, _32, _64; NONE: no user side (kernel thread) */
	const uint64_t *regs; /* SAMPLE_REGS of them, or NULL */
	const uint8_t *stack; /* from the stack pointer upwards, or NULL */
	uint32_t stack_bytes; /* what the kernel could copy */
	uint32_t stack_asked; /* what it tried to: stack_bytes == stack_asked means there may be more */
};

enum sideband_kind { SIDEBAND_MMAP, SIDEBAND_COMM, SIDEBAND_EXEC, SIDEBAND_FORK, SIDEBAND_EXIT };

struct sideband {
	enum sideband_kind kind;
	uint64_t t_ns;
	pid_t pid, tid;
	pid_t ppid, ptid;      /* FORK, EXIT */
	uint64_t start, end, pgoff; /* MMAP */
	dev_t dev;
	uint64_t inode;
	int prot;
	const char *text;      /* MMAP: path; COMM, EXEC: comm. NUL-closed, lent */
};

enum record_kind { RECORD_SAMPLE, RECORD_SIDEBAND, RECORD_LOST, RECORD_THROTTLE, RECORD_UNTHROTTLE,
	RECORD_OTHER /* known, of no use here */, RECORD_UNKNOWN };

struct record {
	enum record_kind kind;
	uint64_t t_ns;	    /* 0: not stated */
	union {
		struct sample sample;
		struct sideband sideband;
		struct {
			uint64_t id, count;
		} lost; /* records of any kind (LOST), samples (LOST_SAMPLES) */
	};
};

/* bytes: one whole record, aligned to 8. sample_type and the register mask are those of attr_for_*():
 * sampling tells STACK_DWARF from STACK_FP by dwarf. -EBADMSG: malformed. */
int record_decode(const void *bytes, size_t len, bool sampling, enum stack_mode stack,
	struct record *ret_record);
/* The time stamp alone, for merging; 0: none. */
uint64_t record_time(const void *bytes, size_t len, bool sampling);

#endif
