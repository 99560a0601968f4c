/* A profile as the daemon tells it in JSON, as a tree and as a list of functions. */
#ifndef PFL_CLI_TREE_H
#define PFL_CLI_TREE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"
#include "base/cleanup.h"

enum tree_kind {
	TREE_GROUP, /* all, a process, a thread */
	TREE_USER,
	TREE_KERNEL,
	TREE_JIT,
	TREE_INLINED,
	TREE_SPECIAL
};

struct tree_name {
	const char *text, *module; /* module "": none */
	enum tree_kind kind;
};

/* In preorder: what is below a node follows it. */
struct tree_node {
	uint32_t name, depth;
	int64_t parent; /* -1: none */
	double self, total;
	double self_samples, total_samples;
};

struct tree {
	cJSON *json; /* the texts are its */
	struct tree_name *names;
	size_t name_count;
	struct tree_node *nodes;
	size_t node_count;
	const char *event, *unit;
	double total, samples;
};

/* -ENOMEM, -EINVAL: no profile. */
int tree_parse(const char *json, size_t len, struct tree **ret_tree);
void tree_free(struct tree *t);
AUTO_FREE_FN(struct tree, tree_free)

/* A function by its own share and with what it calls; one that calls itself counts once a stack. */
struct function {
	const char *name, *module; /* the tree's */
	enum tree_kind kind;
	double self, total;
	double self_samples, total_samples;
};

/* Sorted by name and module; the caller frees them. */
int tree_functions(const struct tree *t, struct function **ret_functions, size_t *ret_count);
void functions_sort(struct function *f, size_t count, bool total);
/* Whether name or module hold the text, in any case. */
bool function_matches(const struct function *f, const char *text);

/* The functions of two profiles side by side; NULL where one has it not. Both lists as
 * tree_functions() has sorted them. */
struct function_pair {
	const struct function *a, *b;
};
int functions_join(const struct function *a, size_t a_count, const struct function *b,
	size_t b_count, struct function_pair **ret_pairs, size_t *ret_count);

#endif
