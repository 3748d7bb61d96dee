/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports of the counters, also while other threads create and free EPs. */
#include "t_hooks.h"
#include "progress/work.h"
#include "unit.h"

#include "../../../prov/ofi/api/counters.h"
#include "../../../prov/ofi/base/addr.h"
#include "../../../prov/ofi/base/count.h"
#include "../../../prov/ofi/cm/conn.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/object/transport.h"
#include "../../../prov/ofi/progress/evd.h"
#include "../../../prov/ofi/transport/memory_path.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EPS     3
#define LIMIT_S 20

static const struct dofi_trans_ops trans = {.name = "fake"};
static struct fi_fabric_attr fabric_attr = {.prov_name = (char *)"made up"};
static struct fi_domain_attr domain_attr = {.name = (char *)"none"};
static struct fi_info info = {.fabric_attr = &fabric_attr, .domain_attr = &domain_attr};
static struct dofi_ia ia;
static struct dofi_ep eps[EPS];
static struct dofi_evd evd;

/* --- another thread comes between the count of the EPs and their list --- */

static void (*between)(void);
static size_t room; /* for EPs, allocated in between */
static bool no_room;

void *__real_calloc(size_t number, size_t size);
T_STAND_IN void *__wrap_calloc(size_t number, size_t size);

void *__wrap_calloc(size_t number, size_t size)
{
	void (*now)(void) = between;

	between = NULL;
	if (now) {
		room = number;
		now();
	}
	if (no_room)
		return NULL;
	return __real_calloc(number, size);
}

/* --- what happens while a call reads completions --- */

static void (*at_poll)(void);

void __real_dofi_engine_poll(struct dofi_ia *of);
void __wrap_dofi_engine_poll(struct dofi_ia *of);

void __wrap_dofi_engine_poll(struct dofi_ia *of)
{
	ck_assert_ptr_eq(of, &ia);
	if (at_poll)
		at_poll();
	else
		__real_dofi_engine_poll(of);
}

/* --- */

static void add_ep(int i)
{
	dofi_lock_init_level(&eps[i].lock, DOFI_LEVEL_EP);
	eps[i].obj.ia = &ia;
	dofi_list_add_tail(&ia.objects[DAT_HANDLE_TYPE_EP], &eps[i].obj.siblings);
	ia.counts[DAT_HANDLE_TYPE_EP]++;
}

static void setup(void)
{
	strcpy(ia.name, "test");
	ia.info = &info;
	ia.trans = &trans;
	dofi_lock_init_level(&ia.engine.lock, DOFI_LEVEL_ENGINE);
	dofi_lock_init_level(&ia.obj_lock, DOFI_LEVEL_LEAF);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		dofi_list_init(&ia.objects[i]);
	evd.obj.ia = &ia;
	dofi_list_add_tail(&ia.objects[DAT_HANDLE_TYPE_EVD], &evd.obj.siblings);
}

/* Returns the report, which the next call replaces. */
static const char *report(bool locked)
{
	static char text[8192];
	FILE *out = fmemopen(text, sizeof(text), "w");

	ck_assert_ptr_nonnull(out);
	if (locked)
		dofi_lock(&ia.engine.lock);
	dofi_count_report(&ia, out, locked);
	if (locked)
		dofi_unlock(&ia.engine.lock);
	fclose(out);
	dofi_assert_none_held();
	return text;
}

/* Whether the report has a line for this object. */
static bool tells(const char *text, const char *kind, const void *object)
{
	char head[64];

	snprintf(head, sizeof(head), "\n  %s %p: ", kind, object);
	return strstr(text, head);
}

START_TEST(a_report_has_each_object)
{
	const char *text;

	for (int i = 0; i < EPS; i++)
		add_ep(i);
	eps[1].state = DAT_EP_STATE_CONNECTED;
	eps[1].counters[DOFI_CNT_EP_COMPLETED] = 7;
	evd.counters[DOFI_CNT_EVD_OVERFLOW] = 8;
	text = report(true);
	ck_assert_ptr_eq(strstr(text, "IA test: provider made up, domain none, transport fake"),
			 text);
	for (int i = 0; i < EPS; i++)
		ck_assert(tells(text, "EP", &eps[i]));
	ck_assert(tells(text, "EVD", &evd));
	ck_assert_ptr_nonnull(strstr(text, ": connected, requests 0 and 0 held, receives 0: "
					   "COMPLETED=7\n"));
	ck_assert_ptr_nonnull(strstr(text, "OVERFLOW=8\n"));
	ck_assert_ptr_null(strstr(text, "freed"));
}
END_TEST

START_TEST(EPs_that_were_freed_are_told_together)
{
	ia.counters[DOFI_CNT_IA_EP_FREE] = 2;
	ia.closed_eps.counters[DOFI_CNT_EP_COMPLETED] = 9;
	ck_assert_ptr_nonnull(strstr(report(true), "EPs that were freed: COMPLETED=9\n"));
	ia.closed_eps.counters[0] = 8; /* is no counter of the IA */
	ck_assert_ptr_nonnull(strstr(report(true), ": EP_FREE=2\n"));
}
END_TEST

/* Without the engine's lock, EPs may be freed meanwhile. */
START_TEST(without_the_engine_no_EP_is_touched)
{
	const char *text;

	add_ep(0);
	text = report(false);
	ck_assert(!tells(text, "EP", &eps[0]));
	ck_assert_ptr_nonnull(strstr(text, "can't be told"));
	ck_assert(tells(text, "EVD", &evd));
}
END_TEST

static void create_two(void)
{
	add_ep(1);
	add_ep(2);
}

/* There is room for those that were counted. */
START_TEST(EPs_created_meanwhile_are_left_out)
{
	const char *text;

	add_ep(0);
	between = create_two;
	text = report(true);
	ck_assert_uint_ge(room, 1);
	ck_assert(tells(text, "EP", &eps[0]));
	ck_assert(!tells(text, "EP", &eps[1]));
	ck_assert(!tells(text, "EP", &eps[2]));
	text = report(true);
	ck_assert(tells(text, "EP", &eps[1]));
	ck_assert(tells(text, "EP", &eps[2]));
}
END_TEST

/* The rest of the report is still of use. */
START_TEST(without_memory_no_EP_is_told)
{
	const char *text;

	add_ep(0);
	no_room = true;
	text = report(true);
	no_room = false;
	ck_assert(!tells(text, "EP", &eps[0]));
	ck_assert(tells(text, "EVD", &evd));
}
END_TEST

/* --- the line of an EP --- */

START_TEST(each_state_has_a_name)
{
	static const struct {
		DAT_EP_STATE state;
		const char *name;
	} states[] = {
		{DAT_EP_STATE_UNCONNECTED, ": unconnected,"},
		{DAT_EP_STATE_RESERVED, ": reserved,"},
		{DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, ": passive connection pending,"},
		{DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, ": active connection pending,"},
		{DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, ": tentative connection pending,"},
		{DAT_EP_STATE_COMPLETION_PENDING, ": completion pending,"},
		{DAT_EP_STATE_CONNECTED, ": connected,"},
		{DAT_EP_STATE_DISCONNECT_PENDING, ": disconnect pending,"},
		{DAT_EP_STATE_DISCONNECTED, ": disconnected,"},
	};

	add_ep(0);
	eps[0].state = states[_i].state;
	ck_assert_ptr_nonnull(strstr(report(true), states[_i].name));
}
END_TEST

static struct dofi_conn conn = {.ia = &ia};

static void be_connected(void)
{
	struct sockaddr_storage addr;

	add_ep(0);
	ck_assert(dofi_addr_parse("10.0.0.9", &addr));
	eps[0].state = DAT_EP_STATE_CONNECTED;
	eps[0].conn = &conn;
	eps[0].remote_addr = addr;
}

START_TEST(a_connected_EP_has_a_peer_and_credits)
{
	be_connected();
	eps[0].peer.credits = true;
	eps[0].credit_total = 9;
	eps[0].nsent = 4;
	ck_assert_ptr_nonnull(strstr(report(true), ": connected, peer 10.0.0.9, requests 0"));
	ck_assert_ptr_nonnull(strstr(report(true), ", credits 5:"));
	eps[0].peer.credits = false; /* the fabric does without */
	ck_assert_ptr_null(strstr(report(true), "credits"));
	eps[0].peer.credits = true;
	eps[0].conn = NULL;
	ck_assert_ptr_null(strstr(report(true), "credits"));
	ck_assert_ptr_null(strstr(report(true), "peer"));
}
END_TEST

START_TEST(the_report_tells_the_way_of_the_data)
{
	struct dofi_memory_path path = {.copies = false};

	be_connected();
	ck_assert_ptr_null(strstr(report(true), "memory"));
	conn.why_fabric = "a reason";
	ck_assert_ptr_nonnull(strstr(report(true), " not by memory, for a reason,"));
	eps[0].memory = &path;
	ck_assert_ptr_nonnull(strstr(report(true), " by memory, requests"));
	path.copies = true;
	ck_assert_ptr_nonnull(strstr(report(true), " by memory with copies, requests"));
}
END_TEST

START_TEST(the_report_counts_what_is_outstanding)
{
	struct dofi_wr wr = {.op = DOFI_OP_SEND};

	be_connected();
	eps[0].req = (struct dofi_ring){.base = (char *)&wr, .head = 1, .issue = 3, .tail = 7};
	eps[0].recv.tail = 5;
	eps[0].peer.credits = true;
	eps[0].credit_total = eps[0].nsent = 4;
	ck_assert_ptr_nonnull(strstr(report(true),
				     ", requests 2 and 4 held, receives 5, credits 0, waits for a "
				     "receive of the peer:"));
	wr.op = DOFI_OP_WRITE; /* needs none */
	ck_assert_ptr_nonnull(strstr(report(true), ", credits 0:"));
}
END_TEST

START_TEST(the_report_tells_who_waits_for_events)
{
	atomic_store(&evd.count, 6);
	ck_assert_ptr_nonnull(strstr(report(true), ": events 6:"));
	atomic_store(&evd.waiter, true);
	ck_assert_ptr_nonnull(strstr(report(true), ": events 6, a thread waits:"));
}
END_TEST

/* --- dat_ib_query_counters and dat_ib_print_counters --- */

#define MOST  128
#define ALONE UINT64_C(77777) /* a value that is not overwritten */

static DAT_UINT64 values[MOST];

static void publish(void)
{
	dofi_work_init(&ia.engine);
	ia.obj.ia = &ia;
	atomic_store(&ia.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_IA);
	add_ep(0);
	atomic_store(&eps[0].obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_EP);
	atomic_store(&evd.obj.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_EVD);
	for (int i = 0; i < MOST; i++)
		values[i] = ALONE;
}

/* The numbers are those of the extensions' header; our own counters are not among them. */
static void *handle_of(int type, _Atomic uint64_t **counters_p, int *n_p)
{
	*counters_p = type == 0 ? ia.counters : type == 1 ? eps[0].counters : evd.counters;
	*n_p = type == 0   ? DOFI_CNT_IA_CM_MUTE
	       : type == 1 ? DOFI_CNT_EP_COMPLETED
			   : DOFI_CNT_EVD_OVERFLOW;
	return type == 0 ? (void *)&ia : type == 1 ? (void *)&eps[0] : (void *)&evd;
}

START_TEST(one_counter_or_all_are_read)
{
	_Atomic uint64_t *counters;
	void *handle;
	int n;

	publish();
	handle = handle_of(_i, &counters, &n);
	for (int i = 0; i <= n; i++)
		counters[i] = 100 + (uint64_t)i;
	ck_assert_uint_eq(dofi_count_query(handle, n - 1, values, 0), DAT_SUCCESS);
	ck_assert_uint_eq(values[n - 1], 100 + (uint64_t)n - 1);
	ck_assert_uint_eq(values[0], ALONE);
	ck_assert_uint_eq(values[n], ALONE);
	ck_assert_uint_eq(dofi_count_query(handle, n, values, 1), DAT_SUCCESS);
	for (int i = 0; i < n; i++) {
		ck_assert_uint_eq(values[i], 100 + (uint64_t)i);
		ck_assert_uint_eq(counters[i], 0); /* they were reset */
	}
	ck_assert_uint_eq(values[n], ALONE);
	ck_assert_uint_eq(counters[n], 100 + (uint64_t)n);
}
END_TEST

START_TEST(the_first_counter_is_read_alone)
{
	_Atomic uint64_t *counters;
	void *handle;
	int n;

	publish();
	handle = handle_of(_i, &counters, &n);
	counters[0] = 7;
	ck_assert_uint_eq(dofi_count_query(handle, 0, values, 0), DAT_SUCCESS);
	ck_assert_uint_eq(values[0], 7);
	ck_assert_uint_eq(values[1], ALONE);
}
END_TEST

static void count_one(void)
{
	evd.counters[0]++;
}

static void free_evd(void)
{
	atomic_store(&evd.obj.magic, 0);
}

/* Operations that are complete are counted. An agent that runs meanwhile may free the object. */
START_TEST(a_query_reads_completions_first)
{
	publish();
	at_poll = count_one;
	ck_assert_uint_eq(dofi_count_query(&evd, 0, values, 0), DAT_SUCCESS);
	ck_assert_uint_eq(values[0], 1);
	at_poll = free_evd;
	ck_assert_uint_eq(dofi_count_query(&evd, 0, values, 0),
			  DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
}
END_TEST

START_TEST(a_printed_counter_tells_its_host)
{
	char host[256] = "";
	int said;

	publish();
	ck_assert_int_eq(gethostname(host, sizeof(host) - 1), 0);
	said = t_capture(STDOUT_FILENO);
	ck_assert_uint_eq(dofi_count_print(&evd, 0, 0), DAT_SUCCESS);
	ck_assert_int_eq(strncmp(t_captured(said), host, strlen(host)), 0);
	ck_assert_int_eq(t_captured(said)[strlen(host)], ':');
	/* it is alone */
	ck_assert_str_eq(strchr(t_captured(said), '\n'), "\n");
}
END_TEST

START_TEST(a_query_of_counters_checks_its_arguments)
{
	static struct dofi_obj pz;

	publish();
	ck_assert_uint_eq(dofi_count_query(&pz, 0, values, 0),
			  DOFI_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	atomic_store(&pz.magic, DOFI_MAGIC | DAT_HANDLE_TYPE_PZ); /* it has none */
	ck_assert_uint_eq(dofi_count_query(&pz, 0, values, 0), DOFI_BAD_ARG(1));
	ck_assert_uint_eq(dofi_count_print(&pz, 0, 0), DOFI_BAD_ARG(1));
	ck_assert_uint_eq(dofi_count_query(&ia, 0, NULL, 0), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_count_query(&ia, -1, values, 0), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_count_query(&ia, 10000, values, 0), DAT_SUCCESS);
	ck_assert_uint_eq(values[0], ALONE);
}
END_TEST

START_TEST(counters_are_printed_with_their_names)
{
	int fd = t_capture(STDOUT_FILENO);
	char line[64];

	publish();
	eps[0].counters[0] = 5;
	eps[0].counters[1] = 6;
	ck_assert_uint_eq(dofi_count_print(&eps[0], 1, 1), DAT_SUCCESS);
	snprintf(line, sizeof(line), ":%d: EP %p: EP_", (int)getpid(), (void *)&eps[0]);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), line));
	ck_assert_ptr_nonnull(strstr(t_captured(fd), " 6\n"));
	ck_assert_ptr_null(strstr(t_captured(fd), " 5\n"));
	ck_assert_uint_eq(eps[0].counters[1], 0);
	ck_assert_uint_eq(eps[0].counters[0], 5);
	ck_assert_uint_eq(dofi_count_print(&eps[0], DOFI_CNT_EP_COMPLETED, 0), DAT_SUCCESS);
	ck_assert_ptr_nonnull(strstr(t_captured(fd), " 5\n"));
}
END_TEST

static pthread_t editor;
static _Atomic bool editing;

/* Changes the list, which is not usable until the reporting thread waits for the lock. */
static void *edit(void *arg)
{
	struct dofi_list *list = &ia.objects[DAT_HANDLE_TYPE_EP], whole = *list;
	time_t limit = time(NULL) + LIMIT_S;

	(void)arg;
	dofi_lock(&ia.obj_lock);
	list->next = NULL;
	atomic_store(&editing, true);
	while (!atomic_load(&ia.obj_lock.awaited) && time(NULL) < limit)
		sched_yield();
	*list = whole;
	dofi_unlock(&ia.obj_lock);
	return NULL;
}

static void start_editor(void)
{
	ck_assert_int_eq(pthread_create(&editor, NULL, edit, NULL), 0);
	while (!atomic_load(&editing))
		sched_yield();
}

START_TEST(the_list_is_read_when_no_other_thread_changes_it)
{
	const char *text;

	add_ep(0);
	between = start_editor;
	text = report(true);
	ck_assert(tells(text, "EP", &eps[0]));
	ck_assert_int_eq(pthread_join(editor, NULL), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("counters");
	TCase *tcase = tcase_create("counters");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, a_report_has_each_object);
	tcase_add_test(tcase, EPs_that_were_freed_are_told_together);
	tcase_add_test(tcase, without_the_engine_no_EP_is_touched);
	tcase_add_test(tcase, EPs_created_meanwhile_are_left_out);
	tcase_add_test(tcase, without_memory_no_EP_is_told);
	tcase_add_test(tcase, the_list_is_read_when_no_other_thread_changes_it);
	tcase_add_loop_test(tcase, each_state_has_a_name, 0, 9);
	tcase_add_test(tcase, a_connected_EP_has_a_peer_and_credits);
	tcase_add_test(tcase, the_report_tells_the_way_of_the_data);
	tcase_add_test(tcase, the_report_counts_what_is_outstanding);
	tcase_add_test(tcase, the_report_tells_who_waits_for_events);
	tcase_add_loop_test(tcase, one_counter_or_all_are_read, 0, 3);
	tcase_add_loop_test(tcase, the_first_counter_is_read_alone, 0, 3);
	tcase_add_test(tcase, a_query_reads_completions_first);
	tcase_add_test(tcase, a_printed_counter_tells_its_host);
	tcase_add_test(tcase, a_query_of_counters_checks_its_arguments);
	tcase_add_test(tcase, counters_are_printed_with_their_names);
	return t_run(suite);
}
