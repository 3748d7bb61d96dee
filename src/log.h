/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages to stderr or syslog. */
#ifndef DATR_LOG_H
#define DATR_LOG_H

/* The bits of DAT_DBG_TYPE. */
enum datr_log_type {
	DATR_LOG_ERROR = 0x01,
	DATR_LOG_STATIC = 0x04,  /* dat.conf and its lines */
	DATR_LOG_DYNAMIC = 0x08, /* registrations of providers */
	DATR_LOG_API = 0x20,
};

/* One line, without a newline at its end. */
void datr_log(enum datr_log_type type, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
