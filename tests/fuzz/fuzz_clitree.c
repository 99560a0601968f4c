/* Profiles in JSON that somebody has saved, as profilectl diff reads and flame draws them. */
#include <stddef.h>
#include <stdint.h>

#include "cli/difference.h"
#include "cli/flameview.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(tree_free_auto) struct tree *t = NULL;
	AUTO(free_auto) struct difference *d = NULL;
	AUTO(buf_done) struct buf out = {.max_bytes = 1 << 20};
	struct flame_view view = {.width = 40, .color = FLAME_MODULE, .blocks = true};
	size_t count;

	if (tree_parse((const char *)data, size, &t) < 0)
		return 0;
	(void)difference_make(t, t, false, &d, &count);
	(void)flame_draw(&view, t, &out);
	return 0;
}
