/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c - see modules.h.
 */
#define _GNU_SOURCE /* dl_iterate_phdr, mremap */
#include "interpose/profile/modules.h"

#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose/process/objects.h"
#include "interpose/process/stack.h"
#include "interpose/profile/unwind.h"

#define RANGES_MIN 256
#define LOOK_BYTES 1024 /* of a segment, for its hash */

struct range {
	uintptr_t begin, end, bias;
	uint64_t identity;
	const char *name; /* the linker's; valid while the object is loaded */
	const ElfW(Phdr) * headers;
	unsigned int headers_count;
	struct mam_module *module; /* NULL: no frame was in it */
};

static _Atomic uint64_t known;     /* atomic; sum when the list was built; 0: never */
static struct range *ranges;       /* lock: caller's */
static size_t count, room;         /* lock: caller's; ranges */
static size_t last;                /* lock: caller's; range of the last address */
static struct mam_module *modules; /* lock: caller's; newest first */

struct look {
	uint64_t sum;
	bool is_full;
};

static int read_sum(struct dl_phdr_info *object, size_t bytes, void *sum)
{
	(void)bytes;
	*(uint64_t *)sum = object->dlpi_adds + object->dlpi_subs;
	return 1;
}

bool mam_modules_outdated(uint64_t *sum)
{
	*sum = 0;
	mam_objects_visit(read_sum, sum);
	return *sum != atomic_load_explicit(&known, memory_order_acquire);
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes)
{
	const char *at = data;
	uint64_t word;

	for (; bytes != 0; at += sizeof(word)) {
		size_t part = bytes < sizeof(word) ? bytes : sizeof(word);

		word = 0;
		memcpy(&word, at, part);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
		bytes -= part;
	}
	return hash;
}

/* Called under the linker's lock: the object is mapped. */
static void measure(const struct dl_phdr_info *object, struct range *range)
{
	uint64_t hash = mix(0, object->dlpi_name, strlen(object->dlpi_name));

	range->begin = UINTPTR_MAX;
	range->end = 0;
	hash = mix(hash, object->dlpi_phdr, object->dlpi_phnum * sizeof(*object->dlpi_phdr));
	for (unsigned int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &object->dlpi_phdr[i];
		uintptr_t begin = object->dlpi_addr + part->p_vaddr;

		if (part->p_type == PT_LOAD && begin < range->begin)
			range->begin = begin;
		if (part->p_type == PT_LOAD && begin + part->p_memsz > range->end)
			range->end = begin + part->p_memsz;
		if (part->p_type == PT_NOTE || part->p_type == PT_GNU_EH_FRAME)
			hash = mix(hash, (const void *)begin,
				   part->p_memsz < LOOK_BYTES ? part->p_memsz : LOOK_BYTES);
	}
	range->bias = object->dlpi_addr;
	range->identity = hash;
	range->name = object->dlpi_name;
	range->headers = object->dlpi_phdr;
	range->headers_count = object->dlpi_phnum;
	range->module = NULL;
}

static bool make_room(void)
{
	size_t more = room == 0 ? RANGES_MIN : 2 * room;
	void *made = room == 0 ? mmap(NULL, more * sizeof(*ranges), PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
			       : mremap(ranges, room * sizeof(*ranges), more * sizeof(*ranges),
					MREMAP_MAYMOVE);

	if (made == MAP_FAILED)
		return false;
	ranges = made;
	room = more;
	return true;
}

static int add_range(struct dl_phdr_info *object, size_t bytes, void *user)
{
	struct look *look = user;

	(void)bytes;
	look->sum = object->dlpi_adds + object->dlpi_subs;
	if (count == room && !make_room()) {
		look->is_full = true;
		return 1;
	}
	measure(object, &ranges[count++]);
	return 0;
}

static bool is_at(const struct mam_module *module, const struct range *range)
{
	return module->begin == range->begin && module->bias == range->bias &&
	       module->identity == range->identity;
}

void mam_modules_refresh(void)
{
	struct look look = { 0 };
	size_t i;

	count = 0;
	last = 0;
	mam_objects_visit(add_range, &look);
	if (look.is_full)
		count = 0;
	for (struct mam_module *module = modules; module != NULL; module = module->next) {
		if (!module->is_loaded)
			continue;
		for (i = 0; i < count && !is_at(module, &ranges[i]); i++)
			;
		module->is_loaded = i < count;
		if (i < count)
			ranges[i].module = module;
		else
			mam_unwind_distrust();
	}
	atomic_store_explicit(&known, look.sum, memory_order_release);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

/* The main program has no name, and a name may be relative to the folder of its load. */
static const char *path_of(const char *name, char path[PATH_MAX])
{
	ssize_t length;

	if (name[0] == '\0') {
		length = readlink("/proc/self/exe", path, PATH_MAX - 1);
		path[length < 0 ? 0 : length] = '\0';
		return path;
	}
	return name[0] != '/' && strchr(name, '/') != NULL && realpath(name, path) != NULL ? path
											   : name;
}

static void print_id(char *to, const unsigned char *id, size_t bytes)
{
	for (size_t i = 0; i < bytes && i < MAM_MODULES_ID_BYTES; i++) {
		*to++ = "0123456789abcdef"[id[i] >> 4];
		*to++ = "0123456789abcdef"[id[i] & 15];
	}
	*to = '\0';
}

/* Finds the build ID in a segment of notes. Names and contents are padded to multiples of 4. */
static bool read_notes(const char *at, size_t bytes, char *id)
{
	ElfW(Nhdr) note;

	while (bytes >= sizeof(note)) {
		size_t name, content;

		memcpy(&note, at, sizeof(note));
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		content = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > bytes - sizeof(note) || content > bytes - sizeof(note) - name)
			return false;
		at += sizeof(note);
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz != 0 &&
		    memcmp(at, "GNU", 4) == 0) {
			print_id(id, (const unsigned char *)at + name, note.n_descsz);
			return true;
		}
		at += name + content;
		bytes -= sizeof(note) + name + content;
	}
	return false;
}

static struct mam_module *make_module(const struct range *range)
{
	struct mam_module *module = mam_stack_cut(sizeof(*module));
	char path[PATH_MAX], *kept;
	const char *name = path_of(range->name, path);

	kept = module == NULL ? NULL : mam_stack_cut(strlen(name) + 1);
	if (kept == NULL)
		return NULL;
	strcpy(kept, name);
	memset(module, 0, sizeof(*module));
	module->path = kept;
	module->identity = range->identity;
	module->is_cuda = mam_stack_is_of_cuda(last_part(kept));
	module->number = modules == NULL ? 1 : modules->number + 1;
	strcpy(module->id, "-");
	for (unsigned int i = 0; i < range->headers_count; i++)
		if (range->headers[i].p_type == PT_NOTE &&
		    read_notes((const char *)range->bias + range->headers[i].p_vaddr,
			       range->headers[i].p_memsz, module->id))
			break;
	module->next = modules;
	modules = module;
	return module;
}

static struct mam_module *module_of(struct range *range)
{
	struct mam_module *module = modules;

	if (range->module != NULL)
		return range->module;
	while (module != NULL && (module->is_loaded || module->identity != range->identity))
		module = module->next;
	if (module == NULL)
		module = make_module(range);
	if (module == NULL)
		return NULL;
	module->begin = range->begin;
	module->bias = range->bias;
	module->is_loaded = true;
	range->module = module;
	return module;
}

struct mam_module *mam_modules_find(uintptr_t address, uint64_t *offset)
{
	for (size_t i = 0; i < count; i++) {
		struct range *range = &ranges[(last + i) % count];

		if (address < range->begin || address >= range->end)
			continue;
		last = (size_t)(range - ranges);
		*offset = address - range->bias;
		return module_of(range);
	}
	return NULL;
}

void mam_modules_begin(void)
{
	for (struct mam_module *module = modules; module != NULL; module = module->next)
		module->is_written = false;
}

/* Another thread may have been changing the list: its memory is not used again. */
void mam_modules_restart(void)
{
	ranges = NULL;
	count = room = 0;
	atomic_store(&known, 0);
	mam_modules_begin();
}
