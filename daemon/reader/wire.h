/* What engine and reader say to each other, over a SOCK_SEQPACKET pair: a request with descriptors,
 * an answer with a sealed memfd or none. One request at a time. Same machine, same build: native
 * layout, sizes asserted; the engine trusts nothing that the reader wrote and checks each bound. */
#ifndef PFL_READER_WIRE_H
#define PFL_READER_WIRE_H

#include <stdint.h>

#define READER_VERSION      1
#define READER_ADDRS_MAX    65536
#define READER_ANSWER_MAX   (256u << 20)
#define READER_WALL_SECONDS 3 /* a request that takes longer ends the reader */

enum reader_op {
	READER_PING = 1,
	READER_SYMBOLS,   /* fd 0: the file; fd 1 (optional): its debug file. addresses -> names */
	READER_INLINES,   /* the same with file, line and inline frames from DWARF */
	READER_DEBUGLINK, /* fd 0: the file -> build id, .gnu_debuglink name and CRC. With a debug
			   * file as fd 1 the flags say whether it belongs to the first */
};

/* The request: this header in the message; fds = file, [debug file], [addresses: a memfd of
 * addr_count u64 vaddrs, ascending; each to be looked up as given]. */
struct reader_request {
	uint32_t version;
	uint32_t op;
	uint32_t addr_count;
	uint32_t flags; /* READER_WITH_… */
};
#define READER_WITH_DEBUG 1u /* the second descriptor is a debug file */
#define READER_WITH_RAW_NAMES                                              \
	2u /* names as in the file: for one whose names kill the demangler \
	    */

/* The answer header in the message; status < 0: a negative errno, no memfd. Else one memfd, sealed
 * against writing and shrinking, except for READER_PING, which has none. */
struct reader_answer {
	uint32_t version;
	int32_t status;
	uint64_t bytes; /* of the memfd */
	uint32_t flags; /* READER_FLAG_… */
	uint32_t reserved;
};
#define READER_FLAG_HAS_SYMTAB     1u
#define READER_FLAG_HAS_DEBUGDATA  2u /* there is a readable .gnu_debugdata */
#define READER_FLAG_HAS_DWARF      4u /* there are debug sections */
#define READER_FLAG_DWARF_BROKEN   8u /* debug sections that libdw refuses (e.g. zstd-compressed) */
#define READER_FLAG_DEBUG_MISMATCH 16u /* the given debug file is of another build: not used */
#define READER_FLAG_DWARF_CUT      32u /* not all of the DWARF was read: too much of it for the time */

/* The memfd: struct reader_names, then addr_count+1 u32 starts (frames of address i are
 * [starts[i], starts[i+1])), padded to 8 bytes, then frame_count struct reader_frame, then string
 * bytes. Frames of one address: innermost inlined first, the function that holds the code last.
 * No frame: no name. Strings are offsets into the string bytes, NUL-closed; 0 is "". */
struct reader_names {
	uint32_t addr_count;
	uint32_t frame_count;
	uint32_t string_bytes;
	uint32_t reserved;
};
struct reader_frame {
	uint32_t name; /* demangled */
	uint32_t file; /* "" unless READER_INLINES found it */
	uint32_t
		line; /* 0: unknown. Of the address for the innermost, of the call for the others */
	uint32_t inlined; /* 1: an inlined call */
	uint64_t start;   /* of the symbol, vaddr */
	uint64_t size;    /* 0: not stated */
};

/* READER_DEBUGLINK's memfd. */
struct reader_debuglink {
	uint8_t build_id[64];
	uint32_t build_id_bytes;
	uint32_t crc;
	char name[256]; /* "" : none */
};

_Static_assert(sizeof(struct reader_request) == 16, "layout");
_Static_assert(sizeof(struct reader_answer) == 24, "layout");
_Static_assert(sizeof(struct reader_names) == 16, "layout");
_Static_assert(sizeof(struct reader_frame) == 32, "layout");

#endif
