/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DAT objects of a thread. */
#include "perf/dat.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define EVD_SLACK 16 /* events beyond one per request and receive */

static bool absent; /* atomic */

/* As util_fail(), for a feature that the interface lacks. */
__attribute__((format(printf, 1, 2))) static int fail_absent(const char *fmt, ...)
{
	char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	__atomic_store_n(&absent, true, __ATOMIC_RELAXED);
	return util_fail("%s", text);
}

bool perf_is_absent(void)
{
	return __atomic_load_n(&absent, __ATOMIC_RELAXED);
}

int perf_dat_fail(const char *what, DAT_RETURN ret)
{
	if (DAT_GET_TYPE(ret) == DAT_MODEL_NOT_SUPPORTED)
		return fail_absent("DAT: %s: this interface does not offer it (%s)", what,
				   util_dat_text(ret));
	return util_fail("DAT: %s: %s", what, util_dat_text(ret));
}

/*
 * Each EP of an SRQ reports its last buffer on the asynchronous EVD, which this program does not
 * read.
 */
#define ASYNC_QLEN 4096

static int open_ia(const char *name, DAT_IA_HANDLE *ia_p, DAT_EVD_HANDLE *async_p)
{
	char copy[DAT_NAME_MAX_LENGTH];
	DAT_RETURN ret;

	snprintf(copy, sizeof(copy), "%s", name);
	*async_p = DAT_HANDLE_NULL;
	ret = dat_ia_open(copy, ASYNC_QLEN, async_p, ia_p);
	if (ret != DAT_SUCCESS)
		return util_fail("DAT: cannot open interface \"%s\": %s; dat_info tells more", name,
				 util_dat_text(ret));
	return 0;
}

static void copy_attr(char *to, const DAT_PROVIDER_ATTR *attr, const char *name)
{
	const char *value = util_named_attr(attr->provider_specific_attr,
					    attr->num_provider_specific_attr, name);

	snprintf(to, PERF_NAME_LEN, "%s", value ? value : "");
}

int perf_dat_fabric(const char *name, struct perf_fabric *fabric)
{
	char transport[PERF_NAME_LEN];
	DAT_PROVIDER_ATTR attr;
	DAT_EVD_HANDLE async;
	DAT_IA_HANDLE ia;
	DAT_RETURN ret;

	if (open_ia(name, &ia, &async))
		return -1;
	ret = dat_ia_query(ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL, &attr);
	if (ret == DAT_SUCCESS) {
		copy_attr(fabric->provider, &attr, DAT_OFI_ATTR_PROVIDER);
		copy_attr(fabric->domain, &attr, DAT_OFI_ATTR_DOMAIN);
		copy_attr(transport, &attr, DAT_OFI_ATTR_TRANSPORT);
		fabric->rdm = !strcmp(transport, "rdm");
	}
	dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG);
	return ret == DAT_SUCCESS ? 0 : perf_dat_fail("cannot query the interface", ret);
}

/* ---- optional features of an interface ---- */

/* The named attribute of the InfiniBand extension that a test needs, or NULL. */
static const char *extension_of(enum perf_test test)
{
	switch (test) {
	case PERF_IMMEDIATE:
		return DAT_IB_ATTR_IMMED_DATA;
	case PERF_DATAGRAM:
		return DAT_IB_ATTR_UD;
	case PERF_FETCH_ADD:
		return DAT_IB_ATTR_FETCH_AND_ADD;
	case PERF_CMP_SWAP:
		return DAT_IB_ATTR_CMP_AND_SWAP;
	default:
		return NULL;
	}
}

static int require_extension(const struct perf_dat *dat)
{
	const char *name = extension_of(dat->env->cfg->test);
	char value[PERF_NAME_LEN];
	DAT_PROVIDER_ATTR attr;
	DAT_RETURN ret;

	if (!name)
		return 0;
	ret = dat_ia_query(dat->ia, NULL, DAT_IA_FIELD_NONE, NULL, DAT_PROVIDER_FIELD_ALL, &attr);
	if (ret != DAT_SUCCESS)
		return perf_dat_fail("cannot query the interface", ret);
	copy_attr(value, &attr, name);
	if (!strcmp(value, "TRUE"))
		return 0;
	return fail_absent("DAT: interface \"%s\" has no %s: its fabric cannot carry it "
			   "(attribute %s is %s)",
			   dat->env->ia, perf_test_names[dat->env->cfg->test], name,
			   *value ? value : "absent");
}

/* ---- objects ---- */

static int open_evd(struct perf_dat *dat, DAT_COUNT length, DAT_EVD_FLAGS flags,
		    DAT_EVD_HANDLE *evd_p)
{
	DAT_RETURN ret = dat_evd_create(dat->ia, length, DAT_HANDLE_NULL, flags, evd_p);

	return ret == DAT_SUCCESS ? 0 : perf_dat_fail("cannot create an event dispatcher", ret);
}

static int register_buffer(struct perf_dat *dat)
{
	DAT_REGION_DESCRIPTION region = {.for_va = dat->env->buf};
	unsigned int privileges = DAT_MEM_PRIV_ALL_FLAG;
	DAT_VLEN length;
	DAT_VADDR address;
	DAT_RETURN ret;

	if (dat->env->cfg->test == PERF_FETCH_ADD || dat->env->cfg->test == PERF_CMP_SWAP)
		privileges |= (unsigned int)DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	ret = dat_lmr_create(dat->ia, DAT_MEM_TYPE_VIRTUAL, region, dat->env->buf_len, dat->pz,
			     (DAT_MEM_PRIV_FLAGS)privileges, DAT_VA_TYPE_VA, &dat->lmr,
			     &dat->lmr_context, &dat->rmr_context, &length, &address);
	if (ret != DAT_SUCCESS)
		return util_fail("DAT: cannot register %zu bytes: %s", dat->env->buf_len,
				 util_dat_text(ret));
	return 0;
}

static int open_datagrams(struct perf_dat *dat)
{
	DAT_REGION_DESCRIPTION region = {.for_va = dat->header};
	DAT_VLEN length;
	DAT_RETURN ret;

	dat->ways = calloc(dat->env->cfg->eps, sizeof(*dat->ways));
	if (!dat->ways)
		return util_fail("no memory");
	ret = dat_lmr_create(dat->ia, DAT_MEM_TYPE_VIRTUAL, region, PERF_UD_HEADER, dat->pz,
			     DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA, &dat->header_lmr,
			     &dat->header_context, NULL, &length, NULL);
	return ret == DAT_SUCCESS ? 0 : perf_dat_fail("cannot register a header", ret);
}

static int open_srq(struct perf_dat *dat)
{
	DAT_SRQ_ATTR attr = {
		.max_recv_dtos = (DAT_COUNT)dat->env->nrx,
		.max_recv_iov = (DAT_COUNT)dat->env->cfg->iov,
		.low_watermark = DAT_SRQ_LW_DEFAULT,
	};
	DAT_RETURN ret = dat_srq_create(dat->ia, dat->pz, &attr, &dat->srq);

	return ret == DAT_SUCCESS ? 0 : perf_dat_fail("cannot create a shared receive queue", ret);
}

static int open_ep(struct perf_dat *dat, const DAT_IA_ATTR *limits, DAT_EP_HANDLE *ep_p)
{
	const struct perf_env *env = dat->env;
	DAT_COUNT iov = (DAT_COUNT)env->cfg->iov;
	DAT_EP_ATTR attr = {
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = (DAT_SEG_LENGTH)env->cfg->max_size,
		.max_rdma_size = (DAT_SEG_LENGTH)env->cfg->max_size,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = (DAT_COUNT)env->rx_depth,
		.max_request_dtos = (DAT_COUNT)env->tx_depth,
		.max_recv_iov = iov,
		.max_request_iov = iov,
		.max_rdma_read_in = limits->max_rdma_read_per_ep_in,
		.max_rdma_read_out = limits->max_rdma_read_per_ep_out,
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = iov,
		.max_rdma_write_iov = iov,
	};
	DAT_RETURN ret;

	if (dat->ways) {
		attr.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
		attr.max_recv_iov++;
	}
	if (dat->srq)
		ret = dat_ep_create_with_srq(dat->ia, dat->pz, dat->dto_evd, dat->dto_evd,
					     dat->conn_evd, dat->srq, &attr, ep_p);
	else
		ret = dat_ep_create(dat->ia, dat->pz, dat->dto_evd, dat->dto_evd, dat->conn_evd,
				    &attr, ep_p);
	if (ret != DAT_SUCCESS)
		return util_fail("DAT: cannot create an endpoint for %u receives and %u requests "
				 "of %u segments: %s",
				 env->rx_depth, env->tx_depth, env->cfg->iov, util_dat_text(ret));
	return 0;
}

int perf_dat_open_eps(struct perf_dat *dat, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		if (open_ep(dat, &dat->limits, &dat->eps[i]))
			return -1;
	}
	return 0;
}

static int open_eps(struct perf_dat *dat)
{
	DAT_RETURN ret = dat_ia_query(dat->ia, NULL, DAT_IA_FIELD_ALL, &dat->limits,
				      DAT_PROVIDER_FIELD_NONE, NULL);

	if (ret != DAT_SUCCESS)
		return perf_dat_fail("cannot query the interface", ret);
	return dat->env->cfg->fresh ? 0 : perf_dat_open_eps(dat, dat->env->cfg->eps);
}

static int open_psp(struct perf_dat *dat)
{
	DAT_RETURN ret = dat_psp_create_any(dat->ia, &dat->conn_qual, dat->cr_evd,
					    DAT_PSP_CONSUMER_FLAG, &dat->psp);

	return ret == DAT_SUCCESS ? 0 : perf_dat_fail("cannot create a public service point", ret);
}

static int open_rmrs(struct perf_dat *dat)
{
	uint32_t count = dat->env->ntx;
	DAT_RETURN ret;

	dat->rmrs = calloc(count, sizeof(DAT_RMR_HANDLE));
	if (!dat->rmrs)
		return util_fail("no memory");
	for (uint32_t i = 0; i < count; i++) {
		ret = dat_rmr_create(dat->pz, &dat->rmrs[i]);
		if (ret != DAT_SUCCESS)
			return perf_dat_fail("cannot create a remote memory region", ret);
	}
	return 0;
}

/* All threads use the interface of the first thread. */
static int take_ia(struct perf_dat *dat, const struct perf_dat *first)
{
	DAT_RETURN ret;

	if (first) {
		dat->borrowed = true;
		dat->ia = first->ia;
	} else if (open_ia(dat->env->ia, &dat->ia, &dat->async_evd)) {
		return -1;
	}
	if (require_extension(dat))
		return -1;
	ret = dat_pz_create(dat->ia, &dat->pz);
	return ret == DAT_SUCCESS ? 0 : perf_dat_fail("cannot create a protection zone", ret);
}

static int open_evds(struct perf_dat *dat)
{
	const struct perf_env *env = dat->env;
	DAT_COUNT eps = (DAT_COUNT)env->cfg->eps;
	unsigned int dto = DAT_EVD_DTO_FLAG;

	if (env->cfg->test == PERF_BIND)
		dto |= DAT_EVD_RMR_BIND_FLAG;
	if (extension_of(env->cfg->test))
		dto |= (unsigned int)DAT_IB_EVD_EXTENSION_FLAG;
	for (int i = 0; i < 2 && env->cfg->test == PERF_WAKEUP; i++) {
		if (open_evd(dat, EVD_SLACK, DAT_EVD_SOFTWARE_FLAG, &dat->nap_evds[i]))
			return -1;
	}
	if (open_evd(dat, (DAT_COUNT)(env->ntx + env->nrx + EVD_SLACK), (DAT_EVD_FLAGS)dto,
		     &dat->dto_evd) ||
	    open_evd(dat, 2 * eps, DAT_EVD_CONNECTION_FLAG, &dat->conn_evd))
		return -1;
	return open_evd(dat, eps, DAT_EVD_CR_FLAG, &dat->cr_evd);
}

static int open_all(struct perf_dat *dat, const struct perf_dat *first)
{
	const struct perf_env *env = dat->env;

	dat->eps = calloc(env->cfg->eps, sizeof(DAT_EP_HANDLE));
	if (!dat->eps)
		return util_fail("no memory");
	if (take_ia(dat, first) || register_buffer(dat) || open_evds(dat))
		return -1;
	if (env->cfg->srq && open_srq(dat))
		return -1;
	if (env->cfg->test == PERF_DATAGRAM && open_datagrams(dat))
		return -1;
	if (env->cfg->test == PERF_BIND && open_rmrs(dat))
		return -1;
	if (open_eps(dat))
		return -1;
	return env->passive ? open_psp(dat) : 0;
}

static void dat_close(void *be);

static int dat_open(const struct perf_env *env, void *first, void **be_p)
{
	struct perf_dat *dat = calloc(1, sizeof(*dat));

	if (!dat)
		return util_fail("no memory");
	dat->env = env;
	if (open_all(dat, first)) {
		dat_close(dat);
		return -1;
	}
	*be_p = dat;
	return 0;
}

static void free_evds(struct perf_dat *dat)
{
	const DAT_EVD_HANDLE evds[] = {dat->dto_evd, dat->conn_evd, dat->cr_evd, dat->nap_evds[0],
				       dat->nap_evds[1]};

	for (size_t i = 0; i < UTIL_ARRAY_LEN(evds); i++) {
		if (evds[i])
			dat_evd_free(evds[i]);
	}
}

/* Measures the time of dat_ia_close while all objects exist. */
static void close_ia(struct perf_dat *dat)
{
	if (dat->ia && !dat->borrowed)
		dat_ia_close(dat->ia, DAT_CLOSE_ABRUPT_FLAG);
	free(dat->eps);
	free(dat->rmrs);
	free(dat->ways);
	free(dat);
}

static void dat_close(void *be)
{
	struct perf_dat *dat = be;

	if (dat->env->cfg->cost) {
		close_ia(dat);
		return;
	}
	perf_dat_part(dat);
	for (uint32_t i = 0; dat->eps && i < dat->env->cfg->eps; i++) {
		if (dat->eps[i])
			dat_ep_free(dat->eps[i]);
	}
	for (uint32_t i = 0; dat->rmrs && i < dat->env->ntx; i++) {
		if (dat->rmrs[i])
			dat_rmr_free(dat->rmrs[i]);
	}
	if (dat->psp)
		dat_psp_free(dat->psp);
	if (dat->srq)
		dat_srq_free(dat->srq);
	if (dat->lmr)
		dat_lmr_free(dat->lmr);
	if (dat->header_lmr)
		dat_lmr_free(dat->header_lmr);
	free_evds(dat);
	if (dat->pz)
		dat_pz_free(dat->pz);
	close_ia(dat); /* also frees what a failure above has left */
}

/* ---- wake-ups ---- */

static int dat_wake(void *be, int place)
{
	struct perf_dat *dat = be;
	DAT_EVENT event = {.event_number = DAT_SOFTWARE_EVENT};
	DAT_RETURN ret;

	event.event_data.software_event_data.pointer = dat;
	ret = dat_evd_post_se(dat->nap_evds[place], &event);
	return ret == DAT_SUCCESS ? 0 : perf_dat_fail("cannot post an event", ret);
}

static int dat_nap(void *be, int place, int ms)
{
	struct perf_dat *dat = be;
	DAT_EVENT event;
	DAT_COUNT more;
	DAT_RETURN ret =
		dat_evd_wait(dat->nap_evds[place], (DAT_TIMEOUT)ms * 1000, 1, &event, &more);

	if (ret == DAT_SUCCESS)
		return 1;
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED || DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL)
		return 0;
	return perf_dat_fail("cannot wait for an event", ret);
}

const struct perf_ops perf_dat_ops = {
	.name = "dat",
	.ordered = true,
	.open = dat_open,
	.address = perf_dat_address,
	.connect = perf_dat_connect,
	.post_recv = perf_dat_post_recv,
	.post =
		{
			[PERF_SEND] = perf_dat_send,
			[PERF_WRITE] = perf_dat_write,
			[PERF_READ] = perf_dat_read,
			[PERF_IMMEDIATE] = perf_dat_immediate,
			[PERF_DATAGRAM] = perf_dat_send,
			[PERF_FETCH_ADD] = perf_dat_fetch_add,
			[PERF_CMP_SWAP] = perf_dat_cmp_swap,
			[PERF_BIND] = perf_dat_bind,
		},
	.poll = perf_dat_poll,
	.wait = perf_dat_wait,
	.link = perf_dat_link,
	.unlink = perf_dat_unlink,
	.wake = dat_wake,
	.nap = dat_nap,
	.close = dat_close,
};
