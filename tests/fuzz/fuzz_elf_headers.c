/* ELF headers of a stranger's file: module_parse_headers() and the look-ups over what it found. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include "daemon/symbol/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Reads all of what was promised to be in the image. */
static void touch(const struct module *m, uint64_t vaddr, uint64_t len)
{
	const volatile uint8_t *bytes = module_bytes(m, vaddr, len);

	if (bytes && len > 0)
		(void)(bytes[0] + bytes[len - 1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct module m = {.image = data, .image_bytes = len, .fd = -1};
	uint64_t at;

	m.error = module_parse_headers(&m);
	touch(&m, m.eh_frame, m.eh_frame_bytes);
	touch(&m, m.eh_frame_hdr, m.eh_frame_hdr_bytes);
	if (m.debug_frame_bytes)
		(void)*(const volatile uint8_t *)(m.image + m.debug_frame_offset +
			m.debug_frame_bytes - 1);
	for (unsigned i = 0; i < m.segment_count; i++) {
		touch(&m, m.segments[i].vaddr, m.segments[i].file_bytes);
		if (module_vaddr_of_offset(&m, m.segments[i].offset, &at))
			touch(&m, at, 1);
		if (module_offset_of_vaddr(&m, m.segments[i].vaddr, &at) && at >= len)
			abort();
	}
	free(m.segments);
	return 0;
}
