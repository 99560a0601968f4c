#include "daemon/reader/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "daemon/reader/dynamic.h"
#include "daemon/reader/wire.h"

#define SYMBOLS_MAX \
	(8u << 20) /* of one table; Chromium with all its symbols has some two million */
#define STEPS_MAX (100u << 20)

#define PARTS_MIN 1024u

/* One table of symbols with its names. */
struct table {
	Elf_Data *syms;
	bool wide; /* they are Elf64_Sym */
	size_t count;
	const char *names;
	size_t name_bytes;
	bool full; /* .symtab: holds local functions too */
	uint8_t source;
};

/* A table of symbols has a thousand times what is asked for: most of them are to fall between two
 * addresses by one look. */
static int divide(struct symtab *t)
{
	uint64_t range = t->count ? t->addrs[t->count - 1] - t->addrs[0] : 0;
	uint32_t i = 0;

	t->parts = t->count > PARTS_MIN / 4 ? 4 * t->count : PARTS_MIN;
	while (range >> t->shift >= t->parts)
		t->shift++;
	t->nearest = calloc((size_t)t->parts + 1, sizeof(*t->nearest));
	if (!t->nearest)
		return -ENOMEM;
	for (uint32_t part = 0; part <= t->parts; part++) {
		while (i < t->count && (t->addrs[i] - t->addrs[0]) >> t->shift < part)
			i++;
		t->nearest[part] = i;
	}
	return 0;
}

int symtab_init(struct symtab *t, const struct image *img, const uint64_t *addrs, uint32_t count)
{
	memset(t, 0, sizeof(*t));
	t->img = img;
	t->addrs = addrs;
	t->count = count;
	t->debugdata_fd = -1;
	t->hits = calloc(count ? count : 1, sizeof(*t->hits));
	t->before = calloc(count ? count : 1, sizeof(*t->before));
	if (!t->hits || !t->before || divide(t) < 0) {
		symtab_done(t);
		return -ENOMEM;
	}
	return 0;
}

void symtab_done(struct symtab *t)
{
	free(t->nearest);
	free(t->hits);
	free(t->before);
	if (t->debugdata)
		elf_end(t->debugdata);
	if (t->debugdata_fd >= 0)
		close(t->debugdata_fd);
	memset(t, 0, sizeof(*t));
	t->debugdata_fd = -1;
}

size_t symbol_name_len(const char *name)
{
	const char *at = strchr(name, '@');

	/* "@plt" is no version, nor is a name that starts so. */
	if (!at || at == name || strcmp(at, "@plt") == 0)
		return strlen(name);
	return (size_t)(at - name);
}

/* "$x", "$d.1": where code and data begin, on machines that mix them. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
		(name[2] == 0 || name[2] == '.');
}

/* Marks that assemblers and tools leave in code: no functions. */
static bool is_mark(const char *name)
{
	return name[0] == 0 || is_mapping_symbol(name) || strncmp(name, ".L", 2) == 0 ||
		strncmp(name, ".annobin", 8) == 0 || strncmp(name, "__annobin", 9) == 0;
}

static int underscores(const char *name)
{
	int n = 0;

	while (name[n] == '_')
		n++;
	return n;
}

static bool is_function(const struct symbol *s)
{
	return s->type == STT_FUNC || s->type == STT_GNU_IFUNC;
}

/* Of two names for one place: the same that other profilers take, where they agree. Weak names
 * stand for others on purpose: in the C library most are the shorter ones, in the vdso they are
 * aliases. */
static bool better_name(const struct symbol *a, const struct symbol *b)
{
	size_t al, bl;

	if (is_function(a) != is_function(b))
		return is_function(a);
	if ((a->bind == STB_LOCAL) != (b->bind == STB_LOCAL))
		return b->bind == STB_LOCAL;
	if ((a->bind == STB_WEAK) != (b->bind == STB_WEAK))
		return b->bind == STB_WEAK;
	if (underscores(a->name) != underscores(b->name))
		return underscores(a->name) < underscores(b->name);
	al = symbol_name_len(a->name);
	bl = symbol_name_len(b->name);
	return al != bl ? al < bl : strcmp(a->name, b->name) < 0;
}

static uint32_t first_at_or_above(const struct symtab *t, uint64_t value)
{
	uint64_t part;
	uint32_t lo, hi;

	if (t->count == 0 || value <= t->addrs[0])
		return 0;
	part = (value - t->addrs[0]) >> t->shift;
	if (part >= t->parts)
		return t->count;
	lo = t->nearest[part];
	hi = t->nearest[part + 1];
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->addrs[mid] < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* A symbol that states its size owns its bytes; of several, the one that starts last. */
static int offer_sized(struct symtab *t, const struct symbol *s, uint32_t first)
{
	const struct image_code *code = NULL;

	for (uint32_t i = first; i < t->count && t->addrs[i] - s->start < s->size; i++) {
		struct symbol *h = &t->hits[i];
		if (++t->steps > STEPS_MAX)
			return -EBADMSG;
		if (h->name &&
			(h->start > s->start || (h->start == s->start && !better_name(s, h))))
			continue;
		/* Not beyond the end of its section, whatever it states. */
		if (!code)
			code = image_code_at(t->img, s->start);
		if (!code || t->addrs[i] >= code->end)
			break;
		*h = *s;
	}
	return 0;
}

static void offer_before(struct symtab *t, const struct symbol *s, uint32_t first)
{
	struct symbol *b;

	if (first == t->count)
		return;
	b = &t->before[first];
	if (b->name) {
		if (b->start > s->start)
			return;
		/* One with a size at the same place settles where that code ends. */
		if (b->start == s->start && (b->size > 0 || (s->size == 0 && !better_name(s, b))))
			return;
	}
	*b = *s;
}

static int offer(struct symtab *t, const struct symbol *s)
{
	uint32_t first = first_at_or_above(t, s->start);

	offer_before(t, s, first);
	return s->size > 0 ? offer_sized(t, s, first) : 0;
}

static bool symbol_at(const struct table *tab, size_t i, GElf_Sym *ret)
{
	if (!tab->wide)
		return gelf_getsym(tab->syms, (int)i, ret) != NULL;
	memcpy(ret, (const char *)tab->syms->d_buf + i * sizeof(*ret), sizeof(*ret));
	return true;
}

/* Names are all over their section: they are looked at only where it matters. Marks are never said
 * to be functions. */
static bool table_symbol(const struct table *tab, size_t i, struct symbol *ret)
{
	GElf_Sym sym;

	if (!symbol_at(tab, i, &sym))
		return false;
	ret->type = GELF_ST_TYPE(sym.st_info);
	ret->bind = GELF_ST_BIND(sym.st_info);
	if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_COMMON || sym.st_name == 0 ||
		sym.st_name >= tab->name_bytes)
		return false;
	if (!is_function(ret) && ret->type != STT_NOTYPE)
		return false;
	ret->name = tab->names + sym.st_name;
	ret->source = tab->source;
	ret->start = sym.st_value;
	ret->size = sym.st_size;
	return is_function(ret) || !is_mark(ret->name);
}

static int add_table(struct symtab *t, const struct table *tab)
{
	size_t seen = 0;
	struct symbol s;

	if (tab->count > SYMBOLS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < tab->count; i++) {
		int r;

		if (!table_symbol(tab, i, &s))
			continue;
		seen++;
		r = offer(t, &s);
		if (r < 0)
			return r;
	}
	if (tab->full)
		t->full += seen;
	else
		t->dynamic += seen;
	return 0;
}

/* The names of a table end in NUL, so that each offset inside is a string. */
static bool table_names(Elf *elf, size_t index, struct table *tab)
{
	Elf_Scn *s = elf_getscn(elf, index);
	Elf_Data *d = s ? elf_getdata(s, NULL) : NULL;
	size_t n = d ? d->d_size : 0;

	if (!d || !d->d_buf)
		return false;
	while (n > 0 && ((const char *)d->d_buf)[n - 1] != 0)
		n--;
	tab->names = d->d_buf;
	tab->name_bytes = n;
	return n > 0;
}

static int add_section(struct symtab *t, Elf *elf, Elf_Scn *scn, enum reader_source source)
{
	bool full = source != READER_FROM_DYNSYM;
	struct table tab = {.full = full, .source = (uint8_t)source};
	GElf_Shdr sh;
	size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);

	if (!gelf_getshdr(scn, &sh) || sh.sh_type == SHT_NOBITS || sh.sh_size < entry)
		return 0;
	if (sh.sh_size / entry > SYMBOLS_MAX)
		return -EBADMSG;
	tab.syms = elf_getdata(scn, NULL);
	if (!tab.syms || !tab.syms->d_buf || !table_names(elf, sh.sh_link, &tab))
		return 0;
	tab.count = tab.syms->d_size / entry;
	tab.wide = gelf_getclass(elf) == ELFCLASS64;
	if (full)
		t->has_symtab = true;
	return add_table(t, &tab);
}

static int add_all_of_type(struct symtab *t, Elf *elf, uint32_t type, enum reader_source source)
{
	GElf_Shdr sh;
	int tables = 0, r = 0;

	for (Elf_Scn *s = NULL; r == 0 && tables < 4 && (s = elf_nextscn(elf, s)) != NULL;)
		if (gelf_getshdr(s, &sh) && sh.sh_type == type) {
			r = add_section(t, elf, s, source);
			tables++;
		}
	return r;
}

static int add_dynamic(struct symtab *t)
{
	struct dynamic dyn;
	struct table tab = {.source = READER_FROM_DYNSYM};

	if (!dynamic_read(t->img, &dyn))
		return 0;
	t->init = dyn.init;
	t->fini = dyn.fini;
	tab.syms = dynamic_symbols(t->img, &dyn, SYMBOLS_MAX, &tab.count);
	if (!tab.syms || !dynamic_strings(t->img, &dyn, &tab.names, &tab.name_bytes))
		return 0;
	tab.wide = gelf_getclass(t->img->elf) == ELFCLASS64;
	if (tab.wide && tab.count > tab.syms->d_size / sizeof(Elf64_Sym))
		tab.count = tab.syms->d_size / sizeof(Elf64_Sym);
	return add_table(t, &tab);
}

int symtab_add(struct symtab *t, const struct image *debug, bool packed)
{
	int r;

	r = t->img->has_sections ? add_all_of_type(t, t->img->elf, SHT_SYMTAB, READER_FROM_SYMTAB)
				 : 0;
	if (r == 0 && t->img->has_sections)
		r = add_all_of_type(t, t->img->elf, SHT_DYNSYM, READER_FROM_DYNSYM);
	if (r == 0 && t->full + t->dynamic == 0)
		r = add_dynamic(t);
	if (r == 0 && debug && debug->has_sections)
		r = add_all_of_type(t, debug->elf, SHT_SYMTAB, READER_FROM_DEBUG_FILE);
	if (r == 0 && packed && !t->debugdata)
		t->debugdata = image_debugdata(t->img, &t->debugdata_fd);
	if (r == 0 && t->debugdata) {
		t->has_debugdata = true;
		r = add_all_of_type(t, t->debugdata, SHT_SYMTAB, READER_FROM_DEBUGDATA);
	}
	return r;
}

/* A table of exported names alone does not know where a function without a size ends: what follows
 * it may be a local one. Nor do the two that only begin and end the program own what lies behind
 * them. */
static bool may_own_without_size(const struct symtab *t, const struct symbol *b)
{
	if (b->size > 0 || (t->full < t->dynamic && !t->has_debugdata) || t->full == 0)
		return false;
	return b->start == 0 || (b->start != t->init && b->start != t->fini);
}

void symtab_finish(struct symtab *t)
{
	const struct symbol *b = NULL;

	for (uint32_t i = 0; i < t->count; i++) {
		const struct image_code *code;
		if (t->before[i].name)
			b = &t->before[i];
		if (t->hits[i].name || !b || !may_own_without_size(t, b))
			continue;
		code = image_code_at(t->img, b->start);
		if (code && !code->plt && t->addrs[i] < code->end)
			t->hits[i] = *b;
	}
}

int symtab_name_of(const struct image *img, uint64_t addr, struct symbol *ret_symbol)
{
	struct symtab t;
	int r = symtab_init(&t, img, &addr, 1);

	if (r == 0 && img->has_sections)
		r = add_all_of_type(&t, img->elf, SHT_SYMTAB, READER_FROM_SYMTAB);
	if (r == 0 && img->has_sections)
		r = add_all_of_type(&t, img->elf, SHT_DYNSYM, READER_FROM_DYNSYM);
	if (r == 0 && !t.hits[0].name)
		r = -ENOENT;
	if (r == 0)
		*ret_symbol = t.hits[0];
	symtab_done(&t);
	return r;
}
