#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/tree/foldedin.h"
#include "tests/unit/failing_alloc.h"

static struct calltree *tree_of(uint32_t max_nodes)
{
	struct calltree_options o = {.max_nodes = max_nodes, .event_count = 1};
	struct calltree *t = NULL;

	assert_int_equal(calltree_new(&o, &t), 0);
	assert_int_equal(calltree_process(t, 0, 0), 0);
	return t;
}

static bool go_on(void *arg, size_t at)
{
	size_t *told = arg;

	assert_true(at >= *told);
	*told = at;
	return true;
}

static int read_text(
	struct calltree *t, const char *text, struct foldedin_stats *st, struct buf *why)
{
	size_t told = 0;

	return foldedin_read(text, strlen(text), t, 0, go_on, &told, st, why);
}

/* "main/f=3": a node's names, outermost first, and its samples. */
static void path_of(const struct profile *p, uint32_t node, struct buf *into)
{
	const struct profile_frame *f = &p->frames[p->nodes[node].frame];
	static const char *const marks[NAMED_KINDS] = {"", "(k)", "(j)", "(i)"};

	if (p->nodes[node].parent)
		path_of(p, p->nodes[node].parent, into);
	if (f->kind == FRAME_PROCESS)
		return;
	buf_printf(into, "/%s%s", profile_text(p, (uint32_t)f->addr),
		f->kind == FRAME_NAMED ? marks[f->module] : "!");
}

/* All that has samples, in the order in which it came. */
static void check_tree(struct calltree *t, const char *want)
{
	struct profile *p = NULL;
	struct buf got = BUF_INIT;

	assert_int_equal(calltree_snapshot(t, true, &p), 0);
	assert_int_equal(profile_check(p), 0);
	assert_null(p->log);
	for (uint32_t i = 1; i < p->node_count; i++) {
		if (!p->self_samples[i])
			continue;
		assert_int_equal(p->self_samples[i], p->self_weight[i]);
		path_of(p, i, &got);
		buf_printf(&got, "=%llu ", (unsigned long long)p->self_samples[i]);
	}
	assert_string_equal(got.data ? got.data : "", want);
	buf_done(&got);
	profile_unref(p);
}

static void check_read(const char *text, const char *want, uint64_t stacks)
{
	struct calltree *t = tree_of(0);
	struct foldedin_stats st;
	struct buf why = BUF_INIT;

	assert_int_equal(read_text(t, text, &st, &why), 0);
	assert_int_equal(st.stacks, stacks);
	check_tree(t, want);
	buf_done(&why);
	calltree_free(t);
}

static void each_line_is_a_stack(void **state)
{
	check_read("a;b;c 3\na;b 2\na;b;c 4\nx 1", "/a/b=2 /a/b/c=7 /x=1 ", 4);
	check_read("a;b 1\r\n\r\n\n  \na;b\t 2 \n", "/a/b=3 ", 2);
	check_read("", "", 0);
	/* A name may have blanks and numbers in it. */
	check_read("operator new;f 2 x;java 8 1\n", "/operator new/f 2 x/java 8=1 ", 1);
	check_read("v1.2 1\na2 1\n", "/v1.2=1 /a2=1 ", 2);
}

static void names_that_begin_alike_stay_apart(void **state)
{
	check_read("main;foo 1\nmain;foobar 2\nmain;foob;x 3\nmain;foo;x 4\nmain 5\nmainly;foo 6\n",
		"/main=5 /main/foo=1 /main/foobar=2 /main/foob/x=3 /main/foo/x=4 /mainly/foo=6 ",
		6);
	check_read("aaaaaaaaaaaaaaaa;b 1\naaaaaaaaaaaaaaaab 2\naaaaaaaaaaaaaaaa 4\n",
		"/aaaaaaaaaaaaaaaa=4 /aaaaaaaaaaaaaaaa/b=1 /aaaaaaaaaaaaaaaab=2 ", 3);
}

static void kinds_are_told_by_their_marks(void **state)
{
	check_read("main;do_syscall_64_[k];read_[k] 1\n", "/main/do_syscall_64(k)/read(k)=1 ", 1);
	check_read("Foo::bar_[j];inl_[i] 1\n", "/Foo::bar(j)/inl(i)=1 ", 1);
	check_read("x_[q];_[k] 1\n", "/x_[q]/_[k]=1 ", 1);
	check_read("[unknown];[libc.so.6] 1\n;a; 2\n",
		"/[unknown]!/[libc.so.6]!=1 /[unknown]!/a/[unknown]!=2 ", 2);
}

static void what_is_odd_is_counted(void **state)
{
	struct calltree *t = tree_of(0);
	struct foldedin_stats st;
	struct buf why = BUF_INIT;

	assert_int_equal(read_text(t, "a 2.5\na 2.49\na 3.\nb;c 10 20\n\n", &st, &why), 0);
	assert_int_equal(st.fractions, 2);
	assert_int_equal(st.two_numbers, 1);
	assert_int_equal(st.stacks, 4);
	assert_int_equal(st.lines, 5);
	check_tree(t, "/a=8 /b/c 10=20 ");
	buf_done(&why);
	calltree_free(t);
}

static void a_bad_line_is_named(void **state)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{"a 1\n\nb;c\n", "line 3 has no count at its end"},
		{"a 1\nb;c x7\n", "line 2 has no count at its end"},
		{"a;b 1.2.3\n", "line 1 has no count at its end"},
		{"a .5\n", "line 1 has no count at its end"},
		{"a -1\n", "line 1 has no count at its end"},
		{"12\n", "line 1 has a count and no stack"},
		{"  12\n", "line 1 has a count and no stack"},
		{"a 99999999999999999999\n", "line 1 has a count that is too large"},
		{"a 9223372036854775807\nb 1\n", "line 2 makes the sum of the counts too large"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct calltree *t = tree_of(0);
		struct foldedin_stats st;
		struct buf why = BUF_INIT;

		assert_int_equal(read_text(t, cases[i].text, &st, &why), -EBADMSG);
		assert_string_equal(why.data, cases[i].why);
		buf_done(&why);
		calltree_free(t);
	}
}

static void a_zero_byte_is_refused(void **state)
{
	static const char text[] = "a;b 1\na;b\0c 2\n";
	struct calltree *t = tree_of(0);
	struct foldedin_stats st;
	struct buf why = BUF_INIT;
	size_t told = 0;

	assert_int_equal(
		foldedin_read(text, sizeof(text) - 1, t, 0, go_on, &told, &st, &why), -EBADMSG);
	assert_string_equal(why.data, "line 2 has a zero byte in it");
	buf_done(&why);
	calltree_free(t);
}

static void too_many_frames_are_refused(void **state)
{
	struct calltree *t = tree_of(0);
	struct foldedin_stats st;
	struct buf text = BUF_INIT, why = BUF_INIT;

	for (unsigned i = 0; i < FOLDEDIN_FRAMES_MAX - 1; i++)
		buf_append_str(&text, "f;");
	buf_append_str(&text, "f 1\n");
	assert_int_equal(read_text(t, text.data, &st, &why), 0);
	/* Frames that the line before had count as well. */
	text.len -= 3;
	buf_append_str(&text, ";f 1\n");
	assert_int_equal(read_text(t, text.data, &st, &why), -EBADMSG);
	assert_string_equal(why.data, "line 1 has more than 65536 frames");
	buf_done(&text);
	buf_done(&why);
	calltree_free(t);
}

static void what_a_full_tree_cannot_take_is_counted(void **state)
{
	struct calltree *t = tree_of(5); /* the root, its [dropped], the process, and two more */
	struct calltree_stats tree;
	struct foldedin_stats st;
	struct buf why = BUF_INIT;

	assert_int_equal(read_text(t, "a;b 1\na;b;c;d 2\na;b 4\na;x 8\n", &st, &why), 0);
	calltree_get_stats(t, &tree);
	assert_int_equal(tree.samples, 15);
	assert_int_equal(tree.dropped, 10);
	check_tree(t, "/a/b=5 /[dropped]!=10 ");
	buf_done(&why);
	calltree_free(t);
}

static bool stop(void *arg, size_t at)
{
	(*(unsigned *)arg)++;
	return false;
}

static void reading_can_be_ended(void **state)
{
	struct calltree *t = tree_of(0);
	struct foldedin_stats st;
	struct buf text = BUF_INIT, why = BUF_INIT;
	unsigned asked = 0;
	size_t told = 0;

	while (text.len < ((size_t)10 << 20))
		buf_append_str(&text, "some;frames;of;one;stack;or;another 1\n");
	assert_int_equal(
		foldedin_read(text.data, text.len, t, 0, stop, &asked, &st, &why), -ECANCELED);
	assert_int_equal(asked, 1);
	assert_int_equal(read_text(t, text.data, &st, &why), 0);
	assert_int_equal(foldedin_read(text.data, text.len, t, 0, go_on, &told, &st, &why), 0);
	assert_true(told > text.len / 2);
	buf_done(&text);
	buf_done(&why);
	calltree_free(t);
}

static void no_memory_is_told(void **state)
{
	bool done = false;

	for (long n = 0; !done; n++) {
		struct calltree *t = tree_of(0);
		struct foldedin_stats st;
		struct buf why = BUF_INIT;
		int r;

		alloc_fail_after = n;
		r = read_text(t, "a;b;c 1\nd;e;f 2\n", &st, &why);
		alloc_fail_after = -1;
		/* A name that could not be kept is a dropped stack. */
		assert_true(r == 0 || r == -ENOMEM);
		if (r == 0) {
			struct calltree_stats tree;

			calltree_get_stats(t, &tree);
			assert_int_equal(tree.samples, 3);
			done = tree.dropped == 0;
		}
		buf_done(&why);
		calltree_free(t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_line_is_a_stack),
		cmocka_unit_test(names_that_begin_alike_stay_apart),
		cmocka_unit_test(kinds_are_told_by_their_marks),
		cmocka_unit_test(what_is_odd_is_counted),
		cmocka_unit_test(a_bad_line_is_named),
		cmocka_unit_test(a_zero_byte_is_refused),
		cmocka_unit_test(too_many_frames_are_refused),
		cmocka_unit_test(what_a_full_tree_cannot_take_is_counted),
		cmocka_unit_test(reading_can_be_ended),
		cmocka_unit_test(no_memory_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
