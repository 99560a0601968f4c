/* The kernel's symbols in a file, from one report to the next: to read them off the kernel takes
 * longer than all the rest of a small one, and so would parsing their text. They are those of one
 * kernel at one place in memory with the same modules; what comes and goes otherwise (BPF,
 * trampolines) is not kept. */
#ifndef PFL_SYMBOL_KERNELFILE_H
#define PFL_SYMBOL_KERNELFILE_H

#include <stddef.h>
#include <stdint.h>
#include "daemon/symbol/kallsyms.h"

struct kernelfile_key {
	uint64_t build_id; /* its hash */
	uint64_t text;     /* where the kernel begins */
	uint64_t modules;  /* the hash of /proc/modules */
};

/* The symbols as they were saved, mapped. -ESTALE: the file is of another key, damaged or empty.
 * -EWOULDBLOCK: somebody is writing it. Else nobody writes until fd is closed, or saved to. */
int kernelfile_load(int fd, const struct kernelfile_key *key, struct kallsyms **ret_syms);
/* In the place of what the file holds. text: of /proc/kallsyms. -EWOULDBLOCK: others read it. */
int kernelfile_save(int fd, const struct kernelfile_key *key, const char *text, size_t len);

#endif
