#include "daemon/render/sourcelines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Sums by name of the view, which is a line of a function; and the way from the root to a node, so
 * that a line which is on it several times counts once. */
struct sums {
	struct source_line *of_name; /* file NULL: of another function */
	uint32_t *on_way;            /* by name: how often */
	uint32_t *way;               /* by depth: name */
};

static void sums_done(struct sums *s)
{
	free(s->of_name);
	free(s->on_way);
	free(s->way);
}

static bool is_asked(const struct view_name *n, const char *function, const char *module)
{
	return n->kind >= VIEW_USER && n->kind <= VIEW_INLINED && strcmp(n->text, function) == 0 &&
		(!*module || strcmp(n->module, module) == 0);
}

/* How many names are asked for; -ENOMEM. */
static int sums_new(const struct view *v, const char *function, const char *module, struct sums *s)
{
	uint32_t deepest = 0;
	int found = 0;

	for (uint32_t i = 0; i < v->node_count; i++)
		deepest = v->nodes[i].depth > deepest ? v->nodes[i].depth : deepest;
	s->of_name = calloc(v->name_count + (size_t)1, sizeof(*s->of_name));
	s->on_way = calloc(v->name_count + (size_t)1, sizeof(*s->on_way));
	s->way = calloc(deepest + (size_t)1, sizeof(*s->way));
	if (!s->of_name || !s->on_way || !s->way)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->name_count; i++) {
		if (is_asked(&v->names[i], function, module)) {
			s->of_name[i].file = v->names[i].file;
			s->of_name[i].line = v->names[i].line;
			found++;
		}
	}
	return found;
}

static void sum_up(const struct view *v, struct sums *s)
{
	uint32_t length = 0;

	for (uint32_t i = 0; i < v->node_count; i++) {
		const struct view_node *n = &v->nodes[i];
		struct source_line *line = &s->of_name[n->name];

		while (length > n->depth)
			s->on_way[s->way[--length]]--;
		s->way[length++] = n->name;
		if (s->on_way[n->name]++ == 0)
			line->total += n->total;
		line->self += n->self;
		line->samples += n->self_samples;
	}
}

static int by_place(const void *a, const void *b)
{
	const struct source_line *one = a, *two = b;
	int c = strcmp(one->file, two->file);

	return c ? c : (one->line > two->line) - (one->line < two->line);
}

/* Those that were asked for, each place once: one function may be there inlined and not. */
static uint32_t gather(const struct sums *s, uint32_t name_count, struct source_line *out)
{
	uint32_t count = 0, kept = 0;

	for (uint32_t i = 0; i < name_count; i++) {
		if (s->of_name[i].file)
			out[count++] = s->of_name[i];
	}
	qsort(out, count, sizeof(*out), by_place);
	for (uint32_t i = 0; i < count; i++) {
		if (kept > 0 && by_place(&out[kept - 1], &out[i]) == 0) {
			out[kept - 1].self += out[i].self;
			out[kept - 1].total += out[i].total;
			out[kept - 1].samples += out[i].samples;
		} else {
			out[kept++] = out[i];
		}
	}
	return kept;
}

/* Moves the lines of the heaviest file to the begin. */
static void keep_one_file(struct source_lines *s)
{
	uint64_t most = 0;
	uint32_t best = 0, best_count = 0, next;

	for (uint32_t i = 0; i < s->count; i = next) {
		uint64_t weight = 0;

		for (next = i;
			next < s->count && strcmp(s->lines[next].file, s->lines[i].file) == 0;
			next++)
			weight += s->lines[next].total;
		s->other_files++;
		if (i == 0 || weight > most) {
			most = weight;
			best = i;
			best_count = next - i;
		}
	}
	s->other_files--;
	memmove(s->lines, s->lines + best, best_count * sizeof(*s->lines));
	s->count = best_count;
	s->file = s->lines[0].file;
}

static bool frame_is(const struct profile *p, uint32_t frame, const char *function)
{
	if (!p->name_starts)
		return false;
	for (uint32_t i = p->name_starts[frame]; i < p->name_starts[frame + 1]; i++) {
		if (strcmp(profile_text(p, p->name_frames[i].name), function) == 0)
			return true;
	}
	return false;
}

static int look_for_containers(const struct profile *p, const char *function, bool *ret_found)
{
	uint32_t *process_of = malloc(p->node_count * sizeof(*process_of));

	if (!process_of)
		return -ENOMEM;
	profile_find_processes(p, process_of);
	*ret_found = false;
	for (uint32_t i = 0; i < p->node_count && !*ret_found; i++) {
		uint32_t process = process_of[i];

		*ret_found = process != PROFILE_NO_PROCESS &&
			profile_text(p, p->processes[process].container)[0] &&
			frame_is(p, p->nodes[i].frame, function);
	}
	free(process_of);
	return 0;
}

int source_lines_make(
	const struct view *v, const char *function, const char *module, struct source_lines *ret)
{
	AUTO(sums_done) struct sums sums = {0};
	struct source_lines s = {0};
	int found = sums_new(v, function, module, &sums), r;

	if (found <= 0)
		return found < 0 ? found : -ENOENT;
	r = look_for_containers(v->profile, function, &s.in_container);
	if (r < 0)
		return r;
	s.lines = malloc((size_t)found * sizeof(*s.lines));
	if (!s.lines)
		return -ENOMEM;
	sum_up(v, &sums);
	s.count = gather(&sums, v->name_count, s.lines);
	keep_one_file(&s);
	*ret = s;
	return 0;
}

void source_lines_done(struct source_lines *s)
{
	free(s->lines);
}
