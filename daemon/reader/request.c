#include "daemon/reader/request.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/heap.h"
#include "base/io.h"
#include "daemon/reader/answer.h"
#include "daemon/reader/cfitable.h"
#include "daemon/reader/dwarf.h"
#include "daemon/reader/fde.h"
#include "daemon/reader/gopcln.h"
#include "daemon/reader/image.h"
#include "daemon/reader/plt.h"
#include "daemon/reader/split.h"
#include "daemon/reader/symtab.h"
#include "daemon/reader/unpack.h"

#define BUILD_ID_BYTES sizeof(((struct reader_debuglink *)0)->alt_id)
#define GO_NAME_MAX    4096u
#define WITH_FD        (READER_WITH_DEBUG | READER_WITH_ALT | READER_WITH_DWP | READER_WITH_DWO)

/* One batch on its way. */
struct job {
	const struct reader_request *req;
	struct image img, debug, alt;
	bool has_debug; /* one that matches */
	struct unpacked unpacked, alt_unpacked;
	struct split split;
	uint64_t *addrs;
	struct symtab symbols;
	struct plt_stub *stubs; /* of the addresses that lie in one; ascending, each once */
	uint32_t stub_count;
	struct gopcln go;
	struct fde_table fdes;
	struct dwarf dwarf;
	bool has_dwarf;
	uint64_t cpu_ns;
	uint32_t flags;
	struct answer out;
};

static int read_addrs(struct job *j, int fd)
{
	size_t bytes = (size_t)j->req->addr_count * sizeof(uint64_t), got = 0;

	j->addrs = calloc((size_t)j->req->addr_count + 1, sizeof(*j->addrs));
	if (!j->addrs)
		return -ENOMEM;
	while (got < bytes) {
		ssize_t n = pread(fd, (char *)j->addrs + got, bytes - got, (off_t)got);
		if (n <= 0)
			return n < 0 ? -errno : -EINVAL;
		got += (size_t)n;
	}
	for (uint32_t i = 1; i < j->req->addr_count; i++)
		if (j->addrs[i - 1] > j->addrs[i])
			return -EINVAL;
	return 0;
}

static int open_files(struct job *j, const int *fds)
{
	int r = image_open(fds[0], &j->img);

	if (r == 0 && j->img.damaged)
		j->flags |= READER_FLAG_DAMAGED;
	if (r < 0 || !(j->req->flags & READER_WITH_DEBUG))
		return r;
	r = image_open(fds[1], &j->debug);
	if (r < 0 && r != -EBADMSG)
		return r;
	if (r == 0) {
		j->has_debug = image_debug_matches(&j->img, &j->debug);
		if (!j->has_debug)
			image_done(&j->debug);
	}
	if (!j->has_debug)
		j->flags |= READER_FLAG_DEBUG_MISMATCH;
	return 0;
}

/* The descriptors come in the order of their flags. */
static size_t fd_index(const struct reader_request *req, uint32_t flag)
{
	size_t at = 1;

	for (uint32_t i = 0; i < 32 && 1u << i < flag; i++)
		at += (req->flags & WITH_FD & 1u << i) != 0;
	return at;
}

static size_t file_count(const struct reader_request *req)
{
	return fd_index(req, 1u << 31);
}

/* More parts of the DWARF. One that is damaged is as good as none. */
static int open_parts(struct job *j, const int *fds)
{
	uint32_t split = j->req->flags & (READER_WITH_DWP | READER_WITH_DWO);
	int r = 0;

	if (j->req->flags & READER_WITH_ALT)
		r = image_open(fds[fd_index(j->req, READER_WITH_ALT)], &j->alt);
	if (r == -EBADMSG)
		r = 0;
	if (r == 0 && split)
		r = split_open(&j->split, fds[fd_index(j->req, split)], split == READER_WITH_DWP);
	return r == -EBADMSG ? 0 : r;
}

static int find_symbols(struct job *j)
{
	int r = symtab_init(&j->symbols, &j->img, j->addrs, j->req->addr_count);

	if (r == 0)
		r = symtab_add(&j->symbols, j->has_debug ? &j->debug : NULL,
			!(j->req->flags & READER_WITHOUT_PACKED));
	if (r < 0)
		return r;
	symtab_finish(&j->symbols);
	if (j->symbols.has_symtab)
		j->flags |= READER_FLAG_HAS_SYMTAB;
	if (j->symbols.has_debugdata)
		j->flags |= READER_FLAG_HAS_DEBUGDATA;
	return 0;
}

static int find_stubs(struct job *j)
{
	struct plt_stub s;

	for (uint32_t i = 0; i < j->req->addr_count; i++) {
		if (j->symbols.hits[i].name || !plt_stub_at(&j->img, j->addrs[i], &s))
			continue;
		if (j->stub_count > 0 && j->stubs[j->stub_count - 1].start == s.start)
			continue;
		if (!j->stubs)
			j->stubs = calloc(j->req->addr_count, sizeof(*j->stubs));
		if (!j->stubs)
			return -ENOMEM;
		j->stubs[j->stub_count++] = s;
	}
	plt_name_stubs(&j->img, j->stubs, j->stub_count);
	/* Without sections only a slot with a name tells a stub from other code that looks like
	 * one. */
	for (uint32_t i = 0; i < j->stub_count; i++)
		if (!j->img.has_sections && !j->stubs[i].name)
			j->stubs[i].bytes = 0;
	return 0;
}

/* Half of the time for the entries, and another quarter for the lines. */
static void set_deadlines(struct job *j)
{
	uint64_t wall_ns = READER_WALL_SECONDS * 1000000000ull;

	if (!j->cpu_ns)
		return;
	j->dwarf.scopes_until = deadline_in(j->cpu_ns / 2, wall_ns / 2);
	j->dwarf.lines_until = deadline_in(j->cpu_ns / 4 * 3, wall_ns / 4 * 3);
}

/* The file with the DWARF. */
static const struct image *dwarf_image(const struct job *j)
{
	return j->has_debug && image_has_dwarf(&j->debug) ? &j->debug : &j->img;
}

static int use_alt(struct job *j, const struct image *from)
{
	char name[sizeof(((struct reader_debuglink *)0)->alt_name)];
	uint8_t id[BUILD_ID_BYTES];
	size_t bytes;
	int r;

	if (!image_altlink(from, name, sizeof(name), id, sizeof(id), &bytes))
		return 0;
	if (!j->alt.elf || !image_dwarf_is_plausible(&j->alt)) {
		j->flags |= READER_FLAG_ALT;
		return 0;
	}
	r = unpack_init(&j->alt_unpacked, &j->alt);
	if (r == 0)
		r = dwarf_use_alt(
			&j->dwarf, j->alt_unpacked.elf ? j->alt_unpacked.elf : j->alt.elf);
	return r == -EBADMSG ? 0 : r;
}

/* -EBADMSG: it cannot be read. */
static int open_dwarf(struct job *j)
{
	const struct image *from = dwarf_image(j);
	int r = image_dwarf_is_plausible(from) ? unpack_init(&j->unpacked, from) : -EBADMSG;

	if (r == 0)
		r = dwarf_open(&j->dwarf, j->unpacked.elf ? j->unpacked.elf : from->elf, j->addrs,
			j->req->addr_count);
	if (r < 0)
		return r;
	j->dwarf.split = j->split.files || j->split.is_package ? &j->split : NULL;
	set_deadlines(j);
	return use_alt(j, from);
}

/* Symbols are still worth having where the DWARF is not. */
static int find_inlines(struct job *j)
{
	int r;

	if (!image_has_dwarf(dwarf_image(j)))
		return 0;
	j->flags |= READER_FLAG_HAS_DWARF;
	if (j->req->op != READER_INLINES)
		return 0;
	r = open_dwarf(j);
	if (r == -EBADMSG)
		j->flags |= READER_FLAG_DWARF_BROKEN;
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	j->has_dwarf = true;
	r = dwarf_find_units(&j->dwarf);
	if (r == 0)
		r = dwarf_find_scopes(&j->dwarf);
	if (!j->dwarf.any_unit)
		j->flags |= READER_FLAG_DWARF_BROKEN;
	if (j->dwarf.missing)
		j->flags |= READER_FLAG_SPLIT;
	return r;
}

/* Whose start is asked for when nothing else is known. */
static bool is_nameless(const struct job *j, uint32_t i)
{
	return !j->symbols.hits[i].name &&
		(!j->has_dwarf || j->dwarf.scope_of[i] == DWARF_NO_SCOPE);
}

static int find_starts(struct job *j)
{
	for (uint32_t i = 0; i < j->req->addr_count; i++)
		if (is_nameless(j, i)) {
			gopcln_init(&j->go, &j->img);
			return fde_init(&j->fdes, &j->img);
		}
	return 0;
}

static uint32_t scope_name(struct job *j, struct dwarf_scope *s)
{
	const char *name;

	if (s->name == 0) {
		name = dwarf_scope_name(s);
		s->name = name ? answer_symbol(&j->out, name, "") : 0;
	}
	return s->name;
}

static uint32_t file_name(struct job *j, const char *file)
{
	return answer_string(&j->out, file, strlen(file));
}

/* The frame of the function that holds the code. Its symbol says more than its DWARF: "name.cold".
 */
static void put_function(struct job *j, uint32_t i, uint32_t dwarf_name,
	const struct plt_stub *stub, struct reader_frame *f)
{
	const struct symbol *s = &j->symbols.hits[i];
	struct gopcln_function go;
	struct fde_range range;

	f->inlined = 0;
	f->name = dwarf_name;
	f->source = READER_FROM_DWARF;
	if (s->name) {
		f->source = s->source;
		f->name = answer_symbol(&j->out, s->name, "");
		f->start = s->start;
		f->size = s->size;
	} else if (stub) {
		f->source = READER_FROM_PLT;
		f->name = stub->name ? answer_symbol(&j->out, stub->name, "@plt")
				     : answer_string(&j->out, "[plt]", 5);
		f->start = stub->start;
		f->size = stub->bytes;
	} else if (!f->name && gopcln_find(&j->go, j->addrs[i], &go)) {
		f->source = READER_FROM_GOPCLN;
		f->name = answer_string(&j->out, go.name, strnlen(go.name, GO_NAME_MAX));
		f->start = go.start;
		f->size = go.end - go.start;
	}
	if (!f->name && is_nameless(j, i) && fde_find(&j->fdes, j->addrs[i], &range)) {
		f->source = READER_FROM_FDE;
		f->start = range.start;
		f->size = range.end - range.start;
		f->file = f->line = 0;
		answer_frame(&j->out, f);
	}
	if (f->name)
		answer_frame(&j->out, f);
}

static void put_address(struct job *j, uint32_t i, const struct plt_stub *stub)
{
	uint32_t scope = DWARF_NO_SCOPE, dwarf_name = 0;
	struct reader_frame f = {0};
	const char *file;

	answer_next_address(&j->out);
	if (j->has_dwarf) {
		dwarf_line(&j->dwarf, i, &file, &f.line);
		f.file = file_name(j, file);
		scope = j->dwarf.scope_of[i];
	}
	while (scope != DWARF_NO_SCOPE) {
		struct dwarf_scope *s = &j->dwarf.scopes[scope];
		dwarf_name = scope_name(j, s);
		scope = s->parent;
		if (!s->inlined)
			break;
		f.inlined = 1;
		f.source = READER_FROM_DWARF;
		f.name = dwarf_name ? dwarf_name : answer_string(&j->out, "[inlined]", 9);
		answer_frame(&j->out, &f);
		memset(&f, 0, sizeof(f));
		dwarf_scope_call(&j->dwarf, s, &file, &f.line);
		f.file = file_name(j, file);
		dwarf_name = 0;
	}
	put_function(j, i, dwarf_name, stub, &f);
}

static int put_answer(struct job *j, struct reader_reply *reply)
{
	uint32_t next = 0;
	int r = answer_init(&j->out, !!(j->req->flags & READER_WITH_RAW_NAMES));

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < j->req->addr_count; i++) {
		const struct plt_stub *stub = NULL;
		while (next < j->stub_count && j->addrs[i] >= j->stubs[next].start &&
			j->addrs[i] - j->stubs[next].start >= j->stubs[next].bytes)
			next++;
		if (next < j->stub_count && j->addrs[i] >= j->stubs[next].start)
			stub = &j->stubs[next];
		put_address(j, i, stub);
	}
	if (j->dwarf.cut)
		j->flags |= READER_FLAG_DWARF_CUT;
	return answer_to_memfd(&j->out, &reply->fd, &reply->head.bytes);
}

static int handle_names(struct job *j, const int *fds, struct reader_reply *reply)
{
	int r = read_addrs(j, fds[file_count(j->req)]);

	if (r == 0)
		r = open_files(j, fds);
	if (r == 0)
		r = open_parts(j, fds);
	if (r == 0)
		r = find_symbols(j);
	if (r == 0)
		r = find_stubs(j);
	if (r == 0)
		r = find_inlines(j);
	if (r == 0)
		r = find_starts(j);
	return r == 0 ? put_answer(j, reply) : r;
}

/* The files of split DWARF that the addresses want, each unit's once. */
static int put_splits(struct job *j, struct reader_reply *reply)
{
	AUTO(buf_done) struct buf all = {.max_bytes = READER_ANSWER_MAX / 4};
	struct reader_splits head = {0};
	int r = answer_init(&j->out, true);

	if (r < 0)
		return r;
	buf_append(&all, &head, sizeof(head));
	for (uint32_t u = 0; u < j->dwarf.unit_count; u++) {
		struct reader_split s = {.id = j->dwarf.units[u].id};
		const char *dir, *name;

		if (!j->dwarf.units[u].split || !dwarf_split_name(&j->dwarf.units[u], &dir, &name))
			continue;
		s.dir = answer_string(&j->out, dir, strlen(dir));
		s.name = answer_string(&j->out, name, strlen(name));
		if (s.name == 0)
			continue;
		buf_append(&all, &s, sizeof(s));
		head.count++;
	}
	head.string_bytes = (uint32_t)j->out.strings.len;
	buf_append(&all, j->out.strings.data, j->out.strings.len);
	if (all.error || j->out.strings.error)
		return -EFBIG;
	memcpy(all.data, &head, sizeof(head));
	reply->head.bytes = all.len;
	return answer_seal(all.data, all.len, &reply->fd);
}

static int handle_split(struct job *j, const int *fds, struct reader_reply *reply)
{
	int r = read_addrs(j, fds[file_count(j->req)]);

	if (r == 0)
		r = open_files(j, fds);
	if (r == 0)
		r = open_dwarf(j);
	if (r == 0)
		r = dwarf_find_units(&j->dwarf);
	return r == 0 ? put_splits(j, reply) : r;
}

static int handle_debuglink(struct job *j, const int *fds, struct reader_reply *reply)
{
	struct reader_debuglink link = {0};
	const struct image *from;
	size_t id_bytes = 0;
	GElf_Shdr sh;
	int r = open_files(j, fds);

	if (r < 0)
		return r;
	from = j->has_debug ? &j->debug : &j->img;
	link.build_id_bytes =
		(uint32_t)image_build_id(&j->img, link.build_id, sizeof(link.build_id));
	if (!image_debuglink(&j->img, link.name, sizeof(link.name), &link.crc))
		link.name[0] = 0;
	if (image_altlink(dwarf_image(j), link.alt_name, sizeof(link.alt_name), link.alt_id,
		    sizeof(link.alt_id), &id_bytes))
		link.alt_id_bytes = (uint32_t)id_bytes;
	else
		link.alt_name[0] = 0;
	if (image_section_of_type(from, SHT_SYMTAB, &sh))
		j->flags |= READER_FLAG_HAS_SYMTAB;
	if (image_has_dwarf(from))
		j->flags |= READER_FLAG_HAS_DWARF;
	reply->head.bytes = sizeof(link);
	return answer_seal(&link, sizeof(link), &reply->fd);
}

static int handle_unwind(struct job *j, const int *fds, struct reader_reply *reply)
{
	bool gaps;
	int r = open_files(j, fds);

	if (r < 0)
		return r;
	r = cfitable_make(
		&j->img, j->has_debug ? &j->debug : NULL, &reply->fd, &reply->head.bytes, &gaps);
	if (gaps)
		j->flags |= READER_FLAG_GAPS;
	return r;
}

static void job_done(struct job *j)
{
	answer_done(&j->out);
	dwarf_done(&j->dwarf);
	unpack_done(&j->unpacked);
	unpack_done(&j->alt_unpacked);
	split_done(&j->split);
	image_done(&j->alt);
	fde_done(&j->fdes);
	symtab_done(&j->symbols);
	image_done(&j->debug);
	image_done(&j->img);
	free(j->stubs);
	free(j->addrs);
}

static bool request_is_sound(const struct reader_request *req, size_t fd_count)
{
	size_t files = file_count(req);

	if ((req->flags & (READER_WITH_DWP | READER_WITH_DWO)) ==
		(READER_WITH_DWP | READER_WITH_DWO))
		return false;

	switch (req->op) {
	case READER_PING: return fd_count == 0;
	case READER_DEBUGLINK: return fd_count == files;
	case READER_UNWIND:
		return fd_count == files && (req->flags & WITH_FD & ~READER_WITH_DEBUG) == 0;
	case READER_SPLIT:
	case READER_SYMBOLS:
	case READER_INLINES: return fd_count == files + 1 && req->addr_count <= READER_ADDRS_MAX;
	default: return false;
	}
}

void reader_handle(const struct reader_request *req, const int *fds, size_t fd_count,
	uint64_t cpu_ns, struct reader_reply *reply)
{
	struct job j = {.req = req, .cpu_ns = cpu_ns, .symbols = {.debugdata_fd = -1}};
	int r = 0;

	*reply = (struct reader_reply){.head = {.version = READER_VERSION}, .fd = -1};
	if (req->version != READER_VERSION || !request_is_sound(req, fd_count))
		r = -EINVAL;
	else if (req->op == READER_DEBUGLINK)
		r = handle_debuglink(&j, fds, reply);
	else if (req->op == READER_UNWIND)
		r = handle_unwind(&j, fds, reply);
	else if (req->op == READER_SPLIT)
		r = handle_split(&j, fds, reply);
	else if (req->op != READER_PING)
		r = handle_names(&j, fds, reply);
	job_done(&j);
	reply->head.status = r;
	reply->head.flags = j.flags;
}

/* Whatever a file makes the libraries do, it ends: the signals of both timers end the process. */
static void set_timers(unsigned cpu_seconds, unsigned wall_seconds)
{
	struct itimerval cpu = {.it_value = {.tv_sec = cpu_seconds}};
	struct itimerval wall = {.it_value = {.tv_sec = wall_seconds}};

	setitimer(ITIMER_PROF, &cpu, NULL);
	setitimer(ITIMER_REAL, &wall, NULL);
}

static int serve_one(int sock, unsigned cpu_seconds)
{
	struct reader_request req;
	struct reader_reply reply;
	int fds[READER_FDS_MAX];
	size_t fd_count = READER_FDS_MAX;
	ssize_t n = io_recv_fds(sock, &req, sizeof(req), fds, &fd_count);

	if (n <= 0)
		return n < 0 ? (int)n : -EPIPE;
	set_timers(cpu_seconds, READER_WALL_SECONDS);
	if ((size_t)n == sizeof(req))
		reader_handle(&req, fds, fd_count, cpu_seconds * 1000000000ull, &reply);
	else
		reply = (struct reader_reply){
			.head = {.version = READER_VERSION, .status = -EINVAL}, .fd = -1};
	set_timers(0, 0);
	for (size_t i = 0; i < fd_count; i++)
		close(fds[i]);
	n = io_send_fds(sock, &reply.head, sizeof(reply.head), &reply.fd, reply.fd >= 0);
	if (reply.fd >= 0)
		close(reply.fd);
	heap_trim(); /* the next one may be a long time off */
	return n < 0 ? (int)n : 0;
}

int reader_serve(int sock, unsigned cpu_seconds)
{
	int r;

	while ((r = serve_one(sock, cpu_seconds)) == 0)
		;
	return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}
