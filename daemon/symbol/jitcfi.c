#include "daemon/symbol/jitcfi.h"

#include <errno.h>
#include <stdbool.h>
#include "daemon/cfi/parse.h"
#include "daemon/cfi/rows.h"

struct compiler {
	struct cfi_view view;
	uint64_t code_start, code_end;
	uint64_t done_to; /* rules are there up to it */
	struct cfi_cie cie;
	struct cfi_state initial;
	bool have_cie;
	jitcfi_fn take;
	void *arg;
	int error;
};

static void take_row(void *arg, uint64_t start, uint32_t code)
{
	struct compiler *c = arg;
	struct jit_rule rule = {(uint32_t)(start - c->code_start), code};

	if (c->error == 0)
		c->error = c->take(c->arg, &rule);
}

/* False: entries of it are of no use. A signal frame is not what a program makes. */
static bool use_cie(struct compiler *c, uint64_t at)
{
	if (c->have_cie && c->cie.at == at)
		return true;
	c->have_cie = cfi_parse_cie(&c->view, at, &c->cie) && !c->cie.signal &&
		cfi_rows_cie(&c->view, &c->cie, &c->initial);
	return c->have_cie;
}

static void take_entry(struct compiler *c, const struct cfi_entry *e)
{
	struct cfi_code code;

	if (e->id == 0 || e->id > e->id_at || !use_cie(c, e->id_at - e->id) ||
		!cfi_parse_code(&c->view, e, &c->cie, &code) || code.start < c->done_to ||
		code.end > c->code_end || code.start >= code.end)
		return;
	if (code.start > c->done_to)
		take_row(c, c->done_to, CFI_NONE);
	cfi_rows_of(&c->view, &c->cie, &c->initial, &code, take_row, c);
	c->done_to = code.end;
}

int jitcfi_compile(const uint8_t *eh_frame, size_t bytes, uint64_t code_start, uint64_t code_bytes,
	jitcfi_fn take, void *arg)
{
	struct compiler c = {
		.view = {eh_frame, bytes, code_start + ((code_bytes + 7) & ~UINT64_C(7))},
		.code_start = code_start,
		.code_end = code_start + code_bytes,
		.done_to = code_start,
		.take = take,
		.arg = arg};
	struct cfi_entry e;

	if (code_bytes > UINT32_MAX || c.code_end < code_start || c.view.vaddr < code_start)
		return 0;
	for (uint64_t at = 0; c.error == 0 && cfi_entry_at(&c.view, at, &e); at = e.end)
		take_entry(&c, &e);
	if (c.error == 0 && c.done_to > code_start && c.done_to < c.code_end)
		take_row(&c, c.done_to, CFI_NONE);
	return c.error;
}
