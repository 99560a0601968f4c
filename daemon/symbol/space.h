/* The executable mappings of one process, and the table of all modules. Sampler thread. */
#ifndef PFL_SYMBOL_SPACE_H
#define PFL_SYMBOL_SPACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "daemon/broker/client.h"
#include "daemon/symbol/jitrules.h"
#include "daemon/symbol/module.h"

/* All modules, found again by (dev, inode, size, mtime) so that each file is opened once. Capped at
 * max_modules; unused ones go first. */
struct modules;
struct range;
int modules_new(struct broker *b, unsigned max_modules, struct modules **ret_modules);

/* A file as a recording tells of it, by what it can be told from another one of that path. */
struct file_claim {
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_bytes; /* 0: not told */
	uint64_t inode;         /* 0: not told. Decides where there is no build id */
	bool trusted;           /* what neither tells is taken as it is */
	bool asked;             /* somebody wanted the file */
	int error; /* then: 0; -ESTALE: another file has the path now; -ENODATA: nothing tells; … */
};
/* The modules of a recording: their processes are none of ours, and files are opened by path in our
 * own root, with the broker's rights. claim: that of a mapping; NULL: none. */
typedef struct file_claim *(*claim_fn)(void *arg, const struct range *r);
int modules_new_recorded(struct broker *b, unsigned max_modules, claim_fn claim, void *arg,
	struct modules **ret_modules);
void modules_free(struct modules *ms);
struct modules_stats {
	uint64_t opened, unreadable, evicted;
	unsigned count;
	size_t bytes;
};
/* Of each module, see module_let_go_of_pages(). */
void modules_let_go_of_pages(const struct modules *ms);
void modules_get_stats(const struct modules *ms, struct modules_stats *ret);

enum range_kind {
	RANGE_FILE, /* module is set */
	RANGE_VDSO, /* module is set */
	RANGE_ANON, /* executable memory without a file, or of a memfd that is no ELF file: JIT code
		     */
	RANGE_OTHER, /* [vsyscall], [uprobes], … */
};

struct range {
	uint64_t start, end; /* addresses */
	uint64_t pgoff;      /* file offset of start */
	enum range_kind kind;
	struct module *module; /* NULL until somebody looks it up with space_module() */
	uint64_t again_ns;     /* its file was not to be had for want of something that may come
				  back: not tried again before; 0: it is as it is */
	dev_t dev;
	uint64_t inode;
	char *path; /* as reported, owned */
};

struct space;
int space_new(struct modules *ms, pid_t pid, struct space **ret_space);
void space_free(struct space *s);
pid_t space_pid(const struct space *s);
/* Of memory, modules aside. */
size_t space_bytes(const struct space *s);
/* Bumped on each change, so that caches keyed by it go stale. */
uint64_t space_generation(const struct space *s);
/* Bumped only when an address that once led to a module may lead to another now: what is cached by
 * address for the code of modules stays good until then, however often JIT code or new libraries
 * come. */
uint64_t space_code_generation(const struct space *s);

/* Reads /proc/PID/maps (of thread tid, when the leader is gone and tid is not 0) and adds what is
 * executable. A nameless hole between two parts of one file, as huge-page remapping of code leaves
 * it, counts as that file. */
int space_read(struct space *s, pid_t tid);
/* An executable mapping appeared: cuts or replaces whatever it overlaps. The same twice is fine.
 * -ENOSPC: over 32,768 ranges; -EINVAL: not a range; -ENOMEM. */
int space_map(struct space *s, uint64_t start, uint64_t end, uint64_t pgoff, dev_t dev,
	uint64_t inode, const char *path);
void space_clear(struct space *s);                                              /* exec */
int space_clone(const struct space *from, pid_t pid, struct space **ret_space); /* fork */

/* The unwind rules of its RANGE_ANON ranges, where they are known; another one's place is taken.
 * NULL: none. A process that was forked has its parent's, and no other program has any. */
void space_set_jit_take(struct space *s, struct jitrules *rules);
const struct jitrules *space_jit(const struct space *s);

/* The range that holds addr, or NULL. Lent until the next change. */
struct range *space_find(struct space *s, uint64_t addr);
/* All ranges, by index in the order of addresses; NULL past the last. */
struct range *space_range(struct space *s, unsigned index);
/* Its module, opened at the first call (a request to the broker). NULL for kinds without a file.
 * Lent; a file that cannot be opened has one too, with error set; if that was for want of
 * descriptors, memory or a process, it is tried again a second later, by the next call. May turn a
 * range into RANGE_ANON: see there. */
struct module *space_module(struct space *s, struct range *r);
/* Address in the file's own address space. False: not in a segment of it. */
bool range_vaddr(const struct range *r, uint64_t addr, uint64_t *ret_vaddr);
/* What is to be added to the file's own addresses. False: no module, or no segment of it is mapped
 * here. */
bool range_bias(const struct range *r, uint64_t *ret_bias);

#endif
