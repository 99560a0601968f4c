#include "daemon/unwind/code.h"

#define BEFORE 5
#define AT     8

/* Bytes before pc and from pc on. */
struct pattern {
	struct code_place place;
	uint8_t before_len, at_len;
	uint8_t before, at[AT]; /* before: the first of before_len bytes, the rest is an operand */
	uint8_t any;            /* that many bytes of at, from the second on, are an operand */
};

static const struct pattern patterns[] = {
	/* push %rbp; mov %rsp,%rbp: before the push, with endbr64 in front, and between the two */
	{.at_len = 4, .at = {0x55, 0x48, 0x89, 0xe5}},
	{.at_len = 8, .at = {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5}},
	{.place = {1, true},
		.before_len = 1,
		.before = 0x55,
		.at_len = 3,
		.at = {0x48, 0x89, 0xe5}},
	/* ret */
	{.at_len = 1, .at = {0xc3}},
	/* a PLT: the jump behind the push of an index, that push, and the jump through the GOT */
	{.place = {1, false}, .before_len = 5, .before = 0x68, .at_len = 1, .at = {0xe9}},
	{.at_len = 6, .at = {0x68, 0, 0, 0, 0, 0xe9}, .any = 4},
	{.at_len = 2, .at = {0xff, 0x25}},
};

static bool matches(const struct pattern *p, const uint8_t *before, const uint8_t *at)
{
	if (p->before_len && before[BEFORE - p->before_len] != p->before)
		return false;
	for (unsigned i = 0; i < p->at_len; i++)
		if (at[i] != p->at[i] && !(i >= 1 && i <= p->any))
			return false;
	return true;
}

const struct code_place *code_place_at(struct walk *w)
{
	struct range *r = space_find(w->space, walk_pc(w));
	struct module *m = r ? space_module(w->space, r) : NULL;
	const uint8_t *bytes;
	uint64_t vaddr;

	if (!m || !m->image || !range_vaddr(r, walk_pc(w), &vaddr))
		return NULL;
	bytes = module_bytes(m, vaddr - BEFORE, BEFORE + AT);
	if (!bytes)
		return NULL;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (matches(&patterns[i], bytes, bytes + BEFORE))
			return &patterns[i].place;
	return NULL;
}

bool code_is_epilogue(const struct module *m, uint64_t vaddr)
{
	const uint8_t *at;

	/* At most eight pops, each of two bytes. */
	for (int i = 0; i < 8; i++) {
		at = module_bytes(m, vaddr, 4);
		if (!at)
			return false;
		if (at[0] >= 0x58 && at[0] <= 0x5f) /* pop */
			vaddr += 1;
		else if (at[0] == 0x41 && at[1] >= 0x58 && at[1] <= 0x5f) /* pop of r8 … r15 */
			vaddr += 2;
		else if (at[0] == 0x49 && at[1] == 0x8d && at[2] == 0x62) /* lea -8(%r10),%rsp */
			vaddr += 4;
		else
			break;
	}
	at = module_bytes(m, vaddr, 2);
	/* ret, rep ret, or the jump of a tail call */
	return at &&
		(at[0] == 0xc3 || at[0] == 0xc2 || (at[0] == 0xf3 && at[1] == 0xc3) ||
			at[0] == 0xe9 || at[0] == 0xeb || (at[0] == 0xff && at[1] == 0x25));
}

bool code_is_after_call(const struct module *m, uint64_t vaddr)
{
	const uint8_t *b = module_bytes(m, vaddr - 7, 7);

	if (!b)
		return false;
	if (b[2] == 0xe8) /* call of a place */
		return true;
	/* call of what a register or memory says: ff /2, then up to five bytes of where it is */
	for (int i = 0; i < 6; i++)
		if (b[i] == 0xff && (b[i + 1] & 0x38) == 0x10)
			return true;
	return false;
}
