#include "daemon/symbol/sigbus.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#define GUARDS_MAX 65536

/* Read by the handler without a lock: bytes is written before start is set, and start is 0 while
 * the slot is free or being filled. */
struct guard {
	_Atomic(uintptr_t) start;
	atomic_size_t bytes;
};

static struct guard guards[GUARDS_MAX];
static atomic_uint guards_used; /* no slot at or above it was ever filled */
static pthread_mutex_t guards_lock =
	PTHREAD_MUTEX_INITIALIZER; /* for those that fill and free slots */
static unsigned first_free;        /* no free slot below it; under the lock */
static atomic_ullong faults;
static struct sigaction before_us;
static size_t page_bytes;

static bool is_guarded(uintptr_t addr)
{
	unsigned used = atomic_load_explicit(&guards_used, memory_order_acquire);

	for (unsigned i = 0; i < used; i++) {
		/* Pairs with the release in sigbus_guard(). */
		uintptr_t start = atomic_load_explicit(&guards[i].start, memory_order_acquire);

		if (start != 0 && addr >= start &&
			addr - start < atomic_load_explicit(&guards[i].bytes, memory_order_relaxed))
			return true;
	}
	return false;
}

/* Only what is safe in a handler: atomics and bare system calls. */
static void on_sigbus(int sig, siginfo_t *info, void *context)
{
	uintptr_t addr = (uintptr_t)info->si_addr;
	void *page = (void *)(addr & ~(uintptr_t)(page_bytes - 1));
	int saved_errno = errno;

	if (info->si_code > 0 && is_guarded(addr) &&
		mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
			page) {
		atomic_fetch_add_explicit(&faults, 1, memory_order_relaxed);
		errno = saved_errno;
		return;
	}
	/* Not ours: whoever was there before gets the fault, which the return raises again; a
	 * signal that somebody sent does not come again by itself. */
	sigaction(SIGBUS, &before_us, NULL);
	if (info->si_code <= 0)
		raise(sig);
	errno = saved_errno;
}

int sigbus_install(void)
{
	struct sigaction action = {0};
	struct sigaction old;

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	action.sa_sigaction = on_sigbus;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	sigemptyset(&action.sa_mask);
	if (sigaction(SIGBUS, NULL, &old) < 0)
		return -errno;
	if ((old.sa_flags & SA_SIGINFO) && old.sa_sigaction == on_sigbus)
		return 0;
	before_us = old;
	return sigaction(SIGBUS, &action, NULL) < 0 ? -errno : 0;
}

int sigbus_guard(const void *start, size_t bytes)
{
	int error = -ENOSPC;

	if (!start || bytes == 0)
		return -EINVAL;
	pthread_mutex_lock(&guards_lock);
	for (unsigned i = first_free; i < GUARDS_MAX; i++) {
		if (atomic_load_explicit(&guards[i].start, memory_order_relaxed) != 0)
			continue;
		atomic_store_explicit(&guards[i].bytes, bytes, memory_order_relaxed);
		atomic_store_explicit(&guards[i].start, (uintptr_t)start, memory_order_release);
		if (i >= atomic_load_explicit(&guards_used, memory_order_relaxed))
			atomic_store_explicit(&guards_used, i + 1, memory_order_release);
		first_free = i + 1;
		error = 0;
		break;
	}
	pthread_mutex_unlock(&guards_lock);
	return error;
}

void sigbus_unguard(const void *start)
{
	if (!start)
		return;
	pthread_mutex_lock(&guards_lock);
	for (unsigned i = 0; i < atomic_load_explicit(&guards_used, memory_order_relaxed); i++) {
		if (atomic_load_explicit(&guards[i].start, memory_order_relaxed) !=
			(uintptr_t)start)
			continue;
		atomic_store_explicit(&guards[i].start, 0, memory_order_release);
		if (i < first_free)
			first_free = i;
		break;
	}
	pthread_mutex_unlock(&guards_lock);
}

uint64_t sigbus_count(void)
{
	return atomic_load_explicit(&faults, memory_order_relaxed);
}
