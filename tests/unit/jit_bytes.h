/* Records of a jitdump file, one after the other in a buf. */
#ifndef PFL_TESTS_JIT_BYTES_H
#define PFL_TESTS_JIT_BYTES_H

#include <stdint.h>
#include <string.h>
#include "base/buf.h"

static inline void jit_u32(struct buf *b, uint32_t x)
{
	buf_append(b, &x, sizeof(x));
}

static inline void jit_u64(struct buf *b, uint64_t x)
{
	buf_append(b, &x, sizeof(x));
}

static inline void jit_header(struct buf *b, uint32_t pid, uint64_t flags)
{
	jit_u32(b, 0x4A695444);
	jit_u32(b, 1);
	jit_u32(b, 40);
	jit_u32(b, 62);
	jit_u32(b, 0);
	jit_u32(b, pid);
	jit_u64(b, 1);
	jit_u64(b, flags);
}

static inline void jit_prefix(struct buf *b, uint32_t id, size_t body, uint64_t t_ns)
{
	jit_u32(b, id);
	jit_u32(b, (uint32_t)(16 + body));
	jit_u64(b, t_ns);
}

/* With bytes of code, 0xcc. */
static inline void jit_load(struct buf *b, uint64_t t_ns, uint64_t addr, uint64_t bytes,
	uint64_t index, const char *name)
{
	jit_prefix(b, 0, 40 + strlen(name) + 1 + bytes, t_ns);
	jit_u32(b, 7);
	jit_u32(b, 7);
	jit_u64(b, addr);
	jit_u64(b, addr);
	jit_u64(b, bytes);
	jit_u64(b, index);
	buf_append(b, name, strlen(name) + 1);
	for (uint64_t i = 0; i < bytes; i++)
		buf_append_char(b, (char)0xcc);
}

static inline void jit_move(
	struct buf *b, uint64_t t_ns, uint64_t from, uint64_t to, uint64_t bytes, uint64_t index)
{
	jit_prefix(b, 1, 48, t_ns);
	jit_u32(b, 7);
	jit_u32(b, 7);
	jit_u64(b, to);
	jit_u64(b, from);
	jit_u64(b, to);
	jit_u64(b, bytes);
	jit_u64(b, index);
}

struct jit_line {
	uint64_t addr;
	uint32_t line;
	const char *file; /* "\xff": that of the one before */
};

static inline void jit_lines(
	struct buf *b, uint64_t t_ns, uint64_t addr, const struct jit_line *lines, unsigned count)
{
	size_t body = 16;

	for (unsigned i = 0; i < count; i++)
		body += 16 + strlen(lines[i].file) + 1;
	jit_prefix(b, 2, body, t_ns);
	jit_u64(b, addr);
	jit_u64(b, count);
	for (unsigned i = 0; i < count; i++) {
		jit_u64(b, lines[i].addr);
		jit_u32(b, lines[i].line);
		jit_u32(b, 0);
		buf_append(b, lines[i].file, strlen(lines[i].file) + 1);
	}
}

/* For the next load, of 22 bytes of code: push %rbp at 0, sub $40,%rsp to 7, add from 16 to 20, pop
 * %rbp to 21, ret. */
static const uint8_t jit_eh_frame[] = {20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1,
	0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0, 32, 0, 0, 0, 28, 0, 0, 0, 0xc8, 0xff, 0xff, 0xff, 22, 0, 0,
	0, 0, 0x41, 0x0e, 16, 0x86, 2, 0x46, 0x0e, 56, 0x4d, 0x0e, 16, 0x41, 0x0e, 8, 0xc6, 0, 0, 0,
	0};

static inline void jit_unwinding(
	struct buf *b, uint64_t t_ns, const void *eh_frame, size_t bytes, size_t hdr_bytes)
{
	jit_prefix(b, 4, 24 + bytes + hdr_bytes, t_ns);
	jit_u64(b, bytes + hdr_bytes);
	jit_u64(b, hdr_bytes);
	jit_u64(b, 0);
	buf_append(b, eh_frame, bytes);
	for (size_t i = 0; i < hdr_bytes; i++)
		buf_append_char(b, 1);
}

#endif
