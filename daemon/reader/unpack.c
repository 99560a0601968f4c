#include "daemon/reader/unpack.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <zstd.h>
#include "daemon/reader/memelf.h"

#define ALL_MAX_BYTES ((size_t)320 << 20) /* the reader may have some 512 MB */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

/* Those that names, lines and inlined calls come from. */
static bool is_wanted(const char *name)
{
	static const char *const wanted[] = {"info", "abbrev", "line", "line_str", "str",
		"str_offsets", "addr", "ranges", "rnglists", "aranges", "types"};

	if (strncmp(name, ".debug_", 7) != 0)
		return strcmp(name, ".gnu_debugaltlink") == 0;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (strcmp(name + 7, wanted[i]) == 0)
			return true;
	return false;
}

/* The head of a section that is packed with zstd. */
static bool zstd_head(const struct image *img, const GElf_Shdr *sh, Elf64_Chdr *ret)
{
	const uint8_t *b = image_section_bytes(img, sh);

	if (!(sh->sh_flags & SHF_COMPRESSED) || !b || sh->sh_size < sizeof(*ret))
		return false;
	memcpy(ret, b, sizeof(*ret));
	return ret->ch_type == ELFCOMPRESS_ZSTD;
}

static bool any_zstd(const struct image *img)
{
	Elf64_Chdr head;
	GElf_Shdr sh;

	if (!img->has_sections || img->ehdr.e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(img->elf, s)) != NULL;)
		if (gelf_getshdr(s, &sh) && zstd_head(img, &sh, &head) &&
			is_wanted(image_section_name(img, &sh)))
			return true;
	return false;
}

static int add_section(struct memelf *m, const struct image *img, const GElf_Shdr *sh)
{
	const char *name = image_section_name(img, sh);
	const uint8_t *b = image_section_bytes(img, sh);
	Elf64_Chdr head;
	size_t n;
	void *to;

	if (!b || !is_wanted(name))
		return 0;
	if (!zstd_head(img, sh, &head)) {
		memelf_add(m, name, b, sh->sh_size, sh->sh_flags & SHF_COMPRESSED);
		return 0;
	}
	if (head.ch_size > ALL_MAX_BYTES)
		return -EBADMSG;
	to = memelf_room(m, name, head.ch_size);
	if (!to)
		return -EBADMSG;
	n = ZSTD_decompress(to, head.ch_size, b + sizeof(head), sh->sh_size - sizeof(head));
	return ZSTD_isError(n) || n != head.ch_size ? -EBADMSG : 0;
}

int unpack_init(struct unpacked *u, const struct image *img)
{
	struct memelf m;
	GElf_Shdr sh;
	int r = 0;

	memset(u, 0, sizeof(*u));
	if (!any_zstd(img))
		return 0;
	memelf_init(&m, ET_EXEC, img->ehdr.e_machine, ALL_MAX_BYTES);
	for (Elf_Scn *s = NULL; r == 0 && (s = elf_nextscn(img->elf, s)) != NULL;)
		if (gelf_getshdr(s, &sh))
			r = add_section(&m, img, &sh);
	if (r == 0)
		r = memelf_finish(&m);
	if (r == 0) {
		u->file = m.file;
		memset(&m.file, 0, sizeof(m.file));
		u->elf = elf_memory(u->file.data, u->file.len);
	}
	memelf_done(&m);
	if (r == 0 && !u->elf)
		r = -EBADMSG;
	if (r < 0)
		unpack_done(u);
	return r == -EFBIG ? -EBADMSG : r;
}

int unpack_section(const struct image *img, const GElf_Shdr *sh, size_t max, struct buf *into)
{
	Elf64_Chdr head;
	char *to;
	size_t n;
	int r;

	if (img->ehdr.e_ident[EI_CLASS] != ELFCLASS64 || !zstd_head(img, sh, &head))
		return -ENOENT;
	if (head.ch_size > max)
		return -EBADMSG;
	r = buf_reserve(into, head.ch_size, &to);
	if (r < 0)
		return r;
	n = ZSTD_decompress(to, head.ch_size, image_section_bytes(img, sh) + sizeof(head),
		sh->sh_size - sizeof(head));
	if (ZSTD_isError(n) || n != head.ch_size)
		return -EBADMSG;
	into->len = n;
	return 0;
}

void unpack_done(struct unpacked *u)
{
	if (u->elf)
		elf_end(u->elf);
	buf_done(&u->file);
	memset(u, 0, sizeof(*u));
}
