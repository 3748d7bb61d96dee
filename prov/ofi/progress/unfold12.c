/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events as DAT 1.2 has them. */
#include "progress/unfold.h"
#include "progress/evd.h"
#include "progress/event.h"

void dofi_event_unfold(const struct dofi_event *event, struct dofi_evd *evd, DAT_EVENT *out)
{
	unfold_common(event, evd, out);
}
