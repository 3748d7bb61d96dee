/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_requests.h"

#include "transport/shm_layout.h"
#include "transport/shm_peer_table.h"
#include "transport/shm_structures.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct answer {
	uint64_t request; /* address of a struct request */
	_Atomic uint64_t status;
};

/* A request that waits for an answer, in the initiator's memory. */
struct request {
	uint8_t head[20];
	uint16_t source;
	uint16_t flags;
	uint64_t size, answer;
	uint8_t command[216];
	int64_t peer;
	uint8_t more[88];
	uint64_t done;
};
_Static_assert(offsetof(struct request, peer) == 256 && offsetof(struct request, done) == 352,
	       "as libfabric has it");

enum { SOURCE_SAR = 4 };
enum { STATUS_BUSY = 16, STATUS_SAR_FREE = 1025 };

/* Ends the request with an error. True: it did not wait for the dead process. */
static bool end_request(const struct dofi_shm_map *own, struct answer *answer, const bool *is_it)
{
	struct request *request = (void *)(uintptr_t)answer->request;
	uint64_t status = atomic_load(&answer->status);

	if (!request || request->answer != (size_t)((char *)answer - own->base) ||
	    request->peer < 0 || request->peer >= (int64_t)DOFI_SHM_MAX_PEERS ||
	    !is_it[request->peer])
		return true;
	if (request->source == SOURCE_SAR) {
		request->done = request->size;
		atomic_store(&answer->status, STATUS_SAR_FREE);
	} else if (status == STATUS_BUSY) {
		atomic_store(&answer->status, (uint64_t)own->layout->failure);
	}
	return false;
}

bool dofi_shm_settle(const struct dofi_shm_map *own, const struct dofi_shm_map *dead)
{
	bool is_it[DOFI_SHM_MAX_PEERS], all = true;
	struct dofi_shm_ring *ring;
	int found;

	if (!own->layout->resp_ring)
		return true;
	found = dofi_shm_find_peer(own, dead, is_it);
	if (found <= 0)
		return !found;
	ring = dofi_shm_place(own, own->layout->resp_ring);
	for (size_t i = ((volatile struct dofi_shm_ring *)ring)->taken;
	     i != ((volatile struct dofi_shm_ring *)ring)->put; i++) {
		struct answer *answers = (void *)ring->entries;

		all &= end_request(own, &answers[i & ring->mask], is_it);
	}
	dofi_shm_signal(own);
	return all;
}
