/* The text of /proc/PID/maps to entries. */
#ifndef PFL_PROC_MAPS_H
#define PFL_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct maps_entry {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* in the file, bytes */
	dev_t dev;           /* as makedev() */
	uint64_t inode;      /* 0: no file */
	int prot;            /* PROT_READ | PROT_WRITE | PROT_EXEC */
	const char
		*path; /* unescaped, " (deleted)" kept; "" when there is none; lent for the call */
};

typedef int (*maps_fn)(const struct maps_entry *e, void *arg);
/* Calls fn for each line; stops at the first result of it that is not 0 and returns that. Lines
 * that do not parse are passed over and counted in *ret_bad (may be NULL). */
int maps_parse(const char *text, size_t len, maps_fn fn, void *arg, size_t *ret_bad);

/* The length of path without a trailing " (deleted)". Only the caller can know whether that is the
 * kernel's mark or part of a living file's name: by opening the mapping and comparing. */
size_t maps_undeleted_len(const char *path);

#endif
