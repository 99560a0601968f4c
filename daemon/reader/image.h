/* One ELF file, mapped from a descriptor: what the tables of names are found in. Every header in it
 * may be nonsense; a section table that is gets left out of account, since the kernel runs such
 * files too. */
#ifndef PFL_READER_IMAGE_H
#define PFL_READER_IMAGE_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Code that one thing may own: an executable section, or segment where there are no sections. */
struct image_code {
	uint64_t start, end;
	bool plt; /* stubs made by the linker */
};

struct image {
	uint8_t *map;
	size_t bytes;
	Elf *elf;
	GElf_Ehdr ehdr;
	bool has_sections;
	bool damaged; /* it states sections that cannot be read */
	size_t shstrndx;
	struct image_code *code; /* ascending by start */
	size_t code_count;
};

/* fd stays the caller's. -EBADMSG: no ELF file. -EFBIG, -ENOMEM: too big to map. */
int image_open(int fd, struct image *img);
void image_done(struct image *img);

/* The section of that name; NULL: none. The header is filled in. */
Elf_Scn *image_section(const struct image *img, const char *name, GElf_Shdr *ret_shdr);
/* The first section of that type. */
Elf_Scn *image_section_of_type(const struct image *img, uint32_t type, GElf_Shdr *ret_shdr);
const char *image_section_name(const struct image *img, const GElf_Shdr *shdr);
/* The bytes of a section as they are in the file; NULL when they are not all there. */
const uint8_t *image_section_bytes(const struct image *img, const GElf_Shdr *shdr);
/* len bytes at that address, lent; NULL when they are not all in the file. */
const uint8_t *image_at(const struct image *img, uint64_t vaddr, size_t len);
/* The file offset of vaddr and how many bytes of its segment follow there. */
bool image_offset(
	const struct image *img, uint64_t vaddr, uint64_t *ret_offset, uint64_t *ret_left);
/* The code that holds vaddr, or NULL. */
const struct image_code *image_code_at(const struct image *img, uint64_t vaddr);

/* Bytes of the build id, at most max; 0: none. */
size_t image_build_id(const struct image *img, uint8_t *id, size_t max);
/* .gnu_debuglink. False: none, or damaged. */
bool image_debuglink(const struct image *img, char *name, size_t name_bytes, uint32_t *ret_crc);
/* The debug file belongs to img: by build id where both have one, else by the checksum of the link.
 */
bool image_debug_matches(const struct image *img, const struct image *debug);
/* .gnu_debugaltlink: the file that its DWARF has in common with others. False: none. */
bool image_altlink(const struct image *img, char *name, size_t name_bytes, uint8_t *id,
	size_t id_max, size_t *ret_id_bytes);
/* Sections of DWARF, compressed or not. */
bool image_has_dwarf(const struct image *img);
/* Each of its debug sections unpacks to a size that honest ones could have. */
bool image_dwarf_is_plausible(const struct image *img);
/* The ELF file packed in .gnu_debugdata; NULL: none. *ret_fd must outlive it. */
Elf *image_debugdata(const struct image *img, int *ret_fd);

uint32_t image_crc32(const uint8_t *data, size_t len);

#endif
