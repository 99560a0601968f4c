#include "daemon/cfi/rows.h"

#include "daemon/cfi/cursor.h"

#define REMEMBERED_MAX 16 /* compilers nest two deep */

enum { REG_BX = 3, REG_BP = 6, REG_SP = 7, REG_RA = 16 };

/* Operators of expressions, and of instructions those that are told apart here. */
enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT15 = 0x3f,
	OP_BREG_BP = 0x76,
	OP_BREG_SP = 0x77,
	OP_BREG_RA = 0x80
};

/* Of the frame that the kernel makes for a signal handler: struct rt_sigframe, past the return
 * address. */
enum { SIGNAL_BP = 120, SIGNAL_SP = 160, SIGNAL_PC = 168 };

/* One run over the instructions of an entry. */
struct run {
	const struct cfi_cie *cie;
	const struct cfi_state *initial; /* NULL: of the CIE itself */
	struct cfi_state now, remembered[REMEMBERED_MAX];
	unsigned remembered_count;
	uint64_t pc;
	bool strange; /* something that should not be: from here on nobody knows */
};

static struct cfi_place *place_of(struct cfi_state *s, uint64_t reg)
{
	switch (reg) {
	case REG_BX: return &s->bx;
	case REG_BP: return &s->bp;
	case REG_SP: return &s->sp;
	case REG_RA: return &s->ra;
	default: return NULL; /* callers' other registers are not followed */
	}
}

static void put_place(struct run *u, uint64_t reg, struct cfi_place p)
{
	struct cfi_place *into = place_of(&u->now, reg);

	if (into)
		*into = p;
}

static void put_offset(struct run *u, uint64_t reg, int64_t factored)
{
	struct cfi_place p = {.how = CFI_AT};

	if (__builtin_mul_overflow(factored, u->cie->data_align, &p.offset))
		p.how = CFI_OTHER;
	put_place(u, reg, p);
}

static void restore(struct run *u, uint64_t reg)
{
	struct cfi_place *into = place_of(&u->now, reg);

	if (!into)
		return;
	if (u->initial)
		*into = *place_of((struct cfi_state *)(uintptr_t)u->initial, reg);
	else
		u->strange = true;
}

static void set_cfa(struct run *u, uint64_t reg, int64_t offset)
{
	u->now.cfa_known = true;
	u->now.cfa_expression = false;
	u->now.cfa_reg = reg;
	u->now.cfa_offset = offset;
}

static int64_t factored(const struct run *u, int64_t x)
{
	int64_t product;

	return __builtin_mul_overflow(x, u->cie->data_align, &product) ? INT64_MAX : product;
}

static void take_expression(struct reader *r, uint64_t *ret_at, uint64_t *ret_end)
{
	uint64_t len = take_uleb(r);

	*ret_at = r->at;
	skip(r, len);
	*ret_end = r->at;
}

/* Only part of the CFA changes: there has to be one of the plain form. */
static bool has_plain_cfa(struct run *u)
{
	if (!u->now.cfa_known || u->now.cfa_expression)
		u->strange = true;
	return !u->strange;
}

static void run_cfa(struct run *u, struct reader *r, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x0c: /* def_cfa */
		reg = take_uleb(r);
		set_cfa(u, reg, (int64_t)take_uleb(r));
		break;
	case 0x0d: /* def_cfa_register */
		reg = take_uleb(r);
		if (has_plain_cfa(u))
			u->now.cfa_reg = reg;
		break;
	case 0x0e: /* def_cfa_offset */
		if (has_plain_cfa(u))
			u->now.cfa_offset = (int64_t)take_uleb(r);
		break;
	case 0x12: /* def_cfa_sf */
		reg = take_uleb(r);
		set_cfa(u, reg, factored(u, take_sleb(r)));
		break;
	case 0x13: /* def_cfa_offset_sf */
		if (has_plain_cfa(u))
			u->now.cfa_offset = factored(u, take_sleb(r));
		break;
	default: /* 0x0f: def_cfa_expression */
		u->now.cfa_known = u->now.cfa_expression = true;
		take_expression(r, &u->now.cfa_at, &u->now.cfa_end);
		break;
	}
}

static void remember(struct run *u)
{
	if (u->remembered_count < REMEMBERED_MAX)
		u->remembered[u->remembered_count++] = u->now;
	else
		u->strange = true;
}

static void recall(struct run *u)
{
	if (u->remembered_count > 0)
		u->now = u->remembered[--u->remembered_count];
	else
		u->strange = true;
}

static void run_register(struct run *u, struct reader *r, uint8_t op)
{
	struct cfi_place p = {.how = CFI_OTHER};
	uint64_t reg = take_uleb(r);

	switch (op) {
	case 0x05: /* offset_extended */ put_offset(u, reg, (int64_t)take_uleb(r)); break;
	case 0x06: /* restore_extended */ restore(u, reg); break;
	case 0x07: /* undefined */
		p.how = CFI_UNDEFINED;
		put_place(u, reg, p);
		break;
	case 0x08: /* same_value */
		p.how = CFI_SAME;
		put_place(u, reg, p);
		break;
	case 0x10: /* expression */
		p.how = CFI_EXPRESSION;
		take_expression(r, &p.at, &p.end);
		put_place(u, reg, p);
		break;
	case 0x11: /* offset_extended_sf */ put_offset(u, reg, take_sleb(r)); break;
	case 0x15: /* val_offset_sf */
		take_sleb(r);
		put_place(u, reg, p);
		break;
	case 0x16: /* val_expression */
		skip(r, take_uleb(r));
		put_place(u, reg, p);
		break;
	case 0x2f: /* GNU_negative_offset_extended */
		put_offset(u, reg, (int64_t)-take_uleb(r));
		break;
	default: /* 0x09 register, 0x14 val_offset */
		take_uleb(r);
		put_place(u, reg, p);
		break;
	}
}

/* Code goes on: by so many units. */
static void advance(struct run *u, uint64_t units)
{
	uint64_t bytes;

	if (__builtin_mul_overflow(units, u->cie->code_align, &bytes) ||
		__builtin_add_overflow(u->pc, bytes, &u->pc))
		u->strange = true;
}

static void advance_to(struct run *u, uint64_t pc)
{
	if (pc < u->pc)
		u->strange = true;
	else
		u->pc = pc;
}

static void run_rare(struct run *u, struct reader *r, uint8_t op)
{
	uint16_t u2;

	switch (op) {
	case 0x00: /* nop */ break;
	case 0x01: /* set_loc */ advance_to(u, take_address(r, u->cie->encoding)); break;
	case 0x02: advance(u, take_u8(r)); break;
	case 0x03:
		take(r, &u2, sizeof(u2));
		advance(u, u2);
		break;
	case 0x04: advance(u, take_u32(r)); break;
	case 0x0a: remember(u); break;
	case 0x0b: recall(u); break;
	case 0x0c:
	case 0x0d:
	case 0x0e:
	case 0x0f:
	case 0x12:
	case 0x13: run_cfa(u, r, op); break;
	case 0x2e: /* GNU_args_size: of no use without exceptions */ take_uleb(r); break;
	case 0x05:
	case 0x06:
	case 0x07:
	case 0x08:
	case 0x09:
	case 0x10:
	case 0x11:
	case 0x14:
	case 0x15:
	case 0x16:
	case 0x2f: run_register(u, r, op); break;
	default: u->strange = true; break;
	}
}

static void run_one(struct run *u, struct reader *r)
{
	uint8_t op = take_u8(r);

	switch (op & 0xc0) {
	case 0x40: advance(u, op & 0x3f); break;
	case 0x80: put_offset(u, op & 0x3f, (int64_t)take_uleb(r)); break;
	case 0xc0: restore(u, op & 0x3f); break;
	default: run_rare(u, r, op); break;
	}
	if (!r->ok)
		u->strange = true;
}

/* ---- from a state to its code ---- */

/* "The word at (or: address) register + number" and nothing else. */
static bool is_based(const struct cfi_view *v, uint64_t at, uint64_t end, uint8_t base, bool deref,
	int64_t *ret_offset)
{
	struct reader r = {v, at, end, at < end && end <= v->len};

	if (take_u8(&r) != base)
		return false;
	*ret_offset = take_sleb(&r);
	if (deref && take_u8(&r) != OP_DEREF)
		return false;
	return r.ok && r.at == end;
}

static bool is_at(const struct cfi_view *v, const struct cfi_place *p, uint8_t base, int64_t offset)
{
	int64_t is;

	return p->how == CFI_EXPRESSION && is_based(v, p->at, p->end, base, false, &is) &&
		is == offset;
}

/* rsp + 8a + ((rip & 15) >= b) * 8: what linkers say of a PLT as a whole. */
static bool is_stub(const struct cfi_view *v, const struct cfi_state *s, int64_t *ret_offset,
	uint32_t *ret_from)
{
	struct reader r = {
		v, s->cfa_at, s->cfa_end, s->cfa_at < s->cfa_end && s->cfa_end <= v->len};
	uint8_t lit;

	if (take_u8(&r) != OP_BREG_SP)
		return false;
	*ret_offset = take_sleb(&r);
	if (take_u8(&r) != OP_BREG_RA || take_sleb(&r) != 0 || take_u8(&r) != OP_LIT15 ||
		take_u8(&r) != OP_AND)
		return false;
	lit = take_u8(&r);
	if (lit < OP_LIT0 || lit > OP_LIT15)
		return false;
	*ret_from = lit - OP_LIT0;
	return take_u8(&r) == OP_GE && take_u8(&r) == OP_LIT0 + 3 && take_u8(&r) == OP_SHL &&
		take_u8(&r) == OP_PLUS && r.ok && r.at == r.end;
}

static bool is_signal_frame(const struct cfi_view *v, const struct cfi_state *s)
{
	int64_t offset;

	return s->cfa_expression && is_based(v, s->cfa_at, s->cfa_end, OP_BREG_SP, true, &offset) &&
		offset == SIGNAL_SP && is_at(v, &s->ra, OP_BREG_SP, SIGNAL_PC) &&
		is_at(v, &s->bp, OP_BREG_SP, SIGNAL_BP) &&
		(s->sp.how == CFI_SAME || is_at(v, &s->sp, OP_BREG_SP, SIGNAL_SP));
}

/* A distance in words; false: not one, or too far. */
static bool in_words(int64_t bytes, uint32_t max, uint32_t *ret_words)
{
	if (bytes < 0 || bytes % 8 != 0 || (uint64_t)bytes / 8 > max)
		return false;
	*ret_words = (uint32_t)((uint64_t)bytes / 8);
	return true;
}

/* "The word at rsp (or rbp) + number, + another": where hand-written code keeps what its stack
 * pointer was. */
static bool is_saved(const struct cfi_view *v, const struct cfi_state *s, uint32_t *ret_a)
{
	struct reader r = {
		v, s->cfa_at, s->cfa_end, s->cfa_at < s->cfa_end && s->cfa_end <= v->len};
	uint32_t slot, distance = 0;
	uint8_t base = take_u8(&r);

	if ((base != OP_BREG_SP && base != OP_BREG_BP) ||
		!in_words(take_sleb(&r), CFI_SAVED_SLOT, &slot) || take_u8(&r) != OP_DEREF)
		return false;
	if (r.at < r.end &&
		(take_u8(&r) != OP_PLUS_UCONST ||
			!in_words((int64_t)take_uleb(&r), 255, &distance)))
		return false;
	*ret_a = slot | (base == OP_BREG_BP ? CFI_SAVED_BY_BP : 0) | distance << 8;
	return r.ok && r.at == r.end;
}

/* Where rbp is, from the CFA; false: where no code can say. 1 would be the return address. */
static bool bp_in_words(const struct cfi_state *s, uint32_t *ret_b)
{
	*ret_b = 0;
	return s->bp.how == CFI_SAME ||
		(s->bp.how == CFI_AT && s->bp.offset < -8 && s->bp.offset != INT64_MIN &&
			in_words(-s->bp.offset, CFI_B_MAX, ret_b));
}

static uint32_t code_by_expression(const struct cfi_view *v, const struct cfi_state *s)
{
	int64_t offset;
	uint32_t a, b;

	if (is_stub(v, s, &offset, &b) && s->bp.how == CFI_SAME && in_words(offset, CFI_A_MAX, &a))
		return cfi_code(CFI_IN_STUB, a, b);
	if (is_saved(v, s, &a) && bp_in_words(s, &b))
		return cfi_code(CFI_BY_SAVED, a, b);
	if (!is_based(v, s->cfa_at, s->cfa_end, OP_BREG_BP, true, &offset) || offset == INT64_MIN ||
		!in_words(-offset, CFI_A_MAX, &a))
		return CFI_ASK;
	if (s->bp.how == CFI_SAME)
		return cfi_code(CFI_BY_SLOT, a, 0);
	return is_at(v, &s->bp, OP_BREG_BP, 0) ? cfi_code(CFI_BY_SLOT, a, 1) : CFI_ASK;
}

static uint32_t code_by_register(const struct cfi_state *s)
{
	bool followed = s->cfa_reg == REG_SP || s->cfa_reg == REG_BP;
	uint32_t a, b;

	if (s->cfa_reg >= REG_RA || !bp_in_words(s, &b) ||
		!in_words(s->cfa_offset, followed ? CFI_A_MAX : CFI_A_MAX >> 4, &a))
		return CFI_ASK;
	if (!followed)
		return cfi_code(CFI_BY_REG, a << 4 | (uint32_t)s->cfa_reg, b);
	return cfi_code(s->cfa_reg == REG_SP ? CFI_BY_SP : CFI_BY_BP, a, b);
}

/* rbx is followed too, as rules of the run-time linker's go by it; where it cannot be, nothing else
 * has to suffer. */
static uint32_t with_bx(uint32_t code, const struct cfi_place *bx)
{
	uint32_t c = CFI_C_LOST;

	if (cfi_code_kind(code) == CFI_ASK)
		return code;
	if (bx->how == CFI_SAME)
		c = 0;
	else if (bx->how != CFI_AT || bx->offset >= -8 || bx->offset == INT64_MIN ||
		!in_words(-bx->offset, CFI_C_MAX, &c))
		c = CFI_C_LOST;
	return cfi_code_with_bx(code, c);
}

static uint32_t code_of(const struct cfi_view *v, const struct cfi_cie *cie, const struct run *u)
{
	const struct cfi_state *s = &u->now;

	if (u->strange || !s->cfa_known)
		return CFI_ASK;
	if (cie->signal)
		return is_signal_frame(v, s) ? CFI_SIGNAL : CFI_ASK;
	if (s->ra.how == CFI_UNDEFINED)
		return s->cfa_expression || s->cfa_reg != REG_SP ? CFI_ASK : CFI_ROOT;
	if (s->sp.how != CFI_SAME || s->ra.how != CFI_AT || s->ra.offset != -8)
		return CFI_ASK;
	return with_bx(s->cfa_expression ? code_by_expression(v, s) : code_by_register(s), &s->bx);
}

bool cfi_rows_cie(const struct cfi_view *v, const struct cfi_cie *cie, struct cfi_state *ret)
{
	struct reader r = {v, cie->program, cie->program_end, true};
	struct run u = {.cie = cie};

	if (!cfi_program_is_safe(v, cie->program, cie->program_end, cie->encoding))
		return false;
	while (!u.strange && r.at < r.end)
		run_one(&u, &r);
	if (u.strange || u.pc != 0) /* asked about, unless the entry says all anew */
		u.now = (struct cfi_state){.bx.how = CFI_OTHER,
			.bp.how = CFI_OTHER,
			.sp.how = CFI_OTHER,
			.ra.how = CFI_OTHER};
	*ret = u.now;
	return true;
}

void cfi_rows_of(const struct cfi_view *v, const struct cfi_cie *cie,
	const struct cfi_state *initial, const struct cfi_code *code, cfi_row_fn row, void *arg)
{
	struct reader r = {v, code->program, code->program_end, true};
	struct run u = {.cie = cie, .initial = initial, .now = *initial, .pc = code->start};
	uint64_t since = code->start;

	if (!cfi_program_is_safe(v, code->program, code->program_end, cie->encoding)) {
		row(arg, code->start, CFI_NONE);
		return;
	}
	while (!u.strange && r.at < r.end && since < code->end) {
		run_one(&u, &r);
		if (u.strange || u.pc == since)
			continue;
		row(arg, since, code_of(v, cie, &u)); /* going on changes the place alone */
		since = u.pc;
	}
	if (since < code->end)
		row(arg, since, code_of(v, cie, &u));
}
