/* Names on the frames of a profile; the look-up itself is a fake. */
#include "daemon/run/naming.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "daemon/run/meta.h"
#include "daemon/tree/ledger.h"

/* ---- the fake: module frames are "m<addr>", with an inlined "in<addr>" when wanted ---- */

static int jit_error;
static int module_error, module_calls, jit_refreshes, releases, refs;
static bool hidden;

struct module *module_ref(struct module *m)
{
	refs++;
	return m;
}

void module_unref(struct module *m)
{
	if (m)
		refs--;
}

struct answer {
	char text[64][2][24];
	struct name_frame frames[128];
	uint32_t starts[65];
};

static int answer_for(const char *prefix, const uint64_t *addrs, uint32_t count, bool inlines,
	struct name_answer *ret)
{
	struct answer *a = calloc(1, sizeof(*a));
	uint32_t n = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (i)
			assert_true(addrs[i] > addrs[i - 1]); /* sorted, each once */
		a->starts[i] = n;
		if (addrs[i] == 666)
			continue;                        /* no name */
		if (addrs[i] >= 700 && addrs[i] < 800) { /* no name, but a start */
			a->frames[n].name = a->frames[n].file = "";
			a->frames[n].start = 700;
			a->frames[n++].source = NAME_FROM_FDE;
			continue;
		}
		if (inlines) {
			snprintf(a->text[i][0], 24, "in%llu", (unsigned long long)addrs[i]);
			a->frames[n].file = "in.c";
			a->frames[n].line = 7;
			a->frames[n].inlined = true;
			a->frames[n++].name = a->text[i][0];
		}
		/* two addresses of one function share its name */
		snprintf(a->text[i][1], 24, "%s%llu", prefix, (unsigned long long)addrs[i] / 10);
		a->frames[n].file = "";
		a->frames[n].source = prefix[0] == 'k' ? NAME_FROM_KALLSYMS
			: prefix[0] == 'j'             ? NAME_FROM_PERF_MAP
						       : NAME_FROM_SYMTAB;
		a->frames[n++].name = a->text[i][1];
	}
	a->starts[count] = n;
	*ret = (struct name_answer){
		.count = count, .starts = a->starts, .frames = a->frames, .owner = a};
	return 0;
}

int names_of_module(struct names *n, struct module *m, const uint64_t *addrs, uint32_t count,
	enum names_want want, struct name_answer *ret)
{
	module_calls++;
	return module_error ? module_error
			    : answer_for("m", addrs, count, want == NAMES_INLINES, ret);
}

int names_of_kernel(struct names *n, const uint64_t *addrs, uint32_t count, struct name_answer *ret)
{
	return answer_for("k", addrs, count, false, ret);
}

int names_of_jit(struct names *n, pid_t pid, uint64_t start, const uint64_t *addrs, uint32_t count,
	struct name_answer *ret)
{
	assert_int_equal(pid, 42);
	assert_int_equal(start, 4200);
	return jit_error ? jit_error : answer_for("j", addrs, count, false, ret);
}

void names_jit_refresh(struct names *n, pid_t pid, uint64_t start)
{
	assert_int_equal(pid, 42);
	assert_int_equal(start, 4200);
	jit_refreshes++;
}

void names_kernel_identity(struct names *n, struct kernel_identity *ret_identity)
{
	*ret_identity = (struct kernel_identity){
		.build_id = {0xab, 0x01}, .build_id_bytes = 2, .text = 0xffffffff81000000};
}

bool names_kernel_hidden(struct names *n)
{
	return hidden;
}

void names_release(struct name_answer *a)
{
	if (a->owner)
		releases++;
	free(a->owner);
	memset(a, 0, sizeof(*a));
}

/* ---- */

static const struct profile_frame frames[] = {
	{.kind = FRAME_ROOT}, {.kind = FRAME_USER, .module = 0, .addr = 105},
	{.kind = FRAME_KERNEL, .addr = 200}, {.kind = FRAME_USER, .module = 0, .addr = 101},
	{.kind = FRAME_JIT, .module = 0, .addr = 300},
	{.kind = FRAME_USER, .module = 0, .addr = 666}, {.kind = FRAME_SPECIAL},
	{.kind = FRAME_USER, .module = 1, .addr = 101}, /* a file that is gone: no handle */
};
#define FRAMES (sizeof(frames) / sizeof(*frames))

static struct profile *raw;

static int set_up(void **state)
{
	jit_error = 0;
	module_error = module_calls = jit_refreshes = releases = refs = 0;
	hidden = false;
	assert_int_equal(profile_new(&raw), 0);
	raw->frames = calloc(FRAMES, sizeof(*frames));
	memcpy(raw->frames, frames, sizeof(frames));
	raw->frame_count = FRAMES;
	raw->modules = calloc(2, sizeof(*raw->modules));
	raw->module_count = 2;
	raw->modules[0].handle = raw; /* any pointer */
	raw->processes = calloc(1, sizeof(*raw->processes));
	raw->process_count = 1;
	raw->processes[0] = (struct profile_process){.pid = 42, .start_ticks = 4200};
	raw->meta.name = meta_text(raw, "kept");
	return 0;
}

static int tear_down(void **state)
{
	raw->modules[0].handle = NULL;
	profile_unref(raw);
	return 0;
}

static const char *name_of(const struct profile *p, uint32_t frame, uint32_t k)
{
	assert_true(p->name_starts[frame] + k < p->name_starts[frame + 1]);
	return profile_text(p, p->name_frames[p->name_starts[frame] + k].name);
}

static uint32_t names_at(const struct profile *p, uint32_t frame)
{
	return p->name_starts[frame + 1] - p->name_starts[frame];
}

static void each_kind_is_asked_where_it_belongs(void **state)
{
	struct profile *p;

	assert_int_equal(naming_apply_take(NULL, profile_ref(raw), NAMES_PLAIN, &p), 0);
	assert_string_equal(name_of(p, 1, 0), "m10");
	assert_string_equal(name_of(p, 3, 0), "m10");
	assert_string_equal(name_of(p, 2, 0), "k20");
	assert_string_equal(name_of(p, 4, 0), "j30");
	assert_int_equal(module_calls, 1);
	assert_int_equal(releases, 3);
	assert_string_equal(profile_text(p, p->meta.name), "kept");
	profile_unref(p);
}

static void frames_without_a_name_are_counted(void **state)
{
	struct profile *p;

	assert_int_equal(naming_apply_take(NULL, profile_ref(raw), NAMES_PLAIN, &p), 0);
	assert_int_equal(names_at(p, 5), 0);
	assert_int_equal(names_at(p, 7), 0);
	assert_int_equal(p->ledger.frames_unnamed, 2);
	assert_int_equal(raw->ledger.frames_unnamed, 0);
	assert_null(raw->name_starts);
	profile_unref(p);
}

static void sources_are_counted(void **state)
{
	struct profile *p;

	assert_int_equal(naming_apply_take(NULL, profile_ref(raw), NAMES_PLAIN, &p), 0);
	assert_int_equal(p->ledger.names_from[LEDGER_FROM_SYMTAB], 2);
	assert_int_equal(p->ledger.names_from[LEDGER_FROM_KALLSYMS], 1);
	assert_int_equal(p->ledger.names_from[LEDGER_FROM_PERF_MAP], 1);
	assert_int_equal(p->ledger.names_from[LEDGER_FROM_NOTHING], 2);
	profile_unref(p);
}

/* Each address of a function without a name stands for the function. */
static void unnamed_functions_are_one_frame(void **state)
{
	struct profile *p;

	raw->frames[1].addr = 710;
	raw->frames[3].addr = 720;
	assert_int_equal(naming_apply_take(NULL, profile_ref(raw), NAMES_PLAIN, &p), 0);
	assert_int_equal(names_at(p, 1), 0);
	assert_int_equal(names_at(p, 3), 0);
	assert_int_equal(p->frames[1].addr, 700);
	assert_int_equal(p->frames[3].addr, 700);
	assert_int_equal(raw->frames[1].addr, 710);
	assert_int_equal(p->ledger.frames_unnamed, 4);
	assert_int_equal(p->ledger.names_from[LEDGER_FROM_FDE], 2);
	profile_unref(p);
}

static void same_name_is_kept_once(void **state)
{
	struct profile *p;

	assert_int_equal(naming_apply_take(NULL, profile_ref(raw), NAMES_PLAIN, &p), 0);
	assert_int_equal(
		p->name_frames[p->name_starts[1]].name, p->name_frames[p->name_starts[3]].name);
	profile_unref(p);
}

static void inline_frames_come_innermost_first(void **state)
{
	struct profile *p;

	assert_int_equal(naming_apply_take(NULL, profile_ref(raw), NAMES_INLINES, &p), 0);
	assert_int_equal(names_at(p, 1), 2);
	assert_string_equal(name_of(p, 1, 0), "in105");
	assert_string_equal(name_of(p, 1, 1), "m10");
	assert_int_equal(p->name_frames[p->name_starts[1]].inlined, 1);
	assert_int_equal(p->name_frames[p->name_starts[1]].line, 7);
	assert_string_equal(profile_text(p, p->name_frames[p->name_starts[1]].file), "in.c");
	profile_unref(p);
}

static void unreadable_module_leaves_the_rest_named(void **state)
{
	struct profile *p;

	module_error = -EIO;
	assert_int_equal(naming_apply_take(NULL, profile_ref(raw), NAMES_PLAIN, &p), 0);
	assert_int_equal(names_at(p, 1), 0);
	assert_string_equal(name_of(p, 2, 0), "k20");
	assert_int_equal(p->ledger.frames_unnamed, 4);
	profile_unref(p);
}

static void the_kernel_of_its_frames_is_told(void **state)
{
	struct profile *p;

	assert_int_equal(naming_apply_take(NULL, profile_ref(raw), NAMES_PLAIN, &p), 0);
	assert_int_equal(p->meta.kernel_text, 0xffffffff81000000);
	assert_string_equal(profile_text(p, p->meta.kernel_build_id), "ab01");
	assert_true(strlen(profile_text(p, p->meta.kernel_release)) > 0);
	profile_unref(p);
}

static void hidden_kernel_names_are_said(void **state)
{
	struct profile *p;

	hidden = true;
	assert_int_equal(naming_apply_take(NULL, profile_ref(raw), NAMES_PLAIN, &p), 0);
	assert_non_null(strstr(profile_text(p, p->meta.warnings), "kptr_restrict"));
	profile_unref(p);
}

static bool warns(const char *text)
{
	struct profile *p;
	const char *found, *again;

	assert_int_equal(naming_apply_take(NULL, profile_ref(raw), NAMES_PLAIN, &p), 0);
	/* Names are looked up again and again. */
	assert_int_equal(naming_apply_take(NULL, p, NAMES_PLAIN, &p), 0);
	found = strstr(profile_text(p, p->meta.warnings), text);
	again = found ? strstr(found + 1, text) : NULL;
	assert_null(again);
	profile_unref(p);
	return found;
}

static void what_made_code_lacks_is_said(void **state)
{
	raw->ledger.samples = 10;
	assert_false(warns("perfmap PID") || warns("PreserveFramePointer"));
	jit_error = -ENOENT;
	assert_true(warns("perfmap PID"));
	assert_false(warns("PreserveFramePointer"));
	raw->ledger.unwind_ends[LEDGER_NO_CFI] = 5;
	assert_true(warns("PreserveFramePointer"));
	raw->frames[4].kind = FRAME_SPECIAL; /* the only one of made code */
	assert_false(warns("perfmap PID") || warns("PreserveFramePointer"));
}

static void jit_maps_are_read_once_a_process(void **state)
{
	naming_keep_jit(NULL, raw);
	assert_int_equal(jit_refreshes, 1);
	raw->frames[1].kind = FRAME_JIT;
	naming_keep_jit(NULL, raw);
	assert_int_equal(jit_refreshes, 2);
	raw->frames[1].kind = raw->frames[4].kind = FRAME_SPECIAL;
	naming_keep_jit(NULL, raw);
	assert_int_equal(jit_refreshes, 2);
}

static void empty_profile_is_fine(void **state)
{
	struct profile *empty, *p;

	assert_int_equal(profile_new(&empty), 0);
	assert_int_equal(naming_apply_take(NULL, profile_ref(empty), NAMES_PLAIN, &p), 0);
	assert_int_equal(p->name_starts[0], 0);
	profile_unref(p);
	profile_unref(empty);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kind_is_asked_where_it_belongs),
		TEST(frames_without_a_name_are_counted),
		TEST(sources_are_counted),
		TEST(unnamed_functions_are_one_frame),
		TEST(same_name_is_kept_once),
		TEST(inline_frames_come_innermost_first),
		TEST(unreadable_module_leaves_the_rest_named),
		TEST(the_kernel_of_its_frames_is_told),
		TEST(hidden_kernel_names_are_said),
		TEST(what_made_code_lacks_is_said),
		TEST(jit_maps_are_read_once_a_process),
		TEST(empty_profile_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
