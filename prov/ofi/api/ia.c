/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/ia.h"

#include "object/ia.h"

#include "fabric/device_atomics.h"
#include "progress/agent.h"
#include "progress/cno.h"
#include "dto/op_context.h"
#include "object/ep.h"
#include "fabric/eqs.h"
#include "fabric/env.h"
#include "fabric/error.h"
#include "fabric/fid.h"
#include "progress/evd_streams.h"
#include "progress/evd.h"
#include "cm/linger.h"
#include "cm/upcalls.h"
#include "base/log.h"
#include "object/mem.h"
#include "object/mr.h"
#include "object/mr_cached.h"
#include "fabric/mr_cache.h"
#include "fabric/quirks.h"
#include "fabric/select.h"
#include "cm/service_point.h"
#include "dto/srq.h"
#include "api/stats.h"
#include "object/transport.h"
#include "dto/data_flag.h"
#include "cm/channel.h"
#include "dto/credit.h"
#include "dto/control.h"
#include "dto/guard_byte.h"
#include "dto/bounce.h"
#include "fabric/nic.h"
#include "fabric/select.h"
#include "object/ctxtab.h"
#include "progress/cqs.h"
#include "base/clock.h"
#include "base/thread.h"
#include "progress/progress_thread.h"
#include "progress/engine.h"
#include "progress/wakeup.h"
#include "cm/cr.h"
#include "dto/rmr.h"
#include "object/scratch.h"
#include "cm/ep_life.h"
#include "dto/lmr.h"
#include "api/counters.h"
#include "fabric/traits.h"
#include "api/attr.h"
#include "api/init.h"
#include "api/pz.h"
#include "cm/cm.h"
#include "cm/listener.h"
#include "dto/reap.h"
#include "transport/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A fork waits so long for the engines to come to rest. */
#define FORK_LOCK_NS   100000000u
/* So long a report waits for an engine that is busy: a program that hangs is asked, too. */
#define REPORT_LOCK_NS 1000000000u

/* --- every IA of the process --- */

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct dofi_list all_ias = {&all_ias, &all_ias}; /* by ia->all, guarded by all_lock */

#define FOR_ALL_IAS(node) DOFI_LIST_FOR(node, &all_ias)

static struct dofi_ia *ia_of(struct dofi_list *node)
{
	return DOFI_CONTAINER(node, struct dofi_ia, all);
}

static bool lock_engine_within(struct dofi_ia *ia, uint64_t ns)
{
	uint64_t deadline = dofi_now() + ns;

	while (!dofi_trylock(&ia->engine.lock)) {
		if (dofi_now() > deadline)
			return false;
		sched_yield();
	}
	return true;
}

/* The child walks our lists, so nobody may be changing them while it is made. */
static void before_fork(void)
{
	pthread_mutex_lock(&all_lock);
	FOR_ALL_IAS(node)
	{
		struct dofi_ia *ia = ia_of(node);

		ia->at_rest = lock_engine_within(ia, FORK_LOCK_NS);
		/* Of several IAs: no other thread holds one of these while it takes one. */
		dofi_lock_out_of_order(&ia->obj_lock);
	}
}

static void release_after_fork(void)
{
	FOR_ALL_IAS(node)
	{
		struct dofi_ia *ia = ia_of(node);

		dofi_unlock(&ia->obj_lock);
		if (ia->at_rest)
			dofi_unlock(&ia->engine.lock);
	}
	pthread_mutex_unlock(&all_lock);
}

/*
 * The child has neither our threads nor a right to the connections: every handle is invalid
 * there.
 */
static void kill_handles(struct dofi_ia *ia)
{
	for (int type = 0; type < DOFI_HANDLE_TYPES; type++)
		DOFI_LIST_FOR(node, &ia->objects[type])
	atomic_store(&DOFI_CONTAINER(node, struct dofi_obj, siblings)->magic, 0);
	atomic_store(&ia->obj.magic, 0);
}

static void after_fork_in_child(void)
{
	FOR_ALL_IAS(node)
	{
		struct dofi_ia *ia = ia_of(node);

		kill_handles(ia);
		if (ia->at_rest)
			dofi_cm_fork_child(ia);
	}
	release_after_fork();
	dofi_list_init(&all_ias);
	dofi_stats_fork_child();
}

/*
 * Peers of a process that ends without dat_ia_close see an orderly end, not a broken connection.
 */
static void at_exit(void)
{
	dofi_stats_exit();
	pthread_mutex_lock(&all_lock);
	FOR_ALL_IAS(node)
	{
		dofi_cm_exit(ia_of(node));
		dofi_progress_exit(ia_of(node));
	}
	pthread_mutex_unlock(&all_lock);
}

void dofi_ia_report(struct dofi_ia *ia, FILE *out)
{
	bool locked = lock_engine_within(ia, REPORT_LOCK_NS);

	dofi_count_report(ia, out, locked);
	if (locked)
		dofi_unlock(&ia->engine.lock);
}

void dofi_ia_report_all(FILE *out)
{
	pthread_mutex_lock(&all_lock);
	FOR_ALL_IAS(node)
	dofi_ia_report(ia_of(node), out);
	pthread_mutex_unlock(&all_lock);
}

static void register_handlers(void)
{
	pthread_atfork(before_fork, release_after_fork, after_fork_in_child);
	atexit(at_exit);
}

static void list_ia(struct dofi_ia *ia)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, register_handlers);
	pthread_mutex_lock(&all_lock);
	dofi_list_add_tail(&all_ias, &ia->all);
	dofi_obj_publish(&ia->obj, DAT_HANDLE_TYPE_IA);
	pthread_mutex_unlock(&all_lock);
}

/* --- fabric objects --- */

static int find_key(struct dofi_ia *ia)
{
	int ret = dofi_key_load(&ia->key, ia->name, ia->params.auth, ia->params.key_file);

	if (!ret)
		dofi_key_text(&ia->key, ia->named.key);
	return ret;
}

static void forget_key(struct dofi_ia *ia)
{
	dofi_key_wipe(&ia->key);
}

static int open_fabric(struct dofi_ia *ia)
{
	return fi_fabric(ia->info->fabric_attr, &ia->fabric, NULL);
}

static int choose_variables(struct dofi_ia *ia)
{
	return dofi_fabric_env_choose(ia->name, ia->info, ia->quirks);
}

static int open_domain(struct dofi_ia *ia)
{
	return fi_domain(ia->fabric, ia->info, &ia->domain, NULL);
}

static void close_fabric(struct dofi_ia *ia)
{
	dofi_fid_close(ia->name, &ia->fabric->fid, "fabric");
}

static void close_domain(struct dofi_ia *ia)
{
	dofi_fid_close(ia->name, &ia->domain->fid, "domain");
}

static int disable_key_cache(struct dofi_ia *ia)
{
	dofi_mr_cache_disable(&ia->params, ia->info, ia->quirks, ia->domain);
	return 0;
}

/* What the device does for peers, and what programs can post here. */
static int look_at_atomics(struct dofi_ia *ia)
{
	ia->does_atomics = dofi_device_does_atomics(ia->info, ia->quirks);
	ia->has_atomics = ia->does_atomics && (ia->info->caps & FI_ATOMIC) &&
			  ia->order == DOFI_ORDERED && ia->trans->atomic &&
			  dofi_atomics_wanted(ia->quirks) && dofi_domain_has_atomics(ia->domain);
	if (ia->has_atomics)
		strcpy(ia->named.atomics, "TRUE");
	if (ia->quirks & DOFI_QUIRK_DEVICE_ATOMICS)
		DOFI_LOG_I("%s: the device %s atomic operations, and %s", ia->name,
			   ia->does_atomics ? "has" : "does not have",
			   ia->has_atomics ? "programs can post them" : "programs can't post them");
	return 0;
}

static int open_eqs(struct dofi_ia *ia)
{
	return ia->trans->has_eq ? dofi_eqs_open(&ia->eqs, ia->name, ia->fabric, ia->quirks) : 0;
}

static void close_eqs(struct dofi_ia *ia)
{
	dofi_eqs_close(&ia->eqs);
}

static int open_trans(struct dofi_ia *ia)
{
	ia->fabric_name_size = sizeof(ia->fabric_name);
	return ia->trans->open(ia, ia->fabric_name, &ia->fabric_name_size);
}

static void close_trans(struct dofi_ia *ia)
{
	ia->trans->close(ia);
	dofi_mr_unmap_all(ia);
}

/* What is late may still reach the bounce buffers: they are abandoned with the scratch memory. */
static void close_scratch(struct dofi_ia *ia)
{
	dofi_bounces_abandon(ia);
	dofi_scratch_close(ia);
}

/* --- descriptors --- */

/*
 * As many as a fabric opens in one step, and gives back when they are not enough; and as all of an
 * IA may need.
 */
#define FDS_OF_A_STEP 16
#define FDS_OF_AN_IA  64

/* 0, or why the process can't have so many more: a negative error. */
static int look_for_descriptors(int wanted)
{
	int fds[FDS_OF_AN_IA], n = 0, ret = 0;

	while (n < wanted && (fds[n] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	if (n < wanted)
		ret = -errno;
	while (n > 0)
		close(fds[--n]);
	return ret;
}

/* Fabrics that ran out of descriptors speak of anything, or offer nothing; the system knows. */
static int true_error(int ret)
{
	int why;

	if (!ret || ret == -FI_ENOMEM)
		return ret;
	why = look_for_descriptors(FDS_OF_A_STEP);
	return why ? why : ret;
}

/* Where the fabric leaves some open when it gets no more, there have to be enough. */
static int spare_descriptors(struct dofi_ia *ia)
{
	return ia->quirks & DOFI_QUIRK_LOSES_FDS ? look_for_descriptors(FDS_OF_AN_IA) : 0;
}

/* --- the ladder --- */

/* Begun in this order, ended in the reverse one. */
static const struct step {
	const char *what;
	int (*begin)(struct dofi_ia *ia);
	void (*end)(struct dofi_ia *ia);
} steps[] = {
	{"finding the key that peers need", find_key, forget_key},
	{"looking for descriptors", spare_descriptors, NULL},
	{"opening the fabric", open_fabric, close_fabric},
	{"choosing variables of libfabric", choose_variables, NULL},
	{"opening the domain", open_domain, close_domain},
	{"turning the cache of keys off", disable_key_cache, NULL},
	{"looking at atomic operations", look_at_atomics, NULL},
	{"opening the event queues", open_eqs, close_eqs},
	{"opening the completion queue", dofi_cqs_open, dofi_cqs_close},
	{"setting up the event engine", dofi_engine_init, dofi_engine_fini},
	{"setting up the bounce buffers", dofi_bounces_init, dofi_bounces_fini},
	{"setting up the transport", open_trans, close_trans},
	{"setting up the context table", dofi_ctxtab_init, dofi_ctxtab_fini},
	{"setting up the scratch memory", dofi_scratch_open, close_scratch},
	{"setting up the guard byte", dofi_guard_open, dofi_guard_close},
	{"looking at the cache of registrations", dofi_mr_cached_look, NULL},
	{"setting up the credits", dofi_credit_init, dofi_credit_fini},
	{"setting up the control slots", dofi_ctrl_slots_open, dofi_ctrl_slots_close},
	{"setting up the connection manager", dofi_cm_init, dofi_cm_fini},
	{"setting up shared memory between processes", dofi_memory_open, NULL},
	{"setting up wakeups between processes", dofi_wakeup_open, dofi_wakeup_close},
	{"starting the event engine", dofi_progress_start, dofi_progress_stop},
};

#define NSTEPS (sizeof(steps) / sizeof(steps[0]))

static void go_down(struct dofi_ia *ia, size_t from)
{
	while (from-- > 0)
		if (steps[from].end)
			steps[from].end(ia);
}

static const char *advice(const struct dofi_ia *ia, int err, char text[DOFI_MR_LIMIT_SIZE])
{
	if (err == EMFILE)
		return "; allow the process more (ulimit -n)";
	if (err == EINVAL && ia->quirks & DOFI_QUIRK_LONG_QUEUE)
		return "; the device may have no completion queue as long as libfabric asks for: "
		       "try FI_UNIVERSE_SIZE=64";
	return err == ENOMEM ? dofi_mr_limit(text) : "";
}

static int go_up(struct dofi_ia *ia)
{
	for (size_t i = 0; i < NSTEPS; i++) {
		int ret = true_error(steps[i].begin(ia));

		if (ret) {
			char limit[DOFI_MR_LIMIT_SIZE];

			DOFI_LOG_E("IA %s: %s failed: %s%s", ia->name, steps[i].what,
				   fi_strerror(-ret), advice(ia, -ret, limit));
			go_down(ia, i);
			return ret;
		}
	}
	return 0;
}

/* --- the asynchronous EVD --- */

/* What the caller of dat_ia_open wants; the EVD of another IA, or NULL. */
static DAT_RETURN check_async(DAT_COUNT qlen, const DAT_EVD_HANDLE *async_evd,
			      struct dofi_evd **evd_p)
{
	struct dofi_evd *evd;

	*evd_p = NULL;
	if (!async_evd)
		return DOFI_BAD_ARG(3);
	if (!*async_evd)
		return qlen > 0 ? DAT_SUCCESS : DOFI_BAD_ARG(2);
	if (*async_evd == DAT_EVD_ASYNC_EXISTS)
		return DAT_SUCCESS;
	evd = DOFI_OBJ(*async_evd, EVD);
	if (!evd || !(evd->flags & DAT_EVD_ASYNC_FLAG))
		return DOFI_BAD_HANDLE(EVD_ASYNC);
	*evd_p = evd;
	return DAT_SUCCESS;
}

/* Takes the EVD given, or makes one when there is none. */
static DAT_RETURN begin_async(struct dofi_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *async_evd,
			      struct dofi_evd *evd)
{
	int ret;

	if (*async_evd == DAT_EVD_ASYNC_EXISTS)
		return DAT_SUCCESS;
	if (!evd) {
		if ((uint32_t)qlen > ia->limits.max_evd_qlen)
			return DOFI_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
		ret = dofi_evd_new(ia, (uint32_t)qlen, NULL, DAT_EVD_ASYNC_FLAG, &evd);
		if (ret)
			return dofi_error(ret, DAT_RESOURCE_TEVD);
		ia->async_evd_ours = true;
	}
	dofi_evd_attach_other(evd);
	atomic_store(&ia->async_evd, evd);
	*async_evd = evd;
	return DAT_SUCCESS;
}

/* No more events from this IA; an EVD of our own is destroyed with the others. */
static void end_async(struct dofi_ia *ia)
{
	struct dofi_evd *evd = atomic_exchange(&ia->async_evd, NULL);

	if (evd)
		dofi_evd_detach_other(evd);
}

/* An EP of other that has its connection EVD of ia, or NULL. */
static struct dofi_ep *find_guest(struct dofi_ia *other, const struct dofi_ia *ia)
{
	struct dofi_ep *found = NULL;

	dofi_lock(&other->obj_lock);
	DOFI_LIST_FOR(node, &other->objects[DAT_HANDLE_TYPE_EP])
	{
		struct dofi_ep *ep = DOFI_CONTAINER(node, struct dofi_ep, obj.siblings);

		if (ep->conn_evd && ep->conn_evd->obj.ia == ia)
			found = ep;
	}
	dofi_unlock(&other->obj_lock);
	return found;
}

/*
 * EVDs of this IA go: other IAs that report asynchronous errors or connections there report them
 * nowhere from now on. Their engines rest meanwhile, so that none is reporting right now.
 */
static void detach_others(const struct dofi_ia *ia)
{
	pthread_mutex_lock(&all_lock);
	FOR_ALL_IAS(node)
	{
		struct dofi_ia *other = ia_of(node);
		struct dofi_evd *evd;
		struct dofi_ep *ep;

		if (other == ia)
			continue;
		dofi_lock(&other->engine.lock);
		evd = atomic_load(&other->async_evd);
		if (evd && evd->obj.ia == ia)
			end_async(other);
		while ((ep = find_guest(other, ia)))
			dofi_ep_detach_evd_of(ep, ia);
		dofi_unlock(&other->engine.lock);
	}
	pthread_mutex_unlock(&all_lock);
}

/* --- dat_ia_open --- */

static struct dofi_ia *new_ia(const char *name, const DAT_PROVIDER *provider,
			      DAT_BOOLEAN thread_safe)
{
	struct dofi_ia *ia = dofi_obj_alloc(NULL, provider, DAT_HANDLE_TYPE_IA, sizeof(*ia));

	if (!ia)
		return NULL;
	ia->obj.ia = ia;
	strcpy(ia->name, name);
	ia->thread_safe_asked = thread_safe;
	ia->up = &dofi_cm_upcalls;
	ia->engine.reap = dofi_reap;
	dofi_lock_init_level(&ia->obj_lock, DOFI_LEVEL_LEAF);
	dofi_lock_init_level(&ia->mr_lock, DOFI_LEVEL_LEAF);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++) {
		dofi_list_init(&ia->objects[i]);
		dofi_list_init(&ia->doomed[i]);
	}
	dofi_list_init(&ia->agents);
	dofi_list_init(&ia->orphans);
	dofi_list_init(&ia->agent_calls);
	dofi_list_init(&ia->drains);
	return ia;
}

static void free_ia(struct dofi_ia *ia)
{
	if (ia->info)
		fi_freeinfo(ia->info);
	dofi_lock_fini(&ia->mr_lock);
	dofi_lock_fini(&ia->obj_lock);
	dofi_obj_free(&ia->obj, DAT_HANDLE_TYPE_IA);
}

static void find_quirks(struct dofi_ia *ia)
{
	ia->quirks = dofi_quirks_of(ia->info);
	dofi_quirks_log(ia->name, ia->info);
	/*
	 * A program that wants remote peers alone gets no shared memory, and reaches those of this
	 * host all the same.
	 */
	if (ia->quirks & DOFI_QUIRK_INNER_SHM && ia->info->caps & FI_REMOTE_COMM)
		ia->info->caps &= ~FI_LOCAL_COMM;
}

/* What follows from the choice of the fabric, before any of it is opened. */
static void know_fabric(struct dofi_ia *ia)
{
	const struct fi_info *info = ia->info;
	bool queues;

	ia->trans = info->ep_attr->type == FI_EP_MSG ? &dofi_trans_msg : &dofi_trans_rdm;
	find_quirks(ia);
	ia->completed = ia->quirks & DOFI_QUIRK_UNMARKED_DATA ? dofi_data_flag_completed
							      : ia->trans->completed;
	ia->host_only = ia->quirks & DOFI_QUIRK_SHARED_MEMORY;
	ia->order = dofi_order_of(info);
	ia->writes_overtake = dofi_writes_overtake(info);
	/* Nor is the last part of a write, which waits for the others, to be missed. */
	ia->reads_overtake = dofi_reads_overtake(info) || ia->writes_overtake;
	ia->cq_mutes = ia->quirks & DOFI_QUIRK_READER_MUTES;
	ia->has_data = dofi_has_data(info, ia->quirks);
	ia->inject_max = dofi_inject_max(info, ia->quirks);
	ia->context_gap = dofi_context_gap(info);
	ia->has_immediates = dofi_has_immediates(info, ia->quirks);
	ia->fences_reads = ia->quirks & DOFI_QUIRK_FENCES_READS;
	ia->credits = dofi_credit_choose(ia);
	queues = ia->quirks & DOFI_QUIRK_QUEUE_PAIRS;
	ia->moves_alone = queues && ia->credits == DOFI_CREDITS_NONE;
	ia->cq_want = ia->cq_few = queues ? 1 : DOFI_CQ_BATCH;
}

/*
 * Whether the last bytes of a write are an operation of their own: what last_byte= says, else where
 * the fabric needs it.
 */
static int choose_last_byte(struct dofi_ia *ia)
{
	const char *who = ia->params.last_byte;

	if (*who && strcmp(who, "library") && strcmp(who, "fabric")) {
		DOFI_LOG_E("IA %s: last_byte=%s is not known; there are library and fabric",
			   ia->name, who);
		return -FI_EINVAL;
	}
	ia->names_flags = !*who && dofi_stores_targets_in_order(ia->info, ia->quirks);
	ia->splits_writes =
		*who ? !strcmp(who, "library") : !(ia->quirks & DOFI_QUIRK_STORES_IN_ORDER);
	DOFI_LOG_I("IA %s: the last bytes of an RDMA write are %s", ia->name,
		   ia->splits_writes ? "an operation of their own"
		   : ia->names_flags ? "a target of their own"
				     : "left to the fabric");
	return 0;
}

static int choose_last_receive(struct dofi_ia *ia)
{
	const char *word = ia->params.srq_ep_broken;

	ia->tells_last_receive = !strcmp(word, "yes");
	if (ia->tells_last_receive || !strcmp(word, "no"))
		return 0;
	DOFI_LOG_E("IA %s: srq_ep_broken=%s is not known; there are yes and no", ia->name, word);
	return -FI_EINVAL;
}

/* Parameters, fabric and address. */
static DAT_RETURN choose(struct dofi_ia *ia, const char *ia_params)
{
	const DAT_RETURN not_found = DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	int ret;

	ret = dofi_params_load(&ia->params, ia->name, ia_params);
	if (!ret)
		ret = dofi_mr_cache_choose(ia->name, &ia->params);
	if (!ret)
		ret = dofi_select(ia->name, &ia->params, &ia->info, &ia->nic);
	if (!ret)
		know_fabric(ia);
	if (!ret)
		ret = choose_last_byte(ia);
	if (!ret)
		ret = choose_last_receive(ia);
	if (!ret)
		ret = dofi_select_addr(ia->name, &ia->params, ia->info, &ia->addr);
	if (ret) {
		ret = true_error(ret);
		if (ret == -EMFILE)
			DOFI_LOG_E("IA %s: the process is out of descriptors%s", ia->name,
				   advice(ia, EMFILE, NULL));
		return ret == -FI_ENOMEM ? DOFI_NO_MEMORY
		       : ret == -EMFILE  ? dofi_error(ret, DAT_RESOURCE_DEVICE)
					 : not_found;
	}
	dofi_nic_place_thread(&ia->params, &ia->nic);
	dofi_attr_init(ia);
	return DAT_SUCCESS;
}

static void stop_transfers(struct dofi_ia *ia);
static void tear_down(struct dofi_ia *ia);

static DAT_RETURN begin(struct dofi_ia *ia, const char *ia_params, DAT_COUNT qlen,
			DAT_EVD_HANDLE *async_evd, struct dofi_evd *evd)
{
	DAT_RETURN dat_ret = choose(ia, ia_params);
	int ret;

	if (dat_ret != DAT_SUCCESS)
		return dat_ret;
	ret = go_up(ia);
	if (ret)
		return dofi_error(ret, DAT_RESOURCE_DEVICE);
	dat_ret = begin_async(ia, qlen, async_evd, evd);
	if (dat_ret != DAT_SUCCESS) {
		stop_transfers(ia);
		tear_down(ia);
	}
	return dat_ret;
}

static DAT_RETURN open_ia(const DAT_NAME_PTR name, DAT_BOOLEAN thread_safe, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *handle_p)
{
	const DAT_PROVIDER *provider;
	const char *ia_params;
	struct dofi_evd *evd;
	struct dofi_ia *ia;
	DAT_RETURN ret;

	if (!name || strnlen(name, DAT_NAME_MAX_LENGTH) == DAT_NAME_MAX_LENGTH)
		return DOFI_BAD_ARG(1);
	ret = check_async(qlen, async_evd, &evd);
	if (ret != DAT_SUCCESS)
		return ret;
	if (!handle_p)
		return DOFI_BAD_ARG(4);
	provider = dofi_init_lookup(name, thread_safe, &ia_params);
	if (!provider)
		return DOFI_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ia = new_ia(name, provider, thread_safe);
	if (!ia)
		return DOFI_NO_MEMORY;
	ret = begin(ia, ia_params, qlen, async_evd, evd);
	if (ret != DAT_SUCCESS) {
		free_ia(ia);
		return ret;
	}
	list_ia(ia);
	dofi_stats_start(ia);
	*handle_p = ia;
	return DAT_SUCCESS;
}

DAT_RETURN dofi_ia_open(const DAT_NAME_PTR name, DAT_COUNT async_qlen, DAT_EVD_HANDLE *async_evd,
			DAT_IA_HANDLE *ia)
{
	return open_ia(name, DAT_FALSE, async_qlen, async_evd, ia);
}

DAT_RETURN dofi_ia_open_threadsafe(const DAT_NAME_PTR name, DAT_COUNT async_qlen,
				   DAT_EVD_HANDLE *async_evd, DAT_IA_HANDLE *ia)
{
	return open_ia(name, DAT_TRUE, async_qlen, async_evd, ia);
}

/* --- dat_ia_close --- */

static bool in_use(struct dofi_ia *ia)
{
	uint32_t n = 0;

	dofi_lock(&ia->obj_lock);
	for (int i = 0; i < DOFI_HANDLE_TYPES; i++)
		n += ia->counts[i];
	if (ia->async_evd_ours)
		n--;
	dofi_unlock(&ia->obj_lock);
	return n > 0;
}

/* Takes one object of a type out of service; NULL when none is left. */
static void *retire_one(struct dofi_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dofi_list *list = &ia->objects[type];
	struct dofi_obj *obj;

	do {
		dofi_lock(&ia->obj_lock);
		obj = dofi_list_empty(list) ? NULL
					    : DOFI_CONTAINER(list->next, struct dofi_obj, siblings);
		dofi_unlock(&ia->obj_lock);
	} while (obj && !dofi_obj_retire(obj, false));
	return obj;
}

static void stop_serving(struct dofi_ia *ia)
{
	struct dofi_list *listeners = &ia->cm.listeners;

	while (!dofi_list_empty(listeners))
		dofi_sp_unlisten(DOFI_CONTAINER(listeners->next, struct dofi_sp, link));
}

static void destroy_connections(struct dofi_ia *ia)
{
	void *obj;

	dofi_engine_begin(ia);
	stop_serving(ia);
	/* An undecided request gives its EP back, so it goes first. */
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_CR)))
		dofi_cr_destroy(obj, true);
	dofi_linger_begin_all(ia);
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_EP)))
		dofi_ep_destroy(obj);
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_SRQ)))
		dofi_srq_destroy(obj);
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_PSP)) ||
	       (obj = retire_one(ia, DAT_HANDLE_TYPE_RSP)))
		dofi_sp_destroy(obj);
	dofi_engine_end(ia);
}

static void doom(struct dofi_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dofi_obj *obj;

	while ((obj = retire_one(ia, type)))
		dofi_list_add_tail(&ia->doomed[type], &obj->siblings);
}

static void *next_doomed(struct dofi_ia *ia, DAT_HANDLE_TYPE type)
{
	struct dofi_list *node = dofi_list_pop(&ia->doomed[type]);

	return node ? DOFI_CONTAINER(node, struct dofi_obj, siblings) : NULL;
}

/* When it returns every handle is invalid, and the fabric leaves the consumer's memory alone. */
static void stop_transfers(struct dofi_ia *ia)
{
	void *obj;

	destroy_connections(ia);
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_RMR)))
		dofi_rmr_destroy(obj);
	while ((obj = retire_one(ia, DAT_HANDLE_TYPE_LMR)))
		dofi_lmr_destroy(obj);
	end_async(ia);
	detach_others(ia);
	doom(ia, DAT_HANDLE_TYPE_EVD);
	doom(ia, DAT_HANDLE_TYPE_CNO);
	doom(ia, DAT_HANDLE_TYPE_PZ);
}

/* Waiters of EVDs and CNOs need the engine to leave. */
static void tear_down(struct dofi_ia *ia)
{
	void *obj;

	dofi_assert_none_held();
	while ((obj = next_doomed(ia, DAT_HANDLE_TYPE_EVD)))
		dofi_evd_destroy(obj);
	while ((obj = next_doomed(ia, DAT_HANDLE_TYPE_CNO))) {
		dofi_cno_flush(obj);
		dofi_cno_destroy(obj);
	}
	dofi_cno_await_agents(ia);
	/* Last: a call that stayed may have had an LMR of it. */
	while ((obj = next_doomed(ia, DAT_HANDLE_TYPE_PZ)))
		dofi_pz_destroy(obj);
	go_down(ia, NSTEPS);
}

static void *closer_main(void *arg)
{
	tear_down(arg);
	free_ia(arg);
	return NULL;
}

/*
 * An agent closes the IA. Its thread may be the progress thread, which would join itself, or one
 * that waits on an EVD below and would wait for itself: another thread finishes when they are gone.
 */
static void tear_down_elsewhere(struct dofi_ia *ia)
{
	pthread_t closer;
	int err;

	/* The last calls of agents are made before dat_ia_close returns. */
	DOFI_LIST_FOR(node, &ia->doomed[DAT_HANDLE_TYPE_CNO])
	dofi_cno_flush(DOFI_CONTAINER(node, struct dofi_cno, obj.siblings));
	dofi_cno_run_agents(ia);
	DOFI_LIST_FOR(node, &ia->doomed[DAT_HANDLE_TYPE_CNO])
	dofi_cno_mute(DOFI_CONTAINER(node, struct dofi_cno, obj.siblings));
	err = dofi_start_thread(&closer, closer_main, ia);
	if (err)
		DOFI_LOG_E("IA %s: closed by an agent, but no thread can be made to free it, so "
			   "it leaks: %s; allow more threads (ulimit -u)",
			   ia->name, strerror(-err));
	else
		pthread_detach(closer);
}

/* Of another IA, too: two agents that close each other's IA must not wait for each other. */
static bool in_agent(void)
{
	bool inside = false;

	pthread_mutex_lock(&all_lock);
	FOR_ALL_IAS(node)
	inside |= dofi_cno_in_agent(ia_of(node));
	pthread_mutex_unlock(&all_lock);
	return inside;
}

/* False when another thread was faster. */
static bool retire_ia(struct dofi_ia *ia)
{
	bool ok;

	pthread_mutex_lock(&all_lock);
	ok = dofi_obj_is(ia, DAT_HANDLE_TYPE_IA) && dofi_obj_retire(&ia->obj, false);
	if (ok)
		dofi_list_del(&ia->all);
	pthread_mutex_unlock(&all_lock);
	return ok;
}

DAT_RETURN dofi_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dofi_ia *ia = DOFI_IA(handle);
	bool by_agent;

	if (!ia)
		return DOFI_BAD_HANDLE(IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DOFI_BAD_ARG(2);
	if (flags == DAT_CLOSE_GRACEFUL_FLAG && in_use(ia))
		return DOFI_BAD_STATE(IA_IN_USE);
	by_agent = in_agent();
	if (!retire_ia(ia))
		return DOFI_BAD_HANDLE(IA);
	dofi_stats_closing(ia);
	stop_transfers(ia);
	if (by_agent)
		tear_down_elsewhere(ia);
	else
		closer_main(ia);
	return DAT_SUCCESS;
}
