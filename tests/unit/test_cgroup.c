#include <errno.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "daemon/proc/cgroup.h"
#include "tests/unit/fake_broker.h"

#define ID_A "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID_B "0123456789abffff0123456789abcdef0123456789abcdef0123456789abcdef"

static char path[CGROUP_PATH_BYTES];

static int parse(const char *text)
{
	path[0] = '\0';
	return cgroup_parse(text, strlen(text), path, sizeof(path));
}

static void the_v2_line_is_found(void **state)
{
	assert_int_equal(parse("0::/\n"), 0);
	assert_string_equal(path, "/");
	assert_int_equal(parse("12:memory:/x\n1:name=systemd:/y\n0::/a/b c\n"), 0);
	assert_string_equal(path, "/a/b c");
	assert_int_equal(parse("0::/no/newline"), 0);
	assert_string_equal(path, "/no/newline");
	assert_int_equal(parse("12:memory:/x\n"), -ENOENT);
	assert_int_equal(parse("10::/x\n"), -ENOENT);
	assert_int_equal(parse("0::relative\n"), -ENOENT);
	assert_int_equal(parse(""), -ENOENT);
	assert_int_equal(cgroup_parse("0::/abc\n", 8, path, 4), -ENAMETOOLONG);
	assert_int_equal(cgroup_parse("0::/abc\n", 8, path, 5), 0);
	assert_int_equal(cgroup_parse("0::/a\0b\n", 8, path, sizeof(path)), -ENOENT);
}

static void paths_seen_from_a_namespace_are_made_whole(void **state)
{
	static const char *const table[][3] = {
		{"", "/", "/"},
		{"", "/a/b", "/a/b"},
		{"/pods/own", "/", "/pods/own"},
		{"/pods/own", "/worker", "/pods/own/worker"},
		{"/pods/own", "/../other", "/pods/other"},
		{"/pods/own", "/../..", "/"},
		{"/pods/own", "/../../init.scope", "/init.scope"},
		{"/pods/own", "/../../../too/far", "/too/far"},
		{"/pods/own", "/..a/b", "/pods/own/..a/b"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(cgroup_resolve(table[i][0], table[i][1], path, sizeof(path)), 0);
		assert_string_equal(path, table[i][2]);
	}
	assert_int_equal(cgroup_resolve("/pods", "/own", path, 9), -ENAMETOOLONG);
	assert_int_equal(cgroup_resolve("/pods", "/own", path, 10), 0);
}

static void units_are_named_by_the_innermost(void **state)
{
	static const char *const table[][2] = {
		{"/system.slice/nginx.service", "nginx.service"},
		{"/system.slice/nginx.service/worker", "nginx.service"},
		{"/user.slice/user-1000.slice/user@1000.service/app.slice/foo.service",
			"foo.service"},
		{"/user.slice/user-1000.slice/session-3.scope", "session-3.scope"},
		{"/system.slice/x.service/", "x.service"},
		{"/a.service//b", "a.service"},
	};
	char unit[64];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_true(cgroup_unit(table[i][0], unit, sizeof(unit)));
		assert_string_equal(unit, table[i][1]);
	}
	assert_int_equal(cgroup_unit("/system.slice/nginx.service/worker", unit, sizeof(unit)),
		strlen("/system.slice/nginx.service"));
	assert_false(cgroup_unit("/", unit, sizeof(unit)));
	assert_false(cgroup_unit("", unit, sizeof(unit)));
	assert_false(cgroup_unit("/.service", unit, sizeof(unit)));
	assert_false(cgroup_unit("/system.slice", unit, sizeof(unit)));
	assert_false(cgroup_unit("/long-name.service", unit, 5));
}

static void containers_of_all_runtimes(void **state)
{
	static const char *const yes[] = {
		"/system.slice/docker-" ID_A ".scope",
		"/docker/" ID_A,
		"/docker/" ID_A "/init.scope",
		"/kubepods.slice/kubepods-besteffort.slice/kubepods-pod1.slice/cri-containerd-" ID_A
		".scope",
		"/kubepods/burstable/pod5f0c/" ID_A,
		"/kubepods.slice/crio-" ID_A ".scope",
		"/machine.slice/libpod-" ID_A ".scope/container",
		"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" ID_A ".scope",
		"/system.slice/containerd.service/kubepods-pod1.slice:cri-containerd:" ID_A,
		"/docker/" ID_B "/docker/" ID_A,
	};
	static const char *const no[] = {
		"/",
		"",
		"/system.slice/nginx.service",
		"/machine.slice/libpod-conmon-" ID_A ".scope",
		"/docker/0123",
		"/docker/" ID_A "0",
		"/docker/x" ID_A,
		"/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
	};
	char id[CONTAINER_ID_LEN + 1];

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		assert_true(cgroup_container(yes[i], id));
		assert_string_equal(id, ID_A);
	}
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		assert_false(cgroup_container(no[i], id));
	assert_int_equal(
		cgroup_container("/docker/" ID_A "/init.scope", id), strlen("/docker/" ID_A));
	/* The whole of it, where the engine gave a part a group of its own. */
	assert_int_equal(
		cgroup_container("/machine.slice/libpod-" ID_A ".scope/libpod-payload-" ID_A, id),
		strlen("/machine.slice/libpod-" ID_A ".scope"));
	assert_int_equal(cgroup_container("/docker/" ID_B "/docker/" ID_A "/x", id),
		strlen("/docker/" ID_B "/docker/" ID_A));
}

/* A folder with the looks of a cgroup tree. */
static char root[] = "/tmp/profiled-cgroup-XXXXXX";

static void make_group(const char *below, const char *procs, bool populated)
{
	char full[4096], file[4200];

	snprintf(full, sizeof(full), "%s%s", root, below);
	for (char *slash = full + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	assert_true(mkdir(full, 0700) == 0 || errno == EEXIST);
	snprintf(file, sizeof(file), "%s/cgroup.procs", full);
	assert_int_equal(io_write_atomic(file, procs, strlen(procs), 0600), 0);
	snprintf(file, sizeof(file), "%s/cgroup.events", full);
	procs = populated ? "populated 1\nfrozen 0\n" : "populated 0\nfrozen 0\n";
	assert_int_equal(io_write_atomic(file, procs, strlen(procs), 0600), 0);
}

static int remove_entry(const char *name, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(name);
}

static int tree_setup(void **state)
{
	if (!mkdtemp(root))
		return -1;
	fake.cgroup_root = root;
	make_group("/system.slice", "", true);
	make_group("/system.slice/nginx.service", "10\n11\n", true);
	make_group("/system.slice/nginx.service/worker", "12\n0\n", true);
	make_group("/system.slice/idle.service", "", false);
	make_group("/system.slice/docker-" ID_A ".scope", "20\n", true);
	make_group("/system.slice/docker-" ID_A ".scope/inner", "21\n", true);
	make_group("/docker/" ID_B, "30\n", true);
	make_group("/user.slice/user@1.service/app.slice/nginx.service", "40\n", true);
	make_group("/user.slice/user@1.service/app.slice/twice.service", "50\n", true);
	make_group("/user.slice/user@2.service/other.slice/twice.service", "51\n", true);
	return 0;
}

static int tree_teardown(void **state)
{
	fake_broker_reset();
	return nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static int count_groups(const char *group, void *arg)
{
	unsigned *count = arg;

	assert_int_equal(group[0], '/');
	assert_true(*count > 0 || strcmp(group, "/") == 0);
	(*count)++;
	return 0;
}

static int stop_at_docker(const char *group, void *arg)
{
	return strcmp(group, "/docker") == 0 ? 5 : 0;
}

static void a_walk_sees_all_groups(void **state)
{
	unsigned count = 0;

	assert_int_equal(cgroup_walk(fake_broker(), count_groups, &count), 0);
	assert_int_equal(count, 17);
	assert_int_equal(cgroup_walk(fake_broker(), stop_at_docker, NULL), 5);
	assert_int_equal(cgroup_walk_from(fake_broker(), "/none", count_groups, &count), -ENOENT);
}

static void units_are_found(void **state)
{
	AUTO(buf_done) struct buf several = BUF_INIT;
	struct broker *b = fake_broker();

	assert_int_equal(cgroup_find_unit(b, "nginx.service", path, sizeof(path), &several), 0);
	assert_string_equal(path, "/system.slice/nginx.service");
	assert_int_equal(cgroup_find_unit(b, "nginx", path, sizeof(path), &several), 0);
	assert_string_equal(path, "/system.slice/nginx.service");
	assert_int_equal(cgroup_find_unit(b, "app.slice", path, sizeof(path), &several), 0);
	assert_string_equal(path, "/user.slice/user@1.service/app.slice");
	assert_int_equal(cgroup_find_unit(b, "ngin", path, sizeof(path), &several), -ENOENT);
	assert_int_equal(cgroup_find_unit(b, "", path, sizeof(path), &several), -EINVAL);
	assert_int_equal(cgroup_find_unit(b, "a/b", path, sizeof(path), &several), -EINVAL);
	assert_int_equal(several.len, 0);
	assert_int_equal(cgroup_find_unit(b, "twice", path, sizeof(path), &several), -EEXIST);
	assert_non_null(
		strstr(several.data, "/user.slice/user@1.service/app.slice/twice.service\n"));
	assert_non_null(
		strstr(several.data, "/user.slice/user@2.service/other.slice/twice.service\n"));
}

static void containers_are_found_by_prefix(void **state)
{
	AUTO(buf_done) struct buf several = BUF_INIT;
	struct broker *b = fake_broker();

	assert_int_equal(cgroup_find_container(b, ID_A, path, sizeof(path), &several), 0);
	assert_string_equal(path, "/system.slice/docker-" ID_A ".scope");
	assert_int_equal(
		cgroup_find_container(b, "0123456789abc", path, sizeof(path), &several), 0);
	assert_string_equal(path, "/system.slice/docker-" ID_A ".scope");
	assert_int_equal(
		cgroup_find_container(b, "0123456789abf", path, sizeof(path), &several), 0);
	assert_string_equal(path, "/docker/" ID_B);
	assert_int_equal(
		cgroup_find_container(b, "0123456789ab", path, sizeof(path), &several), -EEXIST);
	assert_int_equal(several.len, 2 * (CONTAINER_ID_LEN + 1));
	assert_non_null(strstr(several.data, ID_A "\n"));
	assert_non_null(strstr(several.data, ID_B "\n"));
	assert_int_equal(cgroup_find_container(b, "ffff", path, sizeof(path), &several), -ENOENT);
	assert_int_equal(cgroup_find_container(b, "", path, sizeof(path), &several), -EINVAL);
	assert_int_equal(cgroup_find_container(b, "xyz", path, sizeof(path), &several), -EINVAL);
	assert_int_equal(cgroup_find_container(b, ID_A "0", path, sizeof(path), &several), -EINVAL);
}

static void members_are_those_of_nested_groups_too(void **state)
{
	AUTO(buf_done) struct buf pids = BUF_INIT;
	bool seen[50] = {false};

	assert_int_equal(cgroup_members(fake_broker(), "/system.slice/nginx.service/", &pids), 0);
	assert_int_equal(pids.len, 3 * sizeof(pid_t));
	for (size_t i = 0; i < 3; i++)
		seen[((const pid_t *)pids.data)[i]] = true;
	assert_true(seen[10] && seen[11] && seen[12]);
	assert_int_equal(cgroup_members(fake_broker(), "/none", &pids), -ENOENT);
}

static void emptiness_is_told_from_absence(void **state)
{
	bool empty = true;

	assert_int_equal(cgroup_is_empty(fake_broker(), "/system.slice/nginx.service", &empty), 0);
	assert_false(empty);
	assert_int_equal(cgroup_is_empty(fake_broker(), "/system.slice/idle.service", &empty), 0);
	assert_true(empty);
	assert_int_equal(cgroup_is_empty(fake_broker(), "/", &empty), 0); /* no cgroup.events */
	assert_false(empty);
	assert_int_equal(cgroup_is_empty(fake_broker(), "/none", &empty), -ENOENT);
}

static void our_own_cgroup_is_read(void **state)
{
	int r = cgroup_of(fake_broker(), getpid(), path, sizeof(path));

	/* A host without cgroup v2 has no such line. */
	assert_true(r == -ENOENT || (r == 0 && path[0] == '/'));
	assert_int_equal(cgroup_of(fake_broker(), INT32_MAX, path, sizeof(path)), -ESRCH);
}

int main(void)
{
	static const struct CMUnitTest names[] = {
		cmocka_unit_test(the_v2_line_is_found),
		cmocka_unit_test(paths_seen_from_a_namespace_are_made_whole),
		cmocka_unit_test(units_are_named_by_the_innermost),
		cmocka_unit_test(containers_of_all_runtimes),
		cmocka_unit_test(our_own_cgroup_is_read),
	};
	static const struct CMUnitTest tree[] = {
		cmocka_unit_test(a_walk_sees_all_groups),
		cmocka_unit_test(units_are_found),
		cmocka_unit_test(containers_are_found_by_prefix),
		cmocka_unit_test(members_are_those_of_nested_groups_too),
		cmocka_unit_test(emptiness_is_told_from_absence),
	};
	int failed = cmocka_run_group_tests(names, NULL, NULL);

	return failed + cmocka_run_group_tests(tree, tree_setup, tree_teardown) != 0;
}
