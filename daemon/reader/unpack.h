/* Debug sections packed with zstd, which libelf 0.188 cannot unpack. */
#ifndef PFL_READER_UNPACK_H
#define PFL_READER_UNPACK_H

#include <libelf.h>
#include "base/buf.h"
#include "daemon/reader/image.h"

struct unpacked {
	Elf *elf; /* NULL: nothing was packed so */
	struct buf file;
};

/* A file of the debug sections that names and lines need, if some of them are packed with zstd.
 * -EBADMSG: damaged, or too big; -ENOMEM. */
int unpack_init(struct unpacked *u, const struct image *img);
void unpack_done(struct unpacked *u);
/* One section into an empty buffer, max bytes at most. -ENOENT: it is not packed so; -EBADMSG,
 * -ENOMEM. */
int unpack_section(const struct image *img, const GElf_Shdr *sh, size_t max, struct buf *into);

#endif
