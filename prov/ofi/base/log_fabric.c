/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Writes libfabric's log to ours. libfabric accepts another log once per process and keeps it. */
#include "base/log_fabric.h"

#include "base/log.h"

#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>
#include <string.h>

static _Atomic enum dofi_log_level fabric_level = DOFI_LOG_OFF;

static enum dofi_log_level level_of(enum fi_log_level level)
{
	switch (level) {
	case FI_LOG_WARN: /* libfabric has no worse level */
		return DOFI_LOG_WARN;
	case FI_LOG_TRACE:
	case FI_LOG_INFO:
		return DOFI_LOG_INFO;
	default:
		return DOFI_LOG_DEBUG;
	}
}

static int enabled(const struct fi_provider *provider, enum fi_log_level level,
		   enum fi_log_subsys subsys, uint64_t flags)
{
	(void)provider, (void)subsys, (void)flags;
	return level_of(level) <= atomic_load_explicit(&fabric_level, memory_order_relaxed);
}

/*
 * libfabric calls this for messages that it wants to repeat at intervals. Answers as for others,
 * whatever the time.
 */
static int ready(const struct fi_provider *provider, enum fi_log_level level,
		 enum fi_log_subsys subsys, uint64_t flags, uint64_t *showtime)
{
	(void)showtime;
	return enabled(provider, level, subsys, flags);
}

static void write_line(const struct fi_provider *provider, enum fi_log_level level,
		       enum fi_log_subsys subsys, const char *func, int line, const char *text)
{
	(void)subsys;
	dofi_log_line(level_of(level), "libfabric %s, %s line %d: %.*s",
		      provider && provider->name ? provider->name : "core", func, line,
		      (int)strcspn(text, "\n"), text);
}

void dofi_log_fabric(const char *word)
{
	static struct fi_ops_log ops = {.size = sizeof(ops),
					.enabled = enabled,
					.ready = ready,
					.log = write_line};
	static struct fid_logging log = {.ops = &ops};
	static atomic_flag taken = ATOMIC_FLAG_INIT;
	enum dofi_log_level level;
	int ret;

	if (!*word)
		return;
	if (!dofi_log_level_of(word, &level)) {
		DOFI_LOG_W("fabric_log=%s: no such level; known are off, warn, info and debug",
			   word);
		return;
	}
	atomic_store(&fabric_level, level);
	if (level > dofi_log_level)
		dofi_log_level = level; /* otherwise our log would drop the lines */
	if (atomic_flag_test_and_set(&taken))
		return;
	ret = fi_import_log(FI_VERSION(1, 17), 0, &log);
	if (ret)
		DOFI_LOG_W("fabric_log=%s: libfabric does not deliver its log: %s; FI_LOG_LEVEL=%s "
			   "lets it write to standard error itself",
			   word, fi_strerror(-ret), word);
}
