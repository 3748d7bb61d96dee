/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One object of every type, and all calls that take a handle of it. */
#ifndef ZOO_H
#define ZOO_H

#include "conform.h"

#define ZOO_TYPES 11 /* DAT_HANDLE_TYPE_CR to DAT_HANDLE_TYPE_SRQ; there is no CSP */

struct zoo {
	struct t_ia ia;
	struct t_listener listener;
	struct t_end end;  /* an EP that is UNCONNECTED */
	struct t_end wild; /* the EP whose connection request is not decided yet */
	struct t_end reserved;
	DAT_EVD_HANDLE rsp_evd;
	DAT_HANDLE of[ZOO_TYPES]; /* by DAT_HANDLE_TYPE; null for the SRQ if the fabric has none */
};

extern const char *const zoo_names[ZOO_TYPES];

void zoo_open(struct zoo *zoo);  /* in an IA of its own */
void zoo_free(struct zoo *zoo);  /* all objects, then the IA, gracefully */
void zoo_close(struct zoo *zoo); /* the IA abruptly */

/* A call whose arguments are valid, except one handle, which must have that type. */
struct zoo_call {
	const char *name;
	DAT_HANDLE_TYPE type;
	bool may_be_null;
	DAT_RETURN (*call)(const struct zoo *zoo, DAT_HANDLE handle);
};

extern const struct zoo_call zoo_calls[];
extern const size_t zoo_ncalls;

#endif
