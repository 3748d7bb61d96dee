/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/same_process.h"

#include "fabric/quirks.h"

#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <string.h>

#define PREFIX (sizeof(DOFI_SHM_PREFIX) - 1)

static bool is_of_shm(const uint8_t *name, size_t size)
{
	return size > PREFIX && !memcmp(name, DOFI_SHM_PREFIX, PREFIX);
}

static int add_slash(uint8_t *name, size_t *size_p, size_t room)
{
	if (*size_p == room)
		return -FI_ETOOSMALL;
	memmove(name + PREFIX + 1, name + PREFIX, *size_p - PREFIX);
	name[PREFIX] = '/';
	++*size_p;
	return 0;
}

int dofi_same_process_hide(uint64_t quirks, uint8_t *name, size_t *size_p, size_t room)
{
	if (!(quirks & DOFI_QUIRK_OWN_PROCESS) || !is_of_shm(name, *size_p))
		return 0;
	return add_slash(name, size_p, room);
}

/* Names begin with the number of the process. */
static bool is_of_same_process(const uint8_t *name, size_t size, const uint8_t *own)
{
	for (size_t i = PREFIX; i < size && name[i] == own[i]; i++)
		if (name[i] == ':')
			return true;
	return false;
}

int dofi_same_process_avoid(uint64_t quirks, uint8_t *name, size_t *size_p, size_t room,
			    const uint8_t *own)
{
	if (!(quirks & DOFI_QUIRK_OWN_PROCESS_CLOSED) || !is_of_shm(name, *size_p) ||
	    !memcmp(name, own, *size_p) || !is_of_same_process(name, *size_p, own))
		return 0;
	return add_slash(name, size_p, room);
}
