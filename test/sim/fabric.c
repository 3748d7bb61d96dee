/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "fabric.h"

#include "fabric_msg.h"
#include "fabric_rdm.h"
#include "must.h"
#include "side.h"

#include "dto/reap.h"
#include "object/ia.h"
#include "object/transport.h"
#include "progress/cqs.h"

static bool is_rdm;

static bool has_eq(const struct dofi_ia *ia)
{
	return ia->trans->has_eq;
}

void fabric_open(struct dofi_ia *ia, int process)
{
	struct side *side = side_of(process);

	(is_rdm ? fabric_rdm_open : fabric_msg_open)(ia, side);
	ia->fabric = &side->fabric;
	ia->domain = &side->domain;
	ia->completed = ia->trans->completed;
	ia->engine.reap = dofi_reap;
	ia->cq_want = ia->cq_few = 1;
	if (has_eq(ia))
		MUST(!dofi_eqs_open(&ia->eqs, ia->name, ia->fabric, 0));
	MUST(!dofi_cqs_open(ia));
	ia->fabric_name_size = sizeof(ia->fabric_name);
	MUST(!ia->trans->open(ia, ia->fabric_name, &ia->fabric_name_size));
}

void fabric_close(struct dofi_ia *ia)
{
	struct side *side = ia->fabric->fid.context;

	ia->trans->close(ia);
	if (!is_rdm)
		fabric_msg_close(side);
	dofi_cqs_close(ia);
	if (has_eq(ia))
		dofi_eqs_close(&ia->eqs);
}

/* --- what goes wrong --- */

struct fabric_faults *fabric_faults(int process)
{
	return &side_of(process)->faults;
}

void fabric_cut(int process, bool both)
{
	(is_rdm ? fabric_rdm_cut : fabric_msg_cut)(process, both);
}

void fabric_kill(int process)
{
	(is_rdm ? fabric_rdm_kill : fabric_msg_kill)(process);
	side_of(process)->dead = true;
}

void fabric_begin(const struct fabric_profile *profile, int processes, void (*wake)(int process))
{
	is_rdm = profile->is_rdm;
	side_begin(processes, wake);
	if (is_rdm)
		fabric_rdm_begin(profile, processes);
	else
		fabric_msg_begin(profile);
}
