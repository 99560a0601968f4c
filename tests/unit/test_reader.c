/* Names and lines out of ELF files of many makes, without the process around it. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <sys/mman.h>
#include "base/io.h"
#include "daemon/reader/image.h"
#include "daemon/reader/request.h"
#include "daemon/symbol/readerclient.h"
#include "tests/unit/build_elf.h"

static uint32_t flags; /* of the last answer */
static char text[8192];

static int addrs_fd(const uint64_t *addrs, uint32_t count)
{
	int fd = memfd_create("addrs", MFD_CLOEXEC);

	assert_int_equal(io_write_all(fd, addrs, count * sizeof(*addrs)), 0);
	return fd;
}

/* Asks; the answer is checked as the engine checks it. */
static int ask(enum reader_op op, uint32_t request_flags, const char *file, const char *debug,
	const uint64_t *addrs, uint32_t count, struct reader_result *ret)
{
	struct reader_request req = {.version = READER_VERSION,
		.op = op,
		.addr_count = count,
		.flags = request_flags | (debug ? READER_WITH_DEBUG : 0)};
	struct reader_reply reply;
	int fds[3], n = 0;

	fds[n++] = build_open(file);
	assert_true(fds[0] >= 0);
	if (debug)
		fds[n++] = build_open(debug);
	fds[n++] = addrs_fd(addrs, count);
	reader_handle(&req, fds, (size_t)n, 0, &reply);
	while (n > 0)
		close(fds[--n]);
	flags = reply.head.flags;
	if (reply.head.status < 0) {
		assert_int_equal(reply.fd, -1);
		return reply.head.status;
	}
	void *map = mmap(NULL, reply.head.bytes, PROT_READ, MAP_PRIVATE, reply.fd, 0);
	assert_true(map != MAP_FAILED);
	close(reply.fd);
	assert_int_equal(reader_answer_check(map, reply.head.bytes, count, ret), 0);
	return 0;
}

/* "inner@3<outer@5": names with lines, if there are any. */
static const char *frames(const struct reader_result *r, uint32_t i)
{
	text[0] = 0;
	for (uint32_t k = r->starts[i]; k < r->starts[i + 1]; k++) {
		char line[16] = "";
		if (r->frames[k].line)
			snprintf(line, sizeof(line), "@%u", r->frames[k].line);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s",
			text[0] ? "<" : "", r->strings + r->frames[k].name, line);
		/* All but the last are inlined, and only they. */
		assert_int_equal(r->frames[k].inlined, k + 1 < r->starts[i + 1]);
	}
	return text;
}

static const char *one(enum reader_op op, const char *file, const char *debug, uint64_t addr)
{
	struct reader_result r;
	int status = ask(op, 0, file, debug, &addr, 1, &r);

	if (status < 0)
		return strerror(-status);
	frames(&r, 0);
	reader_result_done(&r);
	return text;
}

static const char *name(const char *file, uint64_t addr)
{
	return one(READER_SYMBOLS, file, NULL, addr);
}

static const char *lines(const char *file, uint64_t addr)
{
	return one(READER_INLINES, file, NULL, addr);
}

static const char inlines[] =
	"static volatile unsigned long sink;\n"
	"static inline __attribute__((always_inline)) void z3(int k){for(int i=0;i<k;i++)sink++;}\n"
	"static inline __attribute__((always_inline)) void y2(int k){ if(k>2){ int w=k/2; {\n"
	"	volatile int q=w; z3(q); } } }\n"
	"static inline __attribute__((always_inline)) void x1(int k){ y2(k); }\n"
	"__attribute__((noinline)) void host_fn(int k){ x1(k); sink^=1; }\n"
	"int main(int c,char**v){for(;;)host_fn(200000+c);}\n";

/* Some address of host_fn at which all three are inlined. */
static uint64_t innermost(const char *file)
{
	uint64_t start = build_symbol(file, "host_fn");

	assert_true(start != 0);
	for (uint64_t a = start; a < start + 0x60; a++)
		if (strstr(lines(file, a), "z3@2"))
			return a;
	fail_msg("no inlined code in %s", file);
	return 0;
}

#define INLINED "z3@2<y2@4<x1@5<host_fn@6"

static void inlined_calls_with_their_lines(void **state)
{
	static const char *const makes[] = {"-O2 -g", "-O2 -g -gdwarf-4", "-O2 -g -gz=zlib",
		"-O2 -g -gz=zlib-gnu", "-O2 -g -static-pie", "-O2 -g -no-pie"};

	for (size_t i = 0; i < sizeof(makes) / sizeof(*makes); i++) {
		assert_int_equal(build_c("inl", inlines, makes[i]), 0);
		uint64_t a = innermost("inl");
		assert_string_equal(lines("inl", a), INLINED);
		assert_true(flags & READER_FLAG_HAS_DWARF);
		assert_false(flags & READER_FLAG_DWARF_BROKEN);
		assert_string_equal(name("inl", a), "host_fn");
	}
}

static void inlined_calls_of_clang(void **state)
{
	if (build_run("clang --version") != 0)
		skip();
	assert_int_equal(build_write("cl.c", inlines), 0);
	assert_int_equal(build_run("clang -w -O2 -g cl.c -o cl"), 0);
	assert_string_equal(lines("cl", innermost("cl")), INLINED);
}

static void sections_packed_with_zstd(void **state)
{
	assert_int_equal(build_c("inl", inlines, "-O2 -g"), 0);
	uint64_t a = innermost("inl");

	if (build_run("objcopy --compress-debug-sections=zstd inl zstd && readelf -t zstd | grep "
		      "-q ZSTD") != 0)
		skip();
	assert_string_equal(lines("zstd", a), INLINED);
	assert_false(flags & READER_FLAG_DWARF_BROKEN);
}

static void names_in_the_answer_are_kept_once(void **state)
{
	uint64_t addrs[64];
	struct reader_result r;

	assert_int_equal(build_c("inl", inlines, "-O2 -g"), 0);
	addrs[0] = build_symbol("inl", "host_fn");
	for (unsigned i = 1; i < 64; i++)
		addrs[i] = addrs[0] + i;
	assert_int_equal(ask(READER_INLINES, 0, "inl", NULL, addrs, 64, &r), 0);
	assert_true(r.head->frame_count > 64);
	assert_true(r.head->string_bytes < 512);
	reader_result_done(&r);
}

static const char cpp[] =
	"namespace { __attribute__((noinline)) int quiet_one(int k) { return k * 3; } }\n"
	"template <class T> struct Box { T t; __attribute__((noinline)) T get(int n) const "
	"{ asm volatile(\"\"); return t + n; } };\n"
	"static inline __attribute__((always_inline)) int deep(Box<long> b) { "
	"asm volatile(\"nop;nop;nop;nop\"); return b.get(1); }\n"
	"int main(int c, char **v) { return quiet_one(c) + deep(Box<long>{c}); }\n";

static void cpp_names(void **state)
{
	assert_int_equal(build_write("cpp.cc", cpp), 0);
	if (build_run("c++ -w -O2 -g cpp.cc -o cpp") != 0)
		skip();
	uint64_t get = build_symbol("cpp", "_ZNK3BoxIlE3getEi");
	uint64_t main_fn = build_symbol("cpp", "main");
	struct reader_result r;
	bool seen = false;

	assert_string_equal(name("cpp", get), "Box<long>::get(int) const");
	assert_int_equal(ask(READER_SYMBOLS, READER_WITH_RAW_NAMES, "cpp", NULL, &get, 1, &r), 0);
	assert_string_equal(frames(&r, 0), "_ZNK3BoxIlE3getEi");
	reader_result_done(&r);
	for (uint64_t a = main_fn; a < main_fn + 0x30 && !seen; a++)
		seen = strcmp(lines("cpp", a), "deep@3<main@4") == 0;
	assert_true(seen);
}

static const char asm_source[] =
	".text\n"
	".globl asm_sized\n.type asm_sized,@function\nasm_sized: .skip 16,0x90\n"
	"	.size asm_sized,.-asm_sized\n"
	"	.skip 16,0x90\n" /* nobody's */
	".globl asm_nosize\n.type asm_nosize,@function\nasm_nosize: .skip 16,0x90\n"
	"inner_label: .skip 16,0x90\n"
	".globl asm_notype\nasm_notype: .skip 16,0x90\n"
	".globl around\n.type around,@function\naround: .skip 8,0x90\n"
	"label_in_around: .skip 8,0x90\n	.size around,.-around\n"
	".section .other,\"ax\",@progbits\n.skip 32,0x90\n"
	".section .last,\"ax\",@progbits\n.globl last_one\nlast_one: .skip 16,0x90\n"
	".section .note.GNU-stack,\"\",@progbits\n";

static void functions_without_a_size(void **state)
{
	uint64_t a, other, bytes;

	assert_int_equal(build_write("asm.S", asm_source), 0);
	assert_int_equal(build_c("lab", "int main(void){return 0;}", "-g asm.S"), 0);
	a = build_symbol("lab", "asm_sized");
	assert_string_equal(name("lab", a), "asm_sized");
	assert_string_equal(name("lab", a + 15), "asm_sized");
	assert_string_equal(name("lab", a + 16), "");
	a = build_symbol("lab", "asm_nosize");
	assert_string_equal(name("lab", a), "asm_nosize");
	assert_string_equal(name("lab", a + 15), "asm_nosize");
	assert_string_equal(name("lab", a + 16), "inner_label");
	a = build_symbol("lab", "asm_notype");
	assert_string_equal(name("lab", a + 15), "asm_notype");
	/* A label inside a function that states its size is a part of it. */
	a = build_symbol("lab", "around");
	assert_string_equal(name("lab", a + 12), "around");
	/* To the end of the section, and not a byte into the next. */
	a = build_symbol("lab", "last_one");
	assert_string_equal(name("lab", a + 15), "last_one");
	assert_string_not_equal(name("lab", a + 16), "last_one");
	assert_int_equal(build_section("lab", ".other", &other, &bytes), 0);
	assert_string_equal(name("lab", other + 8), "");
}

static void labels_of_exported_names_alone_own_nothing(void **state)
{
	assert_int_equal(build_write("asm.S", asm_source), 0);
	assert_int_equal(
		build_c("lab.so", "int exported(void){return 0;}", "-shared -fPIC asm.S"), 0);
	uint64_t a = build_symbol("lab.so", "asm_nosize");

	assert_string_equal(name("lab.so", a + 4), "asm_nosize");
	assert_int_equal(build_run("strip lab.so"), 0);
	/* What follows asm_nosize may be a local function now. */
	assert_string_equal(name("lab.so", a + 4), "");
}

static const char calls[] = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
			    "int main(int c,char**v){ puts(v[0]); return atoi(v[0]) + "
			    "(int)strlen(v[0]) + printf(\"%d\", c); }\n";

/* Each stub of that section has the name of an imported function. Returns how many do. */
static unsigned stubs_in(const char *file, const char *section)
{
	uint64_t at, bytes;
	unsigned n = 0;

	if (build_section(file, section, &at, &bytes) != 0)
		return 0;
	for (uint64_t a = at; a < at + bytes; a += 8) {
		const char *is = name(file, a + 1);
		assert_true(strcmp(is, "[plt]") == 0 || strstr(is, "@plt"));
		n += strcmp(is, "[plt]") != 0;
	}
	return n;
}

static void stubs_have_the_name_of_what_they_call(void **state)
{
	static const char *const makes[] = {"-O0 -fno-builtin",
		"-O0 -fno-builtin -fcf-protection "
		"-Wl,-z,ibtplt",
		"-O0 -fno-builtin -Wl,-z,now", "-O0 -fno-builtin -no-pie", "-O0 -fno-builtin -s",
		"-O0 -fno-builtin -fuse-ld=lld"};

	for (size_t i = 0; i < sizeof(makes) / sizeof(*makes); i++) {
		if (build_c("plt", calls, makes[i]) != 0)
			continue; /* no such linker */
		unsigned n = stubs_in("plt", ".plt") + stubs_in("plt", ".plt.sec") +
			stubs_in("plt", ".plt.got");
		assert_true(n >= 8); /* two looks at each of four */
	}
	assert_int_equal(build_c("plt", calls, makes[0]), 0);
	uint64_t at, bytes;
	assert_int_equal(build_section("plt", ".plt", &at, &bytes), 0);
	assert_string_equal(name("plt", at), "[plt]");
	bool puts_seen = false;
	for (uint64_t a = at; a < at + bytes; a += 16)
		puts_seen |= strcmp(name("plt", a + 6), "puts@plt") == 0;
	assert_true(puts_seen);
}

static void init_does_not_name_stubs(void **state)
{
	uint64_t at, bytes, init;

	assert_int_equal(build_c("plt", calls, "-O0 -fno-builtin"), 0);
	init = build_symbol("plt", "_init");
	assert_int_equal(build_section("plt", ".init", &at, &bytes), 0);
	assert_int_equal(init, at);
	assert_string_equal(name("plt", init + 4), "_init");
	for (uint64_t a = at + bytes; a < at + 0x80; a++)
		assert_string_not_equal(name("plt", a), "_init");
}

/* Changes bytes of a copy. */
static void patch(const char *from, const char *to, off_t at, const void *bytes, size_t len)
{
	int fd;

	assert_int_equal(build_run("cp %s %s", from, to), 0);
	fd = open(build_path(to), O_RDWR);
	assert_int_equal(pwrite(fd, bytes, len, at), len);
	close(fd);
}

static void without_sections(const char *from, const char *to)
{
	uint8_t zero[8] = {0};

	patch(from, to, offsetof(Elf64_Ehdr, e_shoff), zero, 8);
	assert_int_equal(build_run("mv %s tmp", to), 0);
	patch("tmp", to, offsetof(Elf64_Ehdr, e_shnum), zero, 4);
}

static void files_without_sections(void **state)
{
	static const char lib[] =
		"#include <stdio.h>\nstatic __attribute__((noinline)) void hidden(void)"
		"{ puts(\"\"); }\nvoid shown(void) { hidden(); hidden(); }\n"
		"void other(void) { puts(\"x\"); shown(); }\n";

	for (int gnu = 0; gnu < 2; gnu++) {
		uint64_t at, bytes;
		assert_int_equal(build_c("lib.so", lib,
					 gnu ? "-O1 -shared -fPIC -Wl,--hash-style=gnu"
					     : "-O1 -shared -fPIC -Wl,--hash-style=sysv"),
			0);
		without_sections("lib.so", "bare.so");
		assert_string_equal(name("bare.so", build_symbol("lib.so", "shown") + 1), "shown");
		assert_string_equal(name("bare.so", build_symbol("lib.so", "other") + 1), "other");
		/* Not a neighbour's. */
		assert_string_equal(name("bare.so", build_symbol("lib.so", "hidden") + 1), "");
		assert_int_equal(build_section("lib.so", ".plt", &at, &bytes), 0);
		assert_string_equal(name("bare.so", at + 17), "puts@plt");
	}
}

/* "" and where the function begins. */
static uint64_t start_of(const char *file, uint64_t addr, enum reader_source *ret_source)
{
	struct reader_result r;
	uint64_t start = 0;

	assert_int_equal(ask(READER_INLINES, 0, file, NULL, &addr, 1, &r), 0);
	*ret_source = READER_FROM_NOTHING;
	if (r.starts[1] > 0) {
		start = r.frames[r.starts[1] - 1].start;
		*ret_source = r.frames[r.starts[1] - 1].source;
	}
	reader_result_done(&r);
	return start;
}

static void stripped_functions_have_a_start(void **state)
{
	static const char source[] =
		"#include <stdio.h>\n"
		"__attribute__((noinline)) int one(int a) { return printf(\"%d\", a); }\n"
		"__attribute__((noinline)) int two(int a) { return one(a) + one(a); }\n"
		"int main(int c, char **v) { return two(c); }\n";
	static const char *const flags_of[] = {"-O1", "-O1 -static", "-O1 -Wl,--no-eh-frame-hdr"};
	enum reader_source from;

	for (unsigned i = 0; i < 3; i++) {
		uint64_t one_at, two_at;

		assert_int_equal(build_c("whole", source, flags_of[i]), 0);
		one_at = build_symbol("whole", "one");
		two_at = build_symbol("whole", "two");
		assert_int_equal(build_run("strip whole -o bare"), 0);
		assert_int_equal(start_of("whole", one_at + 3, &from), one_at);
		assert_int_equal(from, READER_FROM_SYMTAB);
		assert_int_equal(start_of("bare", one_at, &from), one_at);
		assert_int_equal(from, READER_FROM_FDE);
		assert_int_equal(start_of("bare", one_at + 3, &from), one_at);
		assert_int_equal(start_of("bare", two_at + 5, &from), two_at);
		assert_int_equal(start_of("bare", 0x10, &from), 0);
		assert_int_equal(from, READER_FROM_NOTHING);
		/* The sorted table, which static programs lack too, is found without sections. */
		without_sections("bare", "sectionless");
		assert_int_equal(start_of("sectionless", two_at + 5, &from), i == 0 ? two_at : 0);
	}
	/* No table, no start. */
	assert_int_equal(build_c("whole", source, "-O1 -fno-asynchronous-unwind-tables"), 0);
	assert_int_equal(build_run("strip whole -o bare"), 0);
	assert_int_equal(start_of("bare", build_symbol("whole", "two") + 1, &from), 0);
}

/* As the linker of Go 1.20 writes it; of others the beginning differs. */
static const char go_source[] =
	".text\n.globl one,two,over\none: nop;nop;nop\ntwo: nop;nop;nop;nop\nover: ret\n"
	".section .gopclntab,\"a\"\n.balign 32\n"
	"hdr: .long MAGIC\n.byte 0,0,1,8\n.quad 2\n"
	".if MAGIC == 0xfffffffb\n"
	"tab: .quad one, f1-hdr, two, f2-hdr, over, 0\n"
	".else\n.quad 0\n"
	".if MAGIC != 0xfffffffa\n.quad one\n.endif\n"
	".quad names-hdr, 0, 0, 0, tab-hdr\n"
	".if MAGIC == 0xfffffffa\ntab: .quad one, f1-tab, two, f2-tab, over, 0\n"
	".else\ntab: .long 0, f1-tab, two-one, f2-tab, over-one, 0\n.endif\n"
	".endif\n"
	".if MAGIC >= 0xfffffffa\nf1: .quad one\n.else\nf1: .long 0\n.endif\n"
	".if MAGIC == 0xfffffffb\n.long name1-hdr\n.else\n.long name1-names\n.endif\n"
	".if MAGIC >= 0xfffffffa\nf2: .quad two\n.else\nf2: .long two-one\n.endif\n"
	".if MAGIC == 0xfffffffb\n.long name2-hdr\n.else\n.long name2-names\n.endif\n"
	"names: .byte 0\nname1: .asciz \"main.one\"\nname2: .asciz \"main.(*T[...]).two\"\n"
	".space 64\n.section .note.GNU-stack,\"\",@progbits\n";

static void stripped_go_has_names(void **state)
{
	static const char *const magics[] = {
		"0xfffffff1", "0xfffffff0", "0xfffffffa", "0xfffffffb"};
	enum reader_source from;

	for (unsigned i = 0; i < 4; i++) {
		uint64_t one_at, two_at, over_at;

		assert_int_equal(build_write("go.s", go_source), 0);
		assert_int_equal(
			build_run("sed -i s/MAGIC/%s/g go.s && cc -c go.s -o go.o", magics[i]), 0);
		assert_int_equal(
			build_c("whole", "int main(void) { return 0; }", "-no-pie go.o"), 0);
		one_at = build_symbol("whole", "one");
		two_at = build_symbol("whole", "two");
		over_at = build_symbol("whole", "over");
		assert_int_equal(build_run("strip whole -o bare"), 0);
		assert_string_equal(name("bare", one_at), "main.one");
		assert_string_equal(name("bare", one_at + 2), "main.one");
		assert_string_equal(name("bare", two_at), "main.(*T[...]).two");
		assert_string_equal(name("bare", over_at), "");
		assert_string_equal(name("bare", one_at - 1), "");
		assert_int_equal(start_of("bare", two_at + 1, &from), two_at);
		assert_int_equal(from, READER_FROM_GOPCLN);
		assert_string_equal(name("whole", one_at), "one");
	}
}

static void versions_are_left_out(void **state)
{
	assert_int_equal(build_write("v.map", "V1 { global: fn; local: *; };\n"), 0);
	assert_int_equal(build_c("ver.so",
				 "__asm__(\".symver fn_impl,fn@@V1\");\n"
				 "void fn_impl(void) {}\n",
				 "-shared -fPIC -Wl,--version-script=v.map"),
		0);
	uint64_t at, bytes;
	assert_int_equal(build_section("ver.so", ".text", &at, &bytes), 0);
	struct reader_result r;
	uint64_t *addrs = calloc(bytes, sizeof(*addrs));
	bool seen = false;
	for (uint64_t i = 0; i < bytes; i++)
		addrs[i] = at + i;
	assert_int_equal(ask(READER_SYMBOLS, 0, "ver.so", NULL, addrs, (uint32_t)bytes, &r), 0);
	for (uint64_t i = 0; i < bytes; i++) {
		seen |= strcmp(frames(&r, (uint32_t)i), "fn") == 0;
		assert_null(strchr(text, '@'));
	}
	assert_true(seen);
	reader_result_done(&r);
	free(addrs);
}

static void one_name_of_many(void **state)
{
	assert_int_equal(
		build_c("alias",
			"void __secret_impl(void) {}\n"
			"void shown(void) __attribute__((alias(\"__secret_impl\")));\n"
			"static void local_one(void) __attribute__((alias(\"__secret_impl\"), "
			"used));\n"
			"void weaker(void) __attribute__((weak, alias(\"__secret_impl\")));\n"
			"int main(void){return 0;}",
			""),
		0);
	assert_string_equal(name("alias", build_symbol("alias", "__secret_impl")), "shown");
	assert_int_equal(
		build_c("alias",
			"void __strong_one(void) {}\n"
			"void weak_one(void) __attribute__((weak, alias(\"__strong_one\")));\n"
			"int main(void){return 0;}",
			""),
		0);
	assert_string_equal(name("alias", build_symbol("alias", "weak_one")), "__strong_one");
}

static void packed_symbols(void **state)
{
	assert_int_equal(build_c("mini",
				 "static __attribute__((noinline)) int hidden(int k)"
				 "{ __asm__ volatile(\"\"); return k; }\n"
				 "int main(int c, char **v) { return hidden(c); }\n",
				 "-O1"),
		0);
	uint64_t a = build_symbol("mini", "hidden");

	assert_int_equal(build_run("objcopy -S --keep-symbol=hidden mini mini.sym && "
				   "objcopy --only-keep-debug -K hidden mini mini.dbg && "
				   "strip -g mini.dbg; strip mini -o mini.bare"),
		0);
	if (build_run("xz -k -f mini.dbg && objcopy --add-section .gnu_debugdata=mini.dbg.xz "
		      "mini.bare mini.packed") != 0)
		skip();
	assert_string_equal(name("mini.bare", a), "");
	assert_string_equal(name("mini.packed", a), "hidden");
	assert_true(flags & READER_FLAG_HAS_DEBUGDATA);
	/* Damaged: as if it were not there. */
	assert_int_equal(build_run("head -c 100 mini.dbg.xz >cut.xz && objcopy --add-section "
				   ".gnu_debugdata=cut.xz mini.bare mini.cut"),
		0);
	assert_string_equal(name("mini.cut", a), "");
	assert_false(flags & READER_FLAG_HAS_DEBUGDATA);
}

static void debug_files_are_checked(void **state)
{
	assert_int_equal(build_c("inl", inlines, "-O2 -g"), 0);
	uint64_t a = innermost("inl");

	assert_int_equal(
		build_run("objcopy --only-keep-debug inl inl.debug && strip inl -o bare && "
			  "objcopy --add-gnu-debuglink=inl.debug bare && "
			  "sed 's/host_fn/liar_fn/;s/k>2/k>3/' inl.c >liar.c && "
			  "cc -w -O2 -g liar.c -o liar && "
			  "objcopy --only-keep-debug liar liar.debug"),
		0);
	assert_string_equal(one(READER_INLINES, "bare", "inl.debug", a), INLINED);
	assert_false(flags & READER_FLAG_DEBUG_MISMATCH);
	assert_string_equal(one(READER_SYMBOLS, "bare", "inl.debug", a), "host_fn");
	assert_string_equal(one(READER_INLINES, "bare", "liar.debug", a), "");
	assert_true(flags & READER_FLAG_DEBUG_MISMATCH);
	/* No ELF file at all. */
	assert_string_equal(one(READER_INLINES, "bare", "liar.c", a), "");
	assert_true(flags & READER_FLAG_DEBUG_MISMATCH);

	/* Without build ids it is the link's checksum that counts. */
	assert_int_equal(
		build_run("cc -w -O2 -g inl.c -Wl,--build-id=none -o noid && "
			  "objcopy --only-keep-debug noid noid.debug && "
			  "strip noid -o nb && objcopy --add-gnu-debuglink=noid.debug nb && "
			  "cp noid.debug changed.debug && printf x >>changed.debug"),
		0);
	a = innermost("noid");
	assert_string_equal(one(READER_INLINES, "nb", "noid.debug", a), INLINED);
	assert_string_equal(one(READER_INLINES, "nb", "changed.debug", a), "");
	assert_true(flags & READER_FLAG_DEBUG_MISMATCH);
}

static void link_and_build_id(void **state)
{
	struct reader_request req = {.version = READER_VERSION, .op = READER_DEBUGLINK};
	struct reader_debuglink link;
	struct reader_reply reply;
	int fd;

	assert_int_equal(build_c("inl", inlines, "-O2 -g -Wl,--build-id=0x0123456789abcdef"), 0);
	assert_int_equal(
		build_run("objcopy --only-keep-debug inl inl.debug && strip inl -o bare && "
			  "objcopy --add-gnu-debuglink=inl.debug bare"),
		0);
	fd = build_open("bare");
	reader_handle(&req, &fd, 1, 0, &reply);
	close(fd);
	assert_int_equal(reply.head.status, 0);
	assert_int_equal(reply.head.bytes, sizeof(link));
	assert_int_equal(pread(reply.fd, &link, sizeof(link), 0), sizeof(link));
	close(reply.fd);
	assert_string_equal(link.name, "inl.debug");
	assert_int_equal(link.build_id_bytes, 8);
	assert_int_equal(link.build_id[1], 0x23);
	assert_false(reply.head.flags & (READER_FLAG_HAS_SYMTAB | READER_FLAG_HAS_DWARF));
}

static void checksum(void **state)
{
	assert_int_equal(image_crc32((const uint8_t *)"123456789", 9), 0xcbf43926);
	assert_int_equal(image_crc32((const uint8_t *)"", 0), 0);
}

/* Asks for all sorts of addresses, by both ways: whatever the file, an answer or a refusal. */
static void survive(const char *file)
{
	uint64_t addrs[4096];
	struct reader_result r;
	uint64_t n = sizeof(addrs) / sizeof(*addrs);

	for (uint64_t i = 0; i < n; i++)
		addrs[i] = i < n - 8 ? 0x1000 + i : UINT64_MAX - (n - i);
	for (int op = READER_SYMBOLS; op <= READER_INLINES; op++)
		if (ask((enum reader_op)op, 0, file, NULL, addrs, (uint32_t)n, &r) == 0)
			reader_result_done(&r);
}

static Elf64_Shdr section_header(const char *file, const char *section, off_t *ret_at)
{
	char path[300];
	struct buf b = BUF_INIT;
	Elf64_Ehdr eh;
	Elf64_Shdr sh = {0}, names;

	snprintf(path, sizeof(path), "%s", build_path(file));
	assert_int_equal(io_read_file(path, 1u << 24, &b), 0);
	memcpy(&eh, b.data, sizeof(eh));
	memcpy(&names, b.data + eh.e_shoff + eh.e_shstrndx * sizeof(sh), sizeof(sh));
	for (int i = 0; i < eh.e_shnum; i++) {
		*ret_at = (off_t)(eh.e_shoff + (unsigned)i * sizeof(sh));
		memcpy(&sh, b.data + *ret_at, sizeof(sh));
		if (strcmp(b.data + names.sh_offset + sh.sh_name, section) == 0)
			break;
	}
	buf_done(&b);
	return sh;
}

static void sections_packed_in_an_unknown_way(void **state)
{
	uint32_t way = 9;
	off_t at;

	assert_int_equal(build_c("inl", inlines, "-O2 -g -gz=zlib"), 0);
	uint64_t a = innermost("inl");
	Elf64_Shdr sh = section_header("inl", ".debug_info", &at);

	patch("inl", "odd", (off_t)sh.sh_offset, &way, sizeof(way));
	assert_string_equal(lines("odd", a), "host_fn");
	assert_true(flags & READER_FLAG_DWARF_BROKEN);
}

static void damaged_files(void **state)
{
	uint64_t big = 0x7fffffff0000, work;
	uint32_t far = 0x7fffffff;
	uint16_t many = 0xfff0;
	Elf64_Shdr sh;
	off_t at;

	assert_int_equal(build_c("good", inlines, "-O2 -g -gz=zlib"), 0);
	work = build_symbol("good", "host_fn");

	assert_string_equal(name("good", work), "host_fn");
	assert_false(flags & READER_FLAG_DAMAGED);
	patch("good", "bad", offsetof(Elf64_Ehdr, e_shoff), &big, 8);
	assert_string_equal(name("bad", work), "");
	assert_true(flags & READER_FLAG_DAMAGED);
	survive("bad");
	patch("good", "bad", offsetof(Elf64_Ehdr, e_shnum), &many, 2);
	assert_string_equal(name("bad", work), "");
	survive("bad");
	patch("good", "bad", offsetof(Elf64_Ehdr, e_shstrndx), &many, 2);
	survive("bad");
	patch("good", "bad", offsetof(Elf64_Ehdr, e_phoff), &big, 8);
	survive("bad");
	sh = section_header("good", ".note.gnu.build-id", &at);
	patch("good", "bad", (off_t)sh.sh_offset, &(uint32_t){~0u}, 4);
	assert_string_equal(name("bad", work), "host_fn");
	/* A packed section that states 2^46 bytes. */
	sh = section_header("good", ".debug_info", &at);
	patch("good", "bad", (off_t)sh.sh_offset + 8, &(uint64_t){1ull << 46}, 8);
	assert_string_equal(lines("bad", work), "host_fn");
	assert_true(flags & READER_FLAG_DWARF_BROKEN);
	/* Names beyond their table. */
	sh = section_header("good", ".symtab", &at);
	for (int i = 1; i < 8; i++) {
		patch("good", "bad", (off_t)sh.sh_offset + 24 * i, &far, 4);
		assert_string_equal(name("bad", work), "host_fn");
	}
	/* A table of 2^31 entries. */
	patch("good", "bad", at + (off_t)offsetof(Elf64_Shdr, sh_size), &(uint64_t){24ull << 31},
		8);
	survive("bad");
	patch("good", "bad", at + (off_t)offsetof(Elf64_Shdr, sh_offset), &big, 8);
	survive("bad");
	patch("good", "bad", at + (off_t)offsetof(Elf64_Shdr, sh_link), &far, 4);
	assert_string_equal(name("bad", work), "");
	patch("good", "bad", at + (off_t)offsetof(Elf64_Shdr, sh_entsize), &(uint64_t){0}, 8);
	survive("bad");
	for (int cut = 0; cut < 64; cut += 7) {
		assert_int_equal(build_run("head -c %d good >bad", cut * 200), 0);
		survive("bad");
	}
}

static void huge_symbol_table_is_refused(void **state)
{
	Elf64_Shdr sh;
	off_t at;

	assert_int_equal(build_c("good", inlines, "-O2"), 0);
	sh = section_header("good", ".symtab", &at);
	sh.sh_offset = 1u << 20;
	sh.sh_size = 24ull << 27;
	patch("good", "bad", at, &sh, sizeof(sh));
	/* The file is as large as it says, of holes. */
	assert_int_equal(truncate(build_path("bad"), (off_t)((24ull << 27) + (1u << 20))), 0);
	assert_string_equal(name("bad", 0x1100), strerror(EBADMSG));
}

/* Each byte of the headers and tables changed in turn, by a fixed rule. */
static void changed_bytes(void **state)
{
	assert_int_equal(build_c("tiny", "int main(void){return 0;}",
				 "-O1 -g -nostdlib -static -Wl,-e,main"),
		0);
	struct buf b = BUF_INIT;
	uint32_t seed = 1;
	char path[300];

	snprintf(path, sizeof(path), "%s", build_path("tiny"));
	assert_int_equal(io_read_file(path, 1u << 20, &b), 0);
	for (int i = 0; i < 500; i++) {
		FILE *f = fopen(build_path("bad"), "w");
		char keep[4];
		size_t at[4];
		for (int k = 0; k < 4; k++) {
			seed = seed * 1664525 + 1013904223;
			at[k] = (seed >> 4) % b.len;
			keep[k] = b.data[at[k]];
			b.data[at[k]] = (char)(seed >> 24);
		}
		assert_int_equal(fwrite(b.data, 1, b.len, f), b.len);
		fclose(f);
		for (int k = 3; k >= 0; k--)
			b.data[at[k]] = keep[k];
		uint64_t addrs[2] = {0x401000, 0x401005};
		struct reader_result r;
		if (ask(READER_INLINES, 0, "bad", NULL, addrs, 2, &r) == 0)
			reader_result_done(&r);
	}
	buf_done(&b);
}

static void unsound_requests(void **state)
{
	struct reader_request req = {
		.version = READER_VERSION, .op = READER_SYMBOLS, .addr_count = 2};
	uint64_t down[2] = {2, 1};
	struct reader_reply reply;
	int fds[2];

	assert_int_equal(build_c("plain", "int main(void){return 0;}", ""), 0);
	fds[0] = build_open("plain");
	fds[1] = addrs_fd(down, 2);
	reader_handle(&req, fds, 2, 0, &reply);
	assert_int_equal(reply.head.status, -EINVAL); /* not ascending */
	reader_handle(&req, fds, 1, 0, &reply);
	assert_int_equal(reply.head.status, -EINVAL);
	req.addr_count = 3; /* more than there are */
	reader_handle(&req, fds, 2, 0, &reply);
	assert_int_equal(reply.head.status, -EINVAL);
	req.addr_count = READER_ADDRS_MAX + 1;
	reader_handle(&req, fds, 2, 0, &reply);
	assert_int_equal(reply.head.status, -EINVAL);
	req.version++;
	reader_handle(&req, fds, 2, 0, &reply);
	assert_int_equal(reply.head.status, -EINVAL);
	req = (struct reader_request){.version = READER_VERSION, .op = 99};
	reader_handle(&req, fds, 0, 0, &reply);
	assert_int_equal(reply.head.status, -EINVAL);
	req.op = READER_PING;
	reader_handle(&req, fds, 0, 0, &reply);
	assert_int_equal(reply.head.status, 0);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_calls_with_their_lines),
		cmocka_unit_test(inlined_calls_of_clang),
		cmocka_unit_test(sections_packed_with_zstd),
		cmocka_unit_test(sections_packed_in_an_unknown_way),
		cmocka_unit_test(names_in_the_answer_are_kept_once),
		cmocka_unit_test(cpp_names),
		cmocka_unit_test(functions_without_a_size),
		cmocka_unit_test(labels_of_exported_names_alone_own_nothing),
		cmocka_unit_test(stubs_have_the_name_of_what_they_call),
		cmocka_unit_test(init_does_not_name_stubs),
		cmocka_unit_test(files_without_sections),
		cmocka_unit_test(stripped_functions_have_a_start),
		cmocka_unit_test(stripped_go_has_names),
		cmocka_unit_test(versions_are_left_out),
		cmocka_unit_test(one_name_of_many),
		cmocka_unit_test(packed_symbols),
		cmocka_unit_test(debug_files_are_checked),
		cmocka_unit_test(link_and_build_id),
		cmocka_unit_test(checksum),
		cmocka_unit_test(damaged_files),
		cmocka_unit_test(huge_symbol_table_is_refused),
		cmocka_unit_test(changed_bytes),
		cmocka_unit_test(unsound_requests),
	};

	return cmocka_run_group_tests(tests, build_setup, build_teardown) != 0;
}
