#include "daemon/render/stacks.h"

#include <errno.h>
#include <stdlib.h>

bool stacks_wants_event(const struct stacks *s, uint32_t event)
{
	return s->view->query.all_events || event == (uint32_t)s->view->query.event;
}

static bool wants_node(const struct stacks *s, uint32_t node)
{
	return view_query_wants_process(&s->view->query, s->view->profile, s->process_of[node]);
}

static bool wants_entry(const struct stacks *s, const struct log_entry *e)
{
	return stacks_wants_event(s, e->event) &&
		view_query_covers(&s->view->query, s->view->profile, e) && wants_node(s, e->node);
}

static void take_log(struct stacks *s)
{
	const struct profile *p = s->view->profile;

	for (uint32_t i = 0; i < p->log_count; i++) {
		const struct log_entry *e = &p->log[i];

		if (wants_entry(s, e))
			s->all[s->count++] = (struct stack){e->node,
				s->view->query.by_thread ? e->thread : 0, e->event, e->weight, 1};
	}
}

static void take_tree(struct stacks *s)
{
	const struct profile *p = s->view->profile;

	for (uint32_t i = 0; i < p->node_count; i++) {
		for (uint32_t e = 0; e < p->event_count && wants_node(s, i); e++) {
			size_t cell = (size_t)e * p->node_count + i;

			if (stacks_wants_event(s, e) &&
				(p->self_weight[cell] || p->self_samples[cell]))
				s->all[s->count++] = (struct stack){
					i, 0, e, p->self_weight[cell], p->self_samples[cell]};
		}
	}
}

static int compare(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;

	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->thread > y->thread) - (x->thread < y->thread);
}

int stacks_make(const struct view *v, struct stacks *s)
{
	const struct profile *p = v->profile;
	bool by_log = view_query_needs_log(&v->query);
	size_t room = by_log ? p->log_count : (size_t)p->node_count * p->event_count;

	*s = (struct stacks){.view = v};
	s->process_of = malloc((p->node_count + (size_t)1) * sizeof(*s->process_of));
	s->all = malloc((room + 1) * sizeof(*s->all));
	if (!s->process_of || !s->all) {
		stacks_done(s);
		return -ENOMEM;
	}
	profile_find_processes(p, s->process_of);
	if (by_log)
		take_log(s);
	else
		take_tree(s);
	if (by_log && s->count > 0)
		qsort(s->all, s->count, sizeof(*s->all), compare);
	return 0;
}

void stacks_done(struct stacks *s)
{
	free(s->process_of);
	free(s->all);
	*s = (struct stacks){0};
}

size_t stacks_end_of(const struct stacks *s, size_t first)
{
	size_t end = first;

	while (end < s->count && compare(&s->all[first], &s->all[end]) == 0)
		end++;
	return end;
}
