/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Return codes in words, IAs, memory and events. */
#include "t.h"

#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* --- return codes --- */

const char *t_words(DAT_RETURN ret)
{
	static _Thread_local char text[256];
	const char *type, *subtype;

	if (dat_strerror(ret, &type, &subtype) == DAT_SUCCESS)
		snprintf(text, sizeof(text), "%s %s (0x%x)", type, subtype, (unsigned int)ret);
	else
		snprintf(text, sizeof(text), "a value that dat_strerror does not know (0x%x)",
			 (unsigned int)ret);
	return text;
}

const char *t_event_name(DAT_EVENT_NUMBER number)
{
	switch ((unsigned int)number) {
	case DAT_DTO_COMPLETION_EVENT:
		return "DTO_COMPLETION";
	case DAT_RMR_BIND_COMPLETION_EVENT:
		return "RMR_BIND_COMPLETION";
	case DAT_CONNECTION_REQUEST_EVENT:
		return "CONNECTION_REQUEST";
	case DAT_CONNECTION_EVENT_ESTABLISHED:
		return "ESTABLISHED";
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "PEER_REJECTED";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "NON_PEER_REJECTED";
	case DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR:
		return "ACCEPT_COMPLETION_ERROR";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "DISCONNECTED";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "BROKEN";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "TIMED_OUT";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "UNREACHABLE";
	case DAT_ASYNC_ERROR_EVD_OVERFLOW:
		return "EVD_OVERFLOW";
	case DAT_ASYNC_ERROR_IA_CATASTROPHIC:
		return "IA_CATASTROPHIC";
	case DAT_ASYNC_ERROR_EP_BROKEN:
		return "EP_BROKEN";
	case DAT_ASYNC_ERROR_TIMED_OUT:
		return "ASYNC_TIMED_OUT";
	case DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR:
		return "PROVIDER_INTERNAL_ERROR";
	case DAT_SOFTWARE_EVENT:
		return "SOFTWARE";
	default:
		return "an event of unknown number";
	}
}

const char *t_status_name(DAT_DTO_COMPLETION_STATUS status)
{
	static const char *const names[] = {
		[DAT_DTO_SUCCESS] = "SUCCESS",
		[DAT_DTO_ERR_FLUSHED] = "FLUSHED",
		[DAT_DTO_ERR_LOCAL_LENGTH] = "LOCAL_LENGTH",
		[DAT_DTO_ERR_LOCAL_EP] = "LOCAL_EP",
		[DAT_DTO_ERR_LOCAL_PROTECTION] = "LOCAL_PROTECTION",
		[DAT_DTO_ERR_BAD_RESPONSE] = "BAD_RESPONSE",
		[DAT_DTO_ERR_REMOTE_ACCESS] = "REMOTE_ACCESS",
		[DAT_DTO_ERR_REMOTE_RESPONDER] = "REMOTE_RESPONDER",
		[DAT_DTO_ERR_TRANSPORT] = "TRANSPORT",
		[DAT_DTO_ERR_RECEIVER_NOT_READY] = "RECEIVER_NOT_READY",
		[DAT_DTO_ERR_PARTIAL_PACKET] = "PARTIAL_PACKET",
		[DAT_RMR_OPERATION_FAILED] = "RMR_OPERATION_FAILED",
	};

	if ((size_t)status >= sizeof(names) / sizeof(names[0]))
		return "an unknown status";
	return names[status];
}

void t_expect_ok(const char *file, int line, const char *call, DAT_RETURN ret)
{
	if (ret != DAT_SUCCESS)
		ck_abort_msg("%s:%d: %s answers %s", file, line, call, t_words(ret));
}

/* Programs compare these three values without a mask (PRG-10). */
static bool has_no_class(DAT_RETURN ret)
{
	return ret == DAT_TIMEOUT_EXPIRED || ret == DAT_QUEUE_EMPTY || ret == DAT_CONN_QUAL_IN_USE;
}

static bool is_error_of(DAT_RETURN ret, DAT_RETURN_TYPE type)
{
	return DAT_GET_TYPE(ret) == DAT_GET_TYPE(type) && !DAT_IS_WARNING(ret) &&
	       (((DAT_UINT32)ret & DAT_CLASS_ERROR) || has_no_class(ret));
}

/* Prints the answer of a call and the wanted one. t_words() has memory for one text only. */
static void unexpected(const char *file, int line, const char *call, DAT_RETURN ret,
		       DAT_RETURN wanted, DAT_RETURN other)
{
	char answer[256], first[256], second[256];

	snprintf(answer, sizeof(answer), "%s", t_words(ret));
	snprintf(first, sizeof(first), "%s", t_words(wanted));
	snprintf(second, sizeof(second), "%s", t_words(other));
	ck_abort_msg("%s:%d: %s answers %s instead of %s%s%s", file, line, call, answer, first,
		     other == wanted ? "" : " or ", other == wanted ? "" : second);
}

void t_expect_error(const char *file, int line, const char *call, DAT_RETURN ret,
		    DAT_RETURN_TYPE type, DAT_RETURN_TYPE other)
{
	if (!is_error_of(ret, type) && !is_error_of(ret, other))
		unexpected(file, line, call, ret, T_ERR(type, 0), T_ERR(other, 0));
}

void t_expect_exactly(const char *file, int line, const char *call, DAT_RETURN ret,
		      DAT_RETURN_TYPE type, DAT_RETURN_SUBTYPE subtype)
{
	if (ret != T_ERR(type, subtype))
		unexpected(file, line, call, ret, T_ERR(type, subtype), T_ERR(type, subtype));
}

/* --- time --- */

uint64_t t_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

void t_pause(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
}

/* --- limits of the process --- */

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#endif

#ifndef SANITIZED
static size_t address_space(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_eq(fscanf(file, "%zu", &pages), 1);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}
#endif

bool t_limit_memory(size_t bytes)
{
#ifdef SANITIZED
	(void)bytes;
	return false;
#else
	struct rlimit limit;
	void *more;

	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	/* The first malloc of another thread maps 64 MiB more than it keeps for a moment. */
	for (int i = 0; i < 1000; i++) {
		limit.rlim_cur = address_space() + bytes;
		if (setrlimit(RLIMIT_AS, &limit))
			return false;
		more = mmap(NULL, bytes + 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (more == MAP_FAILED)
			return true;
		munmap(more, bytes + 1);
	}
	ck_abort_msg("the kernel does not keep a limit of the address space");
#endif
}

void t_unlimit_memory(void)
{
	struct rlimit limit;
	/* An assertion of Check needs memory, so it comes after the limit is removed. */
	int failed = getrlimit(RLIMIT_AS, &limit);

	limit.rlim_cur = limit.rlim_max;
	failed |= setrlimit(RLIMIT_AS, &limit);
	ck_assert_int_eq(failed, 0);
}

static bool loopback_up(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int sock = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool up = sock >= 0 && !ioctl(sock, SIOCSIFFLAGS, &request);

	if (sock >= 0)
		close(sock);
	return up;
}

bool t_own_network(void)
{
	return (!unshare(CLONE_NEWNET) || !unshare(CLONE_NEWUSER | CLONE_NEWNET)) && loopback_up();
}

/* --- IA --- */

DAT_NAME_PTR t_ia_name(void)
{
	static char from_host[] = "ofi-tcp-lo";
	char *name = getenv("T_IA");

	return name && *name ? name : from_host;
}

void t_ia_open(struct t_ia *tia)
{
	memset(tia, 0, sizeof(*tia));
	t_ok(dat_ia_open(t_ia_name(), 8, &tia->async_evd, &tia->ia));
	t_ok(dat_ia_query(tia->ia, NULL, DAT_IA_FIELD_ALL, &tia->attr, DAT_PROVIDER_FIELD_ALL,
			  &tia->provider));
	t_ok(dat_pz_create(tia->ia, &tia->pz));
}

void t_ia_close(struct t_ia *tia)
{
	t_ok(dat_ia_close(tia->ia, DAT_CLOSE_ABRUPT_FLAG));
}

void t_ia_close_empty(struct t_ia *tia)
{
	t_ok(dat_pz_free(tia->pz));
	t_ok(dat_ia_close(tia->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

const char *t_named(const DAT_PROVIDER_ATTR *attr, const char *name)
{
	for (DAT_COUNT i = 0; i < attr->num_provider_specific_attr; i++)
		if (!strcmp(attr->provider_specific_attr[i].name, name))
			return attr->provider_specific_attr[i].value;
	return "";
}

size_t t_much(const struct t_ia *tia)
{
	size_t most = (size_t)tia->attr.max_message_size;

	return most < 32 << 20 ? most : 32 << 20;
}

DAT_EVD_HANDLE t_evd(const struct t_ia *tia, DAT_COUNT qlen, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	t_ok(dat_evd_create(tia->ia, qlen, DAT_HANDLE_NULL, flags, &evd));
	return evd;
}

DAT_EVD_HANDLE t_evd_of_cno(const struct t_ia *tia, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags)
{
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;

	t_ok(dat_evd_create(tia->ia, 16, cno, flags, &evd));
	return evd;
}

DAT_CNO_HANDLE t_cno(const struct t_ia *tia)
{
	DAT_CNO_HANDLE cno = DAT_HANDLE_NULL;

	t_ok(dat_cno_create(tia->ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &cno));
	return cno;
}

/* --- memory --- */

DAT_RETURN t_lmr_create(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region,
			DAT_VLEN length, DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges,
			DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length,
			DAT_VADDR *registered_address)
{
#if T_DAT_MAJOR == 1
	return dat_lmr_create(ia, type, region, length, pz, privileges, lmr, lmr_context,
			      rmr_context, registered_length, registered_address);
#else
	return dat_lmr_create(ia, type, region, length, pz, privileges, DAT_VA_TYPE_VA, lmr,
			      lmr_context, rmr_context, registered_length, registered_address);
#endif
}

DAT_RETURN t_lmr_of(DAT_IA_HANDLE ia, void *mem, DAT_VLEN length, DAT_PZ_HANDLE pz,
		    DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_HANDLE *lmr)
{
	DAT_REGION_DESCRIPTION region = {.for_va = mem};

	return t_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, length, pz, privileges, lmr, NULL,
			    NULL, NULL, NULL);
}

/* The buffer has its own pages: an access behind the end faults or hits no other data. */
void t_buf_new(struct t_buf *buf, DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, size_t size,
	       DAT_MEM_PRIV_FLAGS privileges)
{
	DAT_REGION_DESCRIPTION region;

	buf->size = size;
	buf->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(buf->mem, MAP_FAILED);
	region.for_va = buf->mem;
	t_ok(t_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, size, pz, privileges, &buf->lmr,
			  &buf->lmr_context, &buf->rmr_context, NULL, NULL));
}

void t_buf_free(struct t_buf *buf)
{
	t_ok(dat_lmr_free(buf->lmr));
	ck_assert_int_eq(munmap(buf->mem, buf->size), 0);
}

DAT_RETURN t_rmr_bind(DAT_RMR_HANDLE rmr, const struct t_buf *buf, DAT_LMR_TRIPLET segment,
		      DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep, uint64_t cookie,
		      DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *context)
{
	DAT_RMR_COOKIE user_cookie = {.as_64 = cookie};

#if T_DAT_MAJOR == 1
	(void)buf;
	return dat_rmr_bind(rmr, &segment, privileges, ep, user_cookie, flags, context);
#else
	return dat_rmr_bind(rmr, buf->lmr, &segment, privileges, DAT_VA_TYPE_VA, ep, user_cookie,
			    flags, context);
#endif
}

DAT_LMR_TRIPLET t_seg(const struct t_buf *buf, size_t offset, size_t length)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (DAT_VADDR)(uintptr_t)(buf->mem + offset),
		.segment_length = length,
		.lmr_context = buf->lmr_context,
	};
}

DAT_RMR_TRIPLET t_remote(DAT_RMR_CONTEXT context, uintptr_t address, size_t length)
{
	return (DAT_RMR_TRIPLET)
	{
#if T_DAT_MAJOR == 1
		.target_address = (DAT_VADDR)address,
#else
		.virtual_address = (DAT_VADDR)address,
#endif
		.segment_length = length, .rmr_context = context,
	};
}

DAT_RMR_TRIPLET t_remote_seg(const struct t_buf *buf, size_t offset, size_t length)
{
	return t_remote(buf->rmr_context, (uintptr_t)(buf->mem + offset), length);
}

static unsigned char pattern(size_t i, unsigned int seed)
{
	return (unsigned char)(i * 31 + (i >> 8) * 7 + seed);
}

void t_fill(void *mem, size_t size, unsigned int seed)
{
	unsigned char *bytes = mem;

	for (size_t i = 0; i < size; i++)
		bytes[i] = pattern(i, seed);
}

bool t_is_filled(const void *mem, size_t size, unsigned int seed)
{
	const unsigned char *bytes = mem;

	for (size_t i = 0; i < size; i++) {
		if (bytes[i] != pattern(i, seed))
			return false;
	}
	return true;
}

/* --- events --- */

unsigned int t_limit_us(void)
{
	const char *text = getenv("CK_TIMEOUT_MULTIPLIER");
	long times = text ? strtol(text, NULL, 10) : 1;

	return 10000000u * (unsigned int)(times < 1 ? 1 : times > 10 ? 10 : times);
}

DAT_EVENT t_wait(DAT_EVD_HANDLE evd)
{
	DAT_COUNT nmore;
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	t_ok(dat_evd_wait(evd, T_LIMIT_US, 1, &event, &nmore));
	ck_assert_ptr_eq(event.evd_handle, evd);
	return event;
}

DAT_EVENT t_wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_EVENT event = t_wait(evd);

	if (event.event_number != number)
		ck_abort_msg("event %s (0x%x) came instead of %s", t_event_name(event.event_number),
			     (unsigned int)event.event_number, t_event_name(number));
	return event;
}

DAT_EVENT t_wait_conn(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EP_HANDLE ep)
{
	DAT_EVENT event = t_wait_for(evd, number);

	ck_assert_ptr_eq(event.event_data.connect_event_data.ep_handle, ep);
	return event;
}

DAT_EVENT t_wait_dto(DAT_EVD_HANDLE evd, DAT_EP_HANDLE ep, uint64_t cookie,
		     DAT_DTO_COMPLETION_STATUS status, size_t length)
{
	DAT_EVENT event = t_wait_for(evd, DAT_DTO_COMPLETION_EVENT);
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event.event_data.dto_completion_event_data;

	ck_assert_ptr_eq(dto->ep_handle, ep);
	ck_assert_uint_eq(dto->user_cookie.as_64, cookie);
	if (dto->status != status)
		ck_abort_msg("operation %llu completes with %s instead of %s",
			     (unsigned long long)cookie, t_status_name(dto->status),
			     t_status_name(status));
	if (status == DAT_DTO_SUCCESS)
		ck_assert_uint_eq(dto->transfered_length, length);
	return event;
}

void t_wait_bind(DAT_EVD_HANDLE evd, DAT_RMR_HANDLE rmr, uint64_t cookie,
		 DAT_DTO_COMPLETION_STATUS status)
{
	DAT_EVENT event = t_wait_for(evd, DAT_RMR_BIND_COMPLETION_EVENT);
	const DAT_RMR_BIND_COMPLETION_EVENT_DATA *bind =
		&event.event_data.rmr_completion_event_data;

	ck_assert_ptr_eq(bind->rmr_handle, rmr);
	ck_assert_uint_eq(bind->user_cookie.as_64, cookie);
	if (bind->status != status)
		ck_abort_msg("bind %llu completes with %s instead of %s",
			     (unsigned long long)cookie, t_status_name(bind->status),
			     t_status_name(status));
}

static void expect_no_event(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout)
{
	DAT_COUNT nmore;
	DAT_EVENT event;
	DAT_RETURN ret = dat_evd_wait(evd, timeout, 1, &event, &nmore);

	if (ret == DAT_SUCCESS)
		ck_abort_msg("event %s (0x%x) came, which should not",
			     t_event_name(event.event_number), (unsigned int)event.event_number);
	t_error(ret, DAT_TIMEOUT_EXPIRED);
}

void t_no_event(DAT_EVD_HANDLE evd)
{
	expect_no_event(evd, 0);
}

void t_stays_quiet(DAT_EVD_HANDLE evd)
{
	expect_no_event(evd, T_QUIET_US);
}

DAT_COUNT t_drain(DAT_EVD_HANDLE evd)
{
	DAT_COUNT count = 0;
	DAT_EVENT event;
	DAT_RETURN ret;

	while ((ret = dat_evd_dequeue(evd, &event)) == DAT_SUCCESS)
		count++;
	t_error(ret, DAT_QUEUE_EMPTY);
	return count;
}

DAT_RETURN t_post_se(DAT_EVD_HANDLE evd, void *pointer)
{
	DAT_EVENT event;

	memset(&event, 0, sizeof(event));
	event.event_number = DAT_SOFTWARE_EVENT;
	event.event_data.software_event_data.pointer = pointer;
	return dat_evd_post_se(evd, &event);
}

void t_wait_se(DAT_EVD_HANDLE evd, const void *pointer)
{
	DAT_EVENT event = t_wait_for(evd, DAT_SOFTWARE_EVENT);

	ck_assert_ptr_eq(event.event_data.software_event_data.pointer, pointer);
}

DAT_RETURN t_poll_cno(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE *evd)
{
	return dat_cno_wait(cno, 0, evd);
}
