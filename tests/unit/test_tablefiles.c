#include "daemon/symbol/tablefiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/io.h"
#include "base/map.h"
#include "daemon/cfi/table.h"

#define ROWS  10000u
#define BYTES (sizeof(struct cfi_table_head) + ROWS * 8u)

static char top[64], dir[96];

static int set_up(void **state)
{
	(void)state;
	strcpy(top, "/tmp/pfl-test-XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(dir, sizeof(dir), "%s/rules", top);
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command);
}

static struct module *module_of(const char *name)
{
	char path[160];
	struct module *m;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", top, name);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, name, strlen(name)), strlen(name));
	assert_int_equal(module_new(1, path, fd, &m), 0);
	return m;
}

static struct cfi_table *table_with(uint32_t a)
{
	struct cfi_table *t = calloc(1, sizeof(*t));
	struct cfi_table_head *h;
	uint32_t *starts, *codes;
	void *map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_non_null(t);
	assert_ptr_not_equal(map, MAP_FAILED);
	h = map;
	*h = (struct cfi_table_head){CFI_TABLE_MAGIC, ROWS, 0x1000, BYTES, 0};
	starts = (uint32_t *)(h + 1);
	codes = starts + ROWS;
	for (uint32_t i = 0; i < ROWS; i++) {
		starts[i] = i * 4;
		codes[i] = i + 1 < ROWS ? cfi_code(CFI_BY_SP, a + i % 2, 0) : CFI_NONE;
	}
	h->sum = hash_bytes(starts, ROWS * 8u, h->base);
	assert_int_equal(cfi_table_check(map, BYTES, t), 0);
	return t;
}

static struct tablefiles *files_of(uint64_t max_bytes)
{
	struct tablefiles_options o = {.dir = dir, .max_bytes = max_bytes};
	struct tablefiles *f;

	assert_int_equal(tablefiles_new(&o, &f), 0);
	return f;
}

static void drop(struct cfi_table *t)
{
	munmap((void *)(uintptr_t)t->map, t->bytes);
	free(t);
}

static unsigned count_files(char *name, size_t bytes)
{
	struct dirent *entry;
	unsigned count = 0;
	DIR *d = opendir(dir);

	assert_non_null(d);
	while ((entry = readdir(d)))
		if (entry->d_name[0] != '.') {
			count++;
			snprintf(name, bytes, "%s/%s", dir, entry->d_name);
		}
	closedir(d);
	return count;
}

static void what_was_saved_is_loaded(void **state)
{
	struct tablefiles *f = files_of(100 << 20);
	struct module *m = module_of("one"), *other = module_of("other");
	struct cfi_table *t = table_with(1), *got;

	(void)state;
	assert_int_equal(tablefiles_load(f, m, &got), -ENOENT);
	assert_int_equal(tablefiles_save(f, m, t), 0);
	assert_int_equal(tablefiles_load(f, other, &got), -ENOENT);
	tablefiles_free(f);
	f = files_of(100 << 20); /* the next start */
	assert_int_equal(tablefiles_load(f, m, &got), 0);
	for (uint64_t at = 0xff0; at < 0x1000 + ROWS * 4 + 16; at += 3)
		assert_int_equal(cfi_table_find(got, at), cfi_table_find(t, at));
	/* The module frees it with itself. */
	assert_true(module_claim_table(m));
	assert_false(module_claim_table(m));
	module_set_table(m, got);
	assert_ptr_equal(module_table(m), got);
	module_unref(m);
	module_unref(other);
	drop(t);
	tablefiles_free(f);
}

static void a_changed_file_is_another(void **state)
{
	struct tablefiles *f = files_of(100 << 20);
	struct module *m = module_of("two");
	struct cfi_table *t = table_with(2), *got;

	(void)state;
	assert_int_equal(tablefiles_save(f, m, t), 0);
	m->mtime_ns++;
	assert_int_equal(tablefiles_load(f, m, &got), -ENOENT);
	m->mtime_ns--;
	m->build_id_bytes = 20;
	assert_int_equal(tablefiles_load(f, m, &got), -ENOENT);
	m->build_id_bytes = 0;
	assert_int_equal(tablefiles_load(f, m, &got), 0);
	drop(got);
	drop(t);
	module_unref(m);
	tablefiles_free(f);
}

static void damaged_ones_are_thrown_away(void **state)
{
	struct tablefiles *f = files_of(100 << 20);
	struct module *m = module_of("three");
	struct cfi_table *t = table_with(3), *got;
	char path[400] = "";
	uint8_t byte;
	int fd;

	(void)state;
	for (int way = 0; way < 3; way++) {
		assert_int_equal(tablefiles_save(f, m, t), 0);
		assert_int_equal(count_files(path, sizeof(path)), 1);
		fd = open(path, O_RDWR | O_CLOEXEC);
		assert_true(fd >= 0);
		if (way == 0) { /* one bit somewhere in the rows */
			assert_int_equal(pread(fd, &byte, 1, 5000), 1);
			byte ^= 4;
			assert_int_equal(pwrite(fd, &byte, 1, 5000), 1);
		} else if (way == 1) { /* cut short */
			assert_int_equal(ftruncate(fd, 40000), 0);
		} else { /* by another version */
			assert_int_equal(pwrite(fd, "9", 1, 0), 1);
		}
		close(fd);
		assert_int_equal(tablefiles_load(f, m, &got), -ENOENT);
		assert_int_equal(count_files(path, sizeof(path)), 0);
	}
	drop(t);
	module_unref(m);
	tablefiles_free(f);
}

static void the_longest_unused_goes(void **state)
{
	struct tablefiles *f = files_of(5 * (BYTES + 200));
	struct cfi_table *t = table_with(4), *got;
	struct module *m[6];
	char name[16], path[400];

	(void)state;
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "file%d", i);
		m[i] = module_of(name);
		if (i == 5) {
			assert_int_equal(tablefiles_load(f, m[0], &got), 0);
			drop(got);
		}
		assert_int_equal(tablefiles_save(f, m[i], t), 0);
		usleep(20000); /* the clock of a file system goes in steps */
	}
	assert_int_equal(count_files(path, sizeof(path)), 5);
	assert_int_equal(tablefiles_load(f, m[1], &got), -ENOENT);
	assert_int_equal(tablefiles_load(f, m[0], &got), 0);
	drop(got);
	tablefiles_free(f);
	f = files_of(2 * (BYTES + 200)); /* less is allowed now */
	assert_int_equal(count_files(path, sizeof(path)), 2);
	/* One that would take more than its share is not kept. */
	assert_int_equal(tablefiles_save(f, m[1], t), -EFBIG);
	for (int i = 0; i < 6; i++)
		module_unref(m[i]);
	drop(t);
	tablefiles_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_saved_is_loaded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_changed_file_is_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged_ones_are_thrown_away, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_longest_unused_goes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
