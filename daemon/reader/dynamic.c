#include "daemon/reader/dynamic.h"

#include <string.h>

#define DYN_MAX 4096 /* entries; real ones have some thirty */

static void take(struct dynamic *d, const GElf_Dyn *e)
{
	switch (e->d_tag) {
	case DT_SYMTAB: d->symtab = e->d_un.d_ptr; break;
	case DT_STRTAB: d->strtab = e->d_un.d_ptr; break;
	case DT_STRSZ: d->strsz = e->d_un.d_val; break;
	case DT_HASH: d->hash = e->d_un.d_ptr; break;
	case DT_GNU_HASH: d->gnu_hash = e->d_un.d_ptr; break;
	case DT_JMPREL: d->jmprel = e->d_un.d_ptr; break;
	case DT_PLTRELSZ: d->pltrelsz = e->d_un.d_val; break;
	case DT_PLTREL: d->pltrel = e->d_un.d_val; break;
	case DT_INIT: d->init = e->d_un.d_ptr; break;
	case DT_FINI: d->fini = e->d_un.d_ptr; break;
	default: break;
	}
}

static Elf_Data *chunk(const struct image *img, uint64_t off, uint64_t bytes, Elf_Type type)
{
	if (bytes == 0 || off > img->bytes || bytes > img->bytes - off)
		return NULL;
	return elf_getdata_rawchunk(img->elf, (int64_t)off, bytes, type);
}

bool dynamic_read(const struct image *img, struct dynamic *ret)
{
	size_t num = 0;
	GElf_Phdr ph;
	GElf_Dyn e;

	memset(ret, 0, sizeof(*ret));
	if (elf_getphdrnum(img->elf, &num) != 0)
		return false;
	for (size_t i = 0; i < num; i++) {
		Elf_Data *data;
		if (!gelf_getphdr(img->elf, (int)i, &ph) || ph.p_type != PT_DYNAMIC)
			continue;
		data = chunk(img, ph.p_offset, ph.p_filesz, ELF_T_DYN);
		for (int k = 0; data && k < DYN_MAX && gelf_getdyn(data, k, &e); k++) {
			if (e.d_tag == DT_NULL)
				break;
			take(ret, &e);
		}
		return ret->symtab != 0 && ret->strtab != 0;
	}
	return false;
}

static uint32_t word_at(const struct image *img, uint64_t vaddr, bool *ok)
{
	const uint8_t *p = image_at(img, vaddr, 4);
	uint32_t w = 0;

	if (!p) {
		*ok = false;
		return 0;
	}
	memcpy(&w, p, 4);
	if (img->ehdr.e_ident[EI_DATA] != ELFDATA2LSB)
		w = __builtin_bswap32(w);
	return w;
}

/* The GNU hash table states no count: the last chain's last entry is the last symbol. */
static size_t count_by_gnu_hash(const struct image *img, uint64_t table, size_t max)
{
	bool ok = true;
	uint32_t buckets = word_at(img, table, &ok), first = word_at(img, table + 4, &ok);
	uint32_t bloom = word_at(img, table + 8, &ok), last = 0;
	uint64_t word = img->ehdr.e_ident[EI_CLASS] == ELFCLASS64 ? 8 : 4;
	uint64_t at = table + 16 + bloom * word, chain = at + (uint64_t)buckets * 4;

	for (uint32_t i = 0; ok && i < buckets && i < max; i++) {
		uint32_t b = word_at(img, at + (uint64_t)i * 4, &ok);
		if (b > last)
			last = b;
	}
	if (!ok || last < first)
		return ok ? first : 0;
	while (ok && last < max && !(word_at(img, chain + (uint64_t)(last - first) * 4, &ok) & 1))
		last++;
	return ok ? (size_t)last + 1 : 0;
}

Elf_Data *dynamic_symbols(
	const struct image *img, const struct dynamic *d, size_t max, size_t *ret_count)
{
	size_t entry = gelf_fsize(img->elf, ELF_T_SYM, 1, EV_CURRENT), count = 0;
	uint64_t off, left;
	bool ok = true;

	if (!image_offset(img, d->symtab, &off, &left))
		return NULL;
	if (d->gnu_hash)
		count = count_by_gnu_hash(img, d->gnu_hash, max);
	if (count == 0 && d->hash)
		count = word_at(img, d->hash + 4, &ok);
	if (count == 0 && d->strtab > d->symtab)
		count = (d->strtab - d->symtab) / entry; /* the usual layout */
	if (count > left / entry)
		count = left / entry;
	if (count > max)
		count = max;
	*ret_count = count;
	return chunk(img, off, count * entry, ELF_T_SYM);
}

bool dynamic_strings(
	const struct image *img, const struct dynamic *d, const char **ret, size_t *ret_bytes)
{
	uint64_t off, left;

	if (!image_offset(img, d->strtab, &off, &left))
		return false;
	if (d->strsz < left)
		left = d->strsz;
	while (left > 0 && img->map[off + left - 1] != 0)
		left--;
	*ret = (const char *)img->map + off;
	*ret_bytes = left;
	return left > 0;
}

Elf_Data *dynamic_plt_relocs(const struct image *img, const struct dynamic *d, bool *ret_rela)
{
	uint64_t off, left;

	if (!d->jmprel || !image_offset(img, d->jmprel, &off, &left))
		return NULL;
	*ret_rela = d->pltrel == DT_RELA;
	return chunk(img, off, d->pltrelsz < left ? d->pltrelsz : left,
		*ret_rela ? ELF_T_RELA : ELF_T_REL);
}
