#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "daemon/store/store.h"
#include "tests/unit/profile_equal.h"
#include "tests/unit/profile_samples.h"

#define SECOND 1000000000ull

static int write_fails; /* what io_write_atomic answers, when not 0 */
static uint64_t free_bytes;
static uint64_t now_ns;
static char dir[64];

int __real_io_write_atomic(const char *path, const void *data, size_t len, mode_t mode);
int __wrap_io_write_atomic(const char *path, const void *data, size_t len, mode_t mode);
int __wrap_statvfs(const char *path, struct statvfs *fs);
uint64_t __wrap_time_wall_ns(void);

int __wrap_io_write_atomic(const char *path, const void *data, size_t len, mode_t mode)
{
	return write_fails ? write_fails : __real_io_write_atomic(path, data, len, mode);
}

int __wrap_statvfs(const char *path, struct statvfs *fs)
{
	*fs = (struct statvfs){.f_frsize = 1, .f_bavail = free_bytes};
	return 0;
}

uint64_t __wrap_time_wall_ns(void)
{
	return now_ns;
}

static int make_folder(void **state)
{
	strcpy(dir, "/tmp/test_store.XXXXXX");
	write_fails = 0;
	free_bytes = 1 << 30;
	now_ns = SAMPLE_WALL + 100 * SECOND;
	return mkdtemp(dir) ? 0 : -1;
}

static int remove_folder(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r '%s'", dir);
	return system(command);
}

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put_file(const char *name, const void *data, size_t len)
{
	assert_int_equal(__real_io_write_atomic(in_folder(name), data, len, 0600), 0);
}

static bool there(const char *name)
{
	return access(in_folder(name), F_OK) == 0;
}

static struct store *open_store(uint64_t max_bytes, uint64_t max_age_s, uint64_t floor)
{
	struct store_options o = {
		.max_bytes = max_bytes,
		.max_age_s = max_age_s,
		.free_floor_bytes = floor,
	};
	struct store *s = NULL;

	assert_int_equal(store_new(dir, &o, &s), 0);
	return s;
}

/* The end of the session is age_s before now. */
static int put(struct store *s, uint64_t id, uint64_t age_s)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small();

	p->meta.session_id = id;
	p->meta.ended_wall_ns = now_ns - age_s * SECOND;
	return store_put(s, p);
}

static struct store_stats stats_of(struct store *s)
{
	struct store_stats stats;

	store_get_stats(s, &stats);
	return stats;
}

static int append_id(const struct profile *head, void *arg)
{
	assert_int_equal(head->node_count, 0);
	assert_string_equal(profile_text(head, head->meta.name), "morning");
	assert_int_equal(head->ledger.samples, 100);
	return buf_printf(arg, "%llu ", (unsigned long long)head->meta.session_id);
}

static void assert_listed(struct store *s, const char *want)
{
	AUTO(buf_done) struct buf ids = BUF_INIT;

	buf_append_str(&ids, "");
	assert_int_equal(store_list(s, append_id, &ids), 0);
	assert_string_equal(ids.data, want);
}

static void what_is_put_is_there_after_a_restart(void **state)
{
	AUTO(profile_unref_auto) struct profile *p = sample_small(), *back = NULL;
	struct store *s = open_store(0, 0, 0);
	struct stat st;

	p->meta.session_id = 12;
	assert_int_equal(store_last_id(s), 0);
	assert_int_equal(store_put(s, p), 0);
	assert_int_equal(put(s, 3, 0), 0);
	assert_int_equal(put(s, 100, 0), 0);
	assert_listed(s, "100 12 3 ");
	store_free(s);
	assert_int_equal(stat(in_folder("12.profile"), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);

	s = open_store(0, 0, 0);
	assert_listed(s, "100 12 3 ");
	assert_int_equal(store_get(s, 12, &back), 0);
	assert_same_profile(p, back);
	assert_int_equal(stats_of(s).count, 3);
	assert_int_equal(store_get(s, 13, &back), -ENOENT);
	store_free(s);
}

static void later_put_replaces(void **state)
{
	AUTO(store_free_auto) struct store *s = open_store(0, 0, 0);
	AUTO(profile_unref_auto) struct profile *back = NULL;
	uint64_t bytes;

	assert_int_equal(put(s, 5, 20), 0);
	bytes = stats_of(s).bytes;
	assert_int_equal(put(s, 5, 10), 0);
	assert_int_equal(stats_of(s).count, 1);
	assert_in_range(stats_of(s).bytes, bytes - 16, bytes + 16);
	assert_int_equal(stats_of(s).writes, 2);
	assert_int_equal(store_get(s, 5, &back), 0);
	assert_int_equal(back->meta.ended_wall_ns, now_ns - 10 * SECOND);
}

static void ids_outlive_their_files(void **state)
{
	struct store *s = open_store(0, 0, 0);

	put(s, 40, 0);
	put(s, 7, 0);
	assert_int_equal(store_last_id(s), 40);
	assert_int_equal(store_delete(s, 40), 0);
	assert_int_equal(store_delete(s, 40), -ENOENT);
	assert_false(there("40.profile"));
	store_free(s);
	s = open_store(0, 0, 0);
	assert_listed(s, "7 ");
	assert_int_equal(store_last_id(s), 40);
	store_free(s);
	/* Without the counter, the names of files still say something. */
	put_file("last-id", "junk", 4);
	s = open_store(0, 0, 0);
	assert_int_equal(store_last_id(s), 7);
	store_free(s);
}

static void damaged_files_are_left_and_counted(void **state)
{
	AUTO(profile_unref_auto) struct profile *back = NULL;
	AUTO(buf_done) struct buf data = BUF_INIT;
	struct store *s = open_store(0, 0, 0);

	put(s, 1, 0);
	put(s, 2, 0);
	put(s, 3, 0);
	store_free(s);
	assert_int_equal(io_read_file(in_folder("1.profile"), 1 << 20, &data), 0);
	put_file("1.profile", data.data, data.len - 1);
	data.data[data.len - 1] ^= 1;
	put_file("2.profile", data.data, data.len); /* whole, and wrong inside its body */
	data.data[8]++;
	put_file("4.profile", data.data, data.len); /* of a later version */
	put_file("5.profile", "", 0);
	assert_int_equal(mkdir(in_folder("6.profile"), 0700), 0);
	assert_int_equal(mkfifo(in_folder("7.profile"), 0600), 0);
	assert_int_equal(symlink("3.profile", in_folder("8.profile")), 0);

	s = open_store(0, 0, 0);
	assert_int_equal(stats_of(s).damaged, 6);
	assert_listed(s, "3 2 ");
	assert_int_equal(store_get(s, 2, &back), -EBADMSG);
	assert_listed(s, "3 ");
	assert_int_equal(stats_of(s).damaged, 7);
	assert_int_equal(store_get(s, 2, &back), -ENOENT);
	assert_int_equal(store_last_id(s), 8);
	store_expire(s);
	assert_true(there("1.profile") && there("2.profile") && there("4.profile"));
	store_free(s);
}

static void foreign_files_are_ignored(void **state)
{
	static const char *const names[] = {"README", "x.profile", "01.profile", "1.profile.bak",
		"-1.profile", "1 .profile", "99999999999999999999.profile", ".profile",
		"123456789012345678901234567890.profile", "token.Ab3dE_", "1.profileXAb3dEf"};
	struct store *s;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		put_file(names[i], "hello", 5);
	s = open_store(1, 1, 0);
	store_expire(s);
	assert_int_equal(stats_of(s).damaged, 0);
	assert_int_equal(stats_of(s).count, 0);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_true(there(names[i]));
	store_free(s);
}

static void leftovers_of_a_crash_go(void **state)
{
	put_file("12.profile.Ab3dEf", "half", 4);
	put_file("last-id.Ab3dEf", "1", 1);
	store_free(open_store(0, 0, 0));
	assert_false(there("12.profile.Ab3dEf"));
	assert_false(there("last-id.Ab3dEf"));
}

static void old_profiles_go_by_age(void **state)
{
	AUTO(store_free_auto) struct store *s = open_store(0, 50, 0);

	put(s, 1, 10);
	put(s, 2, 49);
	put(s, 3, 20);
	store_expire(s);
	assert_listed(s, "3 2 1 ");
	now_ns += 10 * SECOND;
	store_expire(s);
	assert_listed(s, "3 1 ");
	assert_false(there("2.profile"));
	assert_int_equal(stats_of(s).expired, 1);
	/* A clock that was set back does no harm. */
	now_ns -= 1000 * SECOND;
	store_expire(s);
	assert_listed(s, "3 1 ");
}

static void oldest_profiles_go_by_size(void **state)
{
	struct store *s = open_store(0, 0, 0);
	uint64_t each;

	put(s, 1, 10);
	each = stats_of(s).bytes;
	store_free(s);
	s = open_store(each * 3 + each / 2, 0, 0);
	put(s, 2, 30);
	put(s, 3, 20);
	assert_listed(s, "3 2 1 ");
	put(s, 4, 40);
	/* Not the one that was just written, though its session ended first. */
	assert_listed(s, "4 3 1 ");
	assert_true(stats_of(s).bytes <= each * 3 + each / 2);
	store_free(s);
	s = open_store(each / 2, 0, 0);
	assert_int_equal(put(s, 9, 0), -EFBIG);
	assert_listed(s, "4 3 1 ");
	store_expire(s);
	assert_listed(s, "");
	assert_int_equal(stats_of(s).bytes, 0);
	store_free(s);
}

static void a_spool_has_no_name_and_keeps_the_floor(void **state)
{
	AUTO(close_auto) int fd = -1;
	struct store *s = open_store(0, 0, 1000);
	char back[4] = "";

	free_bytes = 1500;
	assert_int_equal(store_spool(s, 501, &fd), -ENOSPC);
	assert_int_equal(store_spool(s, 500, &fd), 0);
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_int_equal(pread(fd, back, 3, 0), 3);
	assert_string_equal(back, "abc");
	assert_listed(s, "");
	free_bytes = 1 << 30;
	store_free(s);
}

static void full_disk_loses_nothing(void **state)
{
	AUTO(profile_unref_auto) struct profile *back = NULL;
	struct store *s = open_store(0, 0, 1000);

	put(s, 1, 5);
	free_bytes = 1000;
	assert_int_equal(put(s, 1, 0), -ENOSPC);
	assert_int_equal(put(s, 2, 0), -ENOSPC);
	assert_false(there("2.profile"));
	free_bytes = 1 << 30;
	write_fails = -ENOSPC;
	assert_int_equal(put(s, 1, 0), -ENOSPC);
	assert_int_equal(put(s, 3, 0), -ENOSPC);
	write_fails = 0;
	assert_int_equal(stats_of(s).write_errors, 4);
	assert_listed(s, "1 ");
	assert_int_equal(store_get(s, 1, &back), 0);
	assert_int_equal(back->meta.ended_wall_ns, now_ns - 5 * SECOND);
	assert_int_equal(put(s, 3, 0), 0);
	assert_listed(s, "3 1 ");
	store_free(s);
}

static int stop_at_second(const struct profile *head, void *arg)
{
	return ++*(int *)arg == 2 ? 77 : 0;
}

static void list_stops_when_told(void **state)
{
	AUTO(store_free_auto) struct store *s = open_store(0, 0, 0);
	int calls = 0;

	put(s, 1, 0);
	put(s, 2, 0);
	put(s, 3, 0);
	assert_int_equal(store_list(s, stop_at_second, &calls), 77);
	assert_int_equal(calls, 2);
}

static void missing_folder_is_said(void **state)
{
	struct store_options o = {0};
	struct store *s = NULL;

	assert_int_equal(store_new("/nonexistent/folder", &o, &s), -ENOENT);
	assert_null(s);
}

static int delete_listed(const struct profile *head, void *arg)
{
	store_delete(arg, head->meta.session_id);
	return 0;
}

static void *use_store(void *arg)
{
	struct store *s = arg;

	for (unsigned i = 0; i < 30; i++) {
		struct profile *back = NULL;

		put(s, 1 + i % 4, 0);
		store_get(s, 1 + (i + 1) % 4, &back);
		profile_unref(back);
		store_list(s, delete_listed, s);
		store_expire(s);
	}
	return NULL;
}

static void threads_share_a_store(void **state)
{
	AUTO(store_free_auto) struct store *s = open_store(1 << 20, 100, 0);
	pthread_t threads[3];

	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_store, s), 0);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(stats_of(s).damaged, 0);
	assert_int_equal(stats_of(s).writes, 90);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)
		IN_FOLDER(what_is_put_is_there_after_a_restart),
		IN_FOLDER(later_put_replaces),
		IN_FOLDER(ids_outlive_their_files),
		IN_FOLDER(damaged_files_are_left_and_counted),
		IN_FOLDER(foreign_files_are_ignored),
		IN_FOLDER(leftovers_of_a_crash_go),
		IN_FOLDER(old_profiles_go_by_age),
		IN_FOLDER(oldest_profiles_go_by_size),
		IN_FOLDER(a_spool_has_no_name_and_keeps_the_floor),
		IN_FOLDER(full_disk_loses_nothing),
		IN_FOLDER(list_stops_when_told),
		IN_FOLDER(missing_folder_is_said),
		IN_FOLDER(threads_share_a_store),
	};

	log_init("test", LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
