/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The list of IAs of a process: what happens to them when the process forks or exits, and reports
 * about an IA whose engine is busy.
 */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/api/counters.h"
#include "../../../prov/ofi/api/ia_list.h"
#include "../../../prov/ofi/api/stats.h"
#include "../../../prov/ofi/base/clock.h"
#include "../../../prov/ofi/cm/cm.h"
#include "../../../prov/ofi/object/ep.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/progress/progress_thread.h"

#include <pthread.h>
#include <sched.h>

#define IAS 2

/* Handles are aligned. */
static struct {
	_Alignas(64) struct dofi_ia ia;
	_Alignas(64) struct dofi_ep ep;
	struct {
		_Alignas(64) struct dofi_obj obj;
	} others[DOFI_HANDLE_TYPES]; /* one of each type */
} all[IAS];

static int index_of(const struct dofi_ia *ia)
{
	return ia == &all[1].ia;
}

/* --- the list is locked while it is read or changed; the linker redirects these calls --- */

static _Thread_local int held; /* mutexes */

T_STAND_IN int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
T_STAND_IN int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
void __wrap_dofi_obj_publish(struct dofi_obj *obj, DAT_HANDLE_TYPE type);
void __real_dofi_obj_publish(struct dofi_obj *obj, DAT_HANDLE_TYPE type);
bool __wrap_dofi_obj_retire(struct dofi_obj *obj, bool only_unused);
bool __real_dofi_obj_retire(struct dofi_obj *obj, bool only_unused);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int ret = __real_pthread_mutex_lock(mutex);

	held++;
	return ret;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	held--;
	return __real_pthread_mutex_unlock(mutex);
}

void __wrap_dofi_obj_publish(struct dofi_obj *obj, DAT_HANDLE_TYPE type)
{
	ck_assert_int_eq(held, type == DAT_HANDLE_TYPE_IA);
	__real_dofi_obj_publish(obj, type);
}

bool __wrap_dofi_obj_retire(struct dofi_obj *obj, bool only_unused)
{
	ck_assert_int_eq(held, 1);
	return __real_dofi_obj_retire(obj, only_unused);
}

/* --- what the list calls --- */

static char own_order[256], *order = own_order; /* of the calls */
static int forks_begun, forks_ended, setups;
static bool setup_is_free = true;
static int closed_fds[IAS], exits[IAS], reports[IAS], locked_reports[IAS];
static uint64_t now;

uint64_t __wrap_dofi_now(void);
uint64_t __wrap_dofi_thread_time(void);
void __wrap_dofi_cm_fork_child(struct dofi_ia *ia);
void __wrap_dofi_cm_exit(struct dofi_ia *ia);
void __wrap_dofi_progress_exit(struct dofi_ia *ia);
void __wrap_dofi_count_report(struct dofi_ia *ia, FILE *out, bool locked);
void __wrap_dofi_stats_exit(void);
void __wrap_dofi_stats_fork_child(void);
void __real_dofi_obj_fork_begin(uint64_t ns);
void __wrap_dofi_obj_fork_begin(uint64_t ns);
void __real_dofi_obj_fork_end(void);
void __wrap_dofi_obj_fork_end(void);
bool __wrap_dofi_setup_begin_for(uint64_t ns);
void __wrap_dofi_setup_end(void);

/* Time passes while somebody looks at it. */
uint64_t __wrap_dofi_now(void)
{
	return now += 1000000;
}

uint64_t __wrap_dofi_thread_time(void)
{
	return now;
}

void __wrap_dofi_cm_fork_child(struct dofi_ia *ia)
{
	closed_fds[index_of(ia)] += held == 1;
	ck_assert_int_eq(setups, setup_is_free);
}

void __wrap_dofi_cm_exit(struct dofi_ia *ia)
{
	exits[index_of(ia)]++;
	strcat(order, held == 1 ? "cm " : "not locked ");
}

void __wrap_dofi_progress_exit(struct dofi_ia *ia)
{
	ck_assert_int_eq(exits[index_of(ia)], 1);
	strcat(order, "progress ");
}

void __wrap_dofi_count_report(struct dofi_ia *ia, FILE *out, bool locked)
{
	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(held, 1);
	reports[index_of(ia)]++;
	locked_reports[index_of(ia)] += locked;
}

void __wrap_dofi_stats_exit(void)
{
	strcat(order, "stats ");
}

void __wrap_dofi_stats_fork_child(void)
{
	strcat(order, "child ");
}

void __wrap_dofi_obj_fork_begin(uint64_t ns)
{
	ck_assert_uint_eq(ns, 100000000);
	forks_begun++;
	__real_dofi_obj_fork_begin(ns);
}

void __wrap_dofi_obj_fork_end(void)
{
	forks_ended++;
	__real_dofi_obj_fork_end();
}

/* No other lock is held: a thread that looks for fabrics may need it. */
bool __wrap_dofi_setup_begin_for(uint64_t ns)
{
	ck_assert_uint_eq(ns, 1000000000);
	ck_assert_int_eq(held, 0);
	setups += setup_is_free;
	return setup_is_free;
}

void __wrap_dofi_setup_end(void)
{
	setups--;
}

/* --- */

static void setup(void)
{
	for (int i = 0; i < IAS; i++) {
		dofi_lock_init_level(&all[i].ia.engine.lock, DOFI_LEVEL_ENGINE);
		dofi_lock_init_level(&all[i].ia.obj_lock, DOFI_LEVEL_LEAF);
		for (int type = 0; type < DOFI_HANDLE_TYPES; type++)
			dofi_list_init(&all[i].ia.objects[type]);
		all[i].ia.obj.ia = &all[i].ia;
		all[i].ep.obj.ia = &all[i].ia;
		dofi_obj_publish(&all[i].ep.obj, DAT_HANDLE_TYPE_EP);
		for (int type = 0; type < DOFI_HANDLE_TYPES; type++) {
			if (type == DAT_HANDLE_TYPE_IA)
				continue;
			all[i].others[type].obj.ia = &all[i].ia;
			dofi_obj_publish(&all[i].others[type].obj, (DAT_HANDLE_TYPE)type);
		}
		dofi_ia_list_prepare();
		dofi_ia_list_add(&all[i].ia);
		ck_assert_int_eq(held, 0);
	}
}

static void count(struct dofi_ia *ia, void *arg)
{
	ck_assert_int_eq(held, 1);
	((int *)arg)[index_of(ia)]++;
}

static void expect_listed(int first, int second)
{
	int seen[IAS] = {0};

	dofi_ia_list_visit(count, seen);
	ck_assert_int_eq(held, 0);
	ck_assert_int_eq(seen[0], first);
	ck_assert_int_eq(seen[1], second);
}

/* --- the list --- */

/* Of several threads that close an IA, one may do so. */
START_TEST(an_ia_is_removed_once)
{
	expect_listed(1, 1);
	ck_assert(dofi_obj_is(&all[0].ia, DAT_HANDLE_TYPE_IA));
	ck_assert(dofi_ia_list_remove(&all[0].ia));
	ck_assert(!dofi_obj_is(&all[0].ia, DAT_HANDLE_TYPE_IA));
	ck_assert(!dofi_ia_list_remove(&all[0].ia));
	ck_assert_int_eq(held, 0);
	expect_listed(0, 1);
}
END_TEST

/* --- another thread is in the engine --- */

static pthread_t holder;
static _Atomic bool holds, may_go;

static void *hold(void *arg)
{
	struct dofi_ia *ia = arg;

	dofi_lock(&ia->engine.lock);
	atomic_store(&holds, true);
	while (!atomic_load(&may_go))
		sched_yield();
	dofi_unlock(&ia->engine.lock);
	return NULL;
}

static void be_busy(struct dofi_ia *ia)
{
	ck_assert_int_eq(pthread_create(&holder, NULL, hold, ia), 0);
	while (!atomic_load(&holds))
		sched_yield();
}

static void be_idle(void)
{
	atomic_store(&may_go, true);
	ck_assert_int_eq(pthread_join(holder, NULL), 0);
}

/* --- reports --- */

START_TEST(a_report_does_not_wait_for_ever)
{
	uint64_t before = now;

	dofi_ia_report_all(stdout);
	ck_assert_int_eq(reports[0] + reports[1], 2);
	ck_assert_int_eq(locked_reports[0] + locked_reports[1], 2);
	be_busy(&all[0].ia);
	dofi_ia_report_all(stdout);
	ck_assert_uint_gt(now, before + 1000000000u);
	ck_assert_uint_lt(now, before + 1100000000u);
	ck_assert_int_eq(reports[0] + reports[1], 4);
	ck_assert_int_eq(locked_reports[0], 1); /* a program that hangs is told about, too */
	ck_assert_int_eq(locked_reports[1], 2);
	be_idle();
	ck_assert(dofi_trylock(&all[0].ia.engine.lock)); /* a report leaves no lock behind */
	dofi_unlock(&all[0].ia.engine.lock);
	ck_assert(dofi_trylock(&all[1].ia.engine.lock));
	dofi_unlock(&all[1].ia.engine.lock);
}
END_TEST

/* --- fork --- */

static bool is_dead(void *handle)
{
	DAT_HANDLE_TYPE type;

	return !dofi_obj_type(handle, &type);
}

static bool others_dead(int i)
{
	for (int type = 0; type < DOFI_HANDLE_TYPES; type++)
		if (!is_dead(&all[i].others[type].obj))
			return false;
	return true;
}

static bool all_dead(void)
{
	for (int i = 0; i < IAS; i++)
		if (!is_dead(&all[i].ia) || !is_dead(&all[i].ep) || !others_dead(i))
			return false;
	return true;
}

static bool is_free(struct dofi_lock *lock)
{
	bool ok = dofi_trylock(lock);

	if (ok)
		dofi_unlock(lock);
	return ok;
}

static void look(struct dofi_ia *ia, void *arg)
{
	(void)ia;
	*(bool *)arg = true;
}

/* The status with which the child ends: the number of the first thing that is wrong. */
static int in_child(bool busy)
{
	bool any = false;

	if (!all_dead())
		return 2;
	if (closed_fds[0] != !busy || closed_fds[1] != 1)
		return 3; /* nobody else reads the lists of an IA at rest */
	dofi_ia_list_visit(look, &any);
	if (any)
		return 4;
	if (strcmp(order, "child "))
		return 5;
	if (!is_free(&all[1].ia.engine.lock) || !is_free(&all[0].ia.obj_lock) ||
	    !is_free(&all[1].ia.obj_lock))
		return 6;
	if (forks_begun != 1 || forks_ended != 1 || setups)
		return 7; /* it could not open an IA */
	return 0;
}

static void expect_child(bool busy)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(in_child(busy));
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}

START_TEST(a_child_has_no_handles)
{
	if (_i)
		be_busy(&all[0].ia);
	expect_child(_i);
	if (_i)
		be_idle();
	/* Nothing has changed in the parent. */
	ck_assert(!is_dead(&all[0].ia) && !is_dead(&all[1].ia));
	ck_assert(!is_dead(&all[0].ep) && !is_dead(&all[1].ep));
	ck_assert(!others_dead(0) && !others_dead(1));
	ck_assert_int_eq(closed_fds[0] + closed_fds[1], 0);
	ck_assert_int_eq(forks_begun, 1);
	ck_assert_int_eq(forks_ended, 1);
	ck_assert_int_eq(setups, 0);
	expect_listed(1, 1);
	for (int i = 0; i < IAS; i++) {
		ck_assert(is_free(&all[i].ia.engine.lock));
		ck_assert(is_free(&all[i].ia.obj_lock));
	}
}
END_TEST

/* Another thread looks for fabrics all the time. */
START_TEST(a_fork_goes_on_without_the_setup)
{
	setup_is_free = false;
	expect_child(false);
	ck_assert_int_eq(setups, 0);
}
END_TEST

/* Another thread may be opening it. */
START_TEST(a_fork_before_the_first_ia)
{
	dofi_ia_list_prepare();
	dofi_ia_list_prepare();
	if (!fork())
		_exit(0);
	wait(NULL);
	ck_assert_int_eq(forks_begun, 1);
	ck_assert_int_eq(forks_ended, 1);
}
END_TEST

/* Not longer than a tenth of a second, even if a thread never leaves the engine. */
START_TEST(a_fork_does_not_wait_for_ever)
{
	uint64_t before = now;

	be_busy(&all[0].ia);
	expect_child(true);
	ck_assert_uint_gt(now, before + 100000000u);
	ck_assert_uint_lt(now, before + 200000000u);
	be_idle();
}
END_TEST

/* The handler of a signal forks, and the signal came while its thread changed the list. */
START_TEST(a_fork_does_not_wait_for_itself)
{
	uint64_t before = now;
	int status;
	pid_t pid;

	dofi_lock(&all[0].ia.obj_lock);
	pid = fork();
	if (!pid) {
		bool ok = is_dead(&all[0].ia) && is_dead(&all[1].ep) && others_dead(1);

		/* Nobody has walked the list, and the lock still belongs to this thread. */
		_exit(ok && !is_dead(&all[0].ep) && !is_free(&all[0].ia.obj_lock) ? 0 : 1);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_uint_gt(now, before + 100000000u);
	ck_assert_uint_lt(now, before + 200000000u);
	ck_assert(!is_free(&all[0].ia.obj_lock));
	dofi_unlock(&all[0].ia.obj_lock);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* --- exit --- */

/* Reports come first, then the peers learn of the end, and at last the thread stops. */
START_TEST(an_exit_tells_the_peers)
{
	int status;
	pid_t pid;

	order = mmap(NULL, sizeof(own_order), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	ck_assert_ptr_ne(order, MAP_FAILED);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (!pid) {
		*order = '\0';
		setup(); /* the child opens IAs of its own */
		exit(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	ck_assert_str_eq(order, "stats cm progress cm progress ");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ia_list");
	TCase *tcase = tcase_create("ia_list");

	suite_add_tcase(suite, tcase);
	tcase_add_checked_fixture(tcase, setup, NULL);
	tcase_add_test(tcase, an_ia_is_removed_once);
	tcase_add_test(tcase, a_report_does_not_wait_for_ever);
	tcase_add_loop_test(tcase, a_child_has_no_handles, 0, 2);
	tcase_add_test(tcase, a_fork_does_not_wait_for_ever);
	tcase_add_test(tcase, a_fork_does_not_wait_for_itself);
	tcase_add_test(tcase, an_exit_tells_the_peers);
	tcase_add_test(tcase, a_fork_goes_on_without_the_setup);
	tcase = tcase_create("first");
	suite_add_tcase(suite, tcase);
	tcase_add_test(tcase, a_fork_before_the_first_ia);
	return t_run(suite);
}
