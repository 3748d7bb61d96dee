/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "object/object.h"

#include "object/ep.h"
#include "object/ia.h"
#include "object/mem.h"
#include "object/ud_ah.h"

#include <string.h>
#include <sys/mman.h>

/* ASan reports every touch of a freed object but its header, which stale handles may reach. */
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define DOFI_ASAN 1
#endif
#endif
#ifdef POISON
/* check_slab.c includes this file and looks at the calls. */
#elif defined(__SANITIZE_ADDRESS__) || defined(DOFI_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#define POISON(ptr, size)   ASAN_POISON_MEMORY_REGION((ptr), (size))
#define UNPOISON(ptr, size) ASAN_UNPOISON_MEMORY_REGION((ptr), (size))
/* For leak checkers: objects own heap memory that is reachable only from here. */
#define ADD_ROOT(ptr, size) __lsan_register_root_region((ptr), (size))
#else
#define POISON(ptr, size)   ((void)(ptr), (void)(size))
#define UNPOISON(ptr, size) ((void)(ptr), (void)(size))
#define ADD_ROOT(ptr, size) ((void)(ptr), (void)(size))
#endif

/* A freed object is used again after so many others of its type were freed, or so many bytes. */
#define QUARANTINE       256u
#define QUARANTINE_BYTES ((size_t)512 * 1024)
#define OBJ_ALIGN        64u
#define CHUNK_MIN        65536u

struct slab {
	struct dofi_lock lock;
	struct dofi_list resting; /* freed objects by obj->siblings, oldest first */
	uint32_t nresting;
	char *fresh; /* rest of the latest chunk that was never used */
	size_t fresh_size;
	size_t size;  /* size of an object; set with the first one */
	bool at_rest; /* while the process forks: the forking thread holds the lock */
};

#define SLAB(type)                                                \
	[type] = {.lock = DOFI_LOCK_INITIALIZER(DOFI_LEVEL_LEAF), \
		  .resting = {&slabs[type].resting, &slabs[type].resting}}

static struct slab slabs[DOFI_HANDLE_TYPES] = {
	SLAB(DAT_HANDLE_TYPE_CR),  SLAB(DAT_HANDLE_TYPE_EP),  SLAB(DAT_HANDLE_TYPE_EVD),
	SLAB(DAT_HANDLE_TYPE_IA),  SLAB(DAT_HANDLE_TYPE_LMR), SLAB(DAT_HANDLE_TYPE_PSP),
	SLAB(DAT_HANDLE_TYPE_PZ),  SLAB(DAT_HANDLE_TYPE_RMR), SLAB(DAT_HANDLE_TYPE_RSP),
	SLAB(DAT_HANDLE_TYPE_CNO), SLAB(DAT_HANDLE_TYPE_SRQ), SLAB(DOFI_HANDLE_TYPE_AH),
};

static bool add_chunk(struct slab *slab, size_t size)
{
	size_t chunk = size * 8 > CHUNK_MIN ? size * 8 : CHUNK_MIN;
	void *mem = mmap(NULL, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return false;
	ADD_ROOT(mem, chunk);
	slab->fresh = mem;
	slab->fresh_size = chunk;
	return true;
}

static struct dofi_obj *take_slot(struct slab *slab, size_t size)
{
	struct dofi_obj *obj = NULL;

	dofi_lock(&slab->lock);
	slab->size = size;
	if (slab->nresting > QUARANTINE || slab->nresting * size > QUARANTINE_BYTES) {
		obj = DOFI_CONTAINER(dofi_list_pop(&slab->resting), struct dofi_obj, siblings);
		slab->nresting--;
	} else if (slab->fresh_size >= size || add_chunk(slab, size)) {
		obj = (struct dofi_obj *)(void *)slab->fresh;
		slab->fresh += size;
		slab->fresh_size -= size;
	}
	dofi_unlock(&slab->lock);
	return obj;
}

/* No other thread takes two of the locks, so their order does not matter. */
void dofi_obj_fork_begin(uint64_t ns)
{
	for (int type = 0; type < DOFI_HANDLE_TYPES; type++)
		slabs[type].at_rest = dofi_trylock_for(&slabs[type].lock, ns);
}

void dofi_obj_fork_end(void)
{
	for (int type = 0; type < DOFI_HANDLE_TYPES; type++)
		if (slabs[type].at_rest)
			dofi_unlock(&slabs[type].lock);
}

void *dofi_obj_alloc(struct dofi_ia *ia, const DAT_PROVIDER *provider, DAT_HANDLE_TYPE type,
		     size_t size)
{
	struct dofi_obj *obj;

	size = (size + OBJ_ALIGN - 1) & ~(size_t)(OBJ_ALIGN - 1);
	obj = take_slot(&slabs[type], size);
	if (!obj)
		return NULL;
	UNPOISON(obj, size);
	/*
	 * Leaves the magic number alone: it is already cleared, and a call with a stale handle may
	 * read it.
	 */
	memset(obj + 1, 0, size - sizeof(*obj));
	obj->provider = provider;
	atomic_store_explicit(&obj->users, 0, memory_order_relaxed);
	obj->ia = ia;
	atomic_store(&obj->context, 0);
	dofi_list_init(&obj->siblings);
	return obj;
}

#define COUNTED(kind)                                              \
	case DAT_HANDLE_TYPE_##kind:                               \
		if (made)                                          \
			DOFI_COUNT_SHARED(ia, IA_##kind##_CREATE); \
		else                                               \
			DOFI_COUNT_SHARED(ia, IA_##kind##_FREE);   \
		break

static void count_object(struct dofi_ia *ia, DAT_HANDLE_TYPE type, bool made)
{
	switch (type) {
		COUNTED(EP);
		COUNTED(EVD);
		COUNTED(LMR);
		COUNTED(PZ);
		COUNTED(RMR);
		COUNTED(RSP);
		COUNTED(SRQ);
	case DAT_HANDLE_TYPE_PSP: /* two calls create PSPs, and they count by themselves */
		if (!made)
			DOFI_COUNT_SHARED(ia, IA_PSP_FREE);
		break;
	default:
		break;
	}
}

void dofi_obj_publish(struct dofi_obj *obj, DAT_HANDLE_TYPE type)
{
	struct dofi_ia *ia = obj->ia;

	if (type != DAT_HANDLE_TYPE_IA) {
		dofi_lock(&ia->obj_lock);
		dofi_list_add_tail(&ia->objects[type], &obj->siblings);
		ia->counts[type]++;
		dofi_unlock(&ia->obj_lock);
		count_object(ia, type, true);
	}
	atomic_store_explicit(&obj->magic, DOFI_MAGIC | (uint32_t)type, memory_order_release);
}

bool dofi_obj_room(struct dofi_ia *ia, DAT_HANDLE_TYPE type, uint32_t limit)
{
	bool room;

	dofi_lock(&ia->obj_lock);
	room = ia->counts[type] < limit;
	dofi_unlock(&ia->obj_lock);
	return room;
}

bool dofi_obj_retire(struct dofi_obj *obj, bool only_unused)
{
	struct dofi_ia *ia = obj->ia;
	DAT_HANDLE_TYPE type;
	bool ok;

	dofi_lock(&ia->obj_lock);
	ok = dofi_obj_type(obj, &type) &&
	     !(only_unused && atomic_load_explicit(&obj->users, memory_order_acquire) > 0);
	if (ok) {
		atomic_store_explicit(&obj->magic, 0, memory_order_release);
		if (type != DAT_HANDLE_TYPE_IA) {
			dofi_list_del(&obj->siblings);
			ia->counts[type]--;
			count_object(ia, type, false);
		}
	}
	dofi_unlock(&ia->obj_lock);
	return ok;
}

/*
 * dat_ia_close does not wait for calls on an EVD, so such a call may still read the freed EVD and
 * its IA.
 */
static bool may_be_touched_late(DAT_HANDLE_TYPE type)
{
	return type == DAT_HANDLE_TYPE_EVD || type == DAT_HANDLE_TYPE_IA;
}

void dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type)
{
	struct slab *slab = &slabs[type];

	assert(!atomic_load_explicit(&obj->magic, memory_order_relaxed));
	if (!may_be_touched_late(type))
		POISON(obj + 1, slab->size - sizeof(*obj));
	dofi_lock(&slab->lock);
	dofi_list_add_tail(&slab->resting, &obj->siblings);
	slab->nresting++;
	dofi_unlock(&slab->lock);
}

bool dofi_obj_type(const void *handle, DAT_HANDLE_TYPE *type_p)
{
	const struct dofi_obj *obj = handle;
	uint32_t type;

	if (!obj || (uintptr_t)handle % DOFI_OBJ_ALIGNMENT)
		return false;
	type = atomic_load_explicit(&obj->magic, memory_order_acquire) - DOFI_MAGIC;
	if (type >= DOFI_HANDLE_TYPES)
		return false;
	*type_p = (DAT_HANDLE_TYPE)type;
	return true;
}

/* A function of the registry; NULL if it does not number IAs. Set before any IA exists. */
static dofi_ia_number_fn *number_of_ia;

void dofi_obj_set_ia_numbers(dofi_ia_number_fn *fn)
{
	number_of_ia = fn;
}

DAT_IA_HANDLE dofi_obj_ia_handle(const struct dofi_obj *obj)
{
	DAT_IA_HANDLE handle;

	if (number_of_ia && number_of_ia(DOFI_IA_TO_REGISTRY(obj->ia), &handle) == DAT_SUCCESS)
		return handle;
	return obj->ia;
}

DAT_RETURN dofi_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context)
{
	DAT_HANDLE_TYPE type;

	if (!dofi_obj_type(handle, &type))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	/* Another thread may use what the context points to as soon as it gets the context. */
	atomic_store_explicit(&((struct dofi_obj *)handle)->context, context.as_64,
			      memory_order_release);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context)
{
	DAT_HANDLE_TYPE type;

	if (!dofi_obj_type(handle, &type))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!context)
		return DOFI_BAD_ARG(2);
	context->as_64 =
		atomic_load_explicit(&((struct dofi_obj *)handle)->context, memory_order_acquire);
	return DAT_SUCCESS;
}

DAT_RETURN dofi_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type)
{
	DAT_HANDLE_TYPE found;

	if (!dofi_obj_type(handle, &found))
		return DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1);
	if (!type)
		return DOFI_BAD_ARG(2);
	*type = found;
	return DAT_SUCCESS;
}
