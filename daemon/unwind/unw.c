/* libunwind as interpreter of CFI. It is used remotely, on an address space that is ours alone:
 *
 * - Rules are asked for by module, not by process. Code and tables of a module stand at made-up
 * addresses, MADE_UP + its slot << 40 + place, so that the row for a place is the same in every
 * process.
 * - Rows are kept in a cache of ours, as the opaque bytes that unw_reg_states_iterate() hands out,
 * and applied with unw_apply_reg_state(). libunwind's own cache goes by the address alone, and so
 * mixes up a return address with the same address interrupted, whose row may be the next
 * function's; it also blocks all signals, two system calls, for each frame.
 * - Memory is the copied stack and the read-only bytes of modules. Nothing of the target is read.
 */
#include "daemon/unwind/walk.h"

#include <errno.h>
#include <string.h>
#define UNW_REMOTE_ONLY
#include <libunwind.h>
#include "base/map.h"
#include "daemon/unwind/cfi.h"
#include "daemon/unwind/code.h"

/* Of the library, for tables that are not in its own process; has no declaration in its headers. */
extern int _Ux86_64_dwarf_search_unwind_table(unw_addr_space_t as, unw_word_t ip,
	unw_dyn_info_t *di, unw_proc_info_t *pi, int need_unwind_info, void *arg);

#define MADE_UP        (UINT64_C(1) << 63)
#define TABLE_AT       (MADE_UP | (UINT64_C(1) << 62)) /* the table of one entry */
#define SLOTS          1024u                           /* modules whose index is kept */
#define ROWS           8192u                           /* a power of two */
#define ROW_BYTES      216                             /* libunwind's row of 19 registers has 176 */
#define READS_PER_STEP 400000u /* a table entry is at most 64 KiB, read bytewise */

enum row_kind { ROW_NONE, ROW_NO_CFI, ROW_RULES };

struct row {
	uint64_t vaddr;
	uint32_t module_id;
	uint8_t kind;
	bool signal;
	bool recent; /* used since the other of its pair was */
	_Alignas(8) uint8_t data[ROW_BYTES];
};

struct slot {
	uint32_t module_id; /* 0: free */
	struct cfi *cfi;
	const struct module *module; /* lent: valid during the step that looked it up */
	uint64_t used;
};

struct stepper {
	unw_addr_space_t as;
	struct walk *walk;
	unw_cursor_t cursor;
	bool cursor_valid; /* it stands where walk stands */
	unsigned reads;    /* of memory, in this step */
	struct row *rows;
	struct slot *slots;
	struct map *slot_of; /* module id to slot */
	uint64_t clock;
	struct slot *slot; /* whose code this step is in */
	/* While a row is made: */
	bool making;
	struct cfi_fde fde;
	uint64_t place, vaddr; /* of the code */
	struct row *row;
	bool row_found;
};

static uint64_t made_up(const struct stepper *st, const struct slot *s, uint64_t place)
{
	return MADE_UP | ((uint64_t)(s - st->slots) << 40) | place;
}

static bool read_made_up(struct stepper *st, uint64_t addr, uint64_t *ret_word)
{
	uint64_t index = (addr & ~MADE_UP) >> 40;
	const struct slot *s;

	if (addr == TABLE_AT) { /* two 4-byte numbers: the start of the code, its entry; see
				   find_info() */
		*ret_word = 0x80000000;
		return true;
	}
	/* An expression may ask for any address: other slots' modules may be gone. */
	if (index >= SLOTS || &st->slots[index] != st->slot)
		return false;
	s = st->slot;
	if (cfi_read(s->cfi, s->module, addr & (CFI_PLACES - 1), ret_word))
		return true;
	/* The library follows the pointer to the routine that handles exceptions, in every entry
	 * that names one. It lies among data that are written when the program starts, and nobody
	 * calls it here. */
	*ret_word = 0;
	return st->making;
}

/* The read-only bytes of the module mapped at that address of the target. */
static bool read_mapped(struct stepper *st, uint64_t addr, uint64_t *ret_word)
{
	struct range *r = space_find(st->walk->space, addr);
	uint64_t vaddr, bias;
	const void *bytes;

	if (!r || !r->module || !range_bias(r, &bias))
		return false;
	vaddr = addr - bias;
	bytes = module_bytes(r->module, vaddr, sizeof(*ret_word));
	if (!bytes)
		return false;
	memcpy(ret_word, bytes, sizeof(*ret_word));
	return true;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int write, void *arg)
{
	struct stepper *st = arg;

	(void)as;
	if (write || ++st->reads > READS_PER_STEP)
		return -UNW_EINVAL;
	if (addr & MADE_UP)
		return read_made_up(st, addr, value) ? 0 : -UNW_EINVAL;
	if (st->making)
		return -UNW_EINVAL;
	if (walk_on_stack(st->walk, addr) || !read_mapped(st, addr, value))
		return walk_read(st->walk, addr, value) ? 0 : -UNW_EINVAL;
	return 0;
}

static int access_reg(
	unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write, void *arg)
{
	struct stepper *st = arg;

	(void)as;
	if (write)
		return -UNW_EREADONLYREG;
	if (st->making) {
		*value = reg == UNW_X86_64_RIP ? made_up(st, st->slot, st->place) : 0;
		return 0;
	}
	if (reg < 0 || !regs_known(&st->walk->regs, (unsigned)reg)) /* numbered as in DWARF */
		return -UNW_EBADREG;
	*value = st->walk->regs.value[reg];
	return 0;
}

static int access_fpreg(
	unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value, int write, void *arg)
{
	(void)as;
	(void)reg;
	(void)value;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

/* Called for rows to be made alone. The library wants a search table: it gets one whose only entry
 * leads to the FDE that we have found and vetted. */
static int find_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg)
{
	struct stepper *st = arg;
	uint64_t shift = st->fde.absolute ? ip - st->vaddr : 0;
	unw_dyn_info_t table = {0};
	int error;

	if (!st->making)
		return -UNW_ENOINFO;
	table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	table.start_ip = 0;
	table.end_ip = UINT64_MAX;
	table.u.rti.segbase = made_up(st, st->slot, st->fde.at);
	table.u.rti.table_len = 1;
	table.u.rti.table_data = TABLE_AT;
	error = _Ux86_64_dwarf_search_unwind_table(as, ip - shift, &table, pi, need, arg);
	if (error == 0) {
		pi->start_ip += shift;
		pi->end_ip += shift;
	}
	return error;
}

static void put_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as;
	(void)pi;
	(void)arg;
}

static int no_dyn_info(unw_addr_space_t as, unw_word_t *addr, void *arg)
{
	(void)as;
	(void)addr;
	(void)arg;
	return -UNW_ENOINFO;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

static int no_name(
	unw_addr_space_t as, unw_word_t addr, char *name, size_t len, unw_word_t *offset, void *arg)
{
	(void)as;
	(void)addr;
	(void)name;
	(void)len;
	(void)offset;
	(void)arg;
	return -UNW_ENOINFO;
}

int stepper_new(struct stepper **ret_stepper)
{
	static unw_accessors_t accessors = {.find_proc_info = find_info,
		.put_unwind_info = put_info,
		.get_dyn_info_list_addr = no_dyn_info,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = no_resume,
		.get_proc_name = no_name};
	struct stepper *st = calloc(1, sizeof(*st));
	int error = -ENOMEM;

	if (!st)
		return -ENOMEM;
	st->rows = calloc(ROWS, sizeof(*st->rows));
	st->slots = calloc(SLOTS, sizeof(*st->slots));
	st->as = unw_create_addr_space(&accessors, 0);
	if (!st->rows || !st->slots || !st->as)
		goto fail;
	error = map_new(64, &st->slot_of);
	if (error < 0)
		goto fail;
	unw_set_caching_policy(st->as, UNW_CACHE_NONE);
	*ret_stepper = st;
	return 0;
fail:
	stepper_free(st);
	return error;
}

void stepper_free(struct stepper *st)
{
	if (!st)
		return;
	for (unsigned i = 0; st->slots && i < SLOTS; i++)
		cfi_free(st->slots[i].cfi);
	if (st->as)
		unw_destroy_addr_space(st->as);
	map_free(st->slot_of);
	free(st->slots);
	free(st->rows);
	free(st);
}

/* A slot for another module: a free one, else the longest unused one. Rows hold addresses that name
 * the slot, so that they all go with it. */
static struct slot *slot_take(struct stepper *st)
{
	struct slot *oldest = &st->slots[0];

	for (unsigned i = 0; i < SLOTS; i++) {
		if (st->slots[i].module_id == 0)
			return &st->slots[i];
		if (st->slots[i].used < oldest->used)
			oldest = &st->slots[i];
	}
	map_remove(st->slot_of, oldest->module_id, NULL);
	cfi_free(oldest->cfi);
	memset(oldest, 0, sizeof(*oldest));
	memset(st->rows, 0, ROWS * sizeof(*st->rows));
	return oldest;
}

static struct slot *slot_for(struct stepper *st, const struct module *m)
{
	struct slot *s;
	uint64_t at;

	if (map_get(st->slot_of, m->id, &at)) {
		s = &st->slots[at];
	} else {
		s = slot_take(st);
		if (cfi_new(m, &s->cfi) < 0)
			return NULL;
		if (map_set(st->slot_of, m->id, (uint64_t)(s - st->slots)) < 0) {
			cfi_free(s->cfi);
			s->cfi = NULL;
			return NULL;
		}
		s->module_id = m->id;
	}
	s->module = m;
	s->used = ++st->clock;
	return s;
}

/* Takes the row that holds the place, and ends the walk over the rows of the entry. */
static int on_row(void *token, void *data, size_t bytes, unw_word_t start, unw_word_t end)
{
	struct stepper *st = token;
	uint64_t at = made_up(st, st->slot, st->place);

	if (at < start || at >= end)
		return 0;
	if (bytes > sizeof(st->row->data))
		return -UNW_EINVAL;
	memcpy(st->row->data, data, bytes);
	st->row_found = true;
	return -UNW_ESTOPUNWIND;
}

static void make_row(struct stepper *st, const struct module *m, uint64_t vaddr, struct row *row)
{
	struct slot *s = slot_for(st, m);
	unw_cursor_t scratch;

	*row = (struct row){.vaddr = vaddr, .module_id = m->id, .kind = ROW_NO_CFI};
	if (!s || !cfi_place_of_vaddr(s->cfi, vaddr, &st->place) ||
		!cfi_find(s->cfi, m, vaddr, &st->fde))
		return;
	st->slot = s;
	st->vaddr = vaddr;
	st->row = row;
	st->row_found = false;
	st->making = true;
	if (unw_init_remote(&scratch, st->as, st) == 0)
		unw_reg_states_iterate(&scratch, on_row, st);
	st->making = false;
	if (st->row_found) {
		row->kind = ROW_RULES;
		row->signal = st->fde.signal;
	}
}

/* The row for that address of the module, from the cache if it is there. */
static const struct row *row_for(struct stepper *st, const struct module *m, uint64_t vaddr)
{
	uint64_t hash = hash_u64(vaddr ^ ((uint64_t)m->id << 40));
	struct row *a = &st->rows[hash & (ROWS - 1)];
	struct row *b = &st->rows[(hash & (ROWS - 1)) ^ 1];

	for (int i = 0; i < 2; i++) {
		if (a->vaddr == vaddr && a->module_id == m->id && a->kind != ROW_NONE) {
			a->recent = true;
			b->recent = false;
			return a;
		}
		struct row *other = a;

		a = b;
		b = other;
	}
	if (a->recent)
		a = b;
	st->reads = 0;
	make_row(st, m, vaddr, a);
	return a;
}

void stepper_begin(struct stepper *st, struct walk *w)
{
	st->walk = w;
	st->cursor_valid = false;
}

void stepper_resume(struct stepper *st)
{
	st->cursor_valid = false;
}

/* Why there are no rules to be had for that address; STEP_ON: there may be some. */
static enum step find_code(
	struct walk *w, uint64_t addr, struct module **ret_module, uint64_t *ret_vaddr)
{
	struct range *r = space_find(w->space, addr);

	if (!r) {
		w->end = UNWIND_NO_MODULE;
		return STEP_END;
	}
	*ret_module = space_module(w->space, r);
	w->end = UNWIND_NO_CFI;
	if (!*ret_module || (*ret_module)->error == -ENOEXEC)
		return STEP_NO_CFI;
	if ((*ret_module)->error != 0) {
		w->end = UNWIND_UNREADABLE;
		return STEP_NO_CFI;
	}
	return range_vaddr(r, addr, ret_vaddr) ? STEP_ON : STEP_NO_CFI;
}

/* The caller's registers, as far as each step needs them. */
static enum step take_caller(struct stepper *st, bool signal)
{
	struct walk *w = st->walk;
	unw_word_t pc, sp;

	if (unw_get_reg(&st->cursor, UNW_REG_IP, &pc) < 0 ||
		unw_get_reg(&st->cursor, UNW_REG_SP, &sp) < 0) {
		w->end = UNWIND_ERROR;
		return STEP_END;
	}
	if (pc == 0) {
		w->end = UNWIND_ROOT;
		return STEP_END;
	}
	/* The cursor still finds registers that no frame has saved in w->regs, by access_reg(): pc
	 * and sp it keeps itself. */
	w->regs.value[DWREG_RIP] = pc;
	w->regs.value[DWREG_RSP] = sp;
	w->exact = signal;
	w->from_signal = signal;
	w->past_signal |= signal;
	return STEP_ON;
}

/* In the epilogue of the innermost function, the slots of popped registers are below sp, where
 * nothing was copied; the registers themselves hold what the slots do. */
static void note_popped(struct stepper *st, const struct module *m, uint64_t vaddr)
{
	static const unsigned saved[WALK_POPPED_MAX] = {DWREG_RBX, DWREG_RBP, 12, 13, 14, 15};
	struct walk *w = st->walk;
	unw_save_loc_t loc;

	if (!code_is_epilogue(m, vaddr))
		return;
	for (unsigned i = 0; i < WALK_POPPED_MAX; i++) {
		if (unw_get_save_loc(&st->cursor, (int)saved[i], &loc) < 0 ||
			loc.type != UNW_SLT_MEMORY || loc.u.addr >= w->stack_start ||
			!regs_known(&w->regs, saved[i]))
			continue;
		w->popped[w->popped_count].addr = loc.u.addr;
		w->popped[w->popped_count].value = w->regs.value[saved[i]];
		w->popped_count++;
	}
}

enum step stepper_step(struct stepper *st)
{
	struct walk *w = st->walk;
	struct module *m;
	uint64_t vaddr;
	const struct row *row;
	enum step found = find_code(w, walk_lookup_pc(w), &m, &vaddr);
	int ret;

	if (found != STEP_ON)
		return found;
	row = row_for(st, m, vaddr);
	if (row->kind != ROW_RULES)
		return STEP_NO_CFI;
	st->slot = slot_for(st, m); /* its module pointer may be of an earlier sample */
	if (!st->slot || (!st->cursor_valid && unw_init_remote(&st->cursor, st->as, st) != 0)) {
		w->end = UNWIND_ERROR;
		return STEP_END;
	}
	st->cursor_valid = true;
	st->reads = 0;
	w->read_failed = false;
	ret = unw_apply_reg_state(&st->cursor, (void *)(uintptr_t)row->data);
	if (ret < 0) {
		if (!w->read_failed)
			w->end = ret == -UNW_EBADFRAME ? UNWIND_NO_PROGRESS : UNWIND_ERROR;
		return STEP_END;
	}
	if (ret == 0) {
		w->end = UNWIND_ROOT;
		return STEP_END;
	}
	if (w->exact && !w->past_signal)
		note_popped(st, m, vaddr);
	return take_caller(st, row->signal);
}

void stepper_fetch_bp(struct stepper *st)
{
	struct walk *w = st->walk;
	unw_word_t bp;
	int error;

	if (!st->cursor_valid)
		return;
	st->reads = 0;
	error = unw_get_reg(&st->cursor, UNW_X86_64_RBP, &bp);
	w->regs.known = (1u << DWREG_RIP) | (1u << DWREG_RSP);
	if (error == 0)
		regs_set(&w->regs, DWREG_RBP, bp);
}
