#include "daemon/symbol/kallsyms.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/parse.h"

#define SYMBOLS_MAX  (4u << 20)
#define NAME_MAX_LEN 1024 /* the kernel's own limit is 512 */
#define PAGE         4096ull
/* Programs of the kernel's virtual machine state no length, and the next may be far away. */
#define BPF_MAX (64ull << 10)

enum home { HOME_KERNEL, HOME_MODULE, HOME_BPF };

/* Symbols of data are kept too, without a name: functions end where they begin. */
struct symbol {
	uint64_t addr;
	uint32_t name;   /* offset; 0: no function */
	uint32_t module; /* hash of the module's name; 0: the kernel itself */
	uint8_t home;
	bool global;
};

/* What is looked up in, of one piece: the head, count addresses, as many offsets of names, names.
 * Addresses ascend, each is there once, and what has none's name ends the function before it. */
struct packed {
	uint64_t count, names_bytes;
	uint64_t text; /* address of "_text" */
	uint64_t hidden;
};

struct kallsyms {
	atomic_uint refs;
	const struct packed *packed;
	const uint64_t *addrs;
	const uint32_t *names_at; /* 0: no function */
	const char *names;
	size_t bytes;
	kallsyms_done_fn done;
};

/* While the text is read. */
struct parser {
	struct symbol *symbols;
	size_t count, room;
	struct buf names;
	size_t last_name; /* offset of the one added last */
	uint64_t text;
};

struct kallsyms *kallsyms_ref(struct kallsyms *k)
{
	atomic_fetch_add_explicit(&k->refs, 1, memory_order_relaxed);
	return k;
}

void kallsyms_unref(struct kallsyms *k)
{
	/* The release of each holder pairs with the acquire of the last one, who frees. */
	if (!k || atomic_fetch_sub_explicit(&k->refs, 1, memory_order_acq_rel) != 1)
		return;
	k->done((void *)(uintptr_t)k->packed, k->bytes);
	free(k);
}

bool kallsyms_hidden(const struct kallsyms *k)
{
	return k->packed->hidden;
}

uint64_t kallsyms_text(const struct kallsyms *k)
{
	return k->packed->text;
}

const void *kallsyms_packed(const struct kallsyms *k, size_t *ret_bytes)
{
	*ret_bytes = k->bytes;
	return k->packed;
}

static bool has_text(const char *name, size_t len, const char *first, const char *last)
{
	size_t fn = strlen(first), ln = strlen(last);

	return len >= fn + ln && memcmp(name, first, fn) == 0 &&
		memcmp(name + len - ln, last, ln) == 0;
}

/* "_etext", "__entry_text_start" and the like only mark where something begins or ends. */
static bool is_mark(const char *name, size_t len)
{
	static const char *const marks[] = {"_text", "_stext", "_etext", "_sinittext", "_einittext",
		"__init_begin", "__init_end", "_end"};

	if (name[0] != '_')
		return false;
	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (strlen(marks[i]) == len && memcmp(marks[i], name, len) == 0)
			return true;
	return has_text(name, len, "__", "_text_start") || has_text(name, len, "__", "_text_end");
}

static int add(struct parser *k, const struct symbol *s)
{
	if (k->count == k->room) {
		size_t room = k->room ? k->room * 2 : 4096;
		struct symbol *more;
		if (room > SYMBOLS_MAX)
			return -EFBIG;
		more = realloc(k->symbols, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		k->symbols = more;
		k->room = room;
	}
	k->symbols[k->count++] = *s;
	return 0;
}

/* The kernel lists half of its functions with what is in front of them: "__pfx_it", "it". The name
 * of the one is the end of the other's then. */
static bool is_end_of_last(const struct parser *k, const char *name, size_t len)
{
	static const char pfx[] = "__pfx_";
	const char *last = k->names.data + k->last_name;

	return k->names.len - k->last_name == sizeof(pfx) + len &&
		memcmp(last, pfx, sizeof(pfx) - 1) == 0 &&
		memcmp(last + sizeof(pfx) - 1, name, len) == 0;
}

static int keep_name(struct parser *k, const char *name, size_t len, uint32_t *ret)
{
	if (is_end_of_last(k, name, len)) {
		*ret = (uint32_t)(k->names.len - len - 1);
		return 0;
	}
	k->last_name = k->names.len;
	*ret = (uint32_t)k->names.len;
	buf_append(&k->names, name, len);
	buf_append_char(&k->names, 0);
	return k->names.error;
}

/* "ffffffffc0a01000 t name\t[module]". Lines of another form are passed over. */
static int parse_line(struct parser *k, const char *line, size_t len)
{
	const char *end = line + len, *at = memchr(line, ' ', len), *name, *tab;
	struct symbol s = {0};
	size_t name_len;
	char type;

	if (!at || end - at < 4 || at[2] != ' ' ||
		parse_hex(line, (size_t)(at - line), &s.addr) < 0)
		return 0;
	type = at[1];
	name = at + 3;
	tab = memchr(name, '\t', (size_t)(end - name));
	name_len = (size_t)((tab ? tab : end) - name);
	if (name_len == 0 || name_len > NAME_MAX_LEN || memchr(name, 0, name_len))
		return 0;
	if (tab) {
		size_t module_len = (size_t)(end - tab - 1);
		bool bpf = module_len == 5 && memcmp(tab + 1, "[bpf]", 5) == 0;
		s.home = bpf ? HOME_BPF : HOME_MODULE;
		s.module = 5381;
		for (const char *c = tab + 1; c < end; c++)
			s.module = s.module * 33 + (unsigned char)*c;
	}
	s.global = type == 'T' || type == 'W';
	if (!tab && name_len == 5 && memcmp(name, "_text", 5) == 0)
		k->text = s.addr;
	if (strchr("tTwW", type) && !is_mark(name, name_len)) {
		int r = keep_name(k, name, name_len, &s.name);
		if (r < 0)
			return r;
	}
	return add(k, &s);
}

static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Of two names for one place: a function's over a mark's, a global one's over a local one's, the
 * one with fewer underscores before it, then the one that the kernel lists first. */
static bool better(const struct parser *k, const struct symbol *a, const struct symbol *b)
{
	const char *an = k->names.data + a->name, *bn = k->names.data + b->name;
	size_t au, bu;

	if (!a->name || !b->name)
		return a->name && !b->name;
	if (a->global != b->global)
		return a->global;
	au = strspn(an, "_");
	bu = strspn(bn, "_");
	return au != bu ? au < bu : a->name < b->name;
}

static bool is_ascending(const struct parser *k)
{
	for (size_t i = 1; i < k->count; i++)
		if (k->symbols[i - 1].addr > k->symbols[i].addr)
			return false;
	return true;
}

static void keep_one_for_each_address(struct parser *k)
{
	size_t kept = 0;

	/* The kernel lists its own by address. */
	if (!is_ascending(k))
		qsort(k->symbols, k->count, sizeof(*k->symbols), by_addr);
	for (size_t i = 0; i < k->count; i++) {
		struct symbol *last = kept ? &k->symbols[kept - 1] : NULL;
		if (!last || last->addr != k->symbols[i].addr)
			k->symbols[kept++] = k->symbols[i];
		else if (better(k, &k->symbols[i], last))
			*last = k->symbols[i];
	}
	k->count = kept;
}

/* Where the function at index i ends at the latest: at the next symbol, unless that belongs to
 * others, far away. */
static uint64_t end_of(const struct parser *k, size_t i)
{
	const struct symbol *s = &k->symbols[i];
	const struct symbol *next = i + 1 < k->count ? s + 1 : NULL;
	uint64_t end = next ? next->addr : UINT64_MAX, own;

	if (s->home == HOME_BPF)
		own = s->addr + BPF_MAX;
	else if (!next || next->home != s->home || next->module != s->module)
		own = (s->addr & ~(PAGE - 1)) + 2 * PAGE;
	else
		return end;
	if (own < s->addr)
		own = UINT64_MAX;
	return own < end ? own : end;
}

/* The entries that say what the symbols do: as many as there are symbols, or twice that. */
static size_t pack_entries(const struct parser *k, uint64_t *addrs, uint32_t *names_at)
{
	uint64_t end = 0; /* of the function before */
	bool open = false;
	size_t n = 0;

	for (size_t i = 0; i < k->count; i++) {
		const struct symbol *s = &k->symbols[i];

		if (open && end < s->addr) {
			addrs[n] = end;
			names_at[n++] = 0;
			open = false;
		}
		if (s->name || open) {
			addrs[n] = s->addr;
			names_at[n++] = s->name;
		}
		open = s->name != 0;
		end = end_of(k, i);
	}
	if (open && end < UINT64_MAX) {
		addrs[n] = end;
		names_at[n++] = 0;
	}
	return n;
}

static bool is_hidden(const struct parser *k)
{
	for (size_t i = 0; i < k->count; i++)
		if (k->symbols[i].addr)
			return false;
	return true;
}

static int pack(const struct parser *k, struct buf *into)
{
	AUTO(free_auto) uint64_t *addrs = calloc(2 * k->count + 1, sizeof(*addrs));
	AUTO(free_auto) uint32_t *names_at = calloc(2 * k->count + 1, sizeof(*names_at));
	struct packed head = {.names_bytes = k->names.len, .text = k->text, .hidden = is_hidden(k)};

	if (!addrs || !names_at)
		return -ENOMEM;
	head.count = pack_entries(k, addrs, names_at);
	buf_append(into, &head, sizeof(head));
	buf_append(into, addrs, head.count * sizeof(*addrs));
	buf_append(into, names_at, head.count * sizeof(*names_at));
	return buf_append(into, k->names.data, k->names.len);
}

static int parse(struct parser *k, const char *text, size_t len)
{
	const char *end = text + len;
	int r = buf_append_char(&k->names, 0); /* so that 0 is nobody's name */

	while (r >= 0 && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (!stop)
			break; /* half a line */
		r = parse_line(k, text, (size_t)(stop - text));
		text = stop + 1;
	}
	return r;
}

static void free_packed(void *packed, size_t bytes)
{
	free(packed);
}

int kallsyms_parse(const char *text, size_t len, struct kallsyms **ret_syms)
{
	AUTO(buf_done) struct buf packed = BUF_INIT;
	struct parser k = {0};
	size_t bytes;
	int r = parse(&k, text, len);

	if (r >= 0) {
		keep_one_for_each_address(&k);
		r = pack(&k, &packed);
	}
	free(k.symbols);
	buf_done(&k.names);
	if (r < 0)
		return r;
	bytes = packed.len;
	return kallsyms_open_take(buf_take(&packed), bytes, free_packed, ret_syms);
}

/* Whether the sizes are those of the bytes. What addresses and names are is for whoever made them.
 */
static int check_packed(const struct packed *p, size_t bytes)
{
	if (bytes < sizeof(*p) || p->count > 2 * (uint64_t)SYMBOLS_MAX || p->names_bytes == 0 ||
		p->names_bytes > UINT32_MAX ||
		bytes !=
			sizeof(*p) + p->count * (sizeof(uint64_t) + sizeof(uint32_t)) +
				p->names_bytes)
		return -EBADMSG;
	return ((const char *)p)[bytes - 1] ? -EBADMSG : 0;
}

int kallsyms_open_take(
	void *packed, size_t bytes, kallsyms_done_fn done, struct kallsyms **ret_syms)
{
	struct kallsyms *k = packed ? calloc(1, sizeof(*k)) : NULL;
	int r = k ? check_packed(packed, bytes) : -ENOMEM;

	if (r < 0) {
		free(k);
		done(packed, bytes);
		return r;
	}
	atomic_init(&k->refs, 1);
	k->packed = packed;
	k->bytes = bytes;
	k->done = done;
	k->addrs = (const uint64_t *)(k->packed + 1);
	k->names_at = (const uint32_t *)(k->addrs + k->packed->count);
	k->names = (const char *)(k->names_at + k->packed->count);
	*ret_syms = k;
	return 0;
}

const char *kallsyms_find(const struct kallsyms *k, uint64_t addr, uint64_t *ret_start)
{
	size_t lo = 0, hi = k->packed->count;
	const char *name;

	if (k->packed->hidden)
		return NULL;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->addrs[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || k->names_at[lo - 1] >= k->packed->names_bytes)
		return NULL;
	name = k->names + k->names_at[lo - 1];
	*ret_start = k->addrs[lo - 1];
	return *name ? name : NULL;
}
