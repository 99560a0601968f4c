/* Small ELF files that a test builds with the system's compiler, in a folder of its own. */
#ifndef PFL_TESTS_BUILD_ELF_H
#define PFL_TESTS_BUILD_ELF_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char build_dir[64];

__attribute__((unused)) static int build_setup(void **state)
{
	(void)state;
	strcpy(build_dir, "/tmp/pfl-test-XXXXXX");
	return mkdtemp(build_dir) ? 0 : -1;
}

/* A shell command in the folder; its exit status. */
__attribute__((unused, format(printf, 1, 2))) static int build_run(const char *fmt, ...)
{
	char what[8192], all[9216];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(all, sizeof(all), "cd %s && { %s ; } >log 2>&1", build_dir, what);
	return system(all);
}

__attribute__((unused)) static int build_teardown(void **state)
{
	char all[128];

	(void)state;
	snprintf(all, sizeof(all), "rm -rf '%s'", build_dir);
	return system(all);
}

__attribute__((unused)) static const char *build_path(const char *name)
{
	static char path[4][256];
	static unsigned next;
	char *p = path[next++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", build_dir, name);
	return p;
}

__attribute__((unused)) static int build_write(const char *name, const char *text)
{
	FILE *f = fopen(build_path(name), "w");
	int r = f ? fputs(text, f) : -1;

	return f && fclose(f) == 0 && r >= 0 ? 0 : -1;
}

/* Writes NAME.c with that source and compiles it to NAME with these flags (which may name more
 * files). */
__attribute__((unused)) static int build_c(const char *name, const char *source, const char *flags)
{
	char file[128];
	const char *cc = getenv("CC");

	snprintf(file, sizeof(file), "%s.c", name);
	if (build_write(file, source) != 0)
		return -1;
	return build_run("%s -w %s.c -o %s %s", cc && cc[0] ? cc : "cc", name, name, flags);
}

__attribute__((unused)) static int build_open(const char *name)
{
	return open(build_path(name), O_RDONLY | O_CLOEXEC);
}

/* The address of a symbol, as nm shows it; 0: not there. */
__attribute__((unused)) static uint64_t build_symbol(const char *file, const char *symbol)
{
	char line[512], name[256];
	uint64_t addr = 0, a;
	FILE *f;

	if (build_run("nm %s >nm.out", file) != 0)
		return 0;
	f = fopen(build_path("nm.out"), "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx %*c %255s", &a, name) == 2 && strcmp(name, symbol) == 0)
			addr = a;
	if (f)
		fclose(f);
	return addr;
}

/* The address and size of a section, as readelf shows it. */
__attribute__((unused)) static int build_section(
	const char *file, const char *section, uint64_t *ret_addr, uint64_t *ret_bytes)
{
	char line[512], name[128];
	unsigned long addr, off, size;
	int found = -1;
	FILE *f;

	if (build_run("readelf -SW %s | tr -d '[]' >sections.out", file) != 0)
		return -1;
	f = fopen(build_path("sections.out"), "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*d %127s %*s %lx %lx %lx", name, &addr, &off, &size) == 4 &&
			strcmp(name, section) == 0) {
			*ret_addr = addr;
			*ret_bytes = size;
			found = 0;
		}
	if (f)
		fclose(f);
	return found;
}

#endif
