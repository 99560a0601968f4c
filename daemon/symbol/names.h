/* Addresses to names, when somebody looks: asks the reader in batches, caches by module. Any
 * thread; a lock inside lets one batch at a time through. Never used by the sampler thread. */
#ifndef PFL_SYMBOL_NAMES_H
#define PFL_SYMBOL_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"
#include "daemon/broker/client.h"
#include "daemon/symbol/module.h"

struct names;

/* cache_max_bytes: cap of all cached names; the least recently used module's go first. */
int names_new(struct broker *b, size_t cache_max_bytes, struct names **ret_names);
/* The same with readers of another make than broker_new_reader(): for tests. See readerclient.h. */
int names_new_with_reader(struct broker *b, int (*spawn)(void *arg, int *ret_sock, pid_t *ret_pid),
	void *arg, size_t cache_max_bytes, struct names **ret_names);
void names_free(struct names *n);
AUTO_FREE_FN(struct names, names_free)

/* What a name comes from. */
enum name_source {
	NAME_FROM_NOTHING,
	NAME_FROM_SYMTAB,
	NAME_FROM_DYNSYM,
	NAME_FROM_DEBUGDATA, /* .gnu_debugdata */
	NAME_FROM_DEBUGLINK, /* a separate debug file, found by the link to it */
	NAME_FROM_BUILD_ID,  /* the same, found by build id */
	NAME_FROM_DWARF,     /* of the file or of its debug file */
	NAME_FROM_PLT,
	NAME_FROM_FDE, /* none, but where the function starts is known */
	NAME_FROM_PERF_MAP,
	NAME_FROM_JITDUMP,
	NAME_FROM_KALLSYMS,
	NAME_FROM_GOPCLNTAB, /* .gopclntab, Go's own table */
	NAME_FROM_COUNT
};

/* One frame of an address; strings are lent until names_release() of the answer. */
struct name_frame {
	const char *name; /* demangled, raw bytes; "" for NAME_FROM_FDE alone */
	const char *file; /* "" unless lines were asked for and known */
	uint32_t line;
	bool inlined;
	uint8_t source;    /* enum name_source */
	uint64_t start;    /* vaddr of the symbol; 0: not known, as for inlined ones */
	uint64_t since_ns; /* JIT code: monotonic, from when on it was there; 0: all the time */
};

struct name_answer {
	uint32_t count;         /* of addresses */
	const uint32_t *starts; /* count + 1: frames of address i are [starts[i], starts[i + 1]) */
	const struct name_frame
		*frames; /* innermost inlined first; an address without any has no name */
	void *owner;
};
/* May come after names_free(). */
void names_release(struct name_answer *a);

enum names_want {
	NAMES_PLAIN = 0,
	NAMES_INLINES = 1, /* file, line and inline frames by DWARF */
};

/* vaddrs of one module, sorted ascending, each once. Separate debug files are found and used:
 * build-id directories of the host and of the target's root, .gnu_debuglink beside the file, in
 * .debug/ and below /usr/lib/debug. A module that could not be opened has no names. When the reader
 * dies over the module it is asked for less: without DWARF and debug file, then without demangling.
 * -EIO: it died over all of it, or refused; the module is then asked about again only after a
 * back-off (1 s, doubled to 5 min). The answer is empty in that case, never half. Other errors:
 * there is no reader at the moment. */
int names_of_module(struct names *n, struct module *m, const uint64_t *vaddrs, uint32_t count,
	enum names_want want, struct name_answer *ret_answer);

/* The module's unwind rules, compiled by the reader: for module_set_table(). Where a good part of
 * its code has none, a separate debug file is looked for; *ret_keep is false then, since another
 * time there may be another one. -EIO: the reader died over it; -ENODATA: it has none; other
 * errors: it cannot be had, or not now. */
struct cfi_table;
int names_unwind_table(
	struct names *n, struct module *m, struct cfi_table **ret_table, bool *ret_keep);

/* Kernel addresses by kallsyms, read again when the names are older than 60 s or were hidden. While
 * kptr_restrict is in force, which is looked at each time, nothing has a name, and
 * names_kernel_hidden() says so: as of the last look-up. */
int names_of_kernel(
	struct names *n, const uint64_t *addrs, uint32_t count, struct name_answer *ret_answer);
bool names_kernel_hidden(struct names *n);
/* A file, lent, that keeps the kernel's symbols: before the first look-up. */
void names_keep_kernel(struct names *n, int fd);
/* Which kernel runs here, and where it begins in memory. What is not known is 0. */
struct kernel_identity {
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_bytes;
	uint64_t text;
};
void names_kernel_identity(struct names *n, struct kernel_identity *ret_identity);

/* Code without a file, by the jit-*.dump that the process has mapped, or else by /tmp/perf-PID.map,
 * see jitdump.h and perfmap.h. Memory that was used anew has a frame for each code that it held,
 * the oldest first, with since_ns. Files of another user, a map older than the process, and
 * malformed parts are passed over. What was read outlives the process, for the 64 last ones.
 * start_ticks: of the process. */
int names_of_jit(struct names *n, pid_t pid, uint64_t start_ticks, const uint64_t *addrs,
	uint32_t count, struct name_answer *ret_answer);
/* Reads what that process has written now, so that its names outlive it. Cheap when the file has
 * not grown. */
void names_jit_refresh(struct names *n, pid_t pid, uint64_t start_ticks);

/* Where the names of a process of a recording may be. What is found there is read at once, and kept
 * for names_of_jit() like that of any other. -ENOENT: neither file is there, or of use. */
struct names_recorded {
	const char *dump_path; /* of the jitdump that it had mapped; NULL: none, or no identity */
	dev_t dump_dev;
	uint64_t dump_inode;
	bool monotonic; /* the recording has the clock of the jitdump */
};
int names_jit_recorded(
	struct names *n, pid_t pid, uint64_t start_ticks, const struct names_recorded *where);

/* The unwind rules that the jitdump of that process tells of its code, as far as it was read.
 * -ENOENT: none. The caller's to unref. */
struct jitrules;
int names_jit_rules(struct names *n, pid_t pid, uint64_t start_ticks, struct jitrules **ret_rules);

struct names_stats {
	uint64_t hits, misses, evictions; /* addresses; modules for evictions */
	uint64_t reader_requests, reader_deaths, reader_refusals, debug_mismatches;
	uint64_t cache_bytes;
	uint64_t jit_lines, jit_junk,
		jit_dropped; /* of the perf maps and jitdumps kept now; dropped: over a cap */
	unsigned unreadable_modules; /* in back-off now */
	pid_t reader_pid;
};
void names_get_stats(struct names *n, struct names_stats *ret_stats);

#endif
