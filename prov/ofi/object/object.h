/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Header of every DAT object.
 *
 * Handles are raw pointers, and a registry dereferences them before the provider sees them. So
 * objects live in slabs that are never unmapped. A freed object keeps its first word, loses its
 * magic number and waits in a quarantine before its memory is used again. Therefore a stale handle
 * is answered with DAT_INVALID_HANDLE instead of a crash.
 */
#ifndef DOFI_OBJECT_H
#define DOFI_OBJECT_H

#include "base/count.h"
#include "base/dat_api.h"
#include "base/list.h"
#include "base/lock.h"

#include <stdatomic.h>
#include <stdint.h>

struct dofi_ia;

/* Of an object's address, which tells a handle from most other pointers; as that of malloc. */
#define DOFI_OBJ_ALIGNMENT 16

struct dofi_obj {
	/* must be the first member, because a registry dispatches through it */
	_Alignas(DOFI_OBJ_ALIGNMENT) const DAT_PROVIDER *provider;
	_Atomic uint32_t magic; /* DOFI_MAGIC | type while the object is valid */
	/* number of objects that use this one; it cannot be freed while > 0 */
	_Atomic int users;
	struct dofi_ia *ia;
	_Atomic uint64_t context;  /* the consumer's DAT_CONTEXT, never read by us */
	struct dofi_list siblings; /* in ia->objects[type], guarded by ia->obj_lock */
};

#define DOFI_MAGIC        0xda70f100u
#define DOFI_HANDLE_TYPES 13

static inline bool dofi_obj_is(const void *handle, DAT_HANDLE_TYPE type)
{
	const struct dofi_obj *obj = handle;

	return obj && (uintptr_t)handle % DOFI_OBJ_ALIGNMENT == 0 &&
	       atomic_load_explicit(&obj->magic, memory_order_acquire) ==
		       (DOFI_MAGIC | (uint32_t)type);
}

/*
 * The object of a handle, or NULL unless the handle is valid and of that type. Usage: struct
 * dofi_ep *ep = DOFI_OBJ(handle, EP);
 */
#define DOFI_OBJ(handle, TYPE) \
	(dofi_obj_is((handle), DAT_HANDLE_TYPE_##TYPE) ? (void *)(handle) : NULL)

/*
 * Zeroed memory for an object of `type`. Its header is filled; the handle is not valid yet. NULL if
 * out of memory.
 */
void *dofi_obj_alloc(struct dofi_ia *ia, const DAT_PROVIDER *provider, DAT_HANDLE_TYPE type,
		     size_t size);

/*
 * Between the two calls no other thread is inside dofi_obj_alloc or dofi_obj_free, so the child of
 * a fork can open an IA. Both processes make the second call. The first one waits for each lock no
 * longer than ns of processor time: a signal handler that forks may have interrupted the function
 * that holds the lock.
 */
void dofi_obj_fork_begin(uint64_t ns);
void dofi_obj_fork_end(void);

/*
 * Makes the handle valid and adds the object to the list of its IA. The last call of a create
 * function.
 */
void dofi_obj_publish(struct dofi_obj *obj, DAT_HANDLE_TYPE type);

/*
 * Makes the handle invalid. Exactly one of several callers gets true and goes on to destroy the
 * object. With only_unused, fails while obj->users > 0.
 */
bool dofi_obj_retire(struct dofi_obj *obj, bool only_unused);

/*
 * What a free function answers for an object that it could not retire: the object has users, or
 * another thread has freed it meanwhile, and then the answer is that for an invalid handle.
 */
#define DOFI_NOT_RETIRED(obj, TYPE, invalid) \
	(dofi_obj_is((obj), DAT_HANDLE_TYPE_##TYPE) ? DOFI_BAD_STATE(TYPE##_IN_USE) : (invalid))

/* Returns the memory of a retired (or never published) object to its slab. */
void dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type);

/*
 * Whether the IA may have one more object of this type. Two callers at once may both get the last
 * one.
 */
bool dofi_obj_room(struct dofi_ia *ia, DAT_HANDLE_TYPE type, uint32_t limit);

/* Type of any valid object; false if the handle is not one. */
bool dofi_obj_type(const void *handle, DAT_HANDLE_TYPE *type_p);

static inline void dofi_obj_use(void *obj)
{
	if (obj)
		atomic_fetch_add_explicit(&((struct dofi_obj *)obj)->users, 1,
					  memory_order_relaxed);
}

static inline void dofi_obj_unuse(void *obj)
{
	if (obj)
		atomic_fetch_sub_explicit(&((struct dofi_obj *)obj)->users, 1,
					  memory_order_release);
}

/* The value that stands for obj's IA in results of queries: the registry's number if it has one. */
DAT_IA_HANDLE dofi_obj_ia_handle(const struct dofi_obj *obj);
/* A registry that numbers IAs translates pointers by this function. NULL: handles are pointers. */
typedef __typeof__(*&dats_get_ia_handle) dofi_ia_number_fn;
void dofi_obj_set_ia_numbers(dofi_ia_number_fn *fn);

/*
 * The result of a query without a structure to fill. Otherwise queries of objects fill all fields,
 * whatever the mask is: MVAPICH2 asks for 0xFFFF of an EP, and OFED's library took that.
 */
static inline DAT_RETURN dofi_query_nothing(unsigned int mask)
{
	return mask ? DOFI_BAD_ARG(3) : DAT_SUCCESS;
}

/* Slots that all types of handles share. */
DAT_RETURN dofi_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context);
DAT_RETURN dofi_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context);
DAT_RETURN dofi_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *type);

#endif
