#include "cli/words.h"

#include <string.h>

#define LETTERS 32

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The usual table, one row per letter of a, of which three are needed. */
unsigned words_distance(const char *a, const char *b)
{
	unsigned rows[3][LETTERS + 1], *above = rows[0], *now = rows[1], *last = rows[2];
	unsigned m = (unsigned)strnlen(a, LETTERS), n = (unsigned)strnlen(b, LETTERS);

	for (unsigned j = 0; j <= n; j++)
		now[j] = j;
	for (unsigned i = 1; i <= m; i++) {
		unsigned *free_row = above;

		above = last;
		last = now;
		now = free_row;
		now[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			now[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]),
				least(last[j], now[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], above[j - 2] + 1);
		}
	}
	return now[n];
}

/* A third of the letters may differ, or the rest of the word be missing. */
void words_try(struct nearest *n, const char *candidate)
{
	size_t typed = strlen(n->word);
	unsigned distance = words_distance(n->word, candidate);
	unsigned most = typed < 3 ? 1 : (unsigned)(typed + 2) / 3;

	if (typed >= 2 && strncmp(n->word, candidate, typed) == 0)
		distance = 1;
	if (distance > most || (n->best && distance >= n->distance))
		return;
	n->best = candidate;
	n->distance = distance;
}
