#include "daemon/reader/image.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/io.h"

#define FILE_MAX_BYTES      (16ull << 30) /* debug files of browsers reach some 5 GB */
#define DEBUGDATA_MAX_BYTES (64u << 20)   /* packed; a distribution's largest are some 5 MB */
#define CODE_MAX            65536

/* The section table lies in the file as a whole. libelf takes some damaged ones for an empty table
 * and refuses the file for others; either way only the program headers count then. */
static bool sections_are_sane(const struct image *img)
{
	size_t num = 0, str = 0;
	size_t entry = gelf_fsize(img->elf, ELF_T_SHDR, 1, EV_CURRENT);

	if (img->ehdr.e_shoff == 0 || img->ehdr.e_shentsize != entry)
		return false;
	if (elf_getshdrnum(img->elf, &num) != 0 || num < 2)
		return false;
	if (img->ehdr.e_shoff > img->bytes || num > (img->bytes - img->ehdr.e_shoff) / entry)
		return false;
	return elf_getshdrstrndx(img->elf, &str) == 0 && str < num;
}

/* Our own copy of those pages, to write to: the file itself stays as it is, and so do the limits on
 * memory, as only what is written to counts. */
static int make_writable(struct image *img, uint64_t offset, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = offset & ~(page - 1);

	return mprotect(img->map + first, offset + bytes - first, PROT_READ | PROT_WRITE) != 0
		? -errno
		: 0;
}

/* Wipes the section table out of the first page, so that libelf takes the rest. */
static int open_without_sections(struct image *img)
{
	int r;

	if (img->elf)
		elf_end(img->elf);
	img->elf = NULL;
	if (img->bytes < sizeof(Elf64_Ehdr))
		return -EBADMSG;
	r = make_writable(img, 0, sizeof(Elf64_Ehdr));
	if (r < 0)
		return r;
	if (img->map[EI_CLASS] == ELFCLASS64) {
		Elf64_Ehdr *h = (Elf64_Ehdr *)img->map;
		img->damaged = h->e_shoff != 0;
		h->e_shoff = 0;
		h->e_shnum = h->e_shstrndx = 0;
	} else {
		Elf32_Ehdr *h = (Elf32_Ehdr *)img->map;
		img->damaged = h->e_shoff != 0;
		h->e_shoff = 0;
		h->e_shnum = h->e_shstrndx = 0;
	}
	img->elf = elf_memory((char *)img->map, img->bytes);
	if (!img->elf || elf_kind(img->elf) != ELF_K_ELF || !gelf_getehdr(img->elf, &img->ehdr))
		return -EBADMSG;
	return 0;
}

static int open_elf(struct image *img)
{
	img->elf = elf_memory((char *)img->map, img->bytes);
	if (img->elf && elf_kind(img->elf) == ELF_K_ELF && gelf_getehdr(img->elf, &img->ehdr) &&
		sections_are_sane(img)) {
		size_t num = 0;
		elf_getshdrstrndx(img->elf, &img->shstrndx);
		elf_getshdrnum(img->elf, &num);
		img->has_sections = true;
		/* libelf notes there which sections it has unpacked. */
		return make_writable(img, img->ehdr.e_shoff, num * img->ehdr.e_shentsize);
	}
	return open_without_sections(img);
}

static int map_file(int fd, struct image *img)
{
	struct stat st;

	/* The system call itself: the C library's fstat() is one that can also name files. */
	if (syscall(SYS_fstat, fd, &st) != 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EBADMSG;
	if (st.st_size < (off_t)sizeof(Elf32_Ehdr))
		return -EBADMSG;
	if ((uint64_t)st.st_size > FILE_MAX_BYTES)
		return -EFBIG;
	img->bytes = (size_t)st.st_size;
	img->map = mmap(NULL, img->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (img->map == MAP_FAILED) {
		img->map = NULL;
		return errno == ENOMEM ? -EFBIG : -errno;
	}
	if (memcmp(img->map, ELFMAG, SELFMAG) != 0)
		return -EBADMSG;
	return 0;
}

static bool is_plt(const char *name)
{
	return strcmp(name, ".plt") == 0 || strncmp(name, ".plt.", 5) == 0 ||
		strcmp(name, ".iplt") == 0;
}

static int add_code(struct image *img, uint64_t start, uint64_t bytes, bool plt)
{
	struct image_code *more;

	if (bytes == 0 || bytes > UINT64_MAX - start || img->code_count == CODE_MAX)
		return 0;
	if ((img->code_count & (img->code_count - 1)) == 0) {
		size_t room = img->code_count ? img->code_count * 2 : 1;
		more = realloc(img->code, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		img->code = more;
	}
	img->code[img->code_count++] =
		(struct image_code){.start = start, .end = start + bytes, .plt = plt};
	return 0;
}

static int by_start(const void *a, const void *b)
{
	const struct image_code *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int find_code_sections(struct image *img)
{
	GElf_Shdr sh;

	for (Elf_Scn *s = NULL; (s = elf_nextscn(img->elf, s)) != NULL;) {
		if (!gelf_getshdr(s, &sh) || !(sh.sh_flags & SHF_ALLOC) ||
			!(sh.sh_flags & SHF_EXECINSTR))
			continue;
		int r = add_code(img, sh.sh_addr, sh.sh_size, is_plt(image_section_name(img, &sh)));
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_code_segments(struct image *img)
{
	size_t num = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(img->elf, &num) != 0)
		return 0;
	for (size_t i = 0; i < num; i++) {
		if (!gelf_getphdr(img->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
			!(ph.p_flags & PF_X))
			continue;
		int r = add_code(img, ph.p_vaddr, ph.p_memsz, false);
		if (r < 0)
			return r;
	}
	return 0;
}

static int find_code(struct image *img)
{
	int r = img->has_sections ? find_code_sections(img) : 0;

	if (r == 0 && img->code_count == 0)
		r = find_code_segments(img);
	if (r == 0 && img->code_count > 1)
		qsort(img->code, img->code_count, sizeof(*img->code), by_start);
	return r;
}

int image_open(int fd, struct image *img)
{
	int r;

	memset(img, 0, sizeof(*img));
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOTSUP;
	r = map_file(fd, img);
	if (r == 0)
		r = open_elf(img);
	if (r == 0)
		r = find_code(img);
	if (r < 0)
		image_done(img);
	return r;
}

void image_done(struct image *img)
{
	if (img->elf)
		elf_end(img->elf);
	if (img->map)
		munmap(img->map, img->bytes);
	free(img->code);
	memset(img, 0, sizeof(*img));
}

const char *image_section_name(const struct image *img, const GElf_Shdr *shdr)
{
	GElf_Shdr names;
	Elf_Scn *s = elf_getscn(img->elf, img->shstrndx);
	const uint8_t *bytes;

	if (!s || !gelf_getshdr(s, &names))
		return "";
	bytes = image_section_bytes(img, &names);
	if (!bytes || shdr->sh_name >= names.sh_size ||
		!memchr(bytes + shdr->sh_name, 0, names.sh_size - shdr->sh_name))
		return "";
	return (const char *)bytes + shdr->sh_name;
}

Elf_Scn *image_section(const struct image *img, const char *name, GElf_Shdr *ret_shdr)
{
	if (!img->has_sections)
		return NULL;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(img->elf, s)) != NULL;)
		if (gelf_getshdr(s, ret_shdr) &&
			strcmp(image_section_name(img, ret_shdr), name) == 0)
			return s;
	return NULL;
}

Elf_Scn *image_section_of_type(const struct image *img, uint32_t type, GElf_Shdr *ret_shdr)
{
	if (!img->has_sections)
		return NULL;
	for (Elf_Scn *s = NULL; (s = elf_nextscn(img->elf, s)) != NULL;)
		if (gelf_getshdr(s, ret_shdr) && ret_shdr->sh_type == type)
			return s;
	return NULL;
}

const uint8_t *image_section_bytes(const struct image *img, const GElf_Shdr *shdr)
{
	if (shdr->sh_type == SHT_NOBITS || shdr->sh_offset > img->bytes ||
		shdr->sh_size > img->bytes - shdr->sh_offset)
		return NULL;
	return img->map + shdr->sh_offset;
}

bool image_offset(const struct image *img, uint64_t vaddr, uint64_t *ret_offset, uint64_t *ret_left)
{
	size_t num = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(img->elf, &num) != 0)
		return false;
	for (size_t i = 0; i < num; i++) {
		uint64_t off, left;
		if (!gelf_getphdr(img->elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
			vaddr < ph.p_vaddr || vaddr - ph.p_vaddr >= ph.p_filesz)
			continue;
		left = ph.p_filesz - (vaddr - ph.p_vaddr);
		if (__builtin_add_overflow(ph.p_offset, vaddr - ph.p_vaddr, &off) ||
			off >= img->bytes)
			continue;
		*ret_offset = off;
		*ret_left = left < img->bytes - off ? left : img->bytes - off;
		return true;
	}
	return false;
}

const uint8_t *image_at(const struct image *img, uint64_t vaddr, size_t len)
{
	uint64_t off, left;

	if (!image_offset(img, vaddr, &off, &left) || len > left)
		return NULL;
	return img->map + off;
}

const struct image_code *image_code_at(const struct image *img, uint64_t vaddr)
{
	size_t lo = 0, hi = img->code_count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (img->code[mid].start <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || vaddr >= img->code[lo - 1].end)
		return NULL;
	return &img->code[lo - 1];
}

static size_t build_id_in(Elf_Data *data, uint8_t *id, size_t max)
{
	GElf_Nhdr nh;
	size_t pos = 0, next, name, desc;

	while (data && (next = gelf_getnote(data, pos, &nh, &name, &desc)) > 0) {
		const uint8_t *b = data->d_buf;
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == 4 &&
			memcmp(b + name, "GNU", 4) == 0 && nh.n_descsz > 0 && nh.n_descsz <= max) {
			memcpy(id, b + desc, nh.n_descsz);
			return nh.n_descsz;
		}
		pos = next;
	}
	return 0;
}

static Elf_Data *segment_notes(const struct image *img, const GElf_Phdr *ph)
{
	if (ph->p_type != PT_NOTE || ph->p_offset > img->bytes ||
		ph->p_filesz > img->bytes - ph->p_offset)
		return NULL;
	return elf_getdata_rawchunk(img->elf, (int64_t)ph->p_offset, ph->p_filesz,
		ph->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
}

size_t image_build_id(const struct image *img, uint8_t *id, size_t max)
{
	GElf_Shdr sh;
	GElf_Phdr ph;
	size_t num = 0, n = 0;

	/* Sections first: in a separate debug file the segments' offsets point at nothing. */
	if (img->has_sections)
		for (Elf_Scn *s = NULL; (s = elf_nextscn(img->elf, s)) != NULL;)
			if (gelf_getshdr(s, &sh) && sh.sh_type == SHT_NOTE &&
				image_section_bytes(img, &sh) &&
				(n = build_id_in(elf_getdata(s, NULL), id, max)) > 0)
				return n;
	if (elf_getphdrnum(img->elf, &num) != 0)
		return 0;
	for (size_t i = 0; i < num; i++)
		if (gelf_getphdr(img->elf, (int)i, &ph) &&
			(n = build_id_in(segment_notes(img, &ph), id, max)) > 0)
			return n;
	return 0;
}

bool image_debuglink(const struct image *img, char *name, size_t name_bytes, uint32_t *ret_crc)
{
	GElf_Shdr sh;
	const uint8_t *b;
	size_t len, at;

	if (!image_section(img, ".gnu_debuglink", &sh))
		return false;
	b = image_section_bytes(img, &sh);
	if (!b || !memchr(b, 0, sh.sh_size))
		return false;
	len = strlen((const char *)b);
	at = (len + 4) & ~(size_t)3;
	if (len == 0 || len >= name_bytes || at + 4 > sh.sh_size)
		return false;
	memcpy(name, b, len + 1);
	memcpy(ret_crc, b + at, 4);
	return true;
}

/* CRC-32 as in zlib, eight bytes a step: debug files are large. */
uint32_t image_crc32(const uint8_t *data, size_t len)
{
	static uint32_t t[8][256];
	uint32_t crc = ~0u;

	if (t[0][1] == 0) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;
			for (int k = 0; k < 8; k++)
				c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
			t[0][i] = c;
		}
		for (uint32_t i = 0; i < 256; i++)
			for (int k = 1; k < 8; k++)
				t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
	}
	for (; len >= 8; data += 8, len -= 8) {
		uint32_t a, b;
		memcpy(&a, data, 4);
		memcpy(&b, data + 4, 4);
		a ^= crc;
		crc = t[7][a & 0xff] ^ t[6][(a >> 8) & 0xff] ^ t[5][(a >> 16) & 0xff] ^
			t[4][a >> 24] ^ t[3][b & 0xff] ^ t[2][(b >> 8) & 0xff] ^
			t[1][(b >> 16) & 0xff] ^ t[0][b >> 24];
	}
	while (len-- > 0)
		crc = (crc >> 8) ^ t[0][(crc ^ *data++) & 0xff];
	return ~crc;
}

bool image_debug_matches(const struct image *img, const struct image *debug)
{
	uint8_t a[64], b[64];
	char name[256];
	uint32_t crc = 0;
	size_t an = image_build_id(img, a, sizeof(a));
	size_t bn = image_build_id(debug, b, sizeof(b));

	if (img->ehdr.e_machine != debug->ehdr.e_machine ||
		img->ehdr.e_ident[EI_CLASS] != debug->ehdr.e_ident[EI_CLASS])
		return false;
	if (an > 0 && bn > 0)
		return an == bn && memcmp(a, b, an) == 0;
	return image_debuglink(img, name, sizeof(name), &crc) &&
		image_crc32(debug->map, debug->bytes) == crc;
}

bool image_altlink(const struct image *img, char *name, size_t name_bytes, uint8_t *id,
	size_t id_max, size_t *ret_id_bytes)
{
	GElf_Shdr sh;
	const uint8_t *b;
	size_t len;

	if (!image_section(img, ".gnu_debugaltlink", &sh) || (sh.sh_flags & SHF_COMPRESSED))
		return false;
	b = image_section_bytes(img, &sh);
	len = b ? strnlen((const char *)b, sh.sh_size) : 0;
	if (len == 0 || len >= name_bytes || len + 1 >= sh.sh_size || sh.sh_size - len - 1 > id_max)
		return false;
	memcpy(name, b, len + 1);
	*ret_id_bytes = sh.sh_size - len - 1;
	memcpy(id, b + len + 1, *ret_id_bytes);
	return true;
}

bool image_has_dwarf(const struct image *img)
{
	GElf_Shdr sh;

	return (image_section(img, ".debug_info", &sh) && sh.sh_type != SHT_NOBITS) ||
		image_section(img, ".zdebug_info", &sh) != NULL;
}

/* Bytes that a section states to unpack to; 0: it is not packed, or not in a way that we know. */
static uint64_t unpacked_bytes(const struct image *img, Elf_Scn *scn, const GElf_Shdr *sh)
{
	const uint8_t *b = image_section_bytes(img, sh);
	uint64_t size = 0;
	GElf_Chdr ch;

	if (sh->sh_flags & SHF_COMPRESSED)
		return gelf_getchdr(scn, &ch) ? ch.ch_size : 0;
	/* The old form: "ZLIB" and the size, big-endian. */
	if (strncmp(image_section_name(img, sh), ".zdebug_", 8) != 0 || !b || sh->sh_size < 12)
		return 0;
	for (int i = 4; i < 12; i++)
		size = size << 8 | b[i];
	return size;
}

/* Compilers' sections become a third to a tenth; a thousandth is a trap that costs seconds to
 * unpack. */
#define PACKED_RATIO_MAX   64
#define PACKED_SMALL_BYTES (4u << 20)

bool image_dwarf_is_plausible(const struct image *img)
{
	GElf_Shdr sh;

	for (Elf_Scn *s = NULL; (s = elf_nextscn(img->elf, s)) != NULL;) {
		uint64_t bytes = gelf_getshdr(s, &sh) ? unpacked_bytes(img, s, &sh) : 0;
		if (bytes > PACKED_SMALL_BYTES && bytes / PACKED_RATIO_MAX > sh.sh_size)
			return false;
	}
	return true;
}

Elf *image_debugdata(const struct image *img, int *ret_fd)
{
	AUTO(close_auto) int fd = -1;
	GElf_Shdr sh;
	const uint8_t *b;
	Elf *elf;

	if (!image_section(img, ".gnu_debugdata", &sh))
		return NULL;
	b = image_section_bytes(img, &sh);
	if (!b || sh.sh_size == 0 || sh.sh_size > DEBUGDATA_MAX_BYTES)
		return NULL;
	/* libdw unpacks xz by itself when it is handed a file. */
	fd = memfd_create("debugdata", MFD_CLOEXEC);
	if (fd < 0 || io_write_all(fd, b, sh.sh_size) < 0)
		return NULL;
	elf = dwelf_elf_begin(fd);
	if (elf && elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return NULL;
	}
	if (elf)
		*ret_fd = MOVE_FD(fd);
	return elf;
}
