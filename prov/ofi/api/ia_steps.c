/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "api/ia_steps.h"

#include "auth/key.h"
#include "base/log.h"
#include "cm/cm.h"
#include "dto/bounce.h"
#include "dto/control.h"
#include "dto/credit.h"
#include "dto/guard_byte.h"
#include "fabric/descriptors.h"
#include "fabric/device_atomics.h"
#include "fabric/env.h"
#include "fabric/eqs.h"
#include "fabric/fid.h"
#include "fabric/info.h"
#include "fabric/mr_cache.h"
#include "fabric/quirks.h"
#include "object/ctxtab.h"
#include "object/ia.h"
#include "object/mr.h"
#include "object/mr_cached.h"
#include "object/scratch.h"
#include "object/transport.h"
#include "progress/cqs.h"
#include "progress/engine.h"
#include "progress/progress_thread.h"
#include "progress/wakeup.h"
#include "transport/memory.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <string.h>

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

/* Atomic operations that the device serves for peers, and those that programs can post here. */
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

/*
 * Late operations may still reach the bounce buffers: they are abandoned with the scratch memory.
 */
static void close_scratch(struct dofi_ia *ia)
{
	dofi_bounces_abandon(ia);
	dofi_scratch_close(ia);
}

/* If the fabric leaks descriptors when it gets no more, there must be enough before it starts. */
static int spare_descriptors(struct dofi_ia *ia)
{
	return ia->quirks & DOFI_QUIRK_LOSES_FDS ? dofi_descriptors_look(DOFI_FDS_OF_AN_IA) : 0;
}

/* Whether a step is taken while no other IA takes such a step, and no thread forks. */
enum company {
	WITH_OTHERS,
	ALONE_IF_IT_RACES, /* with DOFI_QUIRK_SETUP_RACES */
	/* libfabric changes its list of fabrics, which fi_getinfo reads, also in a forked child */
	ALONE,
};

/* The steps of opening an IA, in this order. Closing takes the reverse order. */
static const struct step {
	const char *what;
	int (*begin)(struct dofi_ia *ia);
	void (*end)(struct dofi_ia *ia);
	enum company company;
} steps[] = {
	{"finding the key that peers need", find_key, forget_key, WITH_OTHERS},
	{"looking for descriptors", spare_descriptors, NULL, WITH_OTHERS},
	{"opening the fabric", open_fabric, close_fabric, ALONE},
	{"choosing variables of libfabric", choose_variables, NULL, WITH_OTHERS},
	{"opening the domain", open_domain, close_domain, ALONE_IF_IT_RACES},
	{"turning the cache of keys off", disable_key_cache, NULL, WITH_OTHERS},
	{"looking at atomic operations", look_at_atomics, NULL, WITH_OTHERS},
	{"opening the event queues", open_eqs, close_eqs, ALONE_IF_IT_RACES},
	{"opening the completion queue", dofi_cqs_open, dofi_cqs_close, ALONE_IF_IT_RACES},
	{"setting up the event engine", dofi_engine_init, dofi_engine_fini, WITH_OTHERS},
	{"setting up the bounce buffers", dofi_bounces_init, dofi_bounces_fini, WITH_OTHERS},
	{"setting up the transport", open_trans, close_trans, ALONE_IF_IT_RACES},
	{"setting up the context table", dofi_ctxtab_init, dofi_ctxtab_fini, WITH_OTHERS},
	{"setting up the scratch memory", dofi_scratch_open, close_scratch, WITH_OTHERS},
	{"setting up the guard byte", dofi_guard_open, dofi_guard_close, WITH_OTHERS},
	{"looking at the cache of registrations", dofi_mr_cached_look, NULL, WITH_OTHERS},
	{"setting up the credits", dofi_credit_init, dofi_credit_fini, WITH_OTHERS},
	{"setting up shared memory between processes", dofi_memory_open, NULL, WITH_OTHERS},
	{"setting up the control slots", dofi_ctrl_slots_open, dofi_ctrl_slots_close, WITH_OTHERS},
	{"setting up the connection manager", dofi_cm_init, dofi_cm_fini, WITH_OTHERS},
	{"setting up wakeups between processes", dofi_wakeup_open, dofi_wakeup_close, WITH_OTHERS},
	{"starting the event engine", dofi_progress_start, dofi_progress_stop, WITH_OTHERS},
};

#define NSTEPS (sizeof(steps) / sizeof(steps[0]))

static bool goes_alone(const struct dofi_ia *ia, const struct step *step)
{
	return step->company == ALONE ||
	       (step->company == ALONE_IF_IT_RACES && ia->quirks & DOFI_QUIRK_SETUP_RACES);
}

static int begin_step(struct dofi_ia *ia, const struct step *step)
{
	bool alone = goes_alone(ia, step);
	int ret;

	if (alone)
		dofi_setup_begin();
	ret = step->begin(ia);
	if (alone)
		dofi_setup_end();
	return ret;
}

static void end_step(struct dofi_ia *ia, const struct step *step)
{
	bool alone = goes_alone(ia, step);

	if (!step->end)
		return;
	if (alone)
		dofi_setup_begin();
	step->end(ia);
	if (alone)
		dofi_setup_end();
}

static void end_steps(struct dofi_ia *ia, size_t from)
{
	while (from-- > 0)
		end_step(ia, &steps[from]);
}

static const char *advice(const struct dofi_ia *ia, int err, char text[DOFI_MR_LIMIT_SIZE])
{
	if (err == EMFILE)
		return "; allow the process more (ulimit -n)";
	if (err == ENFILE)
		return "; allow this host more (sysctl fs.file-max)";
	if (err == EAGAIN)
		return "; the user may have no more threads: allow more (ulimit -u)";
	if (err == EFBIG)
		return "; shm needs a file of 16 MiB: allow larger ones (ulimit -f)";
	if (err == EROFS || err == ENOSPC)
		return "; the fabric needs a /dev/shm that takes files: see dat_info --check";
	if (err == EINVAL && ia->quirks & DOFI_QUIRK_LONG_QUEUE)
		return "; the device may have no completion queue as long as libfabric asks for: "
		       "try FI_UNIVERSE_SIZE=64";
	return err == ENOMEM ? dofi_mr_limit(text) : "";
}

int dofi_ia_steps_begin(struct dofi_ia *ia)
{
	for (size_t i = 0; i < NSTEPS; i++) {
		int ret = dofi_descriptors_error(begin_step(ia, &steps[i]));

		if (ret) {
			char limit[DOFI_MR_LIMIT_SIZE];

			DOFI_LOG_E("IA %s: %s failed: %s%s", ia->name, steps[i].what,
				   fi_strerror(-ret), advice(ia, -ret, limit));
			end_steps(ia, i);
			return ret;
		}
	}
	return 0;
}

void dofi_ia_steps_end(struct dofi_ia *ia)
{
	end_steps(ia, NSTEPS);
}
