/* Short copies with the kernel's frame-pointer chain beside, by rules made by hand: what is found
 * is what the whole copy shows, or less. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>
#include "base/map.h"
#include "daemon/cfi/table.h"
#include "daemon/symbol/space.h"
#include "daemon/unwind/links.h"
#include "daemon/unwind/unwind.h"
#include "daemon/unwind/walk.h"
#include "tests/unit/fake_broker.h"

#define CODE       UINT64_C(0x7ff000000000)
#define CODE_BYTES 0x1000u
#define STACK      UINT64_C(0x7ffe00000000)
#define WORDS      400u

/* Functions, 256 bytes each, by what their rule is. */
enum function {
	FRAMED,    /* behind its prologue */
	FRAMELESS, /* 32 bytes of stack, rbp untouched */
	ROOT,
	CLOBBERS,  /* 32 bytes of stack, rbp is saved and something else */
	PUSHED,    /* behind push %rbp */
	ENTERED,   /* at its first instruction */
	FRAMED_BX, /* and rbx saved */
	SHIFTED,   /* a frame pointer that points elsewhere */
	NO_RULES,
	FUNCTIONS
};

struct fixture {
	struct modules *modules;
	struct space *space;
	struct unwinder *unwinder;
};

/* A stack that is put together from its outer end inwards. */
static struct stack {
	uint64_t words[WORDS];
	unsigned top; /* the index of the last word pushed */
	uint64_t bp;
	uint64_t regs[SAMPLE_REGS];
	uint64_t links[WORDS];
	struct sample sample;
} stack;
static struct unwind_chain whole, lean;

static struct cfi_table *make_rules(void)
{
	const uint32_t codes[FUNCTIONS] = {
		[FRAMED] = cfi_code(CFI_BY_BP, 2, 2),
		[FRAMELESS] = cfi_code(CFI_BY_SP, 5, 0),
		[ROOT] = cfi_code(CFI_ROOT, 0, 0),
		[CLOBBERS] = cfi_code(CFI_BY_SP, 5, 2),
		[PUSHED] = cfi_code(CFI_BY_SP, 2, 2),
		[ENTERED] = cfi_code(CFI_BY_SP, 1, 0),
		[FRAMED_BX] = cfi_code_with_bx(cfi_code(CFI_BY_BP, 2, 2), 3),
		[SHIFTED] = cfi_code(CFI_BY_BP, 4, 2),
		[NO_RULES] = cfi_code(CFI_NONE, 0, 0),
	};
	size_t bytes = sizeof(struct cfi_table_head) + FUNCTIONS * 8;
	struct cfi_table *t = calloc(1, sizeof(*t));
	struct cfi_table_head *h;
	uint32_t *starts;

	h = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_non_null(t);
	assert_ptr_not_equal(h, MAP_FAILED);
	*h = (struct cfi_table_head){
		.magic = CFI_TABLE_MAGIC, .row_count = FUNCTIONS, .bytes = bytes};
	starts = (uint32_t *)(h + 1);
	for (uint32_t i = 0; i < FUNCTIONS; i++)
		starts[i] = i * 256;
	memcpy(starts + FUNCTIONS, codes, sizeof(codes));
	h->sum = hash_bytes(h + 1, bytes - sizeof(*h), h->base);
	assert_int_equal(cfi_table_check(h, bytes, t), 0);
	return t;
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct module *m;

	*state = f;
	if (!f || modules_new(fake_broker(), 10, &f->modules) < 0 ||
		space_new(f->modules, 1, &f->space) < 0 ||
		space_map(f->space, CODE, CODE + CODE_BYTES, 0, 0, 0, "[vdso]") < 0 ||
		unwinder_new("table", &f->unwinder) < 0)
		return -1;
	m = space_module(f->space, space_find(f->space, CODE));
	if (!m || !module_claim_table(m))
		return -1;
	module_set_table(m, make_rules());
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	unwinder_forget(f->unwinder, f->space);
	unwinder_free(f->unwinder);
	space_free(f->space);
	modules_free(f->modules);
	free(f);
	return 0;
}

static uint64_t address(unsigned index)
{
	return STACK + 8 * index;
}

static void push(uint64_t word)
{
	assert_true(stack.top > 0);
	stack.words[--stack.top] = word;
}

static void begin(void)
{
	memset(&stack, 0, sizeof(stack));
	stack.top = WORDS;
	stack.bp = 0xbad;
}

/* What the function has on the stack, when it calls or is interrupted. */
static void enter(enum function f, unsigned locals)
{
	switch (f) {
	case FRAMED:
	case FRAMED_BX:
	case SHIFTED:
		push(stack.bp);
		stack.bp = address(stack.top);
		if (f == SHIFTED) {
			push(0);
			push(0);
			stack.bp = address(stack.top);
		}
		while (locals--)
			push(0x1111);
		break;
	case CLOBBERS:
		push(stack.bp);
		stack.bp = 0x2222;
		for (int i = 0; i < 3; i++)
			push(0);
		break;
	case FRAMELESS:
		for (int i = 0; i < 4; i++)
			push(0);
		break;
	case PUSHED: push(stack.bp); break;
	default: break;
	}
}

static uint64_t in(enum function f)
{
	return CODE + (unsigned)f * 256 + 0x80;
}

static void call(enum function f, unsigned locals)
{
	enter(f, locals);
	push(in(f));
}

static bool read_at(uint64_t addr, uint64_t *ret)
{
	uint64_t index = (addr - STACK) / 8;

	if (addr < STACK || index >= WORDS)
		return false;
	*ret = stack.words[index];
	return true;
}

/* As the kernel does. */
static uint32_t follow(void)
{
	uint64_t bp = stack.bp, pc;
	uint32_t n = 0;

	stack.links[n++] = stack.regs[SAMPLE_REG_RIP];
	while (n < 127 && read_at(bp + 8, &pc) && read_at(bp, &bp))
		stack.links[n++] = pc;
	return n;
}

/* The sampled function. */
static void interrupt(enum function f, unsigned locals)
{
	enter(f, locals);
	stack.regs[SAMPLE_REG_RIP] = in(f);
	stack.regs[SAMPLE_REG_RSP] = address(stack.top);
	stack.regs[SAMPLE_REG_RBP] = stack.bp;
	stack.sample = (struct sample){.abi = PERF_SAMPLE_REGS_ABI_64,
		.regs = stack.regs,
		.stack = (const uint8_t *)&stack.words[stack.top],
		.stack_bytes = 8 * (WORDS - stack.top)};
}

/* With the whole stack, then with so much of it and the kernel's chain. */
static void walk(struct fixture *f, uint32_t copy_bytes)
{
	uint32_t all = stack.sample.stack_bytes;

	stack.sample.user_chain = NULL;
	stack.sample.user_count = 0;
	unwinder_run(f->unwinder, f->space, &stack.sample, UNWIND_FRAMES_MAX, &whole);
	stack.sample.user_count = follow();
	stack.sample.user_chain = stack.links;
	stack.sample.stack_bytes = copy_bytes;
	unwinder_run(f->unwinder, f->space, &stack.sample, UNWIND_FRAMES_MAX, &lean);
	stack.sample.stack_bytes = all;
}

static void walk_lean(struct fixture *f, uint32_t copy_bytes)
{
	uint32_t all = stack.sample.stack_bytes;

	stack.sample.stack_bytes = copy_bytes;
	unwinder_run(f->unwinder, f->space, &stack.sample, UNWIND_FRAMES_MAX, &lean);
	stack.sample.stack_bytes = all;
}

static void lean_is_part_of_whole(void)
{
	assert_true(lean.count <= whole.count);
	for (unsigned i = 0; i < lean.count; i++)
		assert_int_equal(lean.addrs[i], whole.addrs[i]);
}

static void lean_is_whole(void)
{
	lean_is_part_of_whole();
	assert_int_equal(lean.count, whole.count);
	assert_int_equal(whole.end, UNWIND_ROOT);
	assert_int_equal(lean.end, UNWIND_ROOT);
}

static void lean_is_cut_at(unsigned count)
{
	lean_is_part_of_whole();
	assert_int_equal(lean.end, UNWIND_STACK_CUT);
	assert_int_equal(lean.count, count);
}

static void frame_pointers_all_the_way(void **state)
{
	begin();
	call(ROOT, 0);
	for (int i = 0; i < 8; i++)
		call(i % 2 ? FRAMED_BX : FRAMED, 9);
	interrupt(FRAMED, 9);
	walk(*state, 160);
	assert_int_equal(whole.count, 10);
	lean_is_whole();
	assert_int_equal(lean.how[1], UNWIND_BY_CFI_BP);
	assert_int_equal(lean.how[2], UNWIND_BY_CHAIN);
	assert_int_equal(lean.how[9], UNWIND_BY_CHAIN);
	assert_int_equal(lean.sps[2], whole.sps[2]); /* known by the copy */
	assert_int_equal(lean.sps[3], 0);
	walk(*state, 64); /* not even the first frame */
	lean_is_whole();
	assert_int_equal(lean.how[1], UNWIND_BY_CHAIN);
}

static void functions_without_on_top(void **state)
{
	static const enum function tops[] = {FRAMELESS, PUSHED, ENTERED};

	for (unsigned i = 0; i < sizeof(tops) / sizeof(tops[0]); i++) {
		begin();
		call(ROOT, 0);
		for (int k = 0; k < 6; k++)
			call(FRAMED, 5);
		call(FRAMELESS, 0);
		interrupt(tops[i], 0);
		walk(*state, 128);
		lean_is_whole();
		/* The kernel's own chain would have missed these. */
		assert_int_equal(lean.how[2], UNWIND_BY_CFI);
		assert_int_equal(lean.how[8], UNWIND_BY_CHAIN);
	}
}

static void without_one_beyond_the_copy_it_is_cut(void **state)
{
	static const enum function breaks[] = {FRAMELESS, CLOBBERS, SHIFTED, NO_RULES};

	for (unsigned i = 0; i < sizeof(breaks) / sizeof(breaks[0]); i++) {
		begin();
		call(ROOT, 0);
		call(FRAMED, 9);
		call(breaks[i], 0);
		call(FRAMED, 9);
		call(FRAMED, 9);
		interrupt(FRAMED, 9);
		walk(*state, 80);
		lean_is_cut_at(4);
		assert_int_equal(lean.how[3], UNWIND_BY_CHAIN);
		/* Within the copy it is found, and the chain goes on where it is right again. */
		walk(*state, 8 * (11 + 3 * 12));
		if (breaks[i] == FRAMELESS)
			lean_is_whole();
		else
			lean_is_part_of_whole();
	}
}

static void a_frame_pointer_with_other_use(void **state)
{
	begin();
	call(ROOT, 0);
	for (int i = 0; i < 6; i++)
		call(FRAMED, 9);
	interrupt(CLOBBERS, 0);
	walk(*state, 100);
	/* Two frames by the copy; the kernel followed something else. */
	lean_is_cut_at(2);
	stack.regs[SAMPLE_REG_RBP] = address(stack.top + 60); /* even if that looks like one */
	stack.bp = stack.regs[SAMPLE_REG_RBP];
	walk(*state, 100);
	lean_is_cut_at(2);
}

static void chains_that_cannot_be_right(void **state)
{
	begin();
	call(ROOT, 0);
	for (int i = 0; i < 6; i++)
		call(FRAMED, 9);
	interrupt(FRAMED, 0);
	walk(*state, 200);
	lean_is_whole();
	/* Another word than in the copy. */
	stack.links[1]++;
	walk_lean(*state, 200);
	lean_is_cut_at(4);
	stack.links[1]--;
	walk_lean(*state, 200);
	lean_is_whole();
	/* As long as the kernel makes them. */
	stack.sample.user_count -= 2;
	walk_lean(*state, 200);
	lean_is_cut_at(6);
	stack.sample.user_count = 1;
	walk_lean(*state, 200);
	lean_is_cut_at(4);
	/* Code that is nobody's. */
	stack.sample.user_count = 5;
	stack.links[4] = 0x1234;
	walk_lean(*state, 200);
	assert_int_equal(lean.end, UNWIND_NO_MODULE);
	assert_int_equal(lean.count, 4);
	stack.links[4] = 0;
	walk_lean(*state, 200);
	assert_int_equal(lean.end, UNWIND_ROOT);
	assert_int_equal(lean.count, 4);
}

static void a_chain_made_in_a_uprobe(void **state)
{
	begin();
	call(ROOT, 0);
	for (int i = 0; i < 6; i++)
		call(i % 2 ? FRAMED : FRAMED_BX, 20);
	interrupt(ENTERED, 0);
	walk(*state, 64);
	lean_is_whole();
	memmove(&stack.links[2], &stack.links[1], 20 * sizeof(stack.links[0]));
	stack.links[1] = stack.words[stack.top];
	stack.sample.user_count++;
	walk_lean(*state, 64);
	lean_is_cut_at(2);
}

static void no_more_frames_than_asked_for(void **state)
{
	struct fixture *f = *state;

	begin();
	call(ROOT, 0);
	for (int i = 0; i < 6; i++)
		call(FRAMED, 9);
	interrupt(FRAMED, 9);
	walk(f, 100);
	stack.sample.stack_bytes = 100;
	unwinder_run(f->unwinder, f->space, &stack.sample, 5, &lean);
	assert_int_equal(lean.end, UNWIND_MAX_FRAMES);
	assert_int_equal(lean.count, 5);
}

static void what_is_cut_tells_what_it_has(void **state)
{
	struct fixture *f = *state;
	unsigned base;

	begin();
	call(ROOT, 0);
	for (int i = 0; i < 9; i++)
		call(i == 4 ? CLOBBERS : FRAMED, 20);
	interrupt(FRAMED, 20);
	stack.sample.stack_bytes = 600; /* not as far as that one */
	unwinder_run(f->unwinder, f->space, &stack.sample, UNWIND_FRAMES_MAX, &whole);
	assert_int_equal(whole.end, UNWIND_STACK_CUT);
	assert_int_equal(links_would_cover(&stack.sample, &whole, 200, &base), LINKS_UNSEEN);
	stack.sample.stack_bytes = 1100;
	unwinder_run(f->unwinder, f->space, &stack.sample, UNWIND_FRAMES_MAX, &whole);
	assert_int_equal(whole.end, UNWIND_STACK_CUT);
	assert_int_equal(links_would_cover(&stack.sample, &whole, 200, &base), LINKS_NOT);
}

static void the_kernel_s_chain_has_an_end(void **state)
{
	struct fixture *f = *state;
	unsigned base;

	begin();
	call(ROOT, 0);
	for (int i = 0; i < 125; i++)
		call(FRAMED, 0);
	interrupt(FRAMED, 0);
	walk(f, 64);
	lean_is_whole();
	assert_int_equal(whole.count, LINKS_MAX);
	assert_int_equal(links_would_cover(&stack.sample, &whole, 64, &base), LINKS_CHAIN);
	stack.sample.kernel_count = 1;
	assert_int_equal(links_would_cover(&stack.sample, &whole, 64, &base), LINKS_NOT);
}

/* What whole copies say of short ones is what short ones then show. */
static void what_would_do_is_known_beforehand(void **state)
{
	unsigned base, seen[4] = {0};

	srand(1);
	for (int i = 0; i < 3000; i++) {
		unsigned bytes = 40 + (unsigned)rand() % 500 / 8 * 8, cover;

		begin();
		call(ROOT, 0);
		for (int k = rand() % 3; k > 0; k--)
			call(FRAMELESS, 0);
		for (int k = rand() % 9; k > 0; k--)
			call(rand() % 40 ? FRAMED
					 : (enum function)(rand() % 2 ? FRAMELESS : CLOBBERS),
				(unsigned)rand() % 12);
		interrupt(rand() % 3 ? FRAMED : (enum function)(rand() % SHIFTED), 3);
		if (stack.regs[SAMPLE_REG_RIP] == in(ROOT))
			continue;
		walk(*state, bytes < stack.sample.stack_bytes ? bytes : stack.sample.stack_bytes);
		assert_int_equal(whole.end, UNWIND_ROOT);
		lean_is_part_of_whole();
		cover = links_would_cover(&stack.sample, &whole, bytes, &base);
		seen[cover]++;
		if (cover == LINKS_NOT)
			assert_true(whole.count - lean.count > TAILS_BASE);
		else
			assert_int_equal(whole.count - lean.count, base);
		if (cover != LINKS_NOT)
			assert_int_equal(
				cover == LINKS_CHAIN, lean.how[lean.count - 1] == UNWIND_BY_CHAIN);
	}
	assert_true(seen[LINKS_NOT] > 100 && seen[LINKS_COPY] > 100 && seen[LINKS_CHAIN] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(frame_pointers_all_the_way, set_up, tear_down),
		cmocka_unit_test_setup_teardown(functions_without_on_top, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			without_one_beyond_the_copy_it_is_cut, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_frame_pointer_with_other_use, set_up, tear_down),
		cmocka_unit_test_setup_teardown(chains_that_cannot_be_right, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_chain_made_in_a_uprobe, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_more_frames_than_asked_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_kernel_s_chain_has_an_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_cut_tells_what_it_has, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_would_do_is_known_beforehand, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL) != 0;
}
