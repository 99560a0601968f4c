/* The ELF headers of a module, 32 and 64 bits, little-endian. Whoever made the file is not trusted:
 * every offset and count is checked against the image before a byte is read. libelf is not used
 * here: it would read far more than the few numbers that are needed, in the process that samples.
 */
#include "daemon/symbol/module.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#define SEGMENTS_MAX     256
#define SECTIONS_MAX     4096
#define NOTE_BYTES_MAX   65536
#define EH_FRAME_HDR_MIN 12 /* version, three encodings, a pointer and a count of 4 bytes each */

/* What is needed of the headers, whichever class they are of. */
struct headers {
	uint64_t phoff, shoff;
	uint16_t phentsize, phnum, shentsize, shstrndx;
	uint32_t shnum;
};

struct section {
	uint32_t name, type;
	uint64_t flags, addr, offset, bytes;
};

static bool read_at(const struct module *m, uint64_t offset, void *into, size_t len)
{
	if (offset > m->image_bytes || len > m->image_bytes - offset)
		return false;
	memcpy(into, m->image + offset, len);
	return true;
}

static int parse_ehdr(struct module *m, struct headers *h)
{
	unsigned char ident[EI_NIDENT];

	if (!read_at(m, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0)
		return -ENOEXEC;
	if (ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	m->is_64 = ident[EI_CLASS] == ELFCLASS64;
	if (m->is_64) {
		Elf64_Ehdr e;

		if (!read_at(m, 0, &e, sizeof(e)))
			return -ENOEXEC;
		*h = (struct headers){e.e_phoff, e.e_shoff, e.e_phentsize, e.e_phnum, e.e_shentsize,
			e.e_shstrndx, e.e_shnum};
		m->machine = e.e_machine;
		m->entry = e.e_entry;
	} else if (ident[EI_CLASS] == ELFCLASS32) {
		Elf32_Ehdr e;

		if (!read_at(m, 0, &e, sizeof(e)))
			return -ENOEXEC;
		*h = (struct headers){e.e_phoff, e.e_shoff, e.e_phentsize, e.e_phnum, e.e_shentsize,
			e.e_shstrndx, e.e_shnum};
		m->machine = e.e_machine;
		m->entry = e.e_entry;
	} else {
		return -ENOEXEC;
	}
	return 0;
}

static bool read_phdr(const struct module *m, const struct headers *h, unsigned i, Elf64_Phdr *ret)
{
	uint64_t at = h->phoff + (uint64_t)i * h->phentsize;
	Elf32_Phdr p;

	if (at < h->phoff)
		return false;
	if (m->is_64)
		return h->phentsize >= sizeof(*ret) && read_at(m, at, ret, sizeof(*ret));
	if (h->phentsize < sizeof(p) || !read_at(m, at, &p, sizeof(p)))
		return false;
	*ret = (Elf64_Phdr){.p_type = p.p_type,
		.p_flags = p.p_flags,
		.p_offset = p.p_offset,
		.p_vaddr = p.p_vaddr,
		.p_filesz = p.p_filesz,
		.p_memsz = p.p_memsz};
	return true;
}

static bool read_shdr(
	const struct module *m, const struct headers *h, unsigned i, struct section *ret)
{
	uint64_t at = h->shoff + (uint64_t)i * h->shentsize;

	if (h->shoff == 0 || at < h->shoff)
		return false;
	if (m->is_64) {
		Elf64_Shdr s;

		if (h->shentsize < sizeof(s) || !read_at(m, at, &s, sizeof(s)))
			return false;
		*ret = (struct section){
			s.sh_name, s.sh_type, s.sh_flags, s.sh_addr, s.sh_offset, s.sh_size};
	} else {
		Elf32_Shdr s;

		if (h->shentsize < sizeof(s) || !read_at(m, at, &s, sizeof(s)))
			return false;
		*ret = (struct section){
			s.sh_name, s.sh_type, s.sh_flags, s.sh_addr, s.sh_offset, s.sh_size};
	}
	return true;
}

/* Keeps only what the file really holds, so that later look-ups need no further check. */
static int add_segment(struct module *m, const Elf64_Phdr *p)
{
	struct module_segment *s = &m->segments[m->segment_count];

	if (p->p_vaddr + p->p_memsz < p->p_vaddr || p->p_memsz == 0)
		return -EBADMSG;
	s->vaddr = p->p_vaddr;
	s->mem_bytes = p->p_memsz;
	s->offset = p->p_offset;
	s->file_bytes = p->p_filesz < p->p_memsz ? p->p_filesz : p->p_memsz;
	s->exec = (p->p_flags & PF_X) != 0;
	s->write = (p->p_flags & PF_W) != 0;
	if (s->offset > m->image_bytes) {
		s->offset = 0;
		s->file_bytes = 0;
	} else if (s->file_bytes > m->image_bytes - s->offset) {
		s->file_bytes = m->image_bytes - s->offset;
	}
	m->segment_count++;
	return 0;
}

/* The GNU build id among notes of len bytes at offset. */
static void find_build_id(struct module *m, uint64_t offset, uint64_t len)
{
	uint64_t end;
	Elf64_Nhdr n; /* the same in both classes */

	if (m->build_id_bytes != 0 || offset > m->image_bytes)
		return;
	if (len > NOTE_BYTES_MAX)
		len = NOTE_BYTES_MAX;
	end = len > m->image_bytes - offset ? m->image_bytes : offset + len;
	while (end - offset >= sizeof(n) && read_at(m, offset, &n, sizeof(n))) {
		uint64_t name = offset + sizeof(n);
		uint64_t desc = name + (((uint64_t)n.n_namesz + 3) & ~UINT64_C(3));
		uint64_t next = desc + (((uint64_t)n.n_descsz + 3) & ~UINT64_C(3));

		if (desc > end || n.n_descsz > end - desc)
			return;
		if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && n.n_descsz > 0 &&
			n.n_descsz <= BUILD_ID_MAX && memcmp(m->image + name, "GNU", 4) == 0) {
			memcpy(m->build_id, m->image + desc, n.n_descsz);
			m->build_id_bytes = (uint8_t)n.n_descsz;
			return;
		}
		if (next > end)
			return;
		offset = next;
	}
}

static int parse_segments(struct module *m, const struct headers *h)
{
	unsigned count = h->phnum < SEGMENTS_MAX ? h->phnum : SEGMENTS_MAX;
	Elf64_Phdr p;

	m->segments = calloc(count ? count : 1, sizeof(*m->segments));
	if (!m->segments)
		return -ENOMEM;
	for (unsigned i = 0; i < count; i++) {
		if (!read_phdr(m, h, i, &p))
			return -EBADMSG;
		if (p.p_type == PT_LOAD) {
			if (p.p_memsz != 0 && add_segment(m, &p) < 0)
				return -EBADMSG;
		} else if (p.p_type == PT_GNU_EH_FRAME) {
			m->eh_frame_hdr = p.p_vaddr;
			m->eh_frame_hdr_bytes = p.p_filesz;
		} else if (p.p_type == PT_NOTE) {
			find_build_id(m, p.p_offset, p.p_filesz);
		}
	}
	return m->segment_count ? 0 : -EBADMSG;
}

static bool section_is(const struct module *m, const struct section *names, const struct section *s,
	const char *name)
{
	size_t len = strlen(name) + 1;

	if (s->name >= names->bytes || len > names->bytes - s->name ||
		names->offset > m->image_bytes || names->bytes > m->image_bytes - names->offset)
		return false;
	return memcmp(m->image + names->offset + s->name, name, len) == 0;
}

static void look_at_section(struct module *m, const struct section *names, const struct section *s)
{
	if (s->type == SHT_NOTE) {
		find_build_id(m, s->offset, s->bytes);
	} else if ((s->flags & SHF_ALLOC) && section_is(m, names, s, ".eh_frame")) {
		m->eh_frame = s->addr;
		m->eh_frame_bytes = s->bytes;
	} else if ((s->flags & SHF_ALLOC) && section_is(m, names, s, ".eh_frame_hdr")) {
		if (m->eh_frame_hdr == 0) {
			m->eh_frame_hdr = s->addr;
			m->eh_frame_hdr_bytes = s->bytes;
		}
	} else if (s->type == SHT_PROGBITS && !(s->flags & SHF_COMPRESSED) &&
		section_is(m, names, s, ".debug_frame")) {
		if (s->offset <= m->image_bytes && s->bytes <= m->image_bytes - s->offset) {
			m->debug_frame_offset = s->offset;
			m->debug_frame_bytes = s->bytes;
		}
	}
}

/* Section headers are a help, never needed: the kernel runs a file without them, or with nonsense
 * there. */
static void parse_sections(struct module *m, struct headers *h)
{
	struct section names, s;

	if (!read_shdr(m, h, 0, &s))
		return;
	if (h->shnum == 0) /* over 65,279 sections: the count is in the first one */
		h->shnum = s.bytes < SECTIONS_MAX ? (uint32_t)s.bytes : SECTIONS_MAX;
	if (h->shnum > SECTIONS_MAX)
		h->shnum = SECTIONS_MAX;
	if (!read_shdr(m, h, h->shstrndx, &names) || names.type != SHT_STRTAB)
		memset(&names, 0, sizeof(names));
	for (unsigned i = 1; i < h->shnum && read_shdr(m, h, i, &s); i++)
		look_at_section(m, &names, &s);
}

/* Where the file has no section headers, .eh_frame is found by the pointer in its search table. */
static void eh_frame_by_hdr(struct module *m)
{
	const uint8_t *hdr = module_bytes(m, m->eh_frame_hdr, EH_FRAME_HDR_MIN);
	int32_t rel;
	uint64_t at;

	if (!hdr || m->eh_frame != 0 || hdr[0] != 1 || hdr[1] != 0x1b) /* pcrel, sdata4 */
		return;
	memcpy(&rel, hdr + 4, sizeof(rel));
	at = m->eh_frame_hdr + 4 + (uint64_t)(int64_t)rel;
	for (unsigned i = 0; i < m->segment_count; i++) {
		const struct module_segment *s = &m->segments[i];

		if (at >= s->vaddr && at - s->vaddr < s->file_bytes) {
			m->eh_frame = at;
			m->eh_frame_bytes = s->vaddr + s->file_bytes - at;
			return;
		}
	}
}

/* A table that is not wholly in the file is as good as none. */
static void drop_bad_tables(struct module *m)
{
	if (m->eh_frame_hdr_bytes < EH_FRAME_HDR_MIN ||
		!module_bytes(m, m->eh_frame_hdr, m->eh_frame_hdr_bytes)) {
		m->eh_frame_hdr = 0;
		m->eh_frame_hdr_bytes = 0;
	}
	if (m->eh_frame_bytes == 0 || !module_bytes(m, m->eh_frame, m->eh_frame_bytes)) {
		m->eh_frame = 0;
		m->eh_frame_bytes = 0;
	}
}

int module_parse_headers(struct module *m)
{
	struct headers h;
	int error = parse_ehdr(m, &h);

	if (error < 0)
		return error;
	error = parse_segments(m, &h);
	if (error < 0)
		return error;
	parse_sections(m, &h);
	drop_bad_tables(m);
	eh_frame_by_hdr(m);
	return 0;
}
