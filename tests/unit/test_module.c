#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "daemon/symbol/module.h"
#include "daemon/symbol/sigbus.h"

/* A file with two loaded segments, whose offsets and addresses differ as lld lays them out, and a
 * note. */
struct small_elf {
	Elf64_Ehdr e;
	Elf64_Phdr p[3];
	Elf64_Nhdr note; /* aligned to 4 as it must be */
	char note_name[4];
	uint8_t note_id[20];
	uint8_t text[256];
} __attribute__((packed));

static void fill(struct small_elf *f)
{
	memset(f, 0, sizeof(*f));
	memcpy(f->e.e_ident, ELFMAG, SELFMAG);
	f->e.e_ident[EI_CLASS] = ELFCLASS64;
	f->e.e_ident[EI_DATA] = ELFDATA2LSB;
	f->e.e_machine = EM_X86_64;
	f->e.e_type = ET_DYN;
	f->e.e_phoff = offsetof(struct small_elf, p);
	f->e.e_phentsize = sizeof(Elf64_Phdr);
	f->e.e_phnum = 3;
	f->p[0] = (Elf64_Phdr){.p_type = PT_LOAD,
		.p_flags = PF_R,
		.p_offset = 0,
		.p_vaddr = 0,
		.p_filesz = 64,
		.p_memsz = 64};
	f->p[1] = (Elf64_Phdr){.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = offsetof(struct small_elf, text),
		.p_vaddr = 0x1000 + offsetof(struct small_elf, text),
		.p_filesz = 256,
		.p_memsz = 512};
	f->p[2] = (Elf64_Phdr){.p_type = PT_NOTE,
		.p_offset = offsetof(struct small_elf, note),
		.p_filesz = sizeof(Elf64_Nhdr) + 24};
	f->note = (Elf64_Nhdr){4, 20, NT_GNU_BUILD_ID};
	memcpy(f->note_name, "GNU", 4);
	for (int i = 0; i < 20; i++)
		f->note_id[i] = (uint8_t)(i + 1);
	memset(f->text, 0x90, sizeof(f->text));
}

static struct module *module_of(const void *bytes, size_t len)
{
	int fd = memfd_create("m", MFD_CLOEXEC);
	struct module *m = NULL;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), (ssize_t)len);
	assert_int_equal(module_new(7, "/x/m", fd, &m), 0);
	return m;
}

static void offsets_and_addresses_go_by_segment(void **state)
{
	struct small_elf f;
	struct module *m;
	uint64_t at;
	const uint64_t text = offsetof(struct small_elf, text);

	(void)state;
	fill(&f);
	m = module_of(&f, sizeof(f));
	assert_int_equal(m->error, 0);
	assert_int_equal(m->id, 7);
	assert_string_equal(m->path, "/x/m");
	assert_int_equal(m->segment_count, 2);
	assert_true(module_vaddr_of_offset(m, text + 3, &at));
	assert_int_equal(at, 0x1000 + text + 3);
	assert_true(module_offset_of_vaddr(m, 0x1000 + text + 3, &at));
	assert_int_equal(at, text + 3);
	assert_false(module_vaddr_of_offset(m, text - 1, &at));
	assert_false(module_offset_of_vaddr(m, 0x1000 + text + 256, &at));
	assert_int_equal(m->build_id_bytes, 20);
	assert_int_equal(m->build_id[19], 20);
	assert_ptr_equal(module_bytes(m, 0x1000 + text, 256), m->image + text);
	assert_null(module_bytes(m, 0x1000 + text, 257));
	assert_null(module_bytes(m, 0x1000 + text + 1, SIZE_MAX));
	assert_null(module_bytes(m, 0x800, 1));
	module_unref(m);
}

static void nonsense_gives_a_module_with_an_error(void **state)
{
	struct small_elf f;
	struct module *m;

	(void)state;
	m = module_of("#!/bin/sh\n", 10);
	assert_int_equal(m->error, -ENOEXEC);
	module_unref(m);

	fill(&f);
	f.p[1].p_memsz = UINT64_MAX;
	m = module_of(&f, sizeof(f));
	assert_int_equal(m->error, -EBADMSG);
	module_unref(m);

	fill(&f);
	f.e.e_phoff = UINT64_MAX - 8;
	m = module_of(&f, sizeof(f));
	assert_int_equal(m->error, -EBADMSG);
	module_unref(m);

	m = module_of(&f, 40);
	assert_int_equal(m->error, -ENOEXEC);
	module_unref(m);

	assert_int_equal(module_new_unreadable(3, "/gone", -ENOENT, &m), 0);
	assert_int_equal(m->error, -ENOENT);
	assert_int_equal(m->fd, -1);
	assert_null(m->image);
	module_unref(m);
}

static void sizes_beyond_the_file_are_clipped(void **state)
{
	struct small_elf f;
	struct module *m;
	const uint64_t text = offsetof(struct small_elf, text);

	(void)state;
	fill(&f);
	f.p[1].p_filesz = f.p[1].p_memsz = UINT64_C(1) << 40;
	f.p[2].p_filesz = UINT64_MAX;
	f.e.e_shoff = UINT64_C(0x7fffffff0000);
	f.e.e_shnum = 0xfff0;
	f.e.e_shentsize = 64;
	m = module_of(&f, sizeof(f));
	assert_int_equal(m->error, 0);
	assert_non_null(module_bytes(m, 0x1000 + text + 255, 1));
	assert_null(module_bytes(m, 0x1000 + text + 256, 1));
	assert_int_equal(m->build_id_bytes, 20);
	module_unref(m);

	fill(&f);
	f.note.n_descsz = 0xffffffff;
	m = module_of(&f, sizeof(f));
	assert_int_equal(m->error, 0);
	assert_int_equal(m->build_id_bytes, 0);
	module_unref(m);
}

static int own_base(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(uint64_t *)arg = info->dlpi_addr;
	return 1; /* the first is the program */
}

static void our_own_program_has_its_tables(void **state)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct module *m;
	struct stat st;
	uint64_t base;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(module_new(1, "/exe", fd, &m), 0);
	assert_int_equal(m->error, 0);
	assert_int_equal(m->machine, EM_X86_64);
	assert_int_equal(m->inode, st.st_ino);
	assert_int_equal(m->size_bytes, st.st_size);
	assert_true(m->eh_frame_hdr_bytes > 12);
	assert_true(m->eh_frame_bytes > 0);
	dl_iterate_phdr(own_base, &base);
	assert_memory_equal(module_bytes(m, (uintptr_t)own_base - base, 16), (void *)own_base, 16);
	module_unref(m);
}

static void the_vdso_is_ours(void **state)
{
	struct module *m;

	(void)state;
	if (!getauxval(AT_SYSINFO_EHDR))
		skip();
	assert_int_equal(module_new_vdso(9, &m), 0);
	assert_int_equal(m->error, 0);
	assert_true(m->is_vdso);
	assert_true(m->eh_frame_bytes > 0);
	assert_true(m->eh_frame_hdr_bytes > 0);
	assert_true(m->build_id_bytes > 0);
	assert_true(m->fd >= 0);
	module_unref(m);
}

static void a_file_cut_short_later_reads_as_zeros(void **state)
{
	struct small_elf f;
	static uint8_t big[3 * 4096];
	struct module *m;

	(void)state;
	assert_int_equal(sigbus_install(), 0); /* the test library has put its own handler there */
	fill(&f);
	f.p[1].p_filesz = f.p[1].p_memsz = 2 * 4096;
	memcpy(big, &f, sizeof(f));
	m = module_of(big, sizeof(big));
	assert_int_equal(m->error, 0);
	assert_int_equal(ftruncate(m->fd, 0), 0);
	assert_int_equal(*(const volatile uint8_t *)module_bytes(m, f.p[1].p_vaddr, 1), 0);
	assert_int_equal(*(const volatile uint8_t *)module_bytes(m, f.p[1].p_vaddr + 8000, 1), 0);
	module_unref(m);
}

static void references_are_counted(void **state)
{
	struct small_elf f;
	struct module *m;

	(void)state;
	fill(&f);
	m = module_of(&f, sizeof(f));
	assert_false(module_is_shared(m));
	assert_ptr_equal(module_ref(m), m);
	assert_true(module_is_shared(m));
	module_unref(m);
	assert_false(module_is_shared(m));
	assert_int_equal(m->image[0], 0x7f);
	module_unref(m);
	module_unref(NULL);
	assert_null(module_ref(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_and_addresses_go_by_segment),
		cmocka_unit_test(nonsense_gives_a_module_with_an_error),
		cmocka_unit_test(sizes_beyond_the_file_are_clipped),
		cmocka_unit_test(our_own_program_has_its_tables),
		cmocka_unit_test(the_vdso_is_ours),
		cmocka_unit_test(a_file_cut_short_later_reads_as_zeros),
		cmocka_unit_test(references_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
