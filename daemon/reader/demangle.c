#include "daemon/reader/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

struct sink {
	char *out;
	size_t len;
	jmp_buf full;
};

/* The library has no way to be told to stop, and a name of 250 bytes can ask for hundreds of
 * megabytes. Its callback form holds no memory of its own but the stack, so that a jump out of it
 * is clean. */
static void take(const char *text, size_t len, void *arg)
{
	struct sink *s = arg;

	if (len >= DEMANGLE_OUT_MAX - s->len)
		longjmp(s->full, 1);
	if (len > 0) /* text may be NULL then */
		memcpy(s->out + s->len, text, len);
	s->len += len;
}

typedef int (*demangle_fn)(const char *, int, demangle_callbackref, void *);

static bool run(demangle_fn fn, const char *name, int options, char *out)
{
	struct sink s = {.out = out};

	if (setjmp(s.full) != 0)
		return false;
	if (!fn(name, options, take, &s) || s.len == 0)
		return false;
	out[s.len] = 0;
	return true;
}

/* "_ZN1r3geo4area17h0123456789abcdefE.llvm.1234": the library knows the form without the tail
 * alone. */
static bool run_rust(const char *name, char *out)
{
	char bare[DEMANGLE_IN_MAX + 1];
	const char *tail = strstr(name, ".llvm.");
	int options = DMGL_PARAMS | DMGL_ANSI; /* without DMGL_VERBOSE: no hashes */

	if (!tail)
		return run(rust_demangle_callback, name, options, out);
	memcpy(bare, name, (size_t)(tail - name));
	bare[tail - name] = 0;
	return run(rust_demangle_callback, bare, options, out);
}

const char *demangle(const char *name, char *out)
{
	int options = DMGL_PARAMS | DMGL_ANSI | DMGL_VERBOSE;
	size_t len;

	if (name[0] != '_' ||
		(name[1] != 'Z' && name[1] != 'R' && name[1] != 'G' && name[1] != '_'))
		return name;
	len = strnlen(name, DEMANGLE_IN_MAX + 1);
	if (len > DEMANGLE_IN_MAX)
		return name;
	/* Old Rust names are C++ names that end in a hash; its demangler takes no others. */
	if (run_rust(name, out))
		return out;
	/* The library's limit of depth refuses all names over 1,024 bytes; ours are bounded anyway.
	 */
	if (len > DEMANGLE_RECURSION_LIMIT / 2)
		options |= DMGL_NO_RECURSE_LIMIT;
	return run(cplus_demangle_v3_callback, name, options, out) ? out : name;
}
