/* Files as bytes of the program. */
#ifndef PFL_BASE_EMBED_H
#define PFL_BASE_EMBED_H

/* The assembler takes the bytes in, at symbol up to symbol_end, where a 0 follows. path is seen
 * from the folder of the build. */
#define EMBED_FILE(symbol, path)                                          \
	__asm__(".pushsection .rodata\n"                                  \
		".balign 16\n" #symbol ":\n"                              \
		".incbin \"" path "\"\n" #symbol "_end:\n"                \
		".byte 0\n"                                               \
		".popsection\n");                                         \
	extern const char symbol[] __attribute__((visibility("hidden"))); \
	extern const char symbol##_end[] __attribute__((visibility("hidden")))

#endif
