#include "daemon/start/identity.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map.h"
#include "base/parse.h"

#define UID_SPAN (IDENTITY_UID_MAX - IDENTITY_UID_MIN + 1)

/* The starter has one thread, and keeps nothing of these answers. */
static const struct passwd *user_numbered(uid_t uid)
{
	return getpwuid(uid); /* cppcheck-suppress getpwuidCalled */
}

static const struct passwd *user_named(const char *name)
{
	return getpwnam(name); /* cppcheck-suppress getpwnamCalled */
}

static bool group_is_there(gid_t gid)
{
	return getgrgid(gid) != NULL; /* cppcheck-suppress getgrgidCalled */
}

static bool is_number(const char *text, uint64_t *ret_number)
{
	return isdigit((unsigned char)text[0]) && parse_u64(text, UINT32_MAX - 1, ret_number) == 0;
}

static bool has_processes(uid_t uid)
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	bool found = false;

	if (!dir)
		return false;
	while (!found && (e = readdir(dir)) != NULL) {
		struct stat st;

		found = isdigit((unsigned char)e->d_name[0]) &&
			fstatat(dirfd(dir), e->d_name, &st, 0) == 0 && st.st_uid == uid;
	}
	closedir(dir);
	return found;
}

static bool is_free(uid_t uid)
{
	char lock[64];

	snprintf(lock, sizeof(lock), "/run/systemd/dynamic-uid/%u", uid);
	return !user_numbered(uid) && !group_is_there(uid) && access(lock, F_OK) < 0 &&
		!has_processes(uid);
}

static bool in_range(uid_t uid)
{
	return uid >= IDENTITY_UID_MIN && uid <= IDENTITY_UID_MAX;
}

/* The same at each start as long as it is free: from the state folder's owner, else from its name.
 */
static int pick_uid(const char *state_dir, uid_t *ret_uid)
{
	uint64_t hash = hash_bytes(state_dir, strlen(state_dir), 0);
	struct stat st;

	if (stat(state_dir, &st) == 0 && in_range(st.st_uid) && !user_numbered(st.st_uid)) {
		*ret_uid = st.st_uid;
		return 0;
	}
	for (unsigned i = 0; i < UID_SPAN; i++) {
		uid_t uid = IDENTITY_UID_MIN + (uid_t)((hash + i) % UID_SPAN);

		if (is_free(uid)) {
			*ret_uid = uid;
			return 0;
		}
	}
	return -EAGAIN;
}

static int find_user(const struct config *config, struct identity *who, struct buf *message)
{
	const struct passwd *entry;
	uint64_t number;

	if (is_number(config->user, &number)) {
		entry = user_numbered((uid_t)number);
		who->uid = (uid_t)number;
		who->gid = entry ? entry->pw_gid : (gid_t)number;
		return 0;
	}
	entry = user_named(config->user);
	if (entry) {
		who->uid = entry->pw_uid;
		who->gid = entry->pw_gid;
		return 0;
	}
	if (pick_uid(config->state_dir, &who->uid) < 0) {
		buf_printf(message,
			"there is no user '%s', and no number from %u to %u is free: create the "
			"user, or name another by daemon.user or --user",
			config->user, IDENTITY_UID_MIN, IDENTITY_UID_MAX);
		return -EINVAL;
	}
	who->gid = who->uid;
	who->unnamed = true;
	return 0;
}

static gid_t find_group(const char *name)
{
	struct group *entry;
	uint64_t number;

	if (is_number(name, &number))
		return (gid_t)number;
	entry = getgrnam(name); /* cppcheck-suppress getgrnamCalled */
	return entry ? entry->gr_gid : (gid_t)-1;
}

int identity_find(const struct config *config, bool as_root, struct identity *ret_identity,
	struct buf *message)
{
	struct identity who = {.uid = (uid_t)-1, .gid = (gid_t)-1};
	int r;

	if (as_root) {
		r = find_user(config, &who, message);
		if (r < 0)
			return r;
	}
	who.group = find_group(config->group);
	*ret_identity = who;
	return 0;
}
