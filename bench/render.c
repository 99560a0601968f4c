/* render NODES SAMPLES: what a call tree costs, from its samples to each format. Stacks of 20 to 40
 * frames are made up, always the same, until the tree has that many nodes, and then come again
 * until there are that many samples. render FILE: the same of folded stacks. Milliseconds of CPU
 * time, the least of five. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/io.h"
#include "base/map.h"
#include "daemon/render/render.h"
#include "daemon/run/naming.h"
#include "daemon/tree/foldedin.h"

#define ROUNDS     5
#define FUNCTIONS  5000
#define CALLEES    6
#define THREADS    16
#define STACKS_MAX 4000000u
#define DEEPEST    40

struct stack {
	uint32_t seed;
	uint8_t depth;
};

struct world {
	struct calltree *tree;
	uint32_t process, threads[THREADS];
	uint32_t functions[FUNCTIONS];
	struct stack *stacks;
	uint32_t stack_count;
};

static uint64_t random_state = 1;

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state += 0x9e3779b97f4a7c15u;
	return (uint32_t)(hash_u64(*state) >> 32) % below;
}

static void add_function(struct world *w, unsigned i)
{
	static const char *const words[] = {"parse", "emit", "visit", "node", "scan", "token",
		"page", "lookup", "commit", "graph", "merge", "encode", "frame", "event", "queue",
		"lock"};
	char name[128];
	const char *a = words[draw(&random_state, 16)], *b = words[draw(&random_state, 16)];
	int64_t text;

	if (i % 3 == 0)
		snprintf(name, sizeof(name), "%s_%s_%u", a, b, i);
	else if (i % 3 == 1)
		snprintf(name, sizeof(name), "%s::%s::%s_%u(%s const&, unsigned long)", a, b, a, i,
			b);
	else
		snprintf(name, sizeof(name), "std::vector<%s::%s, std::allocator<%s::%s> >::%s_%u",
			a, b, a, b, a, i);
	text = calltree_text(w->tree, name, strlen(name));
	w->functions[i] = calltree_frame(w->tree, FRAME_NAMED, NAMED_USER, (uint64_t)text);
}

static uint32_t fill_chain(const struct world *w, struct stack s, uint32_t *chain)
{
	uint64_t state = s.seed;
	uint32_t at = 0;

	for (unsigned i = 0; i < s.depth; i++) {
		/* Near the root one callee is by far the likeliest. */
		uint32_t luck = draw(&state, 100), callee = 0;

		while (callee + 1 < CALLEES && luck < (i + 6u < s.depth ? 11u : 33u)) {
			callee++;
			luck = draw(&state, 100);
		}
		at = (uint32_t)(hash_u64((uint64_t)at << 8 | callee) % FUNCTIONS);
		chain[i] = w->functions[at];
	}
	return s.depth;
}

static void add_sample(struct world *w, struct stack s, uint64_t i)
{
	uint32_t chain[DEEPEST];
	uint32_t count = fill_chain(w, s, chain);

	(void)calltree_add(w->tree, w->process, w->threads[i % THREADS], chain, count, 0, 1003009,
		1000 + i * 1000, (unsigned)(i % 2));
}

static int make_tree(struct world *w, uint32_t nodes, uint64_t samples)
{
	struct calltree_options o = {
		.max_nodes = nodes + 1000, .log_entries = 1 << 20, .event_count = 1};
	struct calltree_stats st;
	uint64_t i = 0;

	if (calltree_new(&o, &w->tree) < 0)
		return -1;
	w->stacks = calloc(STACKS_MAX, sizeof(*w->stacks));
	if (!w->stacks)
		return -1;
	w->process = (uint32_t)calltree_process(w->tree, 42, 1);
	for (unsigned t = 0; t < THREADS; t++)
		w->threads[t] = (uint32_t)calltree_thread(w->tree, (pid_t)(42 + t), w->process);
	for (unsigned f = 0; f < FUNCTIONS; f++)
		add_function(w, f);
	do {
		struct stack s = {(uint32_t)i, (uint8_t)(20 + draw(&random_state, DEEPEST - 20))};

		w->stacks[w->stack_count++] = s;
		add_sample(w, s, i++);
		calltree_get_stats(w->tree, &st);
	} while (st.nodes < nodes && w->stack_count < STACKS_MAX);
	while (i < samples) {
		add_sample(w, w->stacks[draw(&random_state, w->stack_count)], i);
		i++;
	}
	return 0;
}

static bool go_on(void *arg, size_t at)
{
	return true;
}

static int read_tree(struct world *w, const char *path)
{
	struct calltree_options o = {.event_count = 1};
	struct buf text = BUF_INIT, why = BUF_INIT;
	struct foldedin_stats st;
	uint64_t best = UINT64_MAX;

	if (io_read_file(path, (size_t)4 << 30, &text) < 0)
		return -1;
	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t before = time_thread_cpu_ns(), took;

		calltree_free(w->tree);
		if (calltree_new(&o, &w->tree) < 0)
			return -1;
		w->process = (uint32_t)calltree_process(w->tree, 0, 0);
		if (foldedin_read(
			    text.data, text.len, w->tree, w->process, go_on, NULL, &st, &why) < 0) {
			fprintf(stderr, "%s: %s\n", path, why.data ? why.data : "?");
			return -1;
		}
		took = time_thread_cpu_ns() - before;
		best = took < best ? took : best;
	}
	printf("read %zu bytes of %llu stacks: %.1f ms\n", text.len, (unsigned long long)st.stacks,
		(double)best / 1e6);
	buf_done(&text);
	return 0;
}

/* What is timed. */
struct state {
	const struct world *world;
	struct profile *raw, *named;
	struct view *view;
	struct view_query query;
	enum render_format format;
	uint64_t bytes;
};

static int do_snapshot(struct state *s)
{
	profile_unref(s->raw);
	s->raw = NULL;
	return calltree_snapshot(s->world->tree, true, &s->raw);
}

/* Frames have their names: this is all but the looking up. */
static int do_snapshot_and_naming(struct state *s)
{
	int r = do_snapshot(s);

	if (r < 0)
		return r;
	profile_unref(s->named);
	s->named = NULL;
	return naming_apply_take(NULL, MOVE(s->raw), 0, &s->named);
}

static int do_view(struct state *s)
{
	view_free(s->view);
	s->view = NULL;
	return view_new(s->named, &s->query, &s->view);
}

static int do_render(struct state *s)
{
	AUTO(render_free_auto) struct render *r = NULL;
	AUTO(buf_done) struct buf piece = BUF_INIT;
	int e = do_view(s);

	if (e == 0)
		e = render_new(s->format, MOVE(s->view), NULL, &r);
	s->bytes = 0;
	while (e == 0) {
		e = render_more(r, &piece);
		s->bytes += piece.len;
		buf_clear(&piece);
		if (e <= 0)
			return e;
		e = 0;
	}
	return e;
}

static double best_of(int (*fn)(struct state *s), struct state *s, const char *what)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint64_t before = time_thread_cpu_ns(), took;

		if (fn(s) < 0) {
			fprintf(stderr, "%s failed\n", what);
			exit(1);
		}
		took = time_thread_cpu_ns() - before;
		best = took < best ? took : best;
	}
	printf("%-24s %8.1f ms", what, (double)best / 1e6);
	if (fn == do_render)
		printf("  %9llu bytes", (unsigned long long)s->bytes);
	putchar('\n');
	return (double)best / 1e6;
}

static void measure(const struct world *w, bool with_log)
{
	struct state s = {.world = w, .query = {.event = -1}};
	double sum;

	best_of(do_snapshot, &s, "snapshot");
	printf("%u nodes, %u distinct frames, %llu samples\n", s.raw->node_count,
		s.raw->frame_count, (unsigned long long)s.raw->ledger.samples);
	sum = best_of(do_snapshot_and_naming, &s, "snapshot with names");
	s.format = RENDER_SVG;
	sum += best_of(do_render, &s, "view and SVG");
	printf("%-24s %8.1f ms\n", "snapshot to SVG", sum);
	best_of(do_view, &s, "view alone");
	s.format = RENDER_JSON;
	best_of(do_render, &s, "view and JSON");
	s.format = RENDER_FOLDED;
	best_of(do_render, &s, "view and folded stacks");
	s.format = RENDER_TEXT;
	best_of(do_render, &s, "view and text");
	s.format = RENDER_SVG;
	s.query.inverted = true;
	best_of(do_render, &s, "callers, SVG");
	s.query.inverted = false;
	if (with_log) {
		s.query.by_thread = true;
		best_of(do_render, &s, "by thread, SVG");
		s.query.by_thread = false;
		s.query.from_ns = 1000;
		best_of(do_render, &s, "part of the time, SVG");
	}
	view_free(s.view);
	profile_unref(s.named);
	profile_unref(s.raw);
}

int main(int argc, char **argv)
{
	struct world w = {0};
	struct rusage used;
	int r;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: render NODES SAMPLES | render FILE\n");
		return 2;
	}
	r = argc == 2
		? read_tree(&w, argv[1])
		: make_tree(&w, (uint32_t)strtoul(argv[1], NULL, 10), strtoull(argv[2], NULL, 10));
	if (r < 0)
		return 1;
	measure(&w, argc == 3);
	getrusage(RUSAGE_SELF, &used);
	printf("at most %ld MiB\n", used.ru_maxrss >> 10);
	calltree_free(w.tree);
	free(w.stacks);
	return 0;
}
