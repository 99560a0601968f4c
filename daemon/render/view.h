/* A profile reduced to what somebody asked to see: a tree of named frames in preorder, merged by
 * name. All writers draw this. Pure: no other effect. */
#ifndef PFL_RENDER_VIEW_H
#define PFL_RENDER_VIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "daemon/tree/profile.h"

struct view_query {
	int event;               /* index; -1: the first */
	bool all_events;         /* for writers of single samples: whatever their event */
	uint64_t from_ns, to_ns; /* monotonic, from <= t < to; to 0: up to the end. Needs the log */
	pid_t pid, tid;          /* 0: all; tid needs the log */
	bool by_process;         /* a level "comm (pid)" below the root */
	bool by_thread;          /* a level "comm (tid)" below that; needs the log */
	bool lines;              /* frames are split by file:line */
	bool fold_templates;     /* foo<int> and foo<long> are foo<...> */
	bool inverted;           /* callers below callees: leaves become roots */
	double min_share;   /* 0..1: subtrees below it go to their parent's self, and it is said */
	uint32_t max_depth; /* 0: all */
	uint32_t max_nodes; /* made before anything is folded; 0, or more than it: VIEW_NODES_MAX */
	uint32_t max_shown; /* of nodes: the lightest subtrees beyond so many are folded, the root
			       stays; 0: all are shown */
	bool places; /* place_of is kept; by_process and by_thread make no levels: see series.h */
};
/* True when it cannot be answered without the log. */
bool view_query_needs_log(const struct view_query *q);
/* Whether a log entry of p is of the asked time and thread. */
bool view_query_covers(
	const struct view_query *q, const struct profile *p, const struct log_entry *e);
/* Whether a process is asked for; PROFILE_NO_PROCESS: only where none is named. */
bool view_query_wants_process(
	const struct view_query *q, const struct profile *p, uint32_t process);

struct diff;

enum view_kind {
	VIEW_ROOT,
	VIEW_PROCESS,
	VIEW_THREAD,
	VIEW_USER,
	VIEW_KERNEL,
	VIEW_JIT,
	VIEW_INLINED,
	VIEW_SPECIAL,
	VIEW_KIND_COUNT
};
/* "root", "process", …, as the JSON has it. */
const char *view_kind_name(enum view_kind kind);

/* In preorder: a node's children follow it, deeper by one; siblings by name, then module. */
struct view_node {
	uint32_t depth;       /* root 0 */
	uint32_t name;        /* index into names */
	uint64_t self, total; /* weights */
	uint64_t samples;     /* total in samples */
	uint64_t self_samples;
};

/* One distinct frame label. text is what people see; unnamed frames read "[libfoo.so+0x1234]", with
 * the offset that the file's own tables use. Unnamed kernel code is "[kernel]" while all of it is,
 * else
 * "[kernel+0x…]" with the address modulo 2 MiB, which is the same after each boot and gives no
 * address away; unnamed code without a file is "[jit]". Strings are lent by the view and its
 * profile. */
struct view_name {
	const char *text;   /* raw bytes, never empty: each sink escapes for itself */
	const char *module; /* base name of the file; "" for none, "[kernel]", "[jit]" */
	const char *file;   /* source file, "" when not asked for or not known */
	uint32_t line;
	uint8_t kind; /* enum view_kind */
	bool unnamed;
};

/* A question that would take more nodes than this (or max_nodes), or eight times as many steps,
 * loses detail far from the root, never weight: it is in folded_weight. Inverted views of deep
 * recursion are what can reach it. */
#define VIEW_NODES_MAX      2000000u
#define VIEW_STEPS_PER_NODE 8u

struct view {
	const struct profile *profile; /* retained */
	struct view_query query;       /* event is set */
	struct arena *arena;           /* of strings that the profile does not hold */
	struct view_name *names;       /* sorted as siblings are */
	uint32_t name_count;
	struct view_node *nodes;
	uint32_t node_count;
	uint32_t *place_of; /* by node of the profile: of nodes, where its samples are; with places,
			       else NULL */
	uint64_t total, samples;
	uint64_t folded_weight; /* min_share, max_depth and the limits took this much detail away */
	uint32_t folded_nodes;
	uint64_t covers_from_ns, covers_to_ns; /* monotonic, what is in it */
	bool log_short;    /* a log question that reaches back further than the log does */
	struct diff *diff; /* of one that compares two others (see diff.h), else NULL; owned */
};

/* p passes profile_check(). -ENOMEM; -EINVAL: no such event; -ENODATA: the query needs the log and
 * the profile has none (log is NULL; an empty log is not none). */
int view_new(const struct profile *p, const struct view_query *query, struct view **ret_view);
void view_free(struct view *v);
AUTO_FREE_FN(struct view, view_free)
/* The depth of its deepest node. */
uint32_t view_deepest(const struct view *v);

#endif
