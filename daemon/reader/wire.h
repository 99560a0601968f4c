/* What engine and reader say to each other, over a SOCK_SEQPACKET pair: a request with descriptors,
 * an answer with a sealed memfd or none. One request at a time. Same machine, same build: native
 * layout, sizes asserted; the engine trusts nothing that the reader wrote and checks each bound. */
#ifndef PFL_READER_WIRE_H
#define PFL_READER_WIRE_H

#include <stdint.h>

#define READER_VERSION    1
#define READER_ADDRS_MAX  65536
#define READER_ANSWER_MAX (256u << 20)
/* A request that takes longer ends the reader, as one does that takes too much processor time. The
 * engine waits a little longer still. On a busy machine, or from a slow disk, an honest file needs
 * some seconds. */
#define READER_WALL_SECONDS 8

enum reader_op {
	READER_PING = 1,
	/* fd 0: the file; fd 1 (optional): its debug file. Addresses to names. */
	READER_SYMBOLS,
	/* The same with file, line and inline frames from DWARF. */
	READER_INLINES,
	/* fd 0: the file. Its build id, .gnu_debuglink name and CRC. With a debug file as fd 1 the
	 * flags say whether it belongs to the first. */
	READER_DEBUGLINK,
	/* fd 0: the file; fd 1 (optional): its debug file. Its unwind rules: the memfd is a table
	 * as daemon/cfi/table.h has it. */
	READER_UNWIND,
	/* fds as for READER_SYMBOLS. Which files of split DWARF the addresses want. */
	READER_SPLIT,
};

enum reader_with {
	/* The second descriptor is a debug file. */
	READER_WITH_DEBUG = 1,
	/* Names as in the file: for one whose names kill the demangler. */
	READER_WITH_RAW_NAMES = 2,
	/* Leave .gnu_debugdata alone. */
	READER_WITHOUT_PACKED = 4,
	/* A descriptor of the file that the DWARF has in common with others (.gnu_debugaltlink). */
	READER_WITH_ALT = 8,
	/* One of a package of split DWARF, or of struct reader_files_head. */
	READER_WITH_DWP = 16,
	READER_WITH_DWO = 32,
};

/* The request: this header in the message; fds = file, [debug file], [common file], [split
 * DWARF], [addresses: a memfd of addr_count u64 vaddrs, ascending; each to be looked up as given].
 */
struct reader_request {
	uint32_t version;
	uint32_t op;
	uint32_t addr_count;
	uint32_t flags; /* enum reader_with */
};

enum reader_flag {
	READER_FLAG_HAS_SYMTAB = 1,
	/* There is a readable .gnu_debugdata. */
	READER_FLAG_HAS_DEBUGDATA = 2,
	/* There are debug sections. */
	READER_FLAG_HAS_DWARF = 4,
	/* Debug sections that libdw refuses (e.g. zstd-compressed). */
	READER_FLAG_DWARF_BROKEN = 8,
	/* The given debug file is of another build: not used. */
	READER_FLAG_DEBUG_MISMATCH = 16,
	/* Not all of the DWARF was read: too much of it for the time. */
	READER_FLAG_DWARF_CUT = 32,
	/* The table of sections is nonsense: names come from what the loader reads alone. */
	READER_FLAG_DAMAGED = 64,
	/* Split DWARF of asked addresses is in files that were not handed over. */
	READER_FLAG_SPLIT = 128,
	/* The DWARF has a part in common with other files, which was not handed over. */
	READER_FLAG_ALT = 256,
	/* A good part of the code has no unwind rules, in the files that were handed over. */
	READER_FLAG_GAPS = 512,
};

/* The answer header in the message; status < 0: a negative errno, no memfd. Else one memfd, sealed
 * against writing and shrinking, except for READER_PING, which has none. */
struct reader_answer {
	uint32_t version;
	int32_t status;
	uint64_t bytes; /* of the memfd */
	uint32_t flags; /* enum reader_flag */
	uint32_t reserved;
};

/* The memfd: struct reader_names, then addr_count+1 u32 starts (frames of address i are
 * [starts[i], starts[i+1])), padded to 8 bytes, then frame_count struct reader_frame, then string
 * bytes. Frames of one address: innermost inlined first, the function that holds the code last.
 * No frame: nothing is known. Strings are offsets into the string bytes, NUL-closed; 0 is "". */
struct reader_names {
	uint32_t addr_count;
	uint32_t frame_count;
	uint32_t string_bytes;
	uint32_t reserved;
};

/* What a name comes from. */
enum reader_source {
	READER_FROM_NOTHING,
	READER_FROM_SYMTAB,
	READER_FROM_DYNSYM, /* or what a file without sections has in its place */
	READER_FROM_DEBUGDATA,
	READER_FROM_DEBUG_FILE,
	READER_FROM_DWARF,
	READER_FROM_PLT,
	READER_FROM_FDE,    /* no name: where the function starts is all that is known */
	READER_FROM_GOPCLN, /* Go's own table */
	READER_FROM_COUNT
};

struct reader_frame {
	uint32_t name;    /* demangled; 0 for READER_FROM_FDE alone */
	uint32_t file;    /* "" unless READER_INLINES found it */
	uint32_t line;    /* 0: unknown. Of the address for the innermost, else of the call */
	uint16_t inlined; /* 1: an inlined call */
	uint16_t source;  /* enum reader_source */
	uint64_t start;   /* of the symbol, vaddr; 0: inlined */
	uint64_t size;    /* 0: not stated */
};

/* READER_SPLIT's memfd: this, count struct reader_split, then string bytes as above. */
struct reader_splits {
	uint32_t count;
	uint32_t string_bytes;
};

struct reader_split {
	uint64_t id;
	uint32_t dir, name; /* strings: the compiler's folder, and the file as it named it */
};

/* What READER_WITH_DWO hands over: this, count struct reader_file, and bytes of files. */
struct reader_files_head {
	uint32_t count;
	uint32_t reserved;
};

struct reader_file {
	uint64_t id; /* of the unit */
	uint64_t offset, bytes;
};

/* READER_DEBUGLINK's memfd. */
struct reader_debuglink {
	uint8_t build_id[64];
	uint32_t build_id_bytes;
	uint32_t crc;
	char name[256]; /* "" : none */
	/* .gnu_debugaltlink of the file that has the DWARF. */
	uint8_t alt_id[64];
	uint32_t alt_id_bytes;
	char alt_name[1020]; /* "": none */
};

_Static_assert(sizeof(struct reader_request) == 16, "layout");
_Static_assert(sizeof(struct reader_answer) == 24, "layout");
_Static_assert(sizeof(struct reader_names) == 16, "layout");
_Static_assert(sizeof(struct reader_frame) == 32, "layout");
_Static_assert(sizeof(struct reader_splits) == 8 && sizeof(struct reader_split) == 16, "layout");
_Static_assert(sizeof(struct reader_files_head) == 8 && sizeof(struct reader_file) == 24, "layout");

#endif
