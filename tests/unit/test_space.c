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
#include "daemon/symbol/space.h"
#include "tests/unit/fake_broker.h"
#include "tests/unit/fake_files.h"

struct fixture {
	struct modules *modules;
	struct space *space;
	char dir[64];
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	*state = f;
	fake_broker_reset();
	memset(&fake_files, 0, sizeof(fake_files));
	strcpy(f->dir, "/tmp/test_space.XXXXXX");
	if (!mkdtemp(f->dir) || modules_new(fake_broker(), 4, &f->modules) < 0 ||
		space_new(f->modules, getpid(), &f->space) < 0)
		return -1;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char command[128];

	space_free(f->space);
	modules_free(f->modules);
	snprintf(command, sizeof(command), "rm -r '%s'", f->dir);
	if (system(command) != 0)
		return -1;
	free(f);
	return 0;
}

/* Two lines of "start-end kind pgoff" say more than two dozen asserts. */
static void assert_ranges(struct space *s, const char *expected)
{
	static const char *const kinds[] = {"file", "vdso", "anon", "other"};
	struct buf text = BUF_INIT;
	struct range *r;

	for (unsigned i = 0; (r = space_range(s, i)); i++)
		buf_printf(&text, "%llx-%llx %s %llx\n", (unsigned long long)r->start,
			(unsigned long long)r->end, kinds[r->kind], (unsigned long long)r->pgoff);
	assert_string_equal(text.data ? text.data : "", expected);
	buf_done(&text);
}

static void a_mapping_cuts_what_it_overlaps(void **state)
{
	struct fixture *f = *state;
	uint64_t before;

	assert_int_equal(space_map(f->space, 0x10000, 0x20000, 0x1000, 8, 77, "/lib/a"), 0);
	assert_int_equal(space_map(f->space, 0x30000, 0x34000, 0, 8, 78, "/lib/b"), 0);
	assert_int_equal(space_map(f->space, 0x14000, 0x15000, 0, 0, 0, "//anon"), 0);
	assert_ranges(f->space,
		"10000-14000 file 1000\n14000-15000 anon 0\n"
		"15000-20000 file 6000\n30000-34000 file 0\n");

	before = space_generation(f->space);
	assert_int_equal(space_map(f->space, 0x14000, 0x15000, 0, 0, 0, "//anon"), 0);
	assert_int_equal(space_map(f->space, 0x16000, 0x17000, 0x7000, 8, 77, "/lib/a"), 0);
	assert_int_equal(space_generation(f->space), before);
	assert_int_equal(space_map(f->space, 0x16000, 0x17000, 0x8000, 8, 77, "/lib/a"), 0);
	assert_true(space_generation(f->space) > before);

	assert_int_equal(space_map(f->space, 0x13000, 0x33000, 0, 0, 0, ""), 0);
	assert_ranges(
		f->space, "10000-13000 file 1000\n13000-33000 anon 0\n33000-34000 file 3000\n");
	assert_int_equal(space_map(f->space, 0x5000, 0x5000, 0, 0, 0, ""), -EINVAL);

	assert_null(space_find(f->space, 0xffff));
	assert_int_equal(space_find(f->space, 0x10000)->start, 0x10000);
	assert_int_equal(space_find(f->space, 0x12fff)->start, 0x10000);
	assert_int_equal(space_find(f->space, 0x13000)->start, 0x13000);
	assert_int_equal(space_find(f->space, 0x33fff)->start, 0x33000);
	assert_null(space_find(f->space, 0x34000));
	space_clear(f->space);
	assert_null(space_find(f->space, 0x10000));
}

static void kinds_go_by_inode_and_name(void **state)
{
	struct fixture *f = *state;

	space_map(f->space, 0x1000, 0x2000, 0, 0, 0, "[vdso]");
	space_map(f->space, 0x2000, 0x3000, 0, 0, 0, "[vsyscall]");
	space_map(f->space, 0x3000, 0x4000, 0, 0, 0, "[anon:heap]");
	space_map(f->space, 0x4000, 0x5000, 0, 0, 0, "[uprobes]");
	space_map(f->space, 0x5000, 0x6000, 0, 1, 5, "/x");
	space_map(f->space, 0x6000, 0x7000, 0, 0, 0, "[stack]");
	assert_ranges(f->space,
		"1000-2000 vdso 0\n2000-3000 other 0\n3000-4000 anon 0\n"
		"4000-5000 other 0\n5000-6000 file 0\n6000-7000 anon 0\n");
	assert_non_null(space_module(f->space, space_find(f->space, 0x1000)));
	assert_null(space_module(f->space, space_find(f->space, 0x2000)));
	assert_null(space_module(f->space, space_find(f->space, 0x3000)));
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
	close(fd);
}

/* A proc folder whose process 42 has that maps text. */
static void fake_maps(struct fixture *f, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/42", f->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/42/maps", f->dir);
	write_file(path, text);
	fake.proc_root = f->dir;
	space_free(f->space);
	assert_int_equal(space_new(f->modules, 42, &f->space), 0);
}

static void a_nameless_hole_in_a_file_is_the_files(void **state)
{
	struct fixture *f = *state;

	fake_maps(f,
		"10000-11000 r--p 00000000 08:01 77 /bin/x\n"
		"11000-13000 r-xp 00001000 08:01 77 /bin/x\n"
		"13000-15000 r-xp 00000000 00:00 0 \n"
		"15000-16000 r-xp 00005000 08:01 77 /bin/x\n"
		"16000-17000 r-xp 00000000 00:00 0 \n"
		"17000-18000 r--p 00009000 08:01 77 /bin/x\n"
		"20000-21000 rwxp 00000000 00:00 0 \n"
		"30000-31000 r-xp 00000000 08:01 78 /bin/y\n"
		"31000-32000 r-xp 00000000 00:00 0 \n");
	assert_int_equal(space_read(f->space, 0), 0);
	assert_ranges(f->space,
		"11000-13000 file 1000\n13000-15000 file 3000\n"
		"15000-16000 file 5000\n16000-17000 anon 0\n20000-21000 anon 0\n"
		"30000-31000 file 0\n31000-32000 anon 0\n");
}

static void the_maps_of_a_thread_when_the_leader_is_gone(void **state)
{
	struct fixture *f = *state;
	char path[128];

	fake_maps(f, "");
	snprintf(path, sizeof(path), "%s/42/task", f->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/42/task/43", f->dir);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "%s/42/task/43/maps", f->dir);
	write_file(path, "11000-13000 r-xp 00001000 08:01 77 /bin/x\n");
	assert_int_equal(space_read(f->space, 0), 0);
	assert_ranges(f->space, "");
	assert_int_equal(space_read(f->space, 43), 0);
	assert_ranges(f->space, "11000-13000 file 1000\n");
	space_free(f->space);
	assert_int_equal(space_new(f->modules, 4242, &f->space), 0);
	assert_true(space_read(f->space, 0) < 0);
}

static void our_own_code_is_found_in_our_own_file(void **state)
{
	struct fixture *f = *state;
	uint64_t addr = (uintptr_t)set_up, vaddr, bias;
	struct modules_stats stats;
	struct range *r;
	struct module *m;

	assert_int_equal(space_read(f->space, 0), 0);
	r = space_find(f->space, addr);
	assert_non_null(r);
	assert_int_equal(r->kind, RANGE_FILE);
	m = space_module(f->space, r);
	assert_non_null(m);
	assert_int_equal(m->error, 0);
	assert_ptr_equal(space_module(f->space, r), m);
	assert_true(range_vaddr(r, addr, &vaddr));
	assert_memory_equal(module_bytes(m, vaddr, 32), (const void *)(uintptr_t)addr, 32);
	assert_true(range_bias(r, &bias));
	assert_int_equal(addr - bias, vaddr);
	assert_int_equal(m->pid, getpid());
	modules_get_stats(f->modules, &stats);
	assert_int_equal(stats.opened, 1);
	assert_int_equal(stats.count, 1);
	assert_int_equal(stats.bytes, m->image_bytes);
	assert_int_equal(stats.unreadable, 0);
}

static uint64_t map_text_of(const char *path, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	assert_true(fd >= 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	return (uintptr_t)at;
}

/* Also when its path now holds another file; and the mark of a deleted file is not part of its
 * name. */
static void a_deleted_file_is_still_the_one_that_is_mapped(void **state)
{
	struct fixture *f = *state;
	struct module *m;
	char path[128], living[128];
	uint64_t at, at_living;

	snprintf(path, sizeof(path), "%s/app", f->dir);
	snprintf(living, sizeof(living), "%s/lib (deleted)", f->dir);
	write_file(path, "old bytes");
	write_file(living, "others");
	at = map_text_of(path, 9);
	at_living = map_text_of(living, 6);
	assert_int_equal(unlink(path), 0);
	write_file(path, "new ones");
	assert_int_equal(space_read(f->space, 0), 0);

	m = space_module(f->space, space_find(f->space, at));
	assert_int_equal(m->error, -ENOEXEC);
	assert_int_equal(m->image_bytes, 9);
	assert_memory_equal(m->image, "old bytes", 9);
	assert_string_equal(m->path, path);
	m = space_module(f->space, space_find(f->space, at_living));
	assert_int_equal(m->image_bytes, 6);
	assert_string_equal(m->path, living);
	munmap((void *)at, 9);
	munmap((void *)at_living, 6);
}

/* What the machine lacked at that moment may be there later; what is wrong with a file stays. */
static void a_want_of_descriptors_passes(void **state)
{
	static const int passing[] = {-EMFILE, -ENFILE, -ENOMEM, -EAGAIN, -EINTR};
	struct fixture *f = *state;
	struct range *r;
	struct module *m;
	uint64_t code;

	for (unsigned i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		space_clear(f->space);
		assert_int_equal(space_read(f->space, 0), 0);
		r = space_find(f->space, (uintptr_t)set_up);
		fake_files.mapped_error = passing[i];
		free(r->path); /* nor is there a file by its path */
		r->path = strdup("/nowhere");
		r->inode += 1000 + i;
		m = space_module(f->space, r);
		assert_int_equal(m->error, passing[i]);
		fake_files.mapped_error = 0;
		assert_ptr_equal(space_module(f->space, r), m); /* not at once */
		code = space_code_generation(f->space);
		r->again_ns = 1;
		assert_int_equal(space_module(f->space, r)->error, 0);
		assert_true(space_code_generation(f->space) > code);
		assert_int_equal(r->again_ns, 0);
	}
	space_clear(f->space);
	assert_int_equal(space_read(f->space, 0), 0);
	r = space_find(f->space, (uintptr_t)set_up);
	fake_files.mapped_error = -EACCES;
	r->inode += 2000;
	free(r->path);
	r->path = strdup("/nowhere");
	assert_int_equal(space_module(f->space, r)->error, -EACCES);
	assert_int_equal(r->again_ns, 0);
	fake_files.mapped_error = 0;
}

static void a_memory_file_that_is_no_elf_file_is_jit_code(void **state)
{
	struct fixture *f = *state;
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);
	struct range *r;
	void *at;

	assert_int_equal(ftruncate(fd, 4096), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	assert_int_equal(space_read(f->space, 0), 0);
	r = space_find(f->space, (uintptr_t)at);
	assert_int_equal(r->kind, RANGE_FILE);
	assert_null(space_module(f->space, r));
	assert_int_equal(r->kind, RANGE_ANON);
	munmap(at, 4096);
}

/* Like a process that had ended before its first sample was looked at. */
static void a_gone_process_finds_files_by_identity(void **state)
{
	struct fixture *f = *state;
	struct range *mine;
	struct module *m;
	struct space *other;
	struct modules_stats stats;
	uint64_t addr = (uintptr_t)set_up;

	assert_int_equal(space_read(f->space, 0), 0);
	mine = space_find(f->space, addr);
	assert_int_equal(space_new(f->modules, 1234567, &other), 0);
	fake_files.mapped_error = -ESRCH;

	/* Not seen before: by its path, as that has the same device and inode. */
	space_map(other, mine->start, mine->end, mine->pgoff, mine->dev, mine->inode, mine->path);
	m = space_module(other, space_find(other, addr));
	assert_int_equal(m->error, 0);
	/* Another file at that path is not it. */
	space_map(other, 0x1000, 0x2000, 0, mine->dev, mine->inode + 1, mine->path);
	m = space_module(other, space_find(other, 0x1000));
	assert_int_equal(m->error, -ESRCH);
	assert_null(m->image);
	space_free(other);

	/* One that was seen mapped is known by what the kernel's record says of it. */
	assert_int_equal(space_new(f->modules, 1234568, &other), 0);
	space_map(other, 0x1000, 0x2000, 0, mine->dev, mine->inode, "/no/such/path");
	m = space_module(other, space_find(other, 0x1000));
	assert_int_equal(m->error, 0);
	/* A thousand unreadable mappings of one path are one module. */
	for (uint64_t at = 0x10000; at < 0x20000; at += 0x1000)
		space_map(other, at, at + 0x1000, at, 9, 99, "/gone");
	m = space_module(other, space_find(other, 0x10000));
	for (uint64_t at = 0x10000; at < 0x20000; at += 0x1000)
		assert_ptr_equal(space_module(other, space_find(other, at)), m);
	modules_get_stats(f->modules, &stats);
	assert_int_equal(stats.unreadable, 2);
	space_free(other);
}

/* A file that was just looked at is not asked for again by the next process that maps it. */
static void what_was_just_looked_at_is_not_opened_again(void **state)
{
	struct fixture *f = *state;
	struct range *mine;
	struct module *m;
	struct space *other;
	uint64_t addr = (uintptr_t)set_up;
	unsigned opened;

	assert_int_equal(space_read(f->space, 0), 0);
	mine = space_find(f->space, addr);
	m = space_module(f->space, mine);
	opened = fake_files.mapped_opened;
	assert_int_equal(space_new(f->modules, getpid(), &other), 0);
	space_map(other, mine->start, mine->end, mine->pgoff, mine->dev, mine->inode, mine->path);
	assert_ptr_equal(space_module(other, space_find(other, addr)), m);
	assert_int_equal(fake_files.mapped_opened, opened);
	space_free(other);

	/* By another path it may be another: the numbers of some file systems are not unique. */
	assert_int_equal(space_new(f->modules, getpid(), &other), 0);
	space_map(
		other, mine->start, mine->end, mine->pgoff, mine->dev, mine->inode, "/else/where");
	assert_ptr_equal(space_module(other, space_find(other, addr)), m);
	assert_int_equal(fake_files.mapped_opened, opened + 1);
	space_free(other);
}

static void a_fork_has_the_same_modules(void **state)
{
	struct fixture *f = *state;
	struct space *child;
	struct module *m;
	uint64_t addr = (uintptr_t)set_up;

	assert_int_equal(space_read(f->space, 0), 0);
	m = space_module(f->space, space_find(f->space, addr));
	assert_int_equal(space_clone(f->space, 4711, &child), 0);
	assert_int_equal(space_pid(child), 4711);
	space_clear(f->space);
	assert_ptr_equal(space_module(child, space_find(child, addr)), m);
	assert_int_equal(m->error, 0);
	space_free(child);
}

static void the_code_generation_ignores_what_was_not_looked_at(void **state)
{
	struct fixture *f = *state;
	struct range *r;
	uint64_t before, start, end;

	assert_int_equal(space_read(f->space, 0), 0);
	r = space_find(f->space, (uintptr_t)set_up);
	start = r->start;
	end = r->end;
	assert_non_null(space_module(f->space, r));
	before = space_code_generation(f->space);
	space_map(f->space, 0x1000, 0x3000, 0, 0, 0, "//anon");
	space_map(f->space, 0x2000, 0x4000, 0, 0, 0, "[anon:jit]");
	space_map(f->space, 0x2000, 0x4000, 0, 1, 2, "/lib");
	assert_int_equal(space_code_generation(f->space), before);
	space_map(f->space, start, end, 0, 0, 0, "//anon");
	assert_true(space_code_generation(f->space) > before);
}

/* The cap is four. */
static void modules_in_use_are_never_evicted(void **state)
{
	struct fixture *f = *state;
	struct modules_stats stats;
	struct module *kept = NULL;
	char path[128];
	uint64_t at[8];

	for (int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "%s/file%d", f->dir, i);
		write_file(path, "some text");
		at[i] = map_text_of(path, 9);
	}
	assert_int_equal(space_read(f->space, 0), 0);
	for (int i = 0; i < 8; i++) {
		struct module *m = space_module(f->space, space_find(f->space, at[i]));

		assert_int_equal(m->error, -ENOEXEC);
		if (i == 0)
			kept = module_ref(m);
	}
	modules_get_stats(f->modules, &stats);
	assert_int_equal(stats.count, 4);
	assert_int_equal(stats.evicted, 0);
	space_clear(f->space);

	assert_int_equal(space_read(f->space, 0), 0);
	for (int i = 7; i >= 0; i--) {
		space_module(f->space, space_find(f->space, at[i]));
		if (i > 0) {
			space_clear(f->space);
			assert_int_equal(space_read(f->space, 0), 0);
		}
	}
	modules_get_stats(f->modules, &stats);
	assert_int_equal(stats.count, 4);
	assert_true(stats.evicted > 0);
	assert_ptr_equal(space_module(f->space, space_find(f->space, at[0])), kept);
	module_unref(kept);
	for (int i = 0; i < 8; i++)
		munmap((void *)at[i], 9);
}

static void ranges_are_capped(void **state)
{
	struct fixture *f = *state;
	int error = 0;
	unsigned i;

	for (i = 0; i < 40000 && error == 0; i++)
		error = space_map(f->space, i * 0x2000u, i * 0x2000u + 0x1000, 0, 0, 0, "");
	assert_int_equal(error, -ENOSPC);
	assert_in_range(i, 32000, 32769);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(a_mapping_cuts_what_it_overlaps),
		WITH_FIXTURE(kinds_go_by_inode_and_name),
		WITH_FIXTURE(a_nameless_hole_in_a_file_is_the_files),
		WITH_FIXTURE(the_maps_of_a_thread_when_the_leader_is_gone),
		WITH_FIXTURE(our_own_code_is_found_in_our_own_file),
		WITH_FIXTURE(a_deleted_file_is_still_the_one_that_is_mapped),
		WITH_FIXTURE(a_want_of_descriptors_passes),
		WITH_FIXTURE(a_memory_file_that_is_no_elf_file_is_jit_code),
		WITH_FIXTURE(a_gone_process_finds_files_by_identity),
		WITH_FIXTURE(what_was_just_looked_at_is_not_opened_again),
		WITH_FIXTURE(a_fork_has_the_same_modules),
		WITH_FIXTURE(the_code_generation_ignores_what_was_not_looked_at),
		WITH_FIXTURE(modules_in_use_are_never_evicted),
		WITH_FIXTURE(ranges_are_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
