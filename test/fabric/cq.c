/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues. A completion is delayed by a few polls, and completions leave in any order. */
#include "sham.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#define BATCH    16
#define SLICE_MS 5 /* sleep of fi_cq_sread between two checks of the delayed completions */

struct sham_done {
	struct dofi_list link;
	struct fi_cq_err_entry entry; /* all formats are beginnings of it */
	fi_addr_t src;
	unsigned int due; /* the number of the poll that may return it */
	void *context;    /* freed when this is read */
};

static struct sham_cq *cq_of(struct fid_cq *cq)
{
	return SHAM_CONTAINER(cq, struct sham_cq, fid);
}

/* --- completions of the core --- */

/* Sets whether completions of the core make the descriptor readable, if it can be muted. */
static void set_muted(struct sham_cq *cq, bool muted)
{
	struct epoll_event event = {.events = muted ? 0 : EPOLLIN};

	if (cq->epfd < 0 || cq->muted == muted)
		return;
	epoll_ctl(cq->epfd, EPOLL_CTL_MOD, cq->core_fd, &event);
	cq->muted = muted;
}

/* Another thread may sleep while one polls. */
void sham_cq_wake(struct sham_cq *cq)
{
	if (cq->asleep) {
		fi_cq_signal(cq->core);
		set_muted(cq, false); /* delayed completions cause no interrupt of the card */
	}
	cq->asleep = false;
}

/* A read disables interrupts. Only a thread that is about to sleep enables them. */
static void read_by(struct sham_cq *cq, pthread_t reader)
{
	if (cq->asleep && !pthread_equal(cq->armer, reader))
		set_muted(cq, true);
}

static void push_done(struct sham_cq *cq, const struct fi_cq_err_entry *entry, fi_addr_t src,
		      void *context)
{
	struct sham_done *done = malloc(sizeof(*done));

	if (!done)
		sham_die(cq->domain->profile, "no memory for a completion");
	done->entry = *entry;
	done->src = src;
	done->context = context;
	done->due = cq->npolls + (unsigned int)sham_dice(cq->domain->faults.shuffle);
	dofi_list_add_tail(&cq->done, &done->link);
	sham_cq_wake(cq);
}

static bool is_wanted(const struct sham_op *op)
{
	bool selective = op->kind == SHAM_RECV ? op->ep->rx_selective : op->ep->tx_selective;

	return !selective || (op->flags & FI_COMPLETION);
}

void sham_cq_tell(struct sham_op *op, const struct fi_cq_err_entry *entry, fi_addr_t src)
{
	struct sham_cq *cq = op->kind == SHAM_RECV ? op->ep->rx_cq : op->ep->tx_cq;
	bool last = !(op->flags & FI_MULTI_RECV) || (entry->flags & FI_MULTI_RECV) || entry->err;
	struct fi_cq_err_entry told = *entry;

	told.op_context = op->context;
	if (entry->err || is_wanted(op))
		push_done(cq, &told, src, last ? op->context : NULL);
	else
		sham_context_leave(cq->domain, op->context);
}

/* A write of the peer with data has no operation on this side. */
static void take(struct sham_cq *cq, struct fi_cq_err_entry *entry, fi_addr_t src)
{
	if (entry->op_context)
		sham_op_end(entry->op_context, entry, src);
	else
		push_done(cq, entry, src, NULL);
}

static void take_success(struct sham_cq *cq, const struct fi_cq_tagged_entry *success,
			 fi_addr_t src)
{
	struct fi_cq_err_entry entry = {0};

	memcpy(&entry, success, sizeof(*success));
	take(cq, &entry, src);
}

static void take_error(struct sham_cq *cq)
{
	/* A newer core may write more bytes than the structure of our headers has. */
	union {
		struct fi_cq_err_entry entry;
		char room[2 * sizeof(struct fi_cq_err_entry)];
	} error = {.room = {0}};

	if (fi_cq_readerr(cq->core, &error.entry, 0) != 1)
		return;
	error.entry.err_data = NULL;
	error.entry.err_data_size = 0;
	take(cq, &error.entry, FI_ADDR_NOTAVAIL);
}

static void drain(struct sham_cq *cq)
{
	struct fi_cq_tagged_entry entries[BATCH];
	fi_addr_t srcs[BATCH];
	ssize_t count;

	for (;;) {
		for (size_t i = 0; i < BATCH; i++)
			srcs[i] = FI_ADDR_NOTAVAIL;
		count = fi_cq_readfrom(cq->core, entries, BATCH, srcs);
		if (count == -FI_EAVAIL)
			take_error(cq);
		else if (count <= 0)
			break;
		for (ssize_t i = 0; i < count; i++)
			take_success(cq, &entries[i], srcs[i]);
	}
}

void sham_cq_progress(struct sham_cq *cq)
{
	struct sham_domain *domain = cq->domain;

	if (sham_is_silent(&domain->faults))
		return;
	drain(cq);
	DOFI_LIST_FOR(node, &domain->eps)
	sham_late_push(SHAM_CONTAINER(node, struct sham_ep, link));
}

/* --- completions for the application --- */

static bool is_due(const struct sham_cq *cq, const struct sham_done *done)
{
	return (int)(cq->npolls - done->due) >= 0;
}

/* Returns a random completion that is due, or the first one if the order must be kept. */
static struct sham_done *pick(struct sham_cq *cq)
{
	struct sham_done *found = NULL;
	int ndue = 0;

	DOFI_LIST_FOR(node, &cq->done)
	{
		struct sham_done *done = SHAM_CONTAINER(node, struct sham_done, link);

		if (!is_due(cq, done))
			continue;
		if (!found || (cq->domain->faults.shuffle > 1 && !sham_dice(++ndue)))
			found = done;
	}
	if (found)
		dofi_list_del(&found->link);
	return found;
}

static void forget(struct sham_cq *cq, struct sham_done *done)
{
	sham_context_leave(cq->domain, done->context);
	free(done);
}

static ssize_t take_out(struct sham_cq *cq, char *buf, size_t count, fi_addr_t *src)
{
	size_t i;

	for (i = 0; i < count && !cq->error; i++) {
		struct sham_done *done = pick(cq);

		if (!done)
			break;
		if (done->entry.err) {
			cq->error = done;
			break;
		}
		memcpy(buf + i * cq->entry_size, &done->entry, cq->entry_size);
		if (src)
			src[i] = done->src;
		forget(cq, done);
	}
	if (i)
		return (ssize_t)i;
	return cq->error ? -FI_EAVAIL : -FI_EAGAIN;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	struct sham_cq *cq = cq_of(fid);
	ssize_t ret;

	pthread_mutex_lock(&cq->domain->lock);
	cq->npolls++;
	sham_cq_progress(cq);
	read_by(cq, pthread_self());
	ret = take_out(cq, buf, count, src);
	pthread_mutex_unlock(&cq->domain->lock);
	return ret;
}

static ssize_t cq_read(struct fid_cq *fid, void *buf, size_t count)
{
	return cq_readfrom(fid, buf, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *buf, uint64_t flags)
{
	struct sham_cq *cq = cq_of(fid);
	ssize_t ret = -FI_EAGAIN;

	(void)flags;
	pthread_mutex_lock(&cq->domain->lock);
	if (cq->error) {
		/* The application's structure may be an older, shorter one. */
		memcpy(buf, &cq->error->entry, offsetof(struct fi_cq_err_entry, err_data));
		forget(cq, cq->error);
		cq->error = NULL;
		ret = 1;
	}
	pthread_mutex_unlock(&cq->domain->lock);
	return ret;
}

/* --- sleep --- */

static bool has_work(struct sham_cq *cq)
{
	if (cq->error || !dofi_list_empty(&cq->done))
		return true;
	DOFI_LIST_FOR(node, &cq->domain->eps)
	if (!dofi_list_empty(&SHAM_CONTAINER(node, struct sham_ep, link)->waiting))
		return true;
	return false;
}

int sham_cq_may_sleep(struct sham_cq *cq)
{
	struct fid *fid = &cq->core->fid;
	int ret = 0;

	pthread_mutex_lock(&cq->domain->lock);
	if (!sham_is_silent(&cq->domain->faults)) {
		sham_cq_progress(cq);
		ret = has_work(cq) ? -FI_EAGAIN : fi_trywait(cq->domain->fabric->core, &fid, 1);
	}
	cq->asleep = !ret && cq->wait_obj != FI_WAIT_NONE;
	cq->armer = pthread_self();
	set_muted(cq, false);
	pthread_mutex_unlock(&cq->domain->lock);
	return ret;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Sleeps in the core, without the lock, and reads its completions. */
static void sleep_in_core(struct sham_cq *cq, int timeout)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t src = FI_ADDR_NOTAVAIL;
	ssize_t ret = fi_cq_sreadfrom(cq->core, &entry, 1, &src, NULL, timeout);

	if (ret != 1)
		return;
	pthread_mutex_lock(&cq->domain->lock);
	take_success(cq, &entry, src);
	pthread_mutex_unlock(&cq->domain->lock);
}

static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src,
			    const void *cond, int timeout)
{
	struct sham_cq *cq = cq_of(fid);
	int64_t end = now_ms() + timeout;
	ssize_t ret;

	(void)cond;
	if (cq->wait_obj == FI_WAIT_NONE)
		return cq->domain->profile->sread_error;
	while ((ret = cq_readfrom(fid, buf, count, src)) == -FI_EAGAIN) {
		if (timeout >= 0 && now_ms() >= end)
			break;
		if (!sham_cq_may_sleep(cq))
			sleep_in_core(cq, SLICE_MS);
	}
	return ret;
}

static ssize_t cq_sread(struct fid_cq *fid, void *buf, size_t count, const void *cond, int timeout)
{
	return cq_sreadfrom(fid, buf, count, NULL, cond, timeout);
}

static int no_signal(struct fid_cq *cq)
{
	(void)cq;
	return -FI_ENOSYS;
}

static const char *cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	return fi_cq_strerror(cq_of(fid)->core, prov_errno, err_data, buf, len);
}

/* --- the object --- */

static int get_fd(struct sham_cq *cq, int *fd)
{
	if (cq->epfd < 0)
		return fi_control(&cq->core->fid, FI_GETWAIT, fd);
	*fd = cq->epfd;
	return 0;
}

/* The list has one descriptor. A caller without room for it does not get the needed size. */
static int list_fds(struct sham_cq *cq, struct fi_wait_pollfd *list)
{
	if (!list->nfds)
		return -FI_ETOOSMALL;
	list->nfds = 1;
	list->fd->events = POLLIN;
	return get_fd(cq, &list->fd->fd);
}

static int cq_control(struct fid *fid, int command, void *arg)
{
	struct sham_cq *cq = SHAM_CONTAINER(fid, struct sham_cq, fid.fid);

	if (command == FI_GETWAITOBJ) {
		*(enum fi_wait_obj *)arg = cq->wait_obj;
		return 0;
	}
	if (command != FI_GETWAIT)
		return -FI_ENOSYS;
	if (cq->wait_obj == FI_WAIT_FD)
		return get_fd(cq, arg);
	return cq->wait_obj == FI_WAIT_POLLFD ? list_fds(cq, arg) : -FI_ENODATA;
}

static int cq_close(struct fid *fid)
{
	struct sham_cq *cq = SHAM_CONTAINER(fid, struct sham_cq, fid.fid);
	struct dofi_list *node;
	int ret;

	if (cq->refs)
		return -FI_EBUSY;
	ret = fi_close(&cq->core->fid);
	if (ret)
		return ret;
	if (cq->epfd >= 0)
		close(cq->epfd);
	pthread_mutex_lock(&cq->domain->lock);
	while ((node = dofi_list_pop(&cq->done)))
		forget(cq, SHAM_CONTAINER(node, struct sham_done, link));
	if (cq->error)
		forget(cq, cq->error);
	cq->domain->refs--;
	pthread_mutex_unlock(&cq->domain->lock);
	free(cq);
	return 0;
}

static struct fi_ops cq_fid_ops = {
	.size = sizeof(cq_fid_ops),
	.close = cq_close,
	.bind = sham_no_bind,
	.control = cq_control,
	.ops_open = sham_no_ops_open,
};

static struct fi_ops_cq cq_ops = {
	.size = sizeof(cq_ops),
	.read = cq_read,
	.readfrom = cq_readfrom,
	.readerr = cq_readerr,
	.sread = cq_sread,
	.sreadfrom = cq_sreadfrom,
	.signal = no_signal,
	.strerror = cq_strerror,
};

static size_t entry_size(enum fi_cq_format format)
{
	switch (format) {
	case FI_CQ_FORMAT_UNSPEC:
	case FI_CQ_FORMAT_CONTEXT:
		return sizeof(struct fi_cq_entry);
	case FI_CQ_FORMAT_MSG:
		return sizeof(struct fi_cq_msg_entry);
	case FI_CQ_FORMAT_DATA:
		return sizeof(struct fi_cq_data_entry);
	case FI_CQ_FORMAT_TAGGED:
		return sizeof(struct fi_cq_tagged_entry);
	default:
		return 0;
	}
}

/* Opens a descriptor that contains that of the core and can be muted. */
static int open_mutable(struct sham_cq *cq)
{
	struct epoll_event event = {.events = EPOLLIN};
	int ret = fi_control(&cq->core->fid, FI_GETWAIT, &cq->core_fd);

	if (ret)
		return ret;
	cq->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (cq->epfd < 0)
		return -errno;
	if (!epoll_ctl(cq->epfd, EPOLL_CTL_ADD, cq->core_fd, &event))
		return 0;
	ret = -errno;
	close(cq->epfd);
	return ret;
}

int sham_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **cq_p,
		 void *context)
{
	struct sham_domain *domain = sham_domain_of(fid);
	const struct sham_profile *profile = domain->profile;
	struct fi_cq_attr core = {.size = attr->size, .format = FI_CQ_FORMAT_TAGGED};
	enum fi_wait_obj wait_obj = attr->wait_obj;
	struct sham_cq *cq;
	int ret;

	if (wait_obj == FI_WAIT_UNSPEC)
		wait_obj = profile->wait_unspec;
	if (!(profile->wait_objs & 1U << wait_obj) || !entry_size(attr->format) || attr->flags)
		return -FI_ENOSYS;
	/* The core always gets a descriptor, because fi_cq_signal must make it readable. */
	core.wait_obj = wait_obj == FI_WAIT_NONE ? FI_WAIT_NONE : FI_WAIT_FD;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->epfd = -1;
	ret = fi_cq_open(domain->core, &core, &cq->core, NULL);
	if (!ret && profile->mutes && wait_obj != FI_WAIT_NONE) {
		ret = open_mutable(cq);
		if (ret)
			fi_close(&cq->core->fid);
	}
	if (ret) {
		free(cq);
		return ret;
	}
	cq->domain = domain;
	cq->entry_size = entry_size(attr->format);
	cq->wait_obj = wait_obj;
	dofi_list_init(&cq->done);
	cq->fid.fid.fclass = FI_CLASS_CQ;
	cq->fid.fid.context = context;
	cq->fid.fid.ops = &cq_fid_ops;
	cq->fid.ops = &cq_ops;
	pthread_mutex_lock(&domain->lock);
	domain->refs++;
	pthread_mutex_unlock(&domain->lock);
	*cq_p = &cq->fid;
	return 0;
}
