/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric/eqs.h"

#include "base/log.h"
#include "fabric/fid.h"
#include "fabric/quirks.h"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <string.h>

static int open_one(struct dofi_eqs *eqs, struct fid_fabric *fabric, enum fi_wait_obj wait)
{
	struct fi_eq_attr attr = {.wait_obj = wait};
	struct fid_eq **eq_p = &eqs->list[eqs->n];
	int ret = fi_eq_open(fabric, &attr, eq_p, NULL);

	if (ret == -FI_ENOSYS && wait == FI_WAIT_FD) {
		attr.wait_obj = FI_WAIT_NONE;
		ret = fi_eq_open(fabric, &attr, eq_p, NULL);
	}
	if (ret)
		return ret;
	eqs->n++;
	if (attr.wait_obj != FI_WAIT_FD || fi_control(&(*eq_p)->fid, FI_GETWAIT, &eqs->fd))
		eqs->fd = -1;
	return 0;
}

int dofi_eqs_open(struct dofi_eqs *eqs, const char *ia_name, struct fid_fabric *fabric,
		  uint64_t quirks)
{
	int ret = 0;

	*eqs = (struct dofi_eqs){.ia_name = ia_name};
	eqs->silent = quirks & (DOFI_QUIRK_DATA_ON_EQ | DOFI_QUIRK_MUTE_QUEUE);
	if (eqs->silent)
		ret = open_one(eqs, fabric, FI_WAIT_NONE);
	if (!ret && !(quirks & DOFI_QUIRK_MUTE_QUEUE))
		ret = open_one(eqs, fabric, FI_WAIT_FD);
	if (ret)
		dofi_eqs_close(eqs);
	return ret;
}

void dofi_eqs_close(struct dofi_eqs *eqs)
{
	while (eqs->n > 0)
		dofi_fid_close(eqs->ia_name, &eqs->list[--eqs->n]->fid, "event queue");
}

struct fid_eq *dofi_eqs_of_endpoints(const struct dofi_eqs *eqs)
{
	return eqs->list[0];
}

struct fid_eq *dofi_eqs_of_listener(const struct dofi_eqs *eqs)
{
	return eqs->list[eqs->n - 1];
}

int dofi_eqs_fd(const struct dofi_eqs *eqs)
{
	return eqs->n ? eqs->fd : -1;
}

int dofi_eqs_put_fids(const struct dofi_eqs *eqs, struct fid **fids)
{
	if (dofi_eqs_fd(eqs) < 0)
		return 0;
	fids[0] = &dofi_eqs_of_listener(eqs)->fid;
	return 1;
}

/*
 * Reading the queue failed. verbs 1.17 reports so that it can't connect, and does not say which
 * connection; that connection ends by its time limit. A queue that keeps failing is reported once.
 */
static void note_failure(struct dofi_eqs *eqs, unsigned int which, int err)
{
	if (err && !eqs->fails[which])
		DOFI_LOG_W("%s: the fabric can't connect, so a connection will end by its time "
			   "limit: %s; FI_LOG_LEVEL=warn shows more",
			   eqs->ia_name, fi_strerror(err));
	eqs->fails[which] = err;
}

static bool read_error(struct fid_eq *eq, struct dofi_eq_event *event)
{
	memset(&event->error, 0, sizeof(event->error));
	event->is_error = true;
	return fi_eq_readerr(eq, &event->error, 0) >= 0;
}

static bool read_one(struct dofi_eqs *eqs, unsigned int which, struct dofi_eq_event *event)
{
	struct fid_eq *eq = eqs->list[which];
	ssize_t n = fi_eq_read(eq, &event->number, event->room, sizeof(event->room), 0);

	if (n == -FI_EAVAIL)
		return read_error(eq, event);
	note_failure(eqs, which, n < 0 && n != -FI_EAGAIN ? (int)-n : 0);
	if (n < (ssize_t)sizeof(event->entry))
		return false;
	event->is_error = false;
	event->data_size = (size_t)n - sizeof(event->entry);
	return true;
}

bool dofi_eqs_read(struct dofi_eqs *eqs, struct dofi_eq_event *event)
{
	for (unsigned int i = 0; i < eqs->n; i++)
		if (read_one(eqs, i, event))
			return true;
	return false;
}
