/* One pinned ELF file (or vdso): identity, segments, and its bytes mapped read-only. Made by the
 * sampler thread, immutable afterwards, counted: any thread may hold one. */
#ifndef PFL_SYMBOL_MODULE_H
#define PFL_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "base/cleanup.h"

#define BUILD_ID_MAX 64

struct module_segment {
	uint64_t vaddr, mem_bytes;   /* in the file's own address space */
	uint64_t offset, file_bytes; /* in the file */
	bool exec, write;
};

struct module {
	uint32_t id; /* unique while the engine lives, from 1 */
	char *path;  /* as mapped, without " (deleted)"; "[vdso]" */
	dev_t dev;
	uint64_t inode, size_bytes;
	int64_t mtime_ns;
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_bytes; /* 0: none */
	pid_t pid;              /* the process it was first seen in, for its debug files; 0: none */
	int fd;                 /* -1: could not be opened; error says why */
	int error;              /* 0, or the negative errno of opening or of its headers */
	const uint8_t *image;   /* the whole file, or NULL; may shrink under us: see sigbus.h */
	size_t image_bytes;
	struct module_segment *segments;
	unsigned segment_count;
	uint64_t eh_frame_hdr, eh_frame_hdr_bytes;      /* vaddr; 0: none */
	uint64_t eh_frame, eh_frame_bytes;              /* vaddr; 0: unknown */
	uint64_t debug_frame_offset, debug_frame_bytes; /* in the file, not compressed; 0: none */
	uint16_t machine;                               /* as in <elf.h>: EM_X86_64, … */
	bool is_64;
	bool is_vdso;
	uint64_t entry; /* vaddr where the kernel starts it; 0: a library without a start */
};

struct module *module_ref(struct module *m);
void module_unref(struct module *m);
AUTO_FREE_FN(struct module, module_unref)
/* Its compiled unwind rules (daemon/cfi/table.h), lent with the module; NULL: none, or not yet. Any
 * thread. */
struct cfi_table;
const struct cfi_table *module_table(const struct module *m);
/* True for the first one to ask, who is to see that they get made: no second one is told so. */
bool module_claim_table(struct module *m);
/* Takes the table (from malloc) and its mapping. Once, by whoever claimed it. */
void module_set_table(struct module *m, struct cfi_table *table);
/* What was read of the file, and of its table if that is one on disk, is left to the page cache; it
 * comes back when it is read again. */
void module_let_go_of_pages(const struct module *m);
/* False when the caller's reference is the only one; only a hint unless nobody else can take one.
 */
bool module_is_shared(const struct module *m);

/* Takes fd, also when it fails. A file whose headers are nonsense still gives a module, with error
 * set: -ENOEXEC no ELF file, -EBADMSG one with impossible headers, or the errno of mapping it.
 * -ENOMEM. */
int module_new(uint32_t id, const char *path, int fd, struct module **ret_module);
/* One that stands for a file that cannot be opened: it has a path and the error alone. */
int module_new_unreadable(uint32_t id, const char *path, int error, struct module **ret_module);
/* The vdso of this kernel, from our own process; its fd is a memfd where one is to be had. */
int module_new_vdso(uint32_t id, struct module **ret_module);

/* File offset to the file's own address and back. False: in no segment. */
bool module_vaddr_of_offset(const struct module *m, uint64_t offset, uint64_t *ret_vaddr);
/* Of its first segment of code: vaddr less offset; 0 when there is none. */
uint64_t module_code_bias(const struct module *m);
bool module_offset_of_vaddr(const struct module *m, uint64_t vaddr, uint64_t *ret_offset);
/* len bytes at vaddr, lent; NULL when they are not all in the file. */
const void *module_bytes(const struct module *m, uint64_t vaddr, size_t len);

/* ELF headers alone, out of image: segments (allocated), build id, unwind sections. Fuzzed. Used by
 * module_new, which frees the segments. -ENOEXEC, -EBADMSG, -ENOMEM. */
int module_parse_headers(struct module *m);

#endif
