/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "transport/shm_cleanup.h"

#include "object/ia.h"
#include "base/log.h"
#include "base/clock.h"
#include "memory/segment.h"
#include "progress/timer.h"
#include "transport/shm_region.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define DYING_NS    1000000000u

/* That of all releases from 1.17 to 2.6 is at most so long. */
#define REGION_SIZE (16u << 20)

int dofi_shm_cleanup_probe(void)
{
	int fd;

	if (!dofi_segment_fits(REGION_SIZE))
		return -EFBIG;
	fd = open(DOFI_SHM_DIR, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void sweep(const char *ia_name)
{
	DIR *dir = opendir(DOFI_SHM_DIR);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = readdir(dir)))
		if (dofi_shm_region_sweep(dirfd(dir), entry->d_name))
			DOFI_LOG_I("IA %s: removed %s/%s of a dead process", ia_name, DOFI_SHM_DIR,
				   entry->d_name);
	closedir(dir);
}

static void look_again(struct dofi_timer *timer)
{
	sweep(DOFI_CONTAINER(timer, struct dofi_ia, shm_cleanup.timer)->name);
}

void dofi_shm_cleanup_init(struct dofi_ia *ia, const uint8_t *name)
{
	ia->shm_cleanup.timer.fire = look_again;
	ia->shm_cleanup.held = -1;
	ia->shm_cleanup.possible = dofi_shm_region_is_of(name);
	if (!ia->shm_cleanup.possible)
		return;
	ia->shm_cleanup.held = dofi_shm_region_hold(name);
	if (ia->shm_cleanup.held < 0)
		DOFI_LOG_I("IA %s: its region in %s can't be locked and will stay if this process "
			   "is killed: %s",
			   ia->name, DOFI_SHM_DIR, strerror(-ia->shm_cleanup.held));
	sweep(ia->name);
}

void dofi_shm_cleanup_fini(struct dofi_ia *ia)
{
	if (ia->shm_cleanup.possible)
		dofi_shm_region_release(ia->shm_cleanup.held);
	ia->shm_cleanup.possible = false;
}

void dofi_shm_cleanup_expect(struct dofi_ia *ia)
{
	dofi_assert_held(&ia->engine.lock);
	if (ia->shm_cleanup.possible)
		dofi_timer_set(ia, &ia->shm_cleanup.timer, dofi_now() + DYING_NS);
}
