/* What a follower of a tree is told: a client that knows nothing else has to end up with the view.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <cjson/cJSON.h>

#include "daemon/render/delta.h"
#include "tests/unit/failing_alloc.h"
#include "tests/unit/profile_samples.h"

AUTO_FREE_FN(cJSON, cJSON_Delete)

/* ---- a client ---- */

#define CLIENT_MAX 4096

struct client {
	unsigned module_count, name_count, node_count, resets;
	char *modules[CLIENT_MAX], *names[CLIENT_MAX]; /* names with their module in front */
	unsigned parent[CLIENT_MAX], name[CLIENT_MAX];
	double weight[CLIENT_MAX], samples[CLIENT_MAX];
};

static void client_forget(struct client *c)
{
	for (unsigned i = 0; i < c->module_count; i++)
		free(c->modules[i]);
	for (unsigned i = 0; i < c->name_count; i++)
		free(c->names[i]);
	memset(c, 0, sizeof(*c));
}

static double number_at(const cJSON *array, int i)
{
	assert_true(cJSON_IsNumber(cJSON_GetArrayItem(array, i)));
	return cJSON_GetArrayItem(array, i)->valuedouble;
}

static unsigned index_at(const cJSON *array, int i, unsigned count)
{
	double n = number_at(array, i);

	assert_true(n >= 0 && n < count);
	return (unsigned)n;
}

static void take_names(struct client *c, const cJSON *json)
{
	const cJSON *one;

	cJSON_ArrayForEach (one, cJSON_GetObjectItem(json, "modules"))
		c->modules[c->module_count++] = strdup(one->valuestring);
	cJSON_ArrayForEach (one, cJSON_GetObjectItem(json, "names")) {
		const char *module = "";
		char text[512];

		if (number_at(one, 1) != -1)
			module = c->modules[index_at(one, 1, c->module_count)];
		snprintf(text, sizeof(text), "%s!%s/%d", module,
			cJSON_GetArrayItem(one, 0)->valuestring, (int)number_at(one, 2));
		c->names[c->name_count++] = strdup(text);
	}
}

static void client_take(struct client *c, const char *text)
{
	AUTO(cJSON_Delete_auto) cJSON *json = cJSON_Parse(text);
	const cJSON *one;

	assert_non_null(json);
	assert_null(strchr(text, '\n'));
	if (cJSON_IsTrue(cJSON_GetObjectItem(json, "reset"))) {
		unsigned resets = c->resets + 1;

		client_forget(c);
		c->resets = resets;
	}
	take_names(c, json);
	cJSON_ArrayForEach (one, cJSON_GetObjectItem(json, "nodes")) {
		assert_true(c->node_count < CLIENT_MAX);
		c->name[c->node_count] = index_at(one, 1, c->name_count);
		c->parent[c->node_count] = c->node_count ? index_at(one, 0, c->node_count) : 0;
		c->node_count++;
	}
	cJSON_ArrayForEach (one, cJSON_GetObjectItem(json, "self")) {
		unsigned node = index_at(one, 0, c->node_count);

		c->weight[node] = number_at(one, 1);
		c->samples[node] = number_at(one, 2);
	}
}

static void client_path(const struct client *c, unsigned node, struct buf *into)
{
	if (node)
		client_path(c, c->parent[node], into);
	buf_printf(into, "%s;", c->names[c->name[node]]);
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Lines "path weight samples" of what has samples, in order. */
static char *sorted(char **lines, unsigned count)
{
	AUTO(buf_done) struct buf all = BUF_INIT;

	qsort(lines, count, sizeof(*lines), compare_lines);
	for (unsigned i = 0; i < count; i++) {
		buf_printf(&all, "%s\n", lines[i]);
		free(lines[i]);
	}
	return all.data ? buf_take(&all) : strdup("");
}

static char *client_text(const struct client *c)
{
	static char *lines[CLIENT_MAX];
	unsigned count = 0;

	for (unsigned i = 0; i < c->node_count; i++) {
		struct buf line = BUF_INIT;

		if (c->weight[i] == 0 && c->samples[i] == 0)
			continue;
		client_path(c, i, &line);
		buf_printf(&line, " %.0f %.0f", c->weight[i], c->samples[i]);
		lines[count++] = buf_take(&line);
	}
	return sorted(lines, count);
}

static char *view_text(const struct view *v)
{
	static char *lines[CLIENT_MAX];
	static size_t ends[CLIENT_MAX];
	struct buf path = BUF_INIT;
	unsigned count = 0;

	for (uint32_t i = 0; i < v->node_count; i++) {
		const struct view_node *n = &v->nodes[i];
		const struct view_name *name = &v->names[n->name];
		struct buf line = BUF_INIT;

		path.len = n->depth ? ends[n->depth - 1] : 0;
		buf_printf(&path, "%s!%s/%d;", name->module, name->text, name->kind);
		ends[n->depth] = path.len;
		if (!n->self && !n->self_samples)
			continue;
		buf_printf(&line, "%s %llu %llu", path.data, (unsigned long long)n->self,
			(unsigned long long)n->self_samples);
		lines[count++] = buf_take(&line);
	}
	buf_done(&path);
	return sorted(lines, count);
}

static void assert_follows(const struct client *c, const struct view *v)
{
	AUTO(free_auto) char *has = client_text(c);
	AUTO(free_auto) char *wants = view_text(v);

	assert_string_equal(has, wants);
}

/* ---- trees ---- */

static struct view *view_of(struct profile *p, const struct view_query *query)
{
	struct view *v;

	assert_int_equal(view_new(p, query, &v), 0);
	profile_unref(p);
	return v;
}

static const struct view_query everything = {.by_process = true};

static struct view *small(void)
{
	return view_of(sample_small(), &everything);
}

/* The small tree with one more leaf and more samples of another. */
static struct view *bigger(const struct view_query *query)
{
	struct sample_builder b;
	uint32_t app, libm, process;

	sample_begin(&b, 1);
	app = sample_module(&b, "/usr/bin/app");
	libm = sample_module(&b, "/lib/libm.so.6");
	process = sample_process(&b, 42, "app");
	sample_add(&b, sample_chain(&b, process, app, "main;work;hot"), 0, 90, 900000000);
	sample_add(&b, sample_chain(&b, process, app, "main;work;cold"), 0, 20, 200000000);
	sample_add(&b, sample_chain(&b, process, app, "main;wait"), 0, 1, 10000000);
	sample_add(&b, sample_chain(&b, process, app, "main"), 0, 10, 100000000);
	sample_add(&b, sample_chain(&b, sample_chain(&b, process, app, "main"), libm, "sin"), 0, 10,
		100000000);
	return view_of(sample_end(&b), query);
}

static void tell(struct delta *d, const struct view *v, struct client *c, struct buf *ret_text)
{
	buf_clear(ret_text);
	assert_int_equal(delta_tell(d, v, ret_text), 0);
	client_take(c, ret_text->data);
	assert_follows(c, v);
}

struct fixture {
	struct delta *delta;
	struct client client;
	struct buf text;
};

static int begin(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	return f ? delta_new(1000, &f->delta) : -1;
}

static int end(void **state)
{
	struct fixture *f = *state;

	client_forget(&f->client);
	delta_free(f->delta);
	buf_done(&f->text);
	free(f);
	return 0;
}

/* ---- tests ---- */

static void first_tells_all(void **state)
{
	struct fixture *f = *state;
	AUTO(view_free_auto) struct view *v = small();

	tell(f->delta, v, &f->client, &f->text);
	assert_string_equal(f->text.data,
		"{\"reset\":true,\"event\":\"cpu-clock\",\"unit\":\"nanoseconds\","
		"\"total\":1000000000,\"samples\":100,\"folded\":{\"weight\":0,\"nodes\":0},"
		"\"log_short\":false,\"modules\":[\"app\",\"libm.so.6\"],"
		"\"names\":[[\"all\",-1,0],[\"app (42)\",-1,1],[\"cold\",0,3],[\"hot\",0,3],"
		"[\"main\",0,3],[\"sin\",1,3],[\"work\",0,3]],"
		"\"nodes\":[[0,0],[0,1],[1,4],[2,5],[2,6],[4,2],[4,3]],"
		"\"self\":[[2,100000000,10],[3,100000000,10],[5,200000000,20],[6,600000000,60]]}");
	assert_int_equal(f->client.resets, 1);
}

static void nothing_new_tells_nothing(void **state)
{
	struct fixture *f = *state;
	AUTO(view_free_auto) struct view *v = small();

	tell(f->delta, v, &f->client, &f->text);
	tell(f->delta, v, &f->client, &f->text);
	assert_non_null(strstr(f->text.data, "{\"reset\":false,"));
	assert_non_null(
		strstr(f->text.data, ",\"modules\":[],\"names\":[],\"nodes\":[],\"self\":[]}"));
}

static void what_has_changed_is_told_alone(void **state)
{
	struct fixture *f = *state;
	AUTO(view_free_auto) struct view *before = small();
	AUTO(view_free_auto) struct view *after = bigger(&everything);

	tell(f->delta, before, &f->client, &f->text);
	tell(f->delta, after, &f->client, &f->text);
	assert_non_null(strstr(f->text.data,
		"\"total\":1310000000,\"samples\":131,\"folded\":{\"weight\":0,\"nodes\":0},"
		"\"log_short\":false,\"modules\":[],\"names\":[[\"wait\",0,3]],"
		"\"nodes\":[[2,7]],\"self\":[[6,900000000,90],[7,10000000,1]]}"));
	assert_int_equal(f->client.resets, 1);
}

static void what_is_folded_now_weighs_nothing(void **state)
{
	static const struct view_query coarse = {.by_process = true, .min_share = 0.1};
	struct fixture *f = *state;
	AUTO(view_free_auto) struct view *fine = bigger(&everything);
	AUTO(view_free_auto) struct view *folded = bigger(&coarse);

	tell(f->delta, fine, &f->client, &f->text);
	tell(f->delta, folded, &f->client, &f->text);
	assert_non_null(strstr(f->text.data,
		"\"folded\":{\"weight\":110000000,\"nodes\":2},\"log_short\":false,\"modules\":[],"
		"\"names\":[],\"nodes\":[],\"self\":[[2,210000000,21],[3,0,0],"));
	tell(f->delta, fine, &f->client, &f->text);
}

static void full_table_begins_anew(void **state)
{
	struct fixture *f = *state;
	AUTO(view_free_auto) struct view *one = small();
	AUTO(view_free_auto) struct view *other = bigger(&everything);

	delta_free(f->delta);
	assert_int_equal(delta_new(6, &f->delta), 0);
	tell(f->delta, one, &f->client, &f->text);
	tell(f->delta, other, &f->client, &f->text);
	assert_int_equal(f->client.resets, 2);
}

static void any_bytes_in_names_are_told(void **state)
{
	struct fixture *f = *state;
	AUTO(view_free_auto) struct view *v = NULL;
	struct sample_builder b;
	uint32_t app, process;

	sample_begin(&b, 1);
	app = sample_module(&b, "/usr/bin/a\"b\n\x01</script>");
	process = sample_process(&b, 42, "a\nb\\\xff");
	sample_add(&b, sample_chain(&b, process, app, "m\"\r\n;\xc3\x28<!--"), 0, 1, 1);
	v = view_of(sample_end(&b), &everything);
	assert_int_equal(delta_tell(f->delta, v, &f->text), 0);
	client_take(&f->client, f->text.data);
	assert_null(strchr(f->text.data, '\r'));
	assert_null(strstr(f->text.data, "</"));
	assert_int_equal(f->client.node_count, 4);
}

/* A tree out of a few names at random, so that each is like the last one in part. */
static struct view *random_view(unsigned *seed)
{
	struct view_query query = {.by_process = rand_r(seed) % 2,
		.min_share = rand_r(seed) % 3 ? 0 : 0.02,
		.max_shown = rand_r(seed) % 3 ? 0 : 20};
	struct sample_builder b;
	uint32_t app, process;

	sample_begin(&b, 1);
	app = sample_module(&b, "/usr/bin/app");
	process = sample_process(&b, 42, "app");
	for (unsigned n = (unsigned)rand_r(seed) % 60; n > 0; n--) {
		char chain[64] = "main";

		for (unsigned depth = (unsigned)rand_r(seed) % 6; depth > 0; depth--)
			snprintf(chain + strlen(chain), 8, ";f%d", rand_r(seed) % 8);
		sample_add(&b, sample_chain(&b, process, app, chain), 0, 1, 1 + n);
	}
	return view_of(sample_end(&b), &query);
}

static void client_follows_whatever_comes(void **state)
{
	struct fixture *f = *state;
	unsigned seed = 1;

	for (unsigned i = 0; i < 300; i++) {
		AUTO(view_free_auto) struct view *v = random_view(&seed);

		tell(f->delta, v, &f->client, &f->text);
	}
	/* The table has filled up, several times, and not each time. */
	assert_in_range(f->client.resets, 2, 30);
}

static void no_memory_is_survived(void **state)
{
	struct fixture *f = *state;
	AUTO(view_free_auto) struct view *one = small();
	AUTO(view_free_auto) struct view *other = bigger(&everything);
	unsigned failed = 0;

	for (long after = 0; after < 60; after++) {
		AUTO(buf_done) struct buf text = BUF_INIT;
		int r;

		alloc_fail_after = after;
		r = delta_tell(f->delta, after % 2 ? one : other, &text);
		alloc_fail_after = -1;
		if (r == 0) {
			client_take(&f->client, text.data);
			assert_follows(&f->client, after % 2 ? one : other);
			continue;
		}
		assert_int_equal(r, -ENOMEM);
		failed++;
	}
	assert_in_range(failed, 5, 59);
	tell(f->delta, other, &f->client, &f->text);
}

static void names_have_an_end(void **state)
{
	struct fixture *f = *state;
	AUTO(view_free_auto) struct view *v = NULL;
	AUTO(view_free_auto) struct view *few = small();
	AUTO(free_auto) char *name = malloc(DELTA_TEXT_MAX / 4);
	struct sample_builder b;
	uint32_t app, process;

	sample_begin(&b, 1);
	app = sample_module(&b, "/usr/bin/app");
	process = sample_process(&b, 42, "app");
	memset(name, 'x', DELTA_TEXT_MAX / 4);
	name[DELTA_TEXT_MAX / 4 - 1] = 0;
	for (unsigned i = 0; i < 5; i++) {
		name[0] = (char)('a' + i);
		sample_add(&b, sample_chain(&b, process, app, name), 0, 1, 1);
	}
	v = view_of(sample_end(&b), &everything);
	assert_int_equal(delta_tell(f->delta, v, &f->text), -ENOSPC);
	tell(f->delta, few, &f->client, &f->text);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	static const struct CMUnitTest tests[] = {
		TEST(first_tells_all),
		TEST(nothing_new_tells_nothing),
		TEST(what_has_changed_is_told_alone),
		TEST(what_is_folded_now_weighs_nothing),
		TEST(full_table_begins_anew),
		TEST(any_bytes_in_names_are_told),
		TEST(client_follows_whatever_comes),
		TEST(no_memory_is_survived),
		TEST(names_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
