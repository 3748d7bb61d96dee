/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* IA handles: small numbers for consumers, pointers for providers. */
#include <stdatomic.h>
#include <stdlib.h>

#include "dispatch.h"
#include "handle.h"
#include "lock.h"

#define CHUNK_SLOTS 64u
#define NUM_CHUNKS  (DATR_IA_LIMIT / CHUNK_SLOTS)

struct ia_slot {
	_Atomic(DAT_IA_HANDLE) ia; /* NULL: not open. Readers read only this field. */
	/* Guarded by table_lock. */
	struct datr_provider *provider;
	bool reserved;
	bool closing;
};

/*
 * Chunks are added and never freed, so readers need no lock. Number 0, the null handle, is never
 * given out.
 */
static struct ia_slot first_chunk[CHUNK_SLOTS] = {{.reserved = true}};
static _Atomic(struct ia_slot *) chunks[NUM_CHUNKS] = {first_chunk};

static struct datr_lock table_lock = DATR_LOCK_INIT;
static unsigned int table_size = CHUNK_SLOTS;
static unsigned int last_number;

/* The lock is held for moments only, but a signal handler may fork in such a moment. */
#define FORK_LOCK_MS 100

void datr_ia_fork_begin(void)
{
	datr_lock_fork_begin(&table_lock, FORK_LOCK_MS);
}

void datr_ia_fork_end(bool in_child)
{
	if (in_child && !datr_lock_is_forkers(&table_lock))
		datr_lock_renew(&table_lock);
	datr_lock_fork_end(&table_lock);
}

static struct ia_slot *slot_at(uintptr_t number)
{
	struct ia_slot *chunk;

	if (number >= DATR_IA_LIMIT)
		return NULL;
	chunk = atomic_load_explicit(&chunks[number / CHUNK_SLOTS], memory_order_acquire);
	return chunk ? &chunk[number % CHUNK_SLOTS] : NULL;
}

static DAT_IA_HANDLE slot_ia(struct ia_slot *slot)
{
	return atomic_load_explicit(&slot->ia, memory_order_acquire);
}

DAT_IA_HANDLE datr_ia_lookup(DAT_IA_HANDLE number)
{
	struct ia_slot *slot = slot_at((uintptr_t)number);

	return slot ? slot_ia(slot) : NULL;
}

static void table_grow_locked(void)
{
	struct ia_slot *chunk;

	datr_assert_locked(&table_lock);
	if (table_size == DATR_IA_LIMIT)
		return;
	chunk = calloc(CHUNK_SLOTS, sizeof(*chunk));
	if (!chunk)
		return;
	atomic_store_explicit(&chunks[table_size / CHUNK_SLOTS], chunk, memory_order_release);
	table_size += CHUNK_SLOTS;
}

/*
 * Continues behind the number given out last, so that a freed number stays invalid for a long time.
 */
static unsigned int free_number_locked(void)
{
	datr_assert_locked(&table_lock);
	for (unsigned int i = 1; i <= table_size; i++) {
		unsigned int number = (last_number + i) % table_size;

		if (!slot_at(number)->reserved)
			return number;
	}
	return 0;
}

DAT_IA_HANDLE datr_ia_reserve(void)
{
	unsigned int number;

	datr_lock(&table_lock);
	number = free_number_locked();
	if (!number) {
		table_grow_locked();
		number = free_number_locked();
	}
	if (number) {
		slot_at(number)->reserved = true;
		last_number = number;
	}
	datr_unlock(&table_lock);
	return (DAT_IA_HANDLE)(uintptr_t)number;
}

void datr_ia_publish(DAT_IA_HANDLE number, DAT_IA_HANDLE ia, struct datr_provider *provider)
{
	struct ia_slot *slot = slot_at((uintptr_t)number);

	datr_lock(&table_lock);
	slot->provider = provider;
	atomic_store_explicit(&slot->ia, ia, memory_order_release);
	datr_unlock(&table_lock);
}

void datr_ia_release(DAT_IA_HANDLE number)
{
	struct ia_slot *slot = slot_at((uintptr_t)number);

	datr_lock(&table_lock);
	atomic_store_explicit(&slot->ia, NULL, memory_order_release);
	slot->provider = NULL;
	slot->closing = false;
	slot->reserved = false;
	datr_unlock(&table_lock);
}

bool datr_ia_close_begin(DAT_IA_HANDLE number, DAT_IA_HANDLE *ia_p,
			 struct datr_provider **provider_p)
{
	struct ia_slot *slot = slot_at((uintptr_t)number);
	bool ok;

	if (!slot)
		return false;
	datr_lock(&table_lock);
	ok = slot_ia(slot) && !slot->closing;
	if (ok) {
		slot->closing = true;
		*ia_p = slot_ia(slot);
		*provider_p = slot->provider;
	}
	datr_unlock(&table_lock);
	return ok;
}

void datr_ia_close_cancel(DAT_IA_HANDLE number)
{
	datr_lock(&table_lock);
	slot_at((uintptr_t)number)->closing = false;
	datr_unlock(&table_lock);
}

/*
 * The pointer of an IA that was just closed may already be the address of a new IA, while the old
 * number waits for its release. Then the new number is the right one.
 */
static DAT_IA_HANDLE number_of(DAT_IA_HANDLE ia)
{
	uintptr_t found = 0;

	datr_lock(&table_lock);
	for (unsigned int number = 1; number < table_size; number++) {
		struct ia_slot *slot = slot_at(number);

		if (slot_ia(slot) != ia)
			continue;
		found = number;
		if (!slot->closing)
			break;
	}
	datr_unlock(&table_lock);
	return (DAT_IA_HANDLE)found;
}

/*
 * Both generations translate in both directions: providers of either generation return the
 * consumer's handle.
 */
DAT_RETURN dats_get_ia_handle(datr_ia_arg arg, DAT_IA_HANDLE *other_p)
{
	DAT_IA_HANDLE handle = (DAT_IA_HANDLE)(uintptr_t)arg;
	DAT_IA_HANDLE other;

	other = datr_is_pointer(handle) ? number_of(handle) : datr_ia_lookup(handle);
	if (!other)
		return DATR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!other_p)
		return DATR_BAD_ARG(2);
	*other_p = other;
	return DAT_SUCCESS;
}
