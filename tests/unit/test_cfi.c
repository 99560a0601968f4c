/* Unwind rules as they are compiled: against what libdw says of the same files, and what is
 * refused. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/map.h"
#include "daemon/cfi/table.h"
#include "daemon/reader/request.h"
#include "tests/unit/build_elf.h"

enum { BX = 3, BP = 6, SP = 7, RA = 16 };

static struct reader_reply ask(int fd)
{
	struct reader_request req = {.version = READER_VERSION, .op = READER_UNWIND};
	struct reader_reply reply;

	reader_handle(&req, &fd, 1, 0, &reply);
	return reply;
}

static void compile(int fd, struct cfi_table *ret)
{
	struct reader_reply reply = ask(fd);
	void *map;

	assert_int_equal(reply.head.status, 0);
	map = mmap(NULL, reply.head.bytes, PROT_READ, MAP_PRIVATE, reply.fd, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	close(reply.fd);
	assert_int_equal(cfi_table_check(map, reply.head.bytes, ret), 0);
}

static void drop(struct cfi_table *t)
{
	munmap((void *)(uintptr_t)t->map, t->bytes);
	free(t->index);
}

/* libdw's word on a register, in the terms of a rule: whether it is at that distance from the CFA,
 * or (distance 0) unchanged. */
static bool is_at(Dwarf_Frame *f, int reg, int64_t distance)
{
	Dwarf_Op mem[3], *ops;
	size_t count;

	if (dwarf_frame_register(f, reg, mem, &ops, &count) != 0)
		return false;
	if (distance == 0) /* no operations and no place: the same value */
		return count == 0 && ops == NULL;
	return count == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
		ops[1].atom == DW_OP_plus_uconst && (int64_t)ops[1].number == distance;
}

static bool is_undefined(Dwarf_Frame *f, int reg)
{
	Dwarf_Op mem[3], *ops;
	size_t count;

	return dwarf_frame_register(f, reg, mem, &ops, &count) == 0 && count == 0 && ops == mem;
}

static bool is_based(Dwarf_Frame *f, int reg, uint64_t offset)
{
	Dwarf_Op *ops;
	size_t count;

	return dwarf_frame_cfa(f, &ops, &count) == 0 && count == 1 && ops[0].atom == DW_OP_bregx &&
		(int)ops[0].number == reg && ops[0].number2 == offset;
}

static size_t cfa_ops(Dwarf_Frame *f, Dwarf_Op **ret_ops)
{
	size_t count = 0;

	return dwarf_frame_cfa(f, ret_ops, &count) == 0 ? count : 0;
}

static bool cfa_agrees(Dwarf_Frame *f, uint32_t code)
{
	uint64_t a = 8 * cfi_code_a(code);
	int64_t b = -8 * (int64_t)cfi_code_b(code);
	Dwarf_Op *ops = NULL;
	size_t count = cfa_ops(f, &ops);

	switch (cfi_code_kind(code)) {
	case CFI_BY_SP: return is_based(f, SP, a) && is_at(f, BP, b) && is_at(f, RA, -8);
	case CFI_BY_BP: return is_based(f, BP, a) && is_at(f, BP, b) && is_at(f, RA, -8);
	case CFI_ROOT: return is_undefined(f, RA);
	case CFI_BY_SLOT:
		return count == 2 && ops[0].atom == DW_OP_breg6 && -ops[0].number == a &&
			ops[1].atom == DW_OP_deref && is_at(f, RA, -8);
	case CFI_IN_STUB:
		return count > 8 && ops[0].atom == DW_OP_breg7 && ops[0].number == a &&
			is_at(f, RA, -8);
	case CFI_BY_REG:
		return is_based(f, (int)cfi_code_a(code) & 15, a / 128 * 8) && is_at(f, BP, b) &&
			is_at(f, RA, -8);
	case CFI_BY_SAVED:
		return count >= 2 && ops[1].atom == DW_OP_deref && is_at(f, BP, b) &&
			is_at(f, RA, -8);
	case CFI_SIGNAL:
		return count == 2 && ops[0].atom == DW_OP_breg7 && ops[0].number == 160 &&
			ops[1].atom == DW_OP_deref;
	case CFI_ASK: return true;
	default: return false;
	}
}

static bool agrees(Dwarf_Frame *f, uint32_t code)
{
	enum cfi_kind kind = cfi_code_kind(code);
	int64_t c = -8 * (int64_t)cfi_code_c(code);

	return cfa_agrees(f, code) &&
		(kind == CFI_SIGNAL || kind == CFI_ROOT || kind == CFI_ASK ||
			cfi_code_c(code) == CFI_C_LOST || is_at(f, BX, c) ||
			/* libdw does not know that callees keep it when nothing is said. */
			(c == 0 && is_undefined(f, BX)));
}

/* Every row, at its first byte and at its last. */
static void compare_with_libdw(const char *path, unsigned min_rows)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct cfi_table t;
	Dwarf_CFI *cfi;
	Dwarf_Frame *f;
	unsigned asked = 0;
	Elf *elf;

	assert_true(fd >= 0);
	compile(fd, &t);
	assert_true(t.count >= min_rows);
	cfi_table_index(&t);
	assert_non_null(t.index);
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	cfi = dwarf_getcfi_elf(elf);
	assert_non_null(cfi);
	for (uint32_t i = 0; i + 1 < t.count; i++) {
		uint64_t at[2] = {t.base + t.starts[i], t.base + t.starts[i + 1] - 1};

		asked += cfi_code_kind(t.codes[i]) == CFI_ASK;
		for (int last = 0; last < 2; last++) {
			assert_int_equal(cfi_table_find(&t, at[last]), t.codes[i]);
			if (dwarf_cfi_addrframe(cfi, at[last], &f) != 0) {
				if (cfi_code_kind(t.codes[i]) != CFI_NONE)
					fail_msg("%s: no rule at %lx", path, at[last]);
				continue;
			}
			if (!agrees(f, t.codes[i]))
				fail_msg("%s: %x at %lx", path, t.codes[i], at[last]);
			free(f);
		}
	}
	assert_true(asked * 100 < t.count);
	dwarf_cfi_end(cfi);
	elf_end(elf);
	close(fd);
	drop(&t);
}

static void rules_of_this_program(void **state)
{
	(void)state;
	compare_with_libdw("/proc/self/exe", 500);
}

static void rules_of_the_c_library(void **state)
{
	char line[4096], path[4096] = "";
	FILE *maps = fopen("/proc/self/maps", "r");

	(void)state;
	assert_non_null(maps);
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "libc.so.6") && strchr(line, '/'))
			sscanf(strchr(line, '/'), "%4095[^\n]", path);
	fclose(maps);
	if (path[0] == '\0')
		skip(); /* linked statically */
	compare_with_libdw(path, 5000);
}

static const char by_hand[] =
	"__asm__(\".text\\n.globl f\\n.type f,@function\\nf:\\n.cfi_startproc\\n"
	"push %rbp\\n.cfi_def_cfa_offset 16\\n.cfi_offset %rbp,-16\\n"
	"mov %rsp,%rbp\\n.cfi_def_cfa_register %rbp\\n.cfi_remember_state\\n"
	"nop\\nleave\\n.cfi_restore %rbp\\n.cfi_def_cfa %rsp,8\\nret\\n"
	".cfi_restore_state\\nnop\\n.cfi_undefined %rip\\nnop\\n"
	".cfi_def_cfa %rsp,24\\nnop\\n.cfi_same_value %rip\\nnop\\n"
	".cfi_endproc\\n.size f,.-f\\n\"); int main(void) { return 0; }\n";

/* The same entry out of either section, packed or not, gives the same rows. */
static void either_section_packed_or_not(void **state)
{
	static const struct {
		const char *flags, *section;
	} ways[] = {
		{"-O1", ".eh_frame"}, {"-O1 -Wa,--gdwarf-4", ".debug_frame"},
		{"-O1 -gz -Wa,--compress-debug-sections=zlib", ".debug_frame"},
		{"-O1", ".debug_frame"}, /* by zstd, afterwards */
	};
	static const uint32_t at[] = {0, 1, 4, 5, 6, 7, 8, 9, 10};
	uint32_t expected[] = {
		cfi_code(CFI_BY_SP, 1, 0), cfi_code(CFI_BY_SP, 2, 2), cfi_code(CFI_BY_BP, 2, 2),
		cfi_code(CFI_BY_BP, 2, 2), cfi_code(CFI_BY_SP, 1, 0), cfi_code(CFI_BY_BP, 2, 2),
		CFI_ASK,           /* outermost by rbp */
		CFI_ROOT, CFI_ASK, /* the return address is where it was */
	};
	char source[2048];

	(void)state;
	for (unsigned w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
		struct cfi_table t;
		uint64_t f = 0;
		FILE *nm;
		int fd;

		/* Enough of it that packing makes it smaller, else it stays as it is. */
		snprintf(source, sizeof(source),
			"__asm__(\".cfi_sections %s\\n.rept 64\\n.cfi_startproc\\nnop\\n"
			".cfi_endproc\\n.endr\");\n%s",
			ways[w].section, by_hand);
		assert_int_equal(build_c("hand", source, ways[w].flags), 0);
		assert_int_equal(build_run("nm hand | grep ' f$' >f"), 0);
		nm = fopen(build_path("f"), "r");
		assert_non_null(nm);
		assert_int_equal(fscanf(nm, "%lx", &f), 1);
		fclose(nm);
		if (w == 3)
			assert_int_equal(build_run("objcopy --compress-debug-sections=zstd hand && "
						   "readelf -SW hand | grep -q 'debug_frame.* C '"),
				0);
		fd = build_open("hand");
		compile(fd, &t);
		close(fd);
		for (unsigned i = 0; i < sizeof(at) / sizeof(at[0]); i++)
			if (cfi_table_find(&t, f + at[i]) != expected[i])
				fail_msg("%s: f+%u: %x, not %x", ways[w].flags, at[i],
					cfi_table_find(&t, f + at[i]), expected[i]);
		assert_int_equal(cfi_table_find(&t, t.base - 1), CFI_NONE);
		assert_int_equal(cfi_table_find(&t, t.base + (UINT64_C(1) << 33)), CFI_NONE);
		drop(&t);
	}
}

/* As the linkers of Go 1.20 and 1.2 write it: of each function, how deep the stack is from where
 * on. */
static const char go_program[] =
	".text\n.globl work,bare,systemstack,mstart,sigreturn,goexit,over\n"
	"work: .space 16,0x90\nbare: .space 16,0x90\nsystemstack: .space 15,0x90\n.byte 0xcc\n"
	"mstart: .space 15,0x90\n.byte 0xcc\nsigreturn: .space 16,0x90\ngoexit: .space "
	"16,0x90\nover: ret\n"
	".section .gopclntab,\"a\"\n.balign 32\n"
	"hdr: .long MAGIC\n.byte 0,0,1,8\n.quad 6\n"
	".macro fn n,e\n"
	".if MAGIC == 0xfffffffb\n.quad \\e, f\\n-hdr\n.else\n.long \\e-work, "
	"f\\n-tab\n.endif\n.endm\n"
	".macro rec n,e,sp\n"
	".if MAGIC == 0xfffffffb\nf\\n: .quad \\e\n.long n\\n-hdr,0,0\n.else\n"
	"f\\n: .long \\e-work,n\\n-names,0,0\n.endif\n.long \\sp,0,0,0,0\n.endm\n"
	".if MAGIC != 0xfffffffb\n.quad 0,work,names-hdr,0,0,stacks-hdr,tab-hdr\n.endif\n"
	"tab:\nfn 1,work\nfn 2,bare\nfn 3,systemstack\nfn 4,mstart\nfn 5,sigreturn\nfn "
	"6,goexit\nfn 1,over\n"
	".if MAGIC == 0xfffffffb\n.set base,hdr\n.else\n.set base,stacks\n.endif\n"
	"rec 1,work,depths-base\nrec 2,bare,0\nrec 3,systemstack,depths-base\nrec "
	"4,mstart,depths-base\n"
	"rec 5,sigreturn,0\nrec 6,goexit,depths-base\n"
	"names: .byte 0\nn1: .asciz \"main.work\"\nn2: .asciz \"main.bare\"\n"
	"n3: .asciz \"runtime.systemstack.abi0\"\nn4: .asciz \"runtime.mstart\"\n"
	"n5: .asciz \"runtime.sigreturn\"\nn6: .asciz \"runtime.goexit.abi0\"\n"
	/* -1 + 1 for 4 bytes, + 24 for 8, - 24 up to the end */
	"stacks: .byte 0\ndepths: .byte 2,4, 48,8, 47,4, 0\n.space 16\n"
	".section .note.GNU-stack,\"\",@progbits\n";

static void stripped_go_by_its_own_table(void **state)
{
	static const char *const magics[] = {"0xfffffff1", "0xfffffffb"};
	const uint32_t flat = cfi_code_with_bx(cfi_code(CFI_BY_SP, 1, 0), CFI_C_LOST);
	const uint32_t deep = cfi_code_with_bx(cfi_code(CFI_BY_SP, 4, 2), CFI_C_LOST);
	const struct {
		unsigned at;
		uint32_t code;
	} expected[] = {{0, flat}, {3, flat}, {4, deep}, {11, deep}, {12, flat}, {16, CFI_NONE},
		{32, CFI_SWITCHED}, {46, CFI_SWITCHED}, {47, CFI_PLACED}, {48, CFI_ROOT},
		{62, CFI_ROOT}, {63, CFI_SIGNAL}, {64, CFI_SIGNAL}, {79, CFI_SIGNAL},
		{80, CFI_ROOT}, {95, CFI_ROOT}};

	(void)state;
	for (unsigned m = 0; m < 2; m++) {
		struct cfi_table t;
		uint64_t work = 0;
		int fd;

		assert_int_equal(build_write("go.s", go_program), 0);
		assert_int_equal(
			build_run("sed -i s/MAGIC/%s/g go.s && cc -c go.s -o go.o", magics[m]), 0);
		assert_int_equal(
			build_c("whole", "int main(void) { return 0; }", "-no-pie go.o"), 0);
		work = build_symbol("whole", "work");
		assert_int_equal(build_run("strip whole -o bare"), 0);
		fd = build_open("bare");
		compile(fd, &t);
		close(fd);
		for (unsigned i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
			if (cfi_table_find(&t, work + expected[i].at) != expected[i].code)
				fail_msg("%s: work+%u: %x, not %x", magics[m], expected[i].at,
					cfi_table_find(&t, work + expected[i].at),
					expected[i].code);
		drop(&t);
	}
}

static uint32_t flags_of(const char *flags)
{
	struct reader_reply reply;
	int fd;

	assert_int_equal(build_c("filled",
				 "int f(int a) { __asm__ volatile(\".skip 20000, 0x90\"); "
				 "return a; } int main(void) { return f(1); }\n",
				 flags),
		0);
	fd = build_open("filled");
	reply = ask(fd);
	close(fd);
	assert_int_equal(reply.head.status, 0);
	close(reply.fd);
	return reply.head.flags;
}

/* What lies between functions, and what starts the program, are no gaps. */
static void gaps_are_told(void **state)
{
	(void)state;
	assert_int_equal(flags_of("-O1"), 0);
	assert_int_equal(flags_of("-O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -g0"),
		READER_FLAG_GAPS);
	/* In .debug_frame they are there as well. */
	assert_int_equal(flags_of("-O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -g"), 0);
}

static void files_without_rules_are_refused(void **state)
{
	struct reader_reply reply;
	int fd;

	(void)state;
	assert_int_equal(build_c("bare", "void _start(void) { for (;;); }\n",
				 "-nostdlib -static -fno-asynchronous-unwind-tables -g0"),
		0);
	fd = build_open("bare");
	reply = ask(fd);
	assert_int_equal(reply.head.status, -ENODATA);
	assert_int_equal(reply.head.flags, READER_FLAG_GAPS);
	close(fd);
	assert_int_equal(build_write("text",
				 "no file of code at all, but long enough for a header\n"
				 "and a little more than that.\n"),
		0);
	fd = build_open("text");
	assert_int_equal(ask(fd).head.status, -EBADMSG);
	close(fd);
}

/* head, two rows */
struct small {
	struct cfi_table_head head;
	uint32_t starts[2], codes[2];
};

static struct small small(void)
{
	struct small s = {.head = {CFI_TABLE_MAGIC, 2, 0x1000, sizeof(s), 0},
		.starts = {0, 16},
		.codes = {cfi_code(CFI_BY_SP, 1, 0), CFI_NONE}};

	return s;
}

static void sum(struct small *s)
{
	s->head.sum = hash_bytes(s->starts, 16, s->head.base);
}

static void only_whole_tables_are_taken(void **state)
{
	struct small s = small();
	struct cfi_table t;

	(void)state;
	sum(&s);
	assert_int_equal(cfi_table_check(&s, sizeof(s), &t), 0);
	assert_int_equal(cfi_table_find(&t, 0xfff), CFI_NONE);
	assert_int_equal(cfi_table_find(&t, 0x1000), s.codes[0]);
	assert_int_equal(cfi_table_find(&t, 0x100f), s.codes[0]);
	assert_int_equal(cfi_table_find(&t, 0x1010), CFI_NONE);
	for (size_t cut = 0; cut < sizeof(s); cut++)
		assert_int_equal(cfi_table_check(&s, cut, &t), -EBADMSG);
	for (size_t i = 0; i < sizeof(s); i++) {
		((uint8_t *)&s)[i] ^= 0x40;
		assert_int_equal(cfi_table_check(&s, sizeof(s), &t), -EBADMSG);
		((uint8_t *)&s)[i] ^= 0x40;
	}
	/* Sums that are right do not make up for rows that are wrong. */
	s.starts[0] = 1;
	sum(&s);
	assert_int_equal(cfi_table_check(&s, sizeof(s), &t), -EBADMSG);
	s = small();
	s.starts[1] = 0;
	sum(&s);
	assert_int_equal(cfi_table_check(&s, sizeof(s), &t), -EBADMSG);
	s = small();
	s.codes[1] = s.codes[0];
	sum(&s);
	assert_int_equal(cfi_table_check(&s, sizeof(s), &t), -EBADMSG);
	s = small();
	s.head.row_count = 0;
	sum(&s);
	assert_int_equal(cfi_table_check(&s, sizeof(s), &t), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_of_this_program),
		cmocka_unit_test(rules_of_the_c_library),
		cmocka_unit_test(either_section_packed_or_not),
		cmocka_unit_test(stripped_go_by_its_own_table),
		cmocka_unit_test(gaps_are_told),
		cmocka_unit_test(files_without_rules_are_refused),
		cmocka_unit_test(only_whole_tables_are_taken),
	};

	return cmocka_run_group_tests(tests, build_setup, build_teardown) != 0;
}
