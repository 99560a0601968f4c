#include "daemon/reader/plt.h"

#include <string.h>
#include "daemon/reader/dynamic.h"
#include "daemon/reader/symtab.h"

#define STUB_BYTES 16
#define RELOCS_MAX (16u << 20)

/* x86: [endbr] [bnd] jmp *slot, or [endbr] push index. 32-bit code without a base names the slot
 * itself. */
static void decode_x86(const struct image *img, struct plt_stub *s, const uint8_t *p, size_t len)
{
	static const uint8_t endbr[3] = {0xf3, 0x0f, 0x1e};
	bool wide = img->ehdr.e_machine == EM_X86_64;
	size_t at = 0;
	uint32_t v;

	if (len >= 4 && memcmp(p, endbr, 3) == 0)
		at = 4;
	if (at < len && p[at] == 0xf2)
		at++;
	if (at + 6 <= len && p[at] == 0xff && p[at + 1] == 0x25) {
		memcpy(&v, p + at + 2, 4);
		s->slot = wide ? s->start + at + 6 + (uint64_t)(int64_t)(int32_t)v : v;
	} else if (at + 5 <= len && p[at] == 0x68) {
		memcpy(&v, p + at + 1, 4);
		/* 32-bit stubs push the byte offset of the relocation. */
		s->reloc = (wide ? v : v / (uint32_t)sizeof(Elf32_Rel)) + 1;
	}
}

static bool is_x86(const struct image *img)
{
	return img->ehdr.e_machine == EM_X86_64 || img->ehdr.e_machine == EM_386;
}

static uint32_t stub_bytes(const struct image *img, const struct image_code *code)
{
	GElf_Shdr sh;

	for (Elf_Scn *s = NULL; (s = elf_nextscn(img->elf, s)) != NULL;)
		if (gelf_getshdr(s, &sh) && sh.sh_addr == code->start && sh.sh_size > 0 &&
			(sh.sh_flags & SHF_EXECINSTR))
			return sh.sh_entsize == 8 ? 8 : STUB_BYTES;
	return STUB_BYTES;
}

bool plt_stub_at(const struct image *img, uint64_t addr, struct plt_stub *ret_stub)
{
	const struct image_code *code = image_code_at(img, addr);
	struct plt_stub s = {0};
	const uint8_t *p;

	if (!code || (!code->plt && img->has_sections))
		return false;
	s.bytes = code->plt ? stub_bytes(img, code) : STUB_BYTES;
	s.start =
		code->plt ? addr - (addr - code->start) % s.bytes : addr & ~(uint64_t)(s.bytes - 1);
	p = image_at(img, s.start, s.bytes);
	if (p && is_x86(img))
		decode_x86(img, &s, p, s.bytes);
	/* Without sections only a jump through a slot of the PLT says that this is a stub. */
	if (!code->plt && s.slot == 0)
		return false;
	*ret_stub = s;
	return true;
}

struct relocs {
	const struct image *img;
	Elf_Data *data;
	bool wide; /* Elf64_Rela */
	bool rela;
	Elf_Data *syms;
	const char *names;
	size_t name_bytes;
};

static bool reloc_at(const struct relocs *r, size_t i, GElf_Rela *ret)
{
	GElf_Rel rel;

	if (r->wide) {
		if (i >= r->data->d_size / sizeof(*ret))
			return false;
		memcpy(ret, (const char *)r->data->d_buf + i * sizeof(*ret), sizeof(*ret));
		return true;
	}
	if (r->rela)
		return gelf_getrela(r->data, (int)i, ret) != NULL;
	if (!gelf_getrel(r->data, (int)i, &rel))
		return false;
	*ret = (GElf_Rela){.r_offset = rel.r_offset, .r_info = rel.r_info};
	return true;
}

/* A slot for an ifunc has no symbol: the resolver's address is its addend, and has a name perhaps.
 */
static const char *reloc_name(const struct relocs *r, const GElf_Rela *rel)
{
	uint64_t index = GELF_R_SYM(rel->r_info);
	struct symbol resolver;
	GElf_Sym sym;

	if (index == 0)
		return rel->r_addend &&
				symtab_name_of(r->img, (uint64_t)rel->r_addend, &resolver) == 0
			? resolver.name
			: NULL;
	if (!r->syms || index > INT32_MAX || !gelf_getsym(r->syms, (int)index, &sym) ||
		sym.st_name >= r->name_bytes || r->names[sym.st_name] == 0)
		return NULL;
	return r->names + sym.st_name;
}

/* The stubs that still have no name. */
struct wanted {
	struct plt_stub *stubs;
	uint32_t count;
	struct map *slots;    /* address -> index */
	uint64_t first, last; /* slot: nearly all relocations of a big file are elsewhere */
};

static void name_by_index(const struct relocs *r, const struct wanted *w)
{
	GElf_Rela rel;

	for (uint32_t i = 0; i < w->count; i++) {
		struct plt_stub *s = &w->stubs[i];

		if (!s->name && s->reloc > 0 && reloc_at(r, s->reloc - 1, &rel))
			s->name = reloc_name(r, &rel);
	}
}

static void name_by_slot(const struct relocs *r, const struct wanted *w)
{
	GElf_Rela rel;
	uint64_t i;

	for (size_t k = 0; k < RELOCS_MAX && reloc_at(r, k, &rel); k++)
		if (rel.r_offset >= w->first && rel.r_offset <= w->last &&
			map_get(w->slots, rel.r_offset, &i) && !w->stubs[i].name)
			w->stubs[i].name = reloc_name(r, &rel);
}

static bool section_relocs(
	const struct image *img, Elf_Scn *scn, const GElf_Shdr *sh, struct relocs *r)
{
	Elf_Scn *syms = elf_getscn(img->elf, sh->sh_link), *strs;
	GElf_Shdr h;

	*r = (struct relocs){.img = img, .rela = sh->sh_type == SHT_RELA};
	if (!image_section_bytes(img, sh))
		return false;
	r->data = elf_getdata(scn, NULL);
	if (syms && gelf_getshdr(syms, &h) && image_section_bytes(img, &h) &&
		(h.sh_type == SHT_DYNSYM || h.sh_type == SHT_SYMTAB)) {
		r->syms = elf_getdata(syms, NULL);
		strs = elf_getscn(img->elf, h.sh_link);
		if (strs && gelf_getshdr(strs, &h) &&
			(r->names = (const char *)image_section_bytes(img, &h)))
			r->name_bytes = h.sh_size;
		while (r->name_bytes > 0 && r->names[r->name_bytes - 1] != 0)
			r->name_bytes--;
	}
	r->wide = r->rela && r->data && r->data->d_buf && gelf_getclass(img->elf) == ELFCLASS64;
	return r->data != NULL;
}

static bool is_of_plt(const struct image *img, const GElf_Shdr *sh)
{
	const char *name = image_section_name(img, sh);

	return strcmp(name, ".rela.plt") == 0 || strcmp(name, ".rel.plt") == 0;
}

static void name_by_sections_of(const struct image *img, bool of_plt, const struct wanted *w)
{
	struct relocs r;
	GElf_Shdr sh;

	for (Elf_Scn *s = NULL; (s = elf_nextscn(img->elf, s)) != NULL;) {
		if (!gelf_getshdr(s, &sh) || (sh.sh_type != SHT_RELA && sh.sh_type != SHT_REL) ||
			!(sh.sh_flags & SHF_ALLOC) || is_of_plt(img, &sh) != of_plt ||
			!section_relocs(img, s, &sh, &r))
			continue;
		/* The pushed index counts in the table that belongs to the PLT. */
		if (of_plt)
			name_by_index(&r, w);
		name_by_slot(&r, w);
	}
}

static void name_by_sections(const struct image *img, const struct wanted *w)
{
	uint32_t named = 0;

	name_by_sections_of(img, true, w);
	for (uint32_t i = 0; i < w->count; i++)
		named += w->stubs[i].name != NULL;
	if (named < w->count)
		name_by_sections_of(img, false, w);
}

static void name_by_dynamic(const struct image *img, const struct wanted *w)
{
	struct dynamic dyn;
	struct relocs r = {.img = img};
	size_t syms;

	if (!dynamic_read(img, &dyn))
		return;
	r.data = dynamic_plt_relocs(img, &dyn, &r.rela);
	if (!r.data || !dynamic_strings(img, &dyn, &r.names, &r.name_bytes))
		return;
	r.syms = dynamic_symbols(img, &dyn, 1u << 20, &syms);
	name_by_index(&r, w);
	name_by_slot(&r, w);
}

static void want_slots(struct wanted *w)
{
	for (uint32_t i = 0; i < w->count; i++) {
		uint64_t slot = w->stubs[i].slot;

		if (!slot || map_get(w->slots, slot, &(uint64_t){0}))
			continue;
		(void)map_set(w->slots, slot, i);
		if (slot < w->first)
			w->first = slot;
		if (slot > w->last)
			w->last = slot;
	}
}

void plt_name_stubs(const struct image *img, struct plt_stub *stubs, uint32_t count)
{
	struct wanted w = {.stubs = stubs, .count = count, .first = UINT64_MAX};

	if (count == 0 || map_new(count, &w.slots) < 0)
		return;
	want_slots(&w);
	if (img->has_sections)
		name_by_sections(img, &w);
	else
		name_by_dynamic(img, &w);
	/* Several stubs may jump through one slot. */
	for (uint32_t i = 0; i < count; i++) {
		uint64_t first;

		if (!stubs[i].name && stubs[i].slot && map_get(w.slots, stubs[i].slot, &first))
			stubs[i].name = stubs[first].name;
	}
	map_free(w.slots);
}
