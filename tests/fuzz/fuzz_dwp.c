/* Packages of split DWARF of any bytes: a unit's file is made or refused, and libelf can read it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/io.h"
#include "daemon/reader/dwp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void extract(const struct image *package, uint64_t id)
{
	struct buf file = BUF_INIT;
	Elf *elf;

	if (dwp_extract(package, id, &file) < 0)
		return;
	elf = elf_memory(file.data, file.len);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		abort();
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) != NULL;)
		if (!elf_rawdata(s, NULL))
			abort();
	elf_end(elf);
	buf_done(&file);
}

/* The first eight bytes are the unit that is asked for beside those of the index. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image package;
	uint64_t id;
	GElf_Shdr sh;
	int fd;

	if (size < sizeof(id))
		return 0;
	memcpy(&id, data, sizeof(id));
	fd = memfd_create("dwp", MFD_CLOEXEC);
	if (fd < 0 || io_write_all(fd, data + sizeof(id), size - sizeof(id)) < 0)
		abort();
	if (image_open(fd, &package) == 0) {
		extract(&package, id);
		if (image_section(&package, ".debug_cu_index", &sh) && sh.sh_size >= 24 &&
			image_section_bytes(&package, &sh)) {
			memcpy(&id, image_section_bytes(&package, &sh) + 16, sizeof(id));
			extract(&package, id);
		}
		image_done(&package);
	}
	close(fd);
	return 0;
}
