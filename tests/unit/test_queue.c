#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/queue.h"
#include "tests/unit/failing_alloc.h"

AUTO_FREE_FN(struct queue, queue_free)

static bool eventfd_fails;

int __real_eventfd(unsigned count, int flags);
int __wrap_eventfd(unsigned count, int flags);

int __wrap_eventfd(unsigned count, int flags)
{
	if (eventfd_fails) {
		errno = EMFILE;
		return -1;
	}
	return __real_eventfd(count, flags);
}

static bool readable(const struct queue *q)
{
	struct pollfd p = {.fd = queue_fd(q), .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void first_in_is_first_out(void **state)
{
	AUTO(queue_free_auto) struct queue *q = NULL;
	int items[10];

	(void)state;
	assert_int_equal(queue_new(3, &q), 0);
	assert_null(queue_pop(q));
	/* Two in, two out, over and over: the ring wraps. */
	for (int i = 0; i < 10; i += 2) {
		assert_int_equal(queue_push(q, &items[i]), 0);
		assert_int_equal(queue_push(q, &items[i + 1]), 0);
		assert_ptr_equal(queue_pop(q), &items[i]);
		assert_ptr_equal(queue_pop(q), &items[i + 1]);
		assert_null(queue_pop(q));
	}
}

static void full_queue_refuses(void **state)
{
	AUTO(queue_free_auto) struct queue *q = NULL;
	int a, b, c;

	(void)state;
	assert_int_equal(queue_new(2, &q), 0);
	assert_int_equal(queue_push(q, &a), 0);
	assert_int_equal(queue_push(q, &b), 0);
	assert_int_equal(queue_push(q, &c), -EAGAIN);
	assert_ptr_equal(queue_pop(q), &a);
	assert_int_equal(queue_push(q, &c), 0);
	assert_ptr_equal(queue_pop(q), &b);
	assert_ptr_equal(queue_pop(q), &c);
	assert_int_equal(queue_push(q, NULL), -EINVAL);
}

static void descriptor_is_readable_while_something_is_in_it(void **state)
{
	AUTO(queue_free_auto) struct queue *q = NULL;
	int a, b;

	(void)state;
	assert_int_equal(queue_new(4, &q), 0);
	assert_false(readable(q));
	queue_push(q, &a);
	assert_true(readable(q));
	queue_push(q, &b);
	queue_pop(q);
	assert_true(readable(q));
	queue_pop(q);
	assert_false(readable(q));
	queue_pop(q);
	assert_false(readable(q));
}

#define SENDERS    3
#define PER_SENDER 2000

struct sender {
	struct queue *q;
	char *items; /* one byte an item: only its address is sent */
};

static void *send_all(void *arg)
{
	struct sender *s = arg;

	for (int i = 0; i < PER_SENDER;) {
		if (queue_push(s->q, &s->items[i]) == 0)
			i++;
		else
			sched_yield();
	}
	return NULL;
}

static void senders_on_threads_lose_and_double_nothing(void **state)
{
	AUTO(queue_free_auto) struct queue *q = NULL;
	static char items[SENDERS][PER_SENDER];
	struct sender senders[SENDERS];
	pthread_t threads[SENDERS];
	int next[SENDERS] = {0};

	(void)state;
	assert_int_equal(queue_new(16, &q), 0);
	for (int i = 0; i < SENDERS; i++) {
		senders[i] = (struct sender){.q = q, .items = items[i]};
		assert_int_equal(pthread_create(&threads[i], NULL, send_all, &senders[i]), 0);
	}
	for (int got = 0; got < SENDERS * PER_SENDER;) {
		struct pollfd p = {.fd = queue_fd(q), .events = POLLIN};
		char *item;

		assert_int_equal(poll(&p, 1, -1), 1);
		while ((item = queue_pop(q))) {
			ptrdiff_t at = item - items[0];
			int sender = (int)(at / PER_SENDER);

			/* What one thread sends comes in its order. */
			assert_int_equal(at % PER_SENDER, next[sender]);
			next[sender]++;
			got++;
		}
	}
	for (int i = 0; i < SENDERS; i++)
		pthread_join(threads[i], NULL);
	assert_null(queue_pop(q));
}

static void failed_creation_says_why(void **state)
{
	struct queue *q = NULL;

	(void)state;
	assert_int_equal(queue_new(0, &q), -EINVAL);
	assert_int_equal(queue_new(SIZE_MAX / 2, &q), -ENOMEM);
	alloc_fail_after = 0;
	assert_int_equal(queue_new(4, &q), -ENOMEM);
	alloc_fail_after = -1;
	eventfd_fails = true;
	assert_int_equal(queue_new(4, &q), -EMFILE);
	eventfd_fails = false;
	assert_null(q);
	queue_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_in_is_first_out),
		cmocka_unit_test(full_queue_refuses),
		cmocka_unit_test(descriptor_is_readable_while_something_is_in_it),
		cmocka_unit_test(senders_on_threads_lose_and_double_nothing),
		cmocka_unit_test(failed_creation_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
