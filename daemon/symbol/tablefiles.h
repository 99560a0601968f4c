/* Compiled unwind rules on disk, so that they are made once for each version of a file: a file for
 * each, known by the identity of what it was made of (device, inode, size, time of change, build
 * id) and by the version of this program. The oldest used go when there is too much. Belongs to one
 * thread. */
#ifndef PFL_SYMBOL_TABLEFILES_H
#define PFL_SYMBOL_TABLEFILES_H

#include <stdint.h>
#include "base/cleanup.h"
#include "daemon/symbol/module.h"

struct tablefiles_options {
	const char *dir; /* made if need be; nobody else writes there */
	uint64_t max_bytes, free_floor_bytes;
};

struct tablefiles;
int tablefiles_new(const struct tablefiles_options *options, struct tablefiles **ret_files);
void tablefiles_free(struct tablefiles *f);
AUTO_FREE_FN(struct tablefiles, tablefiles_free)

/* The table of that module, for module_set_table(). -ENOENT: there is none that is whole. */
int tablefiles_load(struct tablefiles *f, const struct module *m, struct cfi_table **ret_table);
/* Keeps a table. -EFBIG: it is too small to be worth a file, or too large. -ENOSPC: the disk would
 * have less than the floor left. */
int tablefiles_save(struct tablefiles *f, const struct module *m, const struct cfi_table *t);

#endif
