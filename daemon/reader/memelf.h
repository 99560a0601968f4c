/* A 64-bit ELF file of debug sections, put together in memory. */
#ifndef PFL_READER_MEMELF_H
#define PFL_READER_MEMELF_H

#include <stddef.h>
#include <stdint.h>
#include "base/buf.h"

struct memelf {
	struct buf file; /* header, sections, and once it is finished the table of sections */
	struct buf headers, names;
	uint16_t type, machine;
};

/* Memory that runs out, or max_bytes, shows when it is finished. type: ET_EXEC, ET_REL. */
void memelf_init(struct memelf *m, uint16_t type, uint16_t machine, size_t max_bytes);
void memelf_done(struct memelf *m);
void memelf_add(struct memelf *m, const char *name, const void *data, size_t len, uint64_t flags);
/* A section of that size to be filled before the next call; NULL: no memory. */
void *memelf_room(struct memelf *m, const char *name, size_t len);
/* After this file.data and file.len are the whole. -ENOMEM, -EFBIG. */
int memelf_finish(struct memelf *m);

#endif
