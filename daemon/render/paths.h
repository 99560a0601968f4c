/* Paths of names as small ids, the same for equal ones: trees that come one after the other, or
 * beside each other, are laid upon each other by it. Belongs to one thread. */
#ifndef PFL_RENDER_PATHS_H
#define PFL_RENDER_PATHS_H

#include <stddef.h>
#include <stdint.h>

struct path_node {
	uint32_t parent, name; /* parent < own index, but for the root, 0, whose parent is 0 */
};

struct path_name {
	uint32_t text, module; /* in the tables of strings; module 0: none */
	uint8_t kind;
};

struct paths {
	struct strtab *texts, *modules;
	struct map *name_ids; /* (text, module, kind) to name */
	struct map *node_ids; /* (parent, name) to node */
	struct path_name *names;
	uint32_t name_count, name_cap;
	struct path_node *nodes;
	uint32_t node_count, node_cap;
};

/* max_text: bytes of texts, and of modules. -ENOMEM; paths_done() in any case. */
int paths_init(struct paths *p, size_t max_text);
void paths_done(struct paths *p);
/* Each: found or made. -ENOSPC: max_text; -ENOMEM. */
int paths_name(
	struct paths *p, const char *text, const char *module, uint8_t kind, uint32_t *ret_name);
int paths_node(struct paths *p, uint32_t parent, uint32_t name, uint32_t *ret_node);

#endif
