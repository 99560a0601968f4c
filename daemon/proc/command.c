#include "daemon/proc/command.h"

#include <linux/auxvec.h>
#include <string.h>

#define WORD       8u
#define AUX_MAX    64    /* pairs; the kernel has some 20 */
#define WORDS_MAX  8192u /* of arguments and environment */
#define STRING_MAX ((size_t)128 << 10)

struct top {
	const uint8_t *stack;
	uint64_t start, end; /* addresses */
};

/* at is in the copy. */
static uint64_t word(const struct top *t, uint64_t at)
{
	uint64_t x;

	memcpy(&x, t->stack + (at - t->start), sizeof(x));
	return x;
}

static bool holds(const struct top *t, uint64_t at)
{
	return at >= t->start && at < t->end;
}

/* The program's file name is the last string of all, before one word of zeros. */
static uint64_t find_file_name(const struct top *t)
{
	uint64_t at = t->end - WORD;

	if (word(t, at) != 0 || at - t->start < 2 || t->stack[at - 1 - t->start] != 0)
		return 0;
	for (at--; at > t->start && t->stack[at - 1 - t->start] != 0; at--)
		if (t->end - at > STRING_MAX)
			return 0;
	return at > t->start ? at : 0;
}

/* The auxiliary vector names that place; it ends with a pair of zeros and begins behind the word
 * that ends the environment. Returns that word's address. */
static uint64_t find_environment_end(const struct top *t, uint64_t file_name)
{
	for (uint64_t at = file_name & ~(uint64_t)(WORD - 1); at >= t->start + 2 * WORD;) {
		at -= WORD;
		if (word(t, at) != file_name || word(t, at - WORD) != AT_EXECFN)
			continue;
		/* Down pair by pair: types are small, and the first of all is that of the vdso. */
		at -= WORD;
		for (int i = 0; i < AUX_MAX && at >= t->start + 2 * WORD; i++, at -= 2 * WORD) {
			if (word(t, at) == AT_SYSINFO_EHDR)
				return word(t, at - WORD) == 0 ? at - WORD : 0;
		}
		return 0;
	}
	return 0;
}

/* Pointers to strings between two zeros: the address of the first of them. end is that of the later
 * zero. */
static uint64_t list_before(const struct top *t, uint64_t end)
{
	uint64_t at = end;

	for (unsigned i = 0; i < WORDS_MAX && at >= t->start + WORD; i++) {
		if (!holds(t, word(t, at - WORD)))
			return at;
		at -= WORD;
	}
	return 0;
}

const char *command_of_stack(const uint8_t *stack, uint64_t start, size_t bytes, size_t *ret_len)
{
	struct top t = {stack, start, start + bytes};
	uint64_t file_name, end, environment, arguments, from, to;

	if (bytes < 16 * WORD || start % WORD != 0 || bytes % WORD != 0 || t.end < start)
		return NULL;
	file_name = find_file_name(&t);
	end = file_name ? find_environment_end(&t, file_name) : 0;
	environment = end ? list_before(&t, end) : 0;
	if (environment < start + 2 * WORD || word(&t, environment - WORD) != 0)
		return NULL;
	arguments = list_before(&t, environment - WORD);
	/* In front of them is how many they are. */
	if (arguments < start + WORD || arguments == environment - WORD ||
		word(&t, arguments - WORD) != (environment - WORD - arguments) / WORD)
		return NULL;
	from = word(&t, arguments);
	to = environment < end ? word(&t, environment) : file_name;
	if (from >= to || t.stack[to - 1 - start] != 0)
		return NULL;
	*ret_len = to - from;
	return (const char *)t.stack + (from - start);
}

size_t command_join(const char *args, size_t len, bool all, char ret[COMMAND_BYTES])
{
	size_t n = 0;

	while (len > 0 && args[len - 1] == 0)
		len--;
	for (; n < len && n < COMMAND_BYTES - 1 && (all || args[n]); n++)
		ret[n] = args[n] ? args[n] : ' ';
	ret[n] = 0;
	return n;
}
