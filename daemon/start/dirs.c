#include "daemon/start/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/start/identity.h"

#define LOCK_NAME        "lock"
#define MARK_NAME        ".profiled" /* says that the folder and what is in it are ours; a lock too */
#define LOCK_STEP_MS     20
#define LOCK_TELL_MS     1000
#define LOCK_PATIENCE_MS 20000 /* an engine ends itself after 15 s */
#define DEPTH_MAX        3

static int complain(struct buf *message, int error, const char *path, const char *what)
{
	buf_printf(
		message, "%s: %s%s%s", path, what, error ? ": " : "", error ? strerror(error) : "");
	return error ? -error : -EPERM;
}

/* A folder on the way. What stands in one that anybody may write to, as /tmp, has to be ours: else
 * a stranger made it, and decides what is below it. *open_above: of the folder before, then of this
 * one. */
static int check_way(const char *path, bool *open_above, struct buf *message)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return complain(message, errno, path, "cannot be looked at");
	if (!S_ISDIR(st.st_mode))
		return complain(message, 0, path, "is no folder");
	if (*open_above && st.st_uid != 0 && st.st_uid != geteuid())
		return complain(message, 0, path, "belongs to another user");
	*open_above = st.st_mode & S_IWOTH;
	if (*open_above && !(st.st_mode & S_ISVTX))
		return complain(message, 0, path, "can be written by anybody");
	return 0;
}

/* Makes all folders above the last part of path, and looks at each. */
static int make_way(const char *path, struct buf *message)
{
	size_t len = strlen(path);
	bool open_above = false;
	char part[PATH_MAX];

	if (len >= sizeof(part))
		return complain(message, ENAMETOOLONG, path, "cannot be made");
	for (size_t i = 1; i < len; i++) {
		int r;

		if (path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0755) < 0 && errno != EEXIST && errno != EROFS && errno != EACCES)
			return complain(message, errno, part, "cannot be made");
		r = check_way(part, &open_above, message);
		if (r < 0)
			return r;
	}
	return 0;
}

static void cut_slashes(const char *path, char out[PATH_MAX])
{
	size_t len;

	snprintf(out, PATH_MAX, "%s", path);
	len = strlen(out);
	while (len > 1 && out[len - 1] == '/')
		out[--len] = 0;
}

/* Makes the folder if need be. *ret_made: it was not there. */
static int open_dir(
	const char *path, mode_t mode, int *ret_dir, bool *ret_made, struct buf *message)
{
	char plain[PATH_MAX];
	int fd, r;

	cut_slashes(path, plain);
	r = make_way(plain, message);
	if (r < 0)
		return r;
	*ret_made = mkdir(plain, mode) == 0;
	if (!*ret_made && errno != EEXIST)
		return complain(message, errno, plain, "cannot be made");
	/* A link there could have been put by anybody who may write above it. */
	fd = open(plain, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return complain(message, errno, plain, "is no folder of ours");
	/* The umask took bits from a new one. */
	if (*ret_made && fchmod(fd, mode) < 0) {
		r = complain(message, errno, plain, "cannot be given its mode");
		close(fd);
		return r;
	}
	*ret_dir = fd;
	return 0;
}

/* patience_ms: how long whoever has the lock may take to end. */
static int lock_file(int fd, const char *path, unsigned patience_ms)
{
	static const struct timespec step = {.tv_nsec = LOCK_STEP_MS * 1000000};

	for (unsigned waited_ms = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; waited_ms += LOCK_STEP_MS) {
		if (errno != EWOULDBLOCK || waited_ms >= patience_ms)
			return -errno;
		if (waited_ms == LOCK_TELL_MS)
			log_info("%s: waiting for the daemon before to end", path);
		nanosleep(&step, NULL);
	}
	return 0;
}

static int open_lock(int dir, const char *path, const char *name, unsigned patience_ms,
	int *ret_lock, struct buf *message)
{
	AUTO(close_auto)
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	int r;

	if (fd < 0) {
		r = -errno;
		buf_printf(message, "%s/%s: cannot be written: %s", path, name, strerror(-r));
		return r;
	}
	r = lock_file(fd, path, patience_ms);
	if (r < 0) {
		if (r == -EWOULDBLOCK)
			buf_printf(message, "another profiled is running with %s", path);
		else
			buf_printf(
				message, "%s/%s: cannot be locked: %s", path, name, strerror(-r));
		return r;
	}
	*ret_lock = MOVE_FD(fd);
	return 0;
}

int dirs_runtime(const char *path, int *ret_lock, struct buf *message)
{
	AUTO(close_auto) int dir = -1;
	bool made = false;
	struct stat st;
	int r = open_dir(path, 0755, &dir, &made, message);

	if (r < 0)
		return r;
	if (fstat(dir, &st) < 0)
		return complain(message, errno, path, "cannot be looked at");
	/* Whoever may write there could put up a socket of their own, and read the token. */
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return complain(message, 0, path, "belongs to another user");
	if (st.st_mode & (S_IWGRP | S_IWOTH))
		return complain(message, 0, path,
			"can be written by others: chmod go-w it, or name a folder for the daemon "
			"alone by daemon.runtime_dir or --runtime-dir");
	return open_lock(dir, path, LOCK_NAME, 0, ret_lock, message);
}

static bool is_picked(uid_t uid)
{
	return uid >= IDENTITY_UID_MIN && uid <= IDENTITY_UID_MAX;
}

static bool has_mark(int dir)
{
	struct stat st;

	return fstatat(dir, MARK_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

/* *ret_names: entries besides "." and "..". */
static int count_names(int dir, unsigned *ret_names)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	unsigned names = 0;

	if (!d) {
		close_auto(&fd);
		return -errno;
	}
	for (struct dirent *e; (e = readdir(d)) != NULL;)
		names += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	*ret_names = names;
	return 0;
}

struct handover {
	uid_t from, uid;
	gid_t gid;
};

static int hand_over_tree(int dir_taken, const struct handover *h, int depth);

/* A file with a second name may be one that its owner was not allowed to give away; links stay. */
static int hand_over_entry(int dir, const char *name, const struct handover *h, int depth)
{
	AUTO(close_auto)
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != h->from)
		return 0;
	if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
		return hand_over_tree(MOVE_FD(fd), h, depth + 1);
	if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		return 0;
	return fchown(fd, h->uid, h->gid) < 0 ? -errno : 0;
}

/* The folder itself last: until then nobody new can move things in it. */
static int hand_over_tree(int dir_taken, const struct handover *h, int depth)
{
	DIR *d = fdopendir(dir_taken);
	int r = 0;

	if (!d) {
		close(dir_taken);
		return -ENOMEM;
	}
	for (struct dirent *e; r == 0 && (e = readdir(d)) != NULL;) {
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			r = hand_over_entry(dirfd(d), e->d_name, h, depth);
	}
	if (r == 0 && fchown(dirfd(d), h->uid, h->gid) < 0)
		r = -errno;
	closedir(d);
	return r;
}

/* Who has it now decides whether it may be given to uid. */
static int give_to(int dir, const char *path, const struct handover *h, struct buf *message)
{
	unsigned names = 0;
	int fd, r = count_names(dir, &names);

	if (r < 0)
		return complain(message, -r, path, "cannot be read");
	if (names > 0 && !is_picked(h->from) && !(h->from == 0 && has_mark(dir))) {
		buf_printf(message,
			"%s belongs to user %u, and what is in it was not written by profiled: "
			"give it to user %u by chown -R, or name another by daemon.state_dir or "
			"--state-dir",
			path, h->from, h->uid);
		return -EPERM;
	}
	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = fd < 0 ? -errno : hand_over_tree(fd, h, 0);
	return r < 0 ? complain(message, -r, path, "cannot be given to its user") : 0;
}

static int check_owner(int dir, const char *path, uid_t uid, gid_t gid, struct buf *message)
{
	struct handover h = {.uid = uid, .gid = gid};
	struct stat st;

	if (fstat(dir, &st) < 0)
		return complain(message, errno, path, "cannot be looked at");
	h.from = st.st_uid;
	if (st.st_mode & S_IWOTH)
		return complain(message, 0, path, "can be written by anybody; chmod o-w it");
	if (uid == (uid_t)-1 || st.st_uid == uid) {
		if (uid == (uid_t)-1 && faccessat(dir, ".", W_OK | X_OK, AT_EACCESS) < 0)
			return complain(message, errno, path, "cannot be written");
		return 0;
	}
	return give_to(dir, path, &h, message);
}

int dirs_state(
	const char *path, uid_t uid, gid_t gid, int *ret_dir, int *ret_lock, struct buf *message)
{
	AUTO(close_auto) int dir = -1, lock = -1;
	bool made = false;
	int r = open_dir(path, 0700, &dir, &made, message);

	if (r < 0)
		return r;
	r = check_owner(dir, path, uid, gid, message);
	if (r < 0)
		return r;
	/* An engine whose broker was killed is still saving. */
	r = open_lock(dir, path, MARK_NAME, LOCK_PATIENCE_MS, &lock, message);
	if (r < 0)
		return r;
	/* So that a start as that user can lock it as well. */
	if (uid != (uid_t)-1 && fchown(lock, uid, gid) < 0)
		return complain(message, errno, path, "cannot be given to its user");
	*ret_dir = MOVE_FD(dir);
	*ret_lock = MOVE_FD(lock);
	return 0;
}
