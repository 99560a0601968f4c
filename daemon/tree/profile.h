/* A profile: what a snapshot holds, what the store writes and reads back, what render draws. Plain
 * data in flat arrays. Built by one thread, then immutable and counted. */
#ifndef PFL_TREE_PROFILE_H
#define PFL_TREE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"

#define PROFILE_EVENTS_MAX 8
#define PROFILE_NO_NODE    UINT32_MAX
#define PROFILE_NO_PROCESS UINT32_MAX

/* Strings are offsets into text (NUL-closed, raw bytes, may not be UTF-8); 0 is "". */

enum frame_kind {
	FRAME_ROOT,    /* node 0 alone */
	FRAME_PROCESS, /* addr: index into processes. The first level below the root, where else
			  only FRAME_SPECIAL may stand: samples that belong to no process we know */
	FRAME_USER,    /* module, addr = vaddr in the module's file */
	FRAME_KERNEL,  /* addr */
	FRAME_JIT,     /* process code without a file: addr; module field = index into processes */
	FRAME_SPECIAL, /* addr = text: "[truncated]", "[unknown]", "[kernel]" … */
	FRAME_NAMED,   /* code that is known by its name alone: addr = text, not ""; module = enum
			  named_kind */
	FRAME_KINDS
};

enum named_kind { NAMED_USER, NAMED_KERNEL, NAMED_JIT, NAMED_INLINED, NAMED_KINDS };

struct profile_frame {
	uint64_t addr;
	uint32_t module; /* index into modules for FRAME_USER; into processes for FRAME_JIT; see
			    FRAME_NAMED */
	uint8_t kind;
	uint8_t pad[3];
};

/* Node 0 is the root. parent < own index, always. */
struct profile_node {
	uint32_t parent;
	uint32_t frame;
};

struct profile_module {
	uint32_t path;     /* text */
	uint32_t build_id; /* text, hex; 0: none */
	uint64_t bias;     /* of its code: the file's own address less the offset in the file */
	void *handle;      /* a struct module while the engine that sampled it lives, else NULL; see
			      retain */
};

struct profile_process {
	pid_t pid;
	uint64_t start_ticks;
	uint32_t comm; /* text; its last one */
	/* Text; "": not known, or in none. What it was started with; its cgroup (v2); the id of its
	 * container. */
	uint32_t command, cgroup, container;
};

struct profile_thread {
	pid_t tid;
	uint32_t process; /* index */
	uint32_t comm;    /* text */
};

struct profile_event {
	uint32_t name; /* text: "cpu-clock" */
	bool is_clock; /* weights are nanoseconds */
};

struct log_entry {
	uint64_t t_ns; /* monotonic */
	uint64_t weight : 48, cpu : 12, event : 4;
	uint32_t node; /* the leaf */
	uint32_t thread;
};

/* The ledger: what the profile does not know. All are counts unless they say otherwise. Files hold
 * it as it is: fields may only be added at the end. */
#define LEDGER_ENDS    16
#define LEDGER_SOURCES 16
struct ledger {
	uint64_t samples; /* in the tree */
	uint64_t emitted; /* by the kernel's own count, where events are counted one by one (period
			     1 and no clock); 0: not known */
	uint64_t lost;    /* the kernel had no room in the ring */
	uint64_t throttled; /* times the kernel paused an event */
	uint64_t filtered;  /* of processes outside the target, left out on purpose */
	uint64_t truncated; /* chains whose copied stack ended before the outermost frame */
	uint64_t depth_cut; /* chains longer than max_frames */
	uint64_t unwind_ends[LEDGER_ENDS]; /* by enum unwind_end; user chains alone */
	uint64_t kernel_only;              /* samples without a user side (kernel threads) */
	uint64_t dropped;                  /* samples that a full tree could not take */
	uint64_t unknown_records, malformed_bytes, sideband_lost;
	uint64_t log_dropped;    /* oldest log entries overwritten */
	uint64_t log_from_ns;    /* monotonic: what the log covers begins here; 0: all */
	uint64_t frames_unnamed; /* distinct frames without a name, as of the last look-up */
	uint64_t frames_total;   /* distinct frames */
	uint64_t counted_ns;     /* clock events: the time the kernel counted for the target */
	uint64_t tails; /* cut stacks made whole by what was seen of the same thread's stack lately
			 */
	uint64_t budget_steps; /* changes of rate, log or tree that its budget asked for */
	/* Distinct frames of code by what their names come from, enum ledger_source, as of the last
	 * look-up. */
	uint64_t names_from[LEDGER_SOURCES];
	uint64_t chains; /* stacks whose outer part is the kernel's frame-pointer chain, as the
			    rules say that it is right */
};

struct profile_meta {
	uint64_t session_id;
	uint32_t name, target;              /* text; target for people: "pid 42 (nginx)" */
	uint32_t target_json, options_json; /* text: as the API shows them, for the store */
	uint32_t state, ended_by;           /* text */
	uint32_t warnings;                  /* text, lines */
	uint64_t freq_hz, period;
	uint64_t started_wall_ns, ended_wall_ns; /* ended 0: running */
	uint64_t started_ns,
		taken_ns; /* monotonic; taken: when this snapshot was made, or the end */
	uint64_t cost_cpu_ns, cost_bytes; /* of the engine for this session */
	uid_t owner;                      /* whoever started it */
	/* What tells the kernel of kernel frames from another one, and from itself after a boot. */
	uint64_t kernel_text;                     /* address of its start; 0: not known */
	uint32_t kernel_release, kernel_build_id; /* text, the latter hex */
};

struct profile {
	int refs;
	struct profile_meta meta;
	struct ledger ledger;
	struct profile_event events[PROFILE_EVENTS_MAX];
	uint32_t event_count;

	char *text;
	uint32_t text_bytes;
	struct profile_module *modules;
	uint32_t module_count;
	struct profile_process *processes;
	uint32_t process_count;
	struct profile_thread *threads;
	uint32_t thread_count;
	struct profile_frame *frames;
	uint32_t frame_count;
	struct profile_node *nodes;
	uint32_t node_count;
	/* [event * node_count + node]: of samples whose leaf is the node */
	uint64_t *self_weight;
	uint64_t *self_samples;
	struct log_entry *log; /* oldest first */
	uint32_t log_count;

	/* Names, or NULL while nobody has looked: frame i has [name_starts[i], name_starts[i + 1])
	 * of name_frames, innermost inlined first. None: unnamed. */
	uint32_t *name_starts; /* frame_count + 1 */
	struct profile_name *name_frames;

	void (*release_handle)(void *handle); /* for modules[].handle */
};

struct profile_name {
	uint32_t name, file; /* text */
	uint32_t line;
	uint8_t inlined;
	uint8_t pad[3];
};

int profile_new(struct profile **ret_profile);
struct profile *profile_ref(struct profile *p);
void profile_unref(struct profile *p);
/* Somebody else holds it too. */
bool profile_is_shared(const struct profile *p);
/* Of memory, modules aside. */
size_t profile_bytes(const struct profile *p);
AUTO_FREE_FN(struct profile, profile_unref)
/* A string of the profile; "" when off is out of bounds. */
const char *profile_text(const struct profile *p, uint32_t off);
/* By node: the index of the process that it belongs to; PROFILE_NO_PROCESS: below a special frame.
 */
void profile_find_processes(const struct profile *p, uint32_t *process_of);
/* Appends a string to one that is being built: its offset, -ENOMEM, or -ENOSPC over 2 GiB. Meant
 * for the few of meta and events; texts_from() in intern.h is for many. */
int64_t profile_add_text(struct profile *p, const char *text, size_t len);
/* A copy without names that shares the module handles (each retained by retain), for another
 * look-up. */
int profile_copy(const struct profile *p, void *(*retain)(void *handle), struct profile **ret_copy);
/* Indexes, orders and offsets are all in bounds, and no sum of an event overflows: for what comes
 * from a file. -EBADMSG. */
int profile_check(const struct profile *p);

#endif
