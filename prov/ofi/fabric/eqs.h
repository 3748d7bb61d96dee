/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The event queues of connected endpoints: requests from peers, established and lost connections.
 *
 * Usually one queue takes all events, and the engine sleeps on its descriptor. tcp of libfabric
 * 1.18 and later makes that descriptor readable for each message, too, because the sockets of all
 * endpoints are behind it. There the endpoints get a queue without a descriptor; the completion
 * queue's descriptors show that something happened on the sockets. The listener keeps a queue with
 * a descriptor, behind which is nothing but the listening socket.
 */
#ifndef DOFI_EQS_H
#define DOFI_EQS_H

#include <rdma/fi_eq.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fid_fabric;

#define DOFI_MAX_EQS 2

struct dofi_eqs {
	const char *ia_name;
	/* the endpoints' queue, then the listener's if it has its own */
	struct fid_eq *list[DOFI_MAX_EQS];
	unsigned int n;
	int fd;                   /* of the last queue; -1: none can be slept on */
	bool silent;              /* events of endpoints make no descriptor of a queue readable */
	bool fails[DOFI_MAX_EQS]; /* the queue could not be read last time */
};

/*
 * An event, or an error with `is_error`. The union leaves room for private data behind a connection
 * request.
 */
struct dofi_eq_event {
	bool is_error;
	uint32_t number; /* FI_CONNREQ... */
	size_t data_size;
	union {
		struct fi_eq_cm_entry entry;
		struct fi_eq_err_entry error;
		uint8_t room[sizeof(struct fi_eq_cm_entry) + 512];
	};
};

/*
 * Opens the queues that the quirks of the fabric call for. 0, or a negative error, and then there
 * are none.
 */
int dofi_eqs_open(struct dofi_eqs *eqs, const char *ia_name, struct fid_fabric *fabric,
		  uint64_t quirks);
void dofi_eqs_close(struct dofi_eqs *eqs);

/* Only if the queues are open. */
struct fid_eq *dofi_eqs_of_endpoints(const struct dofi_eqs *eqs);
struct fid_eq *dofi_eqs_of_listener(const struct dofi_eqs *eqs);

/* The descriptor to sleep on, or -1. */
int dofi_eqs_fd(const struct dofi_eqs *eqs);

/*
 * Adds the queues that fi_trywait has to see before a sleep; returns their number, at most
 * DOFI_MAX_EQS.
 */
int dofi_eqs_put_fids(const struct dofi_eqs *eqs, struct fid **fids);

/* Reads the next event of any queue; false when there is none. The caller serialises the calls. */
bool dofi_eqs_read(struct dofi_eqs *eqs, struct dofi_eq_event *event);

#endif
