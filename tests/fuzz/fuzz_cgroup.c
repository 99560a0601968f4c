/* The text of /proc/PID/cgroup, and names out of the path in it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/proc/cgroup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void names_of(const char *path)
{
	char unit[32], id[CONTAINER_ID_LEN + 1];

	if (cgroup_unit(path, unit, sizeof(unit)) && (unit[0] == '\0' || !strstr(path, unit)))
		abort();
	if (cgroup_container(path, id) && (strlen(id) != CONTAINER_ID_LEN || !strstr(path, id)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[CGROUP_PATH_BYTES];
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (cgroup_parse(text, size, path, sizeof(path)) == 0) {
		if (path[0] != '/' || strlen(path) >= sizeof(path))
			abort();
		names_of(path);
	}
	names_of(text);
	free(text);
	return 0;
}
