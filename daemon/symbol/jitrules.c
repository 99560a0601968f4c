#include "daemon/symbol/jitrules.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "daemon/cfi/table.h"

struct jitrules {
	atomic_uint refs;
	uint32_t piece_count, rule_count;
	struct jit_rule *rules; /* behind the pieces */
	struct jit_piece pieces[];
};

int jitrules_new(const struct jit_piece *pieces, uint32_t piece_count, const struct jit_rule *rules,
	uint32_t rule_count, struct jitrules **ret_rules)
{
	struct jitrules *r =
		malloc(sizeof(*r) + piece_count * sizeof(*pieces) + rule_count * sizeof(*rules));

	if (!r)
		return -ENOMEM;
	atomic_init(&r->refs, 1);
	r->piece_count = piece_count;
	r->rule_count = rule_count;
	r->rules = (struct jit_rule *)(r->pieces + piece_count);
	if (piece_count)
		memcpy(r->pieces, pieces, piece_count * sizeof(*pieces));
	if (rule_count)
		memcpy(r->rules, rules, rule_count * sizeof(*rules));
	*ret_rules = r;
	return 0;
}

struct jitrules *jitrules_ref(struct jitrules *r)
{
	if (r)
		atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
	return r;
}

void jitrules_unref(struct jitrules *r)
{
	/* The release of each holder pairs with the acquire of the last one, who frees. */
	if (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1)
		free(r);
}

/* The last one that starts at or below addr. */
static const struct jit_piece *piece_at(const struct jitrules *r, uint64_t addr)
{
	uint32_t lo = 0, hi = r->piece_count;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->pieces[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 && addr < r->pieces[lo - 1].end ? &r->pieces[lo - 1] : NULL;
}

uint32_t jitrules_find(const struct jitrules *r, uint64_t addr, uint64_t t_ns)
{
	const struct jit_piece *p = piece_at(r, addr);
	uint32_t lo = 0, hi;

	if (!p || t_ns < p->since_ns)
		return CFI_NONE;
	hi = p->count;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (r->rules[p->first + mid].offset <= addr - p->origin)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > 0 ? r->rules[p->first + lo - 1].code : CFI_NONE;
}
