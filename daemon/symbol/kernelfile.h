/* The kernel's symbols in a file, from one report to the next: to read them off the kernel takes
 * longer than all the rest of a small one. They are those of one kernel at one place in memory with
 * the same modules; what comes and goes otherwise (BPF, trampolines) is not kept. */
#ifndef PFL_SYMBOL_KERNELFILE_H
#define PFL_SYMBOL_KERNELFILE_H

#include <stdint.h>
#include "base/buf.h"

struct kernelfile_key {
	uint64_t build_id; /* its hash */
	uint64_t text;     /* where the kernel begins */
	uint64_t modules;  /* the hash of /proc/modules */
};

/* Appends the text to into. -ESTALE: the file is of another key, damaged or empty. */
int kernelfile_load(int fd, const struct kernelfile_key *key, struct buf *into);
/* In the place of what the file holds. text: of /proc/kallsyms. */
int kernelfile_save(int fd, const struct kernelfile_key *key, const char *text, size_t len);

#endif
