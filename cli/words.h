/* Did you mean ...? */
#ifndef PFL_CLI_WORDS_H
#define PFL_CLI_WORDS_H

/* How many letters are put in, left out, changed or swapped with their neighbour between the two;
 * what is longer than 32 is cut there. */
unsigned words_distance(const char *a, const char *b);

/* The word that is most like the one that was typed, if any is like it at all. */
struct nearest {
	const char *word, *best; /* best NULL: none so far */
	unsigned distance;
};
void words_try(struct nearest *n, const char *candidate);

#endif
