#include "daemon/reader/memelf.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

void memelf_init(struct memelf *m, uint16_t type, uint16_t machine, size_t max_bytes)
{
	Elf64_Ehdr ehdr = {0};
	Elf64_Shdr none = {0};

	memset(m, 0, sizeof(*m));
	m->type = type;
	m->machine = machine;
	m->file.max_bytes = max_bytes;
	buf_append(&m->file, &ehdr, sizeof(ehdr)); /* filled in at the end */
	buf_append(&m->headers, &none, sizeof(none));
	buf_append_char(&m->names, 0);
}

void memelf_done(struct memelf *m)
{
	buf_done(&m->file);
	buf_done(&m->headers);
	buf_done(&m->names);
}

static void align(struct memelf *m)
{
	static const char zero[8];

	if (m->file.len % 8)
		buf_append(&m->file, zero, 8 - m->file.len % 8);
}

static void add_header(
	struct memelf *m, const char *name, uint32_t type, size_t len, uint64_t flags)
{
	Elf64_Shdr h = {.sh_name = (Elf64_Word)m->names.len,
		.sh_type = type,
		.sh_flags = flags,
		.sh_offset = m->file.len,
		.sh_size = len,
		.sh_addralign = flags & SHF_COMPRESSED ? 8 : 1};

	buf_append(&m->headers, &h, sizeof(h));
	buf_append(&m->names, name, strlen(name) + 1);
}

void memelf_add(struct memelf *m, const char *name, const void *data, size_t len, uint64_t flags)
{
	align(m);
	add_header(m, name, SHT_PROGBITS, len, flags);
	buf_append(&m->file, data, len);
}

void *memelf_room(struct memelf *m, const char *name, size_t len)
{
	char *at;

	align(m);
	add_header(m, name, SHT_PROGBITS, len, 0);
	if (m->file.error || buf_reserve(&m->file, len, &at) < 0)
		return NULL;
	m->file.len += len;
	return at;
}

int memelf_finish(struct memelf *m)
{
	Elf64_Ehdr ehdr = {.e_type = m->type,
		.e_machine = m->machine,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(ehdr),
		.e_shentsize = sizeof(Elf64_Shdr)};
	size_t names_bytes;

	align(m);
	names_bytes = m->names.len + sizeof(".shstrtab");
	add_header(m, ".shstrtab", SHT_STRTAB, names_bytes, 0);
	buf_append(&m->file, m->names.data, m->names.len);
	align(m);
	memcpy(ehdr.e_ident, ELFMAG, SELFMAG);
	ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	ehdr.e_ident[EI_DATA] =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
	ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	ehdr.e_shoff = m->file.len;
	ehdr.e_shnum = (Elf64_Half)(m->headers.len / sizeof(Elf64_Shdr));
	ehdr.e_shstrndx = (Elf64_Half)(ehdr.e_shnum - 1);
	buf_append(&m->file, m->headers.data, m->headers.len);
	if (m->names.error || m->headers.error)
		return -ENOMEM;
	if (m->file.error)
		return m->file.error;
	memcpy(m->file.data, &ehdr, sizeof(ehdr));
	return 0;
}
