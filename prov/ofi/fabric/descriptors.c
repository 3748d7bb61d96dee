/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <rdma/fi_errno.h>
#include <stdbool.h>
#include <unistd.h>

/* The number of descriptors that a fabric opens in one step, and returns if they are not enough. */
#define FDS_OF_A_STEP 16

int dofi_descriptors_look(int wanted)
{
	int fds[DOFI_FDS_OF_AN_IA], n = 0, ret = 0;

	while (n < wanted && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	/* Any other error is about the file, which an environment made by hand may not have. */
	if (n < wanted && (errno == EMFILE || errno == ENFILE))
		ret = -errno;
	while (n > 0)
		close(fds[--n]);
	return ret;
}

int dofi_descriptors_error(int ret)
{
	int why;

	if (!ret || ret == -FI_ENOMEM)
		return ret;
	why = dofi_descriptors_look(FDS_OF_A_STEP);
	return why ? why : ret;
}

static bool is_closed(int fd)
{
	return fcntl(fd, F_GETFD) < 0 && errno == EBADF;
}

void dofi_descriptors_occupy_standard(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int other = is_closed(fd) ? open("/", O_PATH | O_CLOEXEC) : -1;

		/* Another thread has taken the number meanwhile. */
		if (other > STDERR_FILENO)
			close(other);
	}
}
