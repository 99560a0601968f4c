/* Split DWARF: the files with the greater part of a unit's entries, which libdw wants to open by
 * name. Here nothing can be opened; what the engine has found is handed over instead. */
#ifndef PFL_READER_SPLIT_H
#define PFL_READER_SPLIT_H

#include <stdbool.h>
#include <stdint.h>
#include "daemon/reader/image.h"

struct split {
	struct image package; /* a .dwp */
	bool is_package;
	const uint8_t *files; /* else: as struct reader_files_head has it */
	size_t bytes;
};

/* fd stays the caller's. -EBADMSG. */
int split_open(struct split *s, int fd, bool is_package);
void split_done(struct split *s);
/* From here to split_leave() whatever libdw opens by name is the file of that unit, or is not
 * there. s may be NULL: then nothing is. */
void split_enter(const struct split *s, uint64_t unit_id);
void split_leave(void);

#endif
