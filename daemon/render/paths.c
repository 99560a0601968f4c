#include "daemon/render/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "daemon/render/array.h"

#define MODULES_MAX (1u << 24) /* what a key has room for */

int paths_init(struct paths *p, size_t max_text)
{
	int r;

	*p = (struct paths){0};
	r = strtab_new(UINT32_MAX - 1, max_text, &p->texts);
	if (r == 0)
		r = strtab_new(MODULES_MAX, max_text, &p->modules);
	if (r == 0)
		r = map_new(1024, &p->name_ids);
	if (r == 0)
		r = map_new(1024, &p->node_ids);
	return r;
}

void paths_done(struct paths *p)
{
	strtab_free(p->texts);
	strtab_free(p->modules);
	map_free(p->name_ids);
	map_free(p->node_ids);
	free(p->names);
	free(p->nodes);
	*p = (struct paths){0};
}

int paths_name(
	struct paths *p, const char *text, const char *module, uint8_t kind, uint32_t *ret_name)
{
	struct path_name name = {.kind = kind};
	uint64_t key, id;
	int r = strtab_id(p->texts, text, strlen(text), &name.text);

	if (r == 0)
		r = strtab_id(p->modules, module, strlen(module), &name.module);
	if (r < 0)
		return r;
	key = (uint64_t)name.text << 32 | name.module << 8 | name.kind;
	if (map_get(p->name_ids, key, &id)) {
		*ret_name = (uint32_t)id;
		return 0;
	}
	r = array_grow((void **)&p->names, p->name_count, &p->name_cap, sizeof(*p->names));
	if (r == 0)
		r = map_set(p->name_ids, key, p->name_count);
	if (r < 0)
		return r;
	p->names[p->name_count] = name;
	*ret_name = p->name_count++;
	return 0;
}

int paths_node(struct paths *p, uint32_t parent, uint32_t name, uint32_t *ret_node)
{
	uint64_t key = (uint64_t)parent << 32 | name, id;
	int r;

	if (map_get(p->node_ids, key, &id)) {
		*ret_node = (uint32_t)id;
		return 0;
	}
	r = array_grow((void **)&p->nodes, p->node_count, &p->node_cap, sizeof(*p->nodes));
	if (r == 0)
		r = map_set(p->node_ids, key, p->node_count);
	if (r < 0)
		return r;
	p->nodes[p->node_count] = (struct path_node){.parent = parent, .name = name};
	*ret_node = p->node_count++;
	return 0;
}
