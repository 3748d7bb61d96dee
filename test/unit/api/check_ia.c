/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of an IA: what it opens, and the order in which its objects end. */
#include "t_hooks.h"
#include "progress/work.h"
#include "unit.h"

#include "../../../prov/ofi/api/ia.c"

#include "../../../prov/ofi/api/cno.h"
#include "../../../prov/ofi/api/evd.h"
#include "../../../prov/ofi/object/srq_count.h"

#include <errno.h>

static const DAT_PROVIDER provider = {.device_name = NULL};
static struct dofi_ia *ia;

/* --- the thread; the linker redirects this call --- */

static int start_result, starts;
static void *(*started)(void *);
static void *argument;

int __wrap_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg);

static void *nothing(void *arg)
{
	return arg;
}

int __wrap_dofi_start_thread(pthread_t *thread, void *(*run)(void *), void *arg)
{
	started = run;
	argument = arg;
	starts++;
	if (!start_result)
		ck_assert_int_eq(pthread_create(thread, NULL, nothing, NULL), 0);
	return start_result;
}

static int detached;

T_STAND_IN int __wrap_pthread_detach(pthread_t thread);
int __real_pthread_detach(pthread_t thread);

int __wrap_pthread_detach(pthread_t thread)
{
	detached++;
	return __real_pthread_detach(thread);
}

/* --- the rooms below; the linker redirects these calls --- */

static char order[512]; /* of the calls */
static struct fi_info info;
static struct fi_info *found; /* by the choice; NULL: none */
static DAT_RETURN choose_result;
static int begin_result;
static DAT_BOOLEAN thread_safe_seen;
static bool without_memory, another_is_faster;
static const struct dofi_ia *agent_of; /* the calling thread is inside an agent of this IA */
static const struct dofi_ia *stats_of;

#define SAY(word) strcat(order, word " ")

const DAT_PROVIDER *__wrap_dofi_init_lookup(const char *name, DAT_BOOLEAN thread_safe,
					    unsigned int nth, const char **params_p);
DAT_RETURN __wrap_dofi_ia_choose(struct dofi_ia *of, const char *ia_params);
int __wrap_dofi_ia_steps_begin(struct dofi_ia *of);
void __wrap_dofi_ia_steps_end(struct dofi_ia *of);
void __wrap_dofi_stats_start(struct dofi_ia *of);
void __wrap_dofi_stats_closing(struct dofi_ia *of);
void __wrap_dofi_ia_list_prepare(void);
bool __wrap_dofi_ia_list_remove(struct dofi_ia *of);
bool __real_dofi_ia_list_remove(struct dofi_ia *of);
bool __wrap_dofi_cno_in_agent(struct dofi_ia *of);
void __wrap_dofi_sp_unlisten(struct dofi_sp *sp);
void __wrap_dofi_linger_begin_all(struct dofi_ia *of);
void __wrap_dofi_cr_destroy(struct dofi_cr *cr, bool reject);
void __wrap_dofi_ep_destroy(struct dofi_ep *ep);
void __wrap_dofi_srq_destroy(struct dofi_srq *srq);
void __wrap_dofi_sp_destroy(struct dofi_sp *sp);
void __wrap_dofi_rmr_destroy(struct dofi_rmr *rmr);
void __wrap_dofi_lmr_destroy(struct dofi_lmr *lmr);
void __wrap_dofi_evd_destroy(struct dofi_evd *evd);
void __real_dofi_evd_destroy(struct dofi_evd *evd);
void __wrap_dofi_cno_flush(struct dofi_cno *cno);
void __real_dofi_cno_flush(struct dofi_cno *cno);
void __wrap_dofi_cno_destroy(struct dofi_cno *cno);
void __real_dofi_cno_destroy(struct dofi_cno *cno);
void __wrap_dofi_cno_await_agents(struct dofi_ia *of);
void __wrap_dofi_pz_destroy(struct dofi_pz *pz);
void __real_dofi_pz_destroy(struct dofi_pz *pz);
T_STAND_IN void __wrap_fi_freeinfo(struct fi_info *of);
void *__wrap_dofi_obj_alloc(struct dofi_ia *of, const DAT_PROVIDER *table, DAT_HANDLE_TYPE type,
			    size_t size);
void *__real_dofi_obj_alloc(struct dofi_ia *of, const DAT_PROVIDER *table, DAT_HANDLE_TYPE type,
			    size_t size);
void __wrap_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type);
void __real_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type);

static unsigned int nth_seen;

const DAT_PROVIDER *__wrap_dofi_init_lookup(const char *name, DAT_BOOLEAN thread_safe,
					    unsigned int nth, const char **params_p)
{
	thread_safe_seen = thread_safe;
	nth_seen = nth;
	*params_p = "words";
	return strcmp(name, "unknown") ? &provider : NULL;
}

static bool is_prepared; /* for a fork */

void __wrap_dofi_ia_list_prepare(void)
{
	is_prepared = true;
}

DAT_RETURN __wrap_dofi_ia_choose(struct dofi_ia *of, const char *ia_params)
{
	ck_assert(is_prepared);
	ck_assert_str_eq(ia_params, "words");
	of->info = found;
	of->limits.max_evds = of->limits.max_evd_qlen = 64;
	return choose_result;
}

int __wrap_dofi_ia_steps_begin(struct dofi_ia *of)
{
	dofi_lock_init_level(&of->engine.lock, DOFI_LEVEL_ENGINE);
	dofi_lock_init_level(&of->engine.stalled_lock, DOFI_LEVEL_LEAF);
	dofi_list_init(&of->engine.stalled);
	dofi_work_init(&of->engine);
	dofi_list_init(&of->cm.listeners);
	return begin_result;
}

void __wrap_dofi_ia_steps_end(struct dofi_ia *of)
{
	(void)of;
	SAY("steps");
}

void __wrap_dofi_stats_start(struct dofi_ia *of)
{
	ck_assert(dofi_obj_is(of, DAT_HANDLE_TYPE_IA));
	stats_of = of;
}

/* The report tells about the objects, which still exist. */
void __wrap_dofi_stats_closing(struct dofi_ia *of)
{
	ck_assert(!dofi_obj_is(of, DAT_HANDLE_TYPE_IA));
	SAY("report");
}

bool __wrap_dofi_ia_list_remove(struct dofi_ia *of)
{
	return !another_is_faster && __real_dofi_ia_list_remove(of);
}

bool __wrap_dofi_cno_in_agent(struct dofi_ia *of)
{
	return of == agent_of;
}

void __wrap_dofi_sp_unlisten(struct dofi_sp *sp)
{
	dofi_assert_held(&sp->obj.ia->engine.lock);
	dofi_list_del(&sp->link);
	SAY("unlisten");
}

void __wrap_dofi_linger_begin_all(struct dofi_ia *of)
{
	dofi_assert_held(&of->engine.lock);
	SAY("linger");
}

#define END(object, type)                                         \
	do {                                                      \
		dofi_assert_held(&(object)->obj.ia->engine.lock); \
		dofi_obj_free(&(object)->obj, type);              \
	} while (0)

void __wrap_dofi_cr_destroy(struct dofi_cr *cr, bool reject)
{
	ck_assert(reject);
	END(cr, DAT_HANDLE_TYPE_CR);
	SAY("cr");
}

void __wrap_dofi_ep_destroy(struct dofi_ep *ep)
{
	END(ep, DAT_HANDLE_TYPE_EP);
	SAY("ep");
}

void __wrap_dofi_srq_destroy(struct dofi_srq *srq)
{
	END(srq, DAT_HANDLE_TYPE_SRQ);
	SAY("srq");
}

void __wrap_dofi_sp_destroy(struct dofi_sp *sp)
{
	strcat(order, sp->rsp ? "rsp " : "psp ");
	END(sp, sp->rsp ? DAT_HANDLE_TYPE_RSP : DAT_HANDLE_TYPE_PSP);
}

void __wrap_dofi_rmr_destroy(struct dofi_rmr *rmr)
{
	dofi_assert_none_held();
	dofi_obj_free(&rmr->obj, DAT_HANDLE_TYPE_RMR);
	SAY("rmr");
}

void __wrap_dofi_lmr_destroy(struct dofi_lmr *lmr)
{
	dofi_assert_none_held();
	dofi_obj_free(&lmr->obj, DAT_HANDLE_TYPE_LMR);
	SAY("lmr");
}

void __wrap_dofi_evd_destroy(struct dofi_evd *evd)
{
	SAY("evd");
	__real_dofi_evd_destroy(evd);
}

void __wrap_dofi_cno_flush(struct dofi_cno *cno)
{
	SAY("flush");
	__real_dofi_cno_flush(cno);
}

void __wrap_dofi_cno_destroy(struct dofi_cno *cno)
{
	SAY("cno");
	__real_dofi_cno_destroy(cno);
}

void __wrap_dofi_cno_await_agents(struct dofi_ia *of)
{
	(void)of;
	SAY("await");
}

void __wrap_dofi_pz_destroy(struct dofi_pz *pz)
{
	SAY("pz");
	__real_dofi_pz_destroy(pz);
}

void __wrap_fi_freeinfo(struct fi_info *of)
{
	ck_assert_ptr_eq(of, &info);
	SAY("info");
}

void *__wrap_dofi_obj_alloc(struct dofi_ia *of, const DAT_PROVIDER *table, DAT_HANDLE_TYPE type,
			    size_t size)
{
	return without_memory ? NULL : __real_dofi_obj_alloc(of, table, type, size);
}

void __wrap_dofi_obj_free(struct dofi_obj *obj, DAT_HANDLE_TYPE type)
{
	if (type == DAT_HANDLE_TYPE_IA)
		SAY("ia");
	__real_dofi_obj_free(obj, type);
}

/* --- */

static void setup(void)
{
	static char name[] = "test";

	ia = new_ia(name, &provider, DAT_FALSE);
	ck_assert_ptr_nonnull(ia);
}

static void teardown(void)
{
	free_ia(ia);
}

START_TEST(another_thread_finishes_what_an_agent_closes)
{
	int said = t_capture(STDERR_FILENO);

	tear_down_elsewhere(ia);
	ck_assert(started == closer_main);
	ck_assert_ptr_eq(argument, ia);
	ck_assert_int_eq(detached, 1); /* nobody joins it */
	ck_assert_str_eq(t_captured(said), "");
}
END_TEST

START_TEST(an_ia_that_leaks_is_told)
{
	int said = t_capture(STDERR_FILENO);

	start_result = -EAGAIN;
	tear_down_elsewhere(ia);
	ck_assert_ptr_nonnull(strstr(t_captured(said), "IA test: an agent closed it"));
	ck_assert_ptr_nonnull(strstr(t_captured(said), strerror(EAGAIN)));
	ck_assert_ptr_nonnull(strstr(t_captured(said), "ulimit -u"));
}
END_TEST

/* The EVD for asynchronous events belongs to the IA unless the consumer gave it. */
START_TEST(an_ia_is_in_use_while_it_has_objects)
{
	static const DAT_HANDLE_TYPE types[] = {DAT_HANDLE_TYPE_EP,  DAT_HANDLE_TYPE_EVD,
						DAT_HANDLE_TYPE_LMR, DAT_HANDLE_TYPE_PZ,
						DAT_HANDLE_TYPE_CNO, DAT_HANDLE_TYPE_SRQ};

	ck_assert(!in_use(ia));
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		ia->counts[types[i]]++;
		ck_assert(in_use(ia));
		ia->counts[types[i]]--;
	}
	ia->counts[DAT_HANDLE_TYPE_EVD] = 1;
	ia->async_evd_ours = true;
	ck_assert(!in_use(ia));
	ia->counts[DAT_HANDLE_TYPE_EVD] = 2;
	ck_assert(in_use(ia));
}
END_TEST

START_TEST(objects_of_any_type_count)
{
	for (int type = 0; type < DOFI_HANDLE_TYPES; type++) {
		ia->counts[type] = 1;
		ck_assert(in_use(ia));
		ia->counts[type] = 0;
	}
	ck_assert(!in_use(ia));
}
END_TEST

static void expect_empty(const struct dofi_list *list)
{
	ck_assert_ptr_eq(list->next, list);
	ck_assert_ptr_eq(list->prev, list);
}

START_TEST(a_new_ia_has_nothing)
{
	ck_assert_str_eq(ia->name, "test");
	ck_assert_ptr_eq(ia->obj.ia, ia);
	ck_assert_ptr_eq(ia->obj.provider, &provider);
	ck_assert_ptr_eq(ia->up, &dofi_cm_upcalls);
	ck_assert(ia->engine.reap == dofi_reap);
#ifndef NDEBUG /* a lock without a level is not checked */
	ck_assert_int_eq(ia->obj_lock.level, DOFI_LEVEL_LEAF);
	ck_assert_int_eq(ia->mr_lock.level, DOFI_LEVEL_LEAF);
#endif
	for (int type = 0; type < DOFI_HANDLE_TYPES; type++) {
		expect_empty(&ia->objects[type]);
		expect_empty(&ia->doomed[type]);
	}
	expect_empty(&ia->agents);
	expect_empty(&ia->orphans);
	expect_empty(&ia->ud_answers);
	expect_empty(&ia->agent_calls);
	expect_empty(&ia->drains);
}
END_TEST

/* --- dat_ia_open --- */

static char name[] = "a name";

static DAT_RETURN open_it(char *by_name, DAT_COUNT qlen, DAT_IA_HANDLE *handle_p)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

	return dofi_ia_open(by_name, qlen, &async, handle_p);
}

static struct dofi_ia *opened(void)
{
	DAT_IA_HANDLE handle = NULL;

	ck_assert_uint_eq(open_it(name, 4, &handle), DAT_SUCCESS);
	ck_assert(dofi_obj_is(handle, DAT_HANDLE_TYPE_IA));
	return handle;
}

START_TEST(open_checks_its_arguments)
{
	static char longest[DAT_NAME_MAX_LENGTH + 1], unknown[] = "unknown";
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE handle = NULL;

	memset(longest, 'n', DAT_NAME_MAX_LENGTH);
	ck_assert_uint_eq(open_it(NULL, 4, &handle), DOFI_BAD_ARG(1));
	ck_assert_uint_eq(open_it(longest, 4, &handle), DOFI_BAD_ARG(1));
	ck_assert_uint_eq(open_it(name, 0, &handle), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_ia_open(name, 4, NULL, &handle), DOFI_BAD_ARG(3));
	ck_assert_uint_eq(dofi_ia_open(name, 4, &async, NULL), DOFI_BAD_ARG(4));
	ck_assert_uint_eq(open_it(unknown, 4, &handle),
			  DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED));
	without_memory = true;
	ck_assert_uint_eq(open_it(name, 4, &handle), DOFI_NO_MEMORY);
	without_memory = false;
	ck_assert_ptr_null(handle);
	ck_assert_str_eq(order, "");
	longest[DAT_NAME_MAX_LENGTH - 1] = '\0';
	ck_assert_uint_eq(open_it(longest, 4, &handle), DAT_SUCCESS);
	ck_assert_str_eq(((struct dofi_ia *)handle)->name, longest);
	ck_assert_uint_eq(dofi_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}
END_TEST

START_TEST(an_ia_knows_whether_threads_share_it)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE handle;

	handle = opened();
	ck_assert_int_eq(thread_safe_seen, DAT_FALSE);
	ck_assert_int_eq(((struct dofi_ia *)handle)->thread_safe_asked, DAT_FALSE);
	ck_assert_ptr_eq(stats_of, handle);
	ck_assert_uint_eq(dofi_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ia_open_of(DAT_TRUE, 0)(name, 4, &async, &handle), DAT_SUCCESS);
	ck_assert_int_eq(thread_safe_seen, DAT_TRUE);
	ck_assert_int_eq(((struct dofi_ia *)handle)->thread_safe_asked, DAT_TRUE);
	ck_assert_uint_eq(dofi_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}
END_TEST

START_TEST(an_ia_that_does_not_open_leaves_nothing)
{
	const DAT_RETURN odd = DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	const struct {
		struct fi_info *found;
		DAT_RETURN choice;
		int begin;
		DAT_COUNT qlen;
		DAT_RETURN ret;
		const char *order;
	} cases[] = {
		{NULL, odd, 0, 4, odd, "ia "},
		{&info, odd, 0, 4, odd, "info ia "},
		{&info, DAT_SUCCESS, -EMFILE, 4, dofi_error(-EMFILE, DAT_RESOURCE_DEVICE),
		 "info ia "},
		{&info, DAT_SUCCESS, 0, 65, DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD),
		 "linger await steps info ia "},
	};
	DAT_IA_HANDLE handle = NULL;

	found = cases[_i].found;
	choose_result = cases[_i].choice;
	begin_result = cases[_i].begin;
	ck_assert_uint_eq(open_it(name, cases[_i].qlen, &handle), cases[_i].ret);
	ck_assert_ptr_null(handle);
	ck_assert_ptr_null(stats_of);
	ck_assert_str_eq(order, cases[_i].order);
}
END_TEST

/* --- dat_ia_close --- */

START_TEST(close_checks_its_arguments)
{
	struct dofi_ia *it = opened();
	DAT_PZ_HANDLE pz;

	ck_assert_uint_eq(dofi_ia_close(it, (DAT_CLOSE_FLAGS)7), DOFI_BAD_ARG(2));
	ck_assert_uint_eq(dofi_pz_create(it, &pz), DAT_SUCCESS);
	ck_assert_uint_eq(dofi_ia_close(pz, DAT_CLOSE_ABRUPT_FLAG), DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(dofi_ia_close(pz, DAT_CLOSE_GRACEFUL_FLAG), DOFI_BAD_HANDLE(IA));
	ck_assert_uint_eq(dofi_ia_close(it, DAT_CLOSE_GRACEFUL_FLAG), DOFI_BAD_STATE(IA_IN_USE));
	ck_assert_uint_eq(dofi_pz_free(pz), DAT_SUCCESS);
	another_is_faster = true;
	ck_assert_uint_eq(dofi_ia_close(it, DAT_CLOSE_GRACEFUL_FLAG), DOFI_BAD_HANDLE(IA));
	another_is_faster = false;
	ck_assert_str_eq(order, "");
	ck_assert_uint_eq(dofi_ia_close(it, DAT_CLOSE_GRACEFUL_FLAG), DAT_SUCCESS);
	ck_assert_str_eq(order, "report linger evd await steps ia ");
	ck_assert_uint_eq(dofi_ia_close(it, DAT_CLOSE_ABRUPT_FLAG), DOFI_BAD_HANDLE(IA));
	ck_assert_int_eq(starts, 0);
}
END_TEST

/* An object of which the linker redirects the end. */
static void *add(struct dofi_ia *of, DAT_HANDLE_TYPE type, size_t size)
{
	struct dofi_obj *obj = dofi_obj_alloc(of, &provider, type, size);

	ck_assert_ptr_nonnull(obj);
	dofi_obj_publish(obj, type);
	return obj;
}

static void add_service_point(struct dofi_ia *of, bool rsp)
{
	struct dofi_sp *sp =
		add(of, rsp ? DAT_HANDLE_TYPE_RSP : DAT_HANDLE_TYPE_PSP, sizeof(struct dofi_sp));

	sp->rsp = rsp;
	dofi_list_add_tail(&of->cm.listeners, &sp->link);
}

static DAT_CNO_HANDLE new_cno(struct dofi_ia *of, DAT_OS_WAIT_PROXY_AGENT agent)
{
	DAT_CNO_HANDLE cno;

	ck_assert_uint_eq(dofi_cno_create(of, agent, &cno), DAT_SUCCESS);
	return cno;
}

static void add_one_of_each(struct dofi_ia *of)
{
	DAT_EVD_HANDLE evd;
	DAT_PZ_HANDLE pz;

	add(of, DAT_HANDLE_TYPE_LMR, sizeof(struct dofi_lmr));
	add(of, DAT_HANDLE_TYPE_RMR, sizeof(struct dofi_rmr));
	add(of, DAT_HANDLE_TYPE_SRQ, sizeof(struct dofi_srq));
	add(of, DAT_HANDLE_TYPE_EP, sizeof(struct dofi_ep));
	add(of, DAT_HANDLE_TYPE_CR, sizeof(struct dofi_cr));
	add_service_point(of, true);
	add_service_point(of, false);
	new_cno(of, DAT_OS_WAIT_PROXY_AGENT_NULL);
	ck_assert_uint_eq(dofi_evd_create(of, 4, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd),
			  DAT_SUCCESS);
	ck_assert_uint_eq(dofi_pz_create(of, &pz), DAT_SUCCESS);
	dofi_obj_use(pz); /* what uses it does not end here */
}

/* What others use ends after them. */
START_TEST(objects_end_in_an_order)
{
	struct dofi_ia *it = opened();

	add_one_of_each(it);
	add_one_of_each(it);
	ck_assert_uint_eq(dofi_ia_close(it, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ck_assert_str_eq(order, "report unlisten unlisten unlisten unlisten cr cr linger ep ep "
				"srq srq psp psp rsp rsp rmr rmr lmr lmr evd evd evd flush cno "
				"flush cno await pz pz steps ia ");
	for (int type = 0; type < DOFI_HANDLE_TYPES; type++)
		ck_assert_uint_eq(it->counts[type], 0);
}
END_TEST

static int agent_calls;

static void agent(DAT_PVOID data, DAT_EVD_HANDLE evd)
{
	ck_assert_ptr_eq(data, &agent_calls);
	ck_assert_ptr_null(evd);
	agent_calls++;
}

/* Also if the agent is one of another IA. The thread that finishes the close calls no agent. */
START_TEST(an_agent_does_not_wait_for_itself)
{
	const DAT_OS_WAIT_PROXY_AGENT told = {.instance_data = &agent_calls,
					      .proxy_agent_func = agent};
	struct dofi_ia *it = opened(), *other = opened();

	add_one_of_each(it);
	new_cno(it, told);
	agent_of = _i ? other : it;
	ck_assert_uint_eq(dofi_ia_close(it, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ck_assert_str_eq(order, "report unlisten unlisten cr linger ep srq psp rsp rmr lmr "
				"flush flush ");
	ck_assert_int_eq(agent_calls, 1);
	ck_assert_int_eq(starts, 1);
	ck_assert(started == closer_main);
	*order = '\0';
	ck_assert_ptr_null(started(argument));
	ck_assert_str_eq(order, "evd evd flush cno flush cno await pz steps ia ");
	ck_assert_int_eq(agent_calls, 1);
	agent_of = NULL;
	ck_assert_uint_eq(dofi_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ck_assert_int_eq(starts, 1);
}
END_TEST

/* The EVD belongs to another IA, whose consumer may free it then. */
START_TEST(an_ia_that_closes_leaves_a_shared_evd)
{
	struct dofi_ia *it = opened();
	DAT_EVD_HANDLE shared = atomic_load(&it->async_evd);
	DAT_IA_HANDLE other;

	ck_assert_uint_eq(dofi_ia_open(name, 4, &shared, &other), DAT_SUCCESS);
	ck_assert_int_eq(((struct dofi_obj *)shared)->users, 2);
	ck_assert_uint_eq(dofi_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ck_assert_int_eq(((struct dofi_obj *)shared)->users, 1);
	ck_assert_uint_eq(dofi_ia_close(it, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}
END_TEST

/* Their events go to an EVD of this IA, which is about to end. */
START_TEST(other_ias_do_not_use_the_evd_any_more)
{
	struct dofi_ia *it = opened(), *other;
	DAT_EVD_HANDLE shared = atomic_load(&it->async_evd);
	DAT_IA_HANDLE handle;

	ck_assert_uint_eq(dofi_ia_open(name, 4, &shared, &handle), DAT_SUCCESS);
	other = handle;
	ck_assert_ptr_eq(atomic_load(&other->async_evd), shared);
	ck_assert_uint_eq(dofi_ia_close(it, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
	ck_assert_ptr_null(atomic_load(&other->async_evd));
	ck_assert_uint_eq(dofi_ia_close(other, DAT_CLOSE_ABRUPT_FLAG), DAT_SUCCESS);
}
END_TEST

int main(void)
{
	TCase *life = tcase_create("life");
	Suite *suite = suite_create("ia");
	TCase *tcase = tcase_create("ia");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, another_thread_finishes_what_an_agent_closes);
	tcase_add_test(tcase, an_ia_that_leaks_is_told);
	tcase_add_test(tcase, an_ia_is_in_use_while_it_has_objects);
	tcase_add_test(tcase, objects_of_any_type_count);
	tcase_add_test(tcase, a_new_ia_has_nothing);
	suite_add_tcase(suite, life);
	tcase_add_test(life, open_checks_its_arguments);
	tcase_add_test(life, an_ia_knows_whether_threads_share_it);
	tcase_add_loop_test(life, an_ia_that_does_not_open_leaves_nothing, 0, 4);
	tcase_add_test(life, close_checks_its_arguments);
	tcase_add_test(life, objects_end_in_an_order);
	tcase_add_loop_test(life, an_agent_does_not_wait_for_itself, 0, 2);
	tcase_add_test(life, an_ia_that_closes_leaves_a_shared_evd);
	tcase_add_test(life, other_ias_do_not_use_the_evd_any_more);
	return t_run(suite);
}
