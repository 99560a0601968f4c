/* Who asks for compiled unwind rules does not wait for them. The reader is played by this test. */
#include "daemon/symbol/unwindtables.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/cfi/table.h"
#include "daemon/symbol/names.h"

#define WAIT_MS 20000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool held_back;
static unsigned asked;
static int answer;

int names_unwind_table(
	struct names *n, struct module *m, struct cfi_table **ret_table, bool *ret_keep)
{
	int r;

	(void)n;
	(void)m;
	*ret_keep = true;
	pthread_mutex_lock(&lock);
	asked++;
	pthread_cond_broadcast(&changed);
	while (held_back)
		pthread_cond_wait(&changed, &lock);
	r = answer;
	pthread_mutex_unlock(&lock);
	if (r < 0)
		return r;
	*ret_table = calloc(1, sizeof(**ret_table));
	(*ret_table)->bytes = 4096;
	(*ret_table)->map =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	(*ret_table)->starts = (*ret_table)->codes = (*ret_table)->map; /* one row of zeros */
	(*ret_table)->count = 1;
	return 0;
}

static struct module *own_file(void)
{
	struct module *m;

	assert_int_equal(module_new(1, "x", open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &m), 0);
	assert_int_equal(m->error, 0);
	return m;
}

static void set(bool hold, int what)
{
	pthread_mutex_lock(&lock);
	held_back = hold;
	answer = what;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

static void wait_until_asked(unsigned times)
{
	pthread_mutex_lock(&lock);
	while (asked < times)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

/* made or failed: whichever comes. */
static struct unwindtables_stats wait_for_one(struct unwindtables *t, uint64_t before)
{
	struct unwindtables_stats s = {0};

	for (int ms = 0; ms < WAIT_MS; ms++) {
		unwindtables_get_stats(t, &s);
		if (s.made + s.failed > before)
			break;
		(void)poll(NULL, 0, 1);
	}
	return s;
}

static void asking_does_not_wait(void **state)
{
	struct module *m = own_file();
	struct unwindtables_stats s;
	struct unwindtables *t;

	(void)state;
	asked = 0;
	set(true, 0);
	assert_int_equal(unwindtables_new(NULL, NULL, &t), 0);
	unwindtables_want(t, m);
	wait_until_asked(1);
	for (int i = 0; i < 10000; i++)
		unwindtables_want(t, m);
	assert_null(module_table(m)); /* it is not there yet, and here we are */
	set(false, 0);
	s = wait_for_one(t, 0);
	assert_int_equal(s.made, 1);
	assert_in_range(s.bytes, 4096, 5000);
	while (!module_table(m))
		(void)poll(NULL, 0, 1);
	unwindtables_want(t, m);
	unwindtables_free(t);
	assert_int_equal(asked, 1);
	module_unref(m);
}

static void what_fails_is_not_asked_again(void **state)
{
	struct module *m = own_file(), *bare = own_file(), *unreadable;
	struct unwindtables_stats s;
	struct unwindtables *t;

	(void)state;
	asked = 0;
	set(false, -EIO);
	assert_int_equal(unwindtables_new(NULL, NULL, &t), 0);
	unwindtables_want(t, m);
	s = wait_for_one(t, 0);
	assert_int_equal(s.failed, 1);
	assert_null(module_table(m));
	unwindtables_want(t, m);
	set(false, -ENODATA); /* no failure: there is nothing to compile */
	unwindtables_want(t, bare);
	wait_until_asked(2);
	assert_int_equal(module_new_unreadable(3, "y", -EACCES, &unreadable), 0);
	unwindtables_want(t, unreadable);
	unwindtables_free(t);
	assert_int_equal(asked, 2);
	assert_null(module_table(bare));
	module_unref(m);
	module_unref(bare);
	module_unref(unreadable);
}

/* What was still to be made is given up. */
static void ends_with_work_left(void **state)
{
	struct module *m[50];
	struct unwindtables *t;

	(void)state;
	asked = 0;
	set(true, 0);
	assert_int_equal(unwindtables_new(NULL, NULL, &t), 0);
	for (int i = 0; i < 50; i++) {
		m[i] = own_file();
		unwindtables_want(t, m[i]);
	}
	wait_until_asked(1);
	set(false, 0);
	unwindtables_free(t);
	for (int i = 0; i < 50; i++) {
		assert_false(module_is_shared(m[i]));
		module_unref(m[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(asking_does_not_wait),
		cmocka_unit_test(what_fails_is_not_asked_again),
		cmocka_unit_test(ends_with_work_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
