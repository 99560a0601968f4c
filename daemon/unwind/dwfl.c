/* libdw as an unwinder of its own, to compare with: its tables, its rules, its frame-pointer
 * fall-back. It opens no file: modules are handed to it as bytes that are mapped already. */
#include "daemon/unwind/walk.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include "base/cleanup.h"
#include "daemon/unwind/cfi.h"

#define DWFLS_MAX 4

/* What libdw knows of one space. The walk is that of the present call. */
struct known {
	struct dwfl_walker *walker;
	const struct space *space; /* NULL: free */
	uint64_t generation;
	uint64_t used;
	Dwfl *dwfl;
	struct module **modules; /* references, as libdw reads their bytes */
	unsigned module_count;
	struct walk *walk;
	struct unwind_chain *chain;
	unsigned max_frames;
	bool first; /* the next frame is the one that the chain has already */
};

struct dwfl_walker {
	struct known known[DWFLS_MAX];
	uint64_t clock;
};

int dwfl_walker_new(struct dwfl_walker **ret_walker)
{
	struct dwfl_walker *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	elf_version(EV_CURRENT);
	*ret_walker = d;
	return 0;
}

static void known_done(struct known *k)
{
	if (k->dwfl)
		dwfl_end(k->dwfl);
	for (unsigned i = 0; i < k->module_count; i++)
		module_unref(k->modules[i]);
	free(k->modules);
	memset(k, 0, sizeof(*k));
}

void dwfl_walker_free(struct dwfl_walker *d)
{
	if (!d)
		return;
	for (unsigned i = 0; i < DWFLS_MAX; i++)
		known_done(&d->known[i]);
	free(d);
}

void dwfl_walker_forget(struct dwfl_walker *d, const struct space *s)
{
	for (unsigned i = 0; i < DWFLS_MAX; i++)
		if (d->known[i].space == s)
			known_done(&d->known[i]);
}

static int find_elf(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
	char **ret_file, Elf **ret_elf)
{
	const struct module *m = *userdata;

	(void)mod;
	(void)name;
	(void)base;
	(void)ret_file;
	if (m)
		*ret_elf = elf_memory((char *)(uintptr_t)m->image, m->image_bytes);
	return -1;
}

static int find_debuginfo(Dwfl_Module *mod, void **userdata, const char *name, Dwarf_Addr base,
	const char *file, const char *debuglink, GElf_Word crc, char **ret_file)
{
	(void)mod;
	(void)userdata;
	(void)name;
	(void)base;
	(void)file;
	(void)debuglink;
	(void)crc;
	(void)ret_file;
	return -1;
}

static const Dwfl_Callbacks callbacks = {.find_elf = find_elf,
	.find_debuginfo = find_debuginfo,
	.section_address = dwfl_offline_section_address};

/* Tells libdw of the module of that range, where it is for the first time. */
static int report(struct known *k, struct range *r)
{
	struct module *m = space_module(k->walk->space, r);
	uint64_t bias, low = UINT64_MAX, high = 0;
	struct module **modules;
	Dwfl_Module *mod;
	void **userdata;
	char name[32];

	if (!m || m->error != 0 || !range_bias(r, &bias))
		return 0;
	for (unsigned i = 0; i < m->segment_count; i++) {
		const struct module_segment *s = &m->segments[i];

		low = s->vaddr < low ? s->vaddr : low;
		high = s->vaddr + s->mem_bytes > high ? s->vaddr + s->mem_bytes : high;
	}
	low &= ~UINT64_C(4095);
	snprintf(name, sizeof(name), "%u@%llx", m->id, (unsigned long long)bias);
	mod = dwfl_addrmodule(k->dwfl, r->start);
	if (mod)
		return 0;
	mod = dwfl_report_module(k->dwfl, name, bias + low, bias + high);
	if (!mod)
		return 0;
	modules = realloc(k->modules, (k->module_count + 1) * sizeof(struct module *));
	if (!modules)
		return -ENOMEM;
	k->modules = modules;
	k->modules[k->module_count++] = module_ref(m);
	dwfl_module_info(mod, &userdata, NULL, NULL, NULL, NULL, NULL, NULL);
	*userdata = m;
	return 0;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *ret_word, void *arg)
{
	struct known *k = arg;
	struct range *r = space_find(k->walk->space, addr);
	const void *bytes;
	uint64_t bias;

	(void)dwfl;
	if (r && r->module && range_bias(r, &bias)) {
		bytes = module_bytes(r->module, addr - bias, sizeof(*ret_word));
		if (bytes) {
			memcpy(ret_word, bytes, sizeof(*ret_word));
			return true;
		}
	}
	return walk_read(k->walk, addr, ret_word);
}

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	if (*thread_arg)
		return 0;
	*thread_arg = arg;
	return dwfl_pid(dwfl);
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	(void)tid;
	*thread_arg = arg;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct known *k = arg;

	return dwfl_thread_state_registers(thread, 0, DWREG_COUNT, k->walk->regs.value);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = memory_read,
	.set_initial_registers = set_registers};

static int make_known(struct dwfl_walker *d, struct known *k, struct walk *w)
{
	struct range *r;
	int error = 0;

	k->walker = d;
	k->space = w->space;
	k->walk = w;
	k->dwfl = dwfl_begin(&callbacks);
	if (!k->dwfl)
		return -ENOMEM;
	dwfl_report_begin(k->dwfl);
	for (unsigned i = 0; error == 0 && (r = space_range(w->space, i)); i++)
		error = report(k, r);
	if (dwfl_report_end(k->dwfl, NULL, NULL) != 0 && error == 0)
		error = -EIO;
	/* Any pid will do: nothing is looked up by it. */
	if (error == 0 && !dwfl_attach_state(k->dwfl, NULL, 1, &thread_callbacks, k))
		error = -EIO;
	k->generation = space_generation(w->space);
	return error;
}

/* libdw's picture of the space of this walk: made again when the space has changed. NULL: it
 * cannot. */
static struct known *known_for(struct dwfl_walker *d, struct walk *w)
{
	struct known *k = &d->known[0];

	for (unsigned i = 0; i < DWFLS_MAX; i++) {
		struct known *o = &d->known[i];

		if (o->space == w->space) {
			k = o;
			break;
		}
		if (!o->space || (k->space && o->used < k->used))
			k = o;
	}
	if (k->space != w->space || k->generation != space_generation(w->space)) {
		known_done(k);
		if (make_known(d, k, w) < 0) {
			known_done(k);
			return NULL;
		}
	}
	k->used = ++d->clock;
	return k;
}

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct known *k = arg;
	struct unwind_chain *chain = k->chain;
	struct range *callee;
	Dwarf_Addr pc;
	bool as_is;

	k->walk->read_failed = false;
	if (k->first) {
		k->first = false;
		return DWARF_CB_OK;
	}
	if (!dwfl_frame_pc(frame, &pc, &as_is))
		return DWARF_CB_ABORT;
	if (pc == 0) {
		k->walk->end = UNWIND_ROOT;
		return DWARF_CB_ABORT;
	}
	if (chain->count >= k->max_frames) {
		k->walk->end = UNWIND_MAX_FRAMES;
		return DWARF_CB_ABORT;
	}
	pc -= !as_is;
	if (!space_find(k->walk->space, pc)) {
		k->walk->end = UNWIND_NO_MODULE;
		return DWARF_CB_ABORT;
	}
	callee = space_find(k->walk->space, chain->addrs[chain->count - 1]);
	chain_push(chain, pc, 0, callee && callee->module ? UNWIND_BY_CFI : UNWIND_BY_FP);
	return DWARF_CB_OK;
}

/* libdw also ends without an error where it could not work out a register, so that it does not know
 * the return address (0.188 does so when the CFA is in rbx). Where the module can be asked, it has
 * to agree. */
static enum unwind_end confirm_root(struct walk *w, const struct unwind_chain *chain)
{
	uint64_t last = chain->addrs[chain->count - 1], vaddr;
	struct range *r = space_find(w->space, last);

	if (w->last_word == 0 || !r || !r->module || r->module->eh_frame_hdr == 0 ||
		!range_vaddr(r, last, &vaddr) || cfi_is_outermost(r->module, vaddr))
		return UNWIND_ROOT;
	return UNWIND_ERROR;
}

void dwfl_walker_run(
	struct dwfl_walker *d, struct walk *w, unsigned max_frames, struct unwind_chain *chain)
{
	struct known *k = known_for(d, w);
	int result;

	chain->end = UNWIND_ERROR;
	if (!k)
		return;
	k->walk = w;
	k->chain = chain;
	k->max_frames = max_frames;
	k->first = true;
	w->end = UNWIND_ERROR;
	result = dwfl_getthread_frames(k->dwfl, dwfl_pid(k->dwfl), on_frame, k);
	if (result == 0 && !w->read_failed)
		chain->end = confirm_root(w, chain);
	else if (result == 0 || result == DWARF_CB_ABORT || w->read_failed)
		chain->end = w->end;
	else
		chain->end = UNWIND_NO_CFI;
}
