#include "daemon/tree/ledger.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

_Static_assert(LEDGER_END_COUNT <= LEDGER_ENDS, "struct ledger has a place for each end");

const char *ledger_end_name(unsigned end)
{
	static const char *const names[LEDGER_END_COUNT] = {
		[LEDGER_ROOT] = "root",
		[LEDGER_STACK_CUT] = "stack_cut",
		[LEDGER_MAX_FRAMES] = "max_frames",
		[LEDGER_NO_CFI] = "no_cfi",
		[LEDGER_NO_MODULE] = "no_module",
		[LEDGER_UNREADABLE] = "unreadable",
		[LEDGER_BAD_MEMORY] = "bad_memory",
		[LEDGER_NO_PROGRESS] = "no_progress",
		[LEDGER_NO_USER] = "no_user",
		[LEDGER_ERROR] = "error",
		[LEDGER_FP_END] = "fp_end",
	};

	return end < LEDGER_END_COUNT ? names[end] : NULL;
}

_Static_assert(LEDGER_SOURCE_COUNT <= LEDGER_SOURCES, "struct ledger has a place for each source");

const char *ledger_source_name(unsigned source)
{
	static const char *const names[LEDGER_SOURCE_COUNT] = {
		[LEDGER_FROM_NOTHING] = "none",
		[LEDGER_FROM_SYMTAB] = "symtab",
		[LEDGER_FROM_DYNSYM] = "dynsym",
		[LEDGER_FROM_DEBUGDATA] = "gnu_debugdata",
		[LEDGER_FROM_DEBUGLINK] = "debuglink",
		[LEDGER_FROM_BUILD_ID] = "build_id",
		[LEDGER_FROM_DWARF] = "dwarf",
		[LEDGER_FROM_PLT] = "plt",
		[LEDGER_FROM_FDE] = "fde",
		[LEDGER_FROM_PERF_MAP] = "perf_map",
		[LEDGER_FROM_JITDUMP] = "jitdump",
		[LEDGER_FROM_KALLSYMS] = "kallsyms",
		[LEDGER_FROM_GOPCLNTAB] = "gopclntab",
	};

	return source < LEDGER_SOURCE_COUNT ? names[source] : NULL;
}

#define FIELD(name)                                  \
	{                                            \
#name, offsetof(struct ledger, name) \
	}

bool ledger_field(const struct ledger *l, unsigned i, const char **ret_name, uint64_t *ret_value)
{
	static const struct {
		const char *name;
		size_t at;
	} fields[] = {
		FIELD(samples),
		FIELD(emitted),
		FIELD(lost),
		FIELD(throttled),
		FIELD(filtered),
		FIELD(truncated),
		FIELD(depth_cut),
		FIELD(kernel_only),
		FIELD(dropped),
		FIELD(unknown_records),
		FIELD(malformed_bytes),
		FIELD(sideband_lost),
		FIELD(log_dropped),
		FIELD(log_from_ns),
		FIELD(frames_unnamed),
		FIELD(frames_total),
		FIELD(counted_ns),
		FIELD(tails),
		FIELD(budget_steps),
		FIELD(chains),
	};

	_Static_assert(COUNT(fields) + LEDGER_ENDS + LEDGER_SOURCES ==
			sizeof(struct ledger) / sizeof(uint64_t),
		"every field of the ledger has a name");
	if (i >= COUNT(fields))
		return false;
	*ret_name = fields[i].name;
	*ret_value = *(const uint64_t *)((const char *)l + fields[i].at);
	return true;
}

int ledger_whole_permille(const struct ledger *l)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < LEDGER_ENDS; i++)
		if (i != LEDGER_NO_USER) /* a kernel thread has no user stack to be whole */
			all += l->unwind_ends[i];
	if (all == 0)
		return -1;
	return (int)((unsigned __int128)l->unwind_ends[LEDGER_ROOT] * 1000 / all);
}
