#include "daemon/render/distinct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "daemon/tree/intern.h"

static int find_or_add(struct distinct *d, struct index *index, const char *text, uint32_t *ret_id)
{
	uint64_t hash = hash_bytes(text, strlen(text), 0);
	size_t cursor = hash;
	int r;

	while ((*ret_id = index_next(index, hash, &cursor)) != INDEX_NONE) {
		if (strcmp(d->list[*ret_id], text) == 0)
			return 0;
	}
	r = index_room(index);
	if (r < 0)
		return r;
	index_put(index, hash, d->count);
	d->list[d->count] = text;
	*ret_id = d->count++;
	return 0;
}

static int find(struct distinct *d, const struct view *v, bool files)
{
	struct index index = {0};
	int r = 0;

	d->list = malloc((v->name_count + (size_t)1) * sizeof(*d->list));
	d->of_name = malloc((v->name_count + (size_t)1) * sizeof(*d->of_name));
	if (!d->list || !d->of_name)
		return -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < v->name_count; i++) {
		const struct view_name *n = &v->names[i];

		r = find_or_add(d, &index, files ? n->file : n->module, &d->of_name[i]);
	}
	index_done(&index);
	return r;
}

int distinct_modules(const struct view *v, struct distinct *d)
{
	return find(d, v, false);
}

int distinct_files(const struct view *v, struct distinct *d)
{
	return find(d, v, true);
}

void distinct_done(struct distinct *d)
{
	free(d->list);
	free(d->of_name);
	*d = (struct distinct){0};
}
