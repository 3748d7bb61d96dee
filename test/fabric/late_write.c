/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * late_write [-f | -w] [-n ROUNDS] PROVIDER [DOMAIN]
 *
 * Writes into the peer's memory and sends a message behind the write, many times, in plain
 * libfabric. Counts the messages that the peer received before the write arrived. On a fabric that
 * keeps the order there are none. On others a program needs a fence (-f) or waits for the write
 * (-w).
 */
#include "side.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_MS 10000
#define MARK    4096 /* offset of the writes */

enum way { PLAIN, FENCE, WAIT };

static struct t_side a, b;

static struct fi_info *get_info(const char *provider, const char *domain, enum way way)
{
	struct fi_info *hints = t_hints(provider, domain), *info;

	if (way == FENCE)
		hints->caps |= FI_FENCE;
	t_need(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info), "fi_getinfo");
	fi_freeinfo(hints);
	return info;
}

static void await(struct t_side *side, struct t_side *other, int count)
{
	while (count--) {
		const struct t_seen *seen = t_side_next(side, other, WAIT_MS);

		t_need(seen ? -seen->err : -FI_ETIMEDOUT, "waiting for a completion");
	}
}

/* One write and one message. Returns whether the message came first. */
static bool round_is_late(enum way way, uint64_t number)
{
	static struct fi_context2 written, sent, received;
	uint64_t flags = FI_COMPLETION | (way == WAIT ? FI_DELIVERY_COMPLETE : 0);
	bool late;

	memcpy(a.mem, &number, sizeof(number));
	t_side_recv(&b, &a, 0, sizeof(number), 1, &received);
	t_side_write(&a, &b, 0, sizeof(number), MARK, flags, &written);
	if (way == WAIT)
		await(&a, &b, 1);
	t_side_send(&a, &b, 0, sizeof(number), 1, FI_COMPLETION | (way == FENCE ? FI_FENCE : 0),
		    &sent);
	await(&b, &a, 1);
	late = memcmp(b.mem + MARK, &number, sizeof(number));
	await(&a, &b, way == WAIT ? 1 : 2);
	while (memcmp(b.mem + MARK, &number, sizeof(number))) {
		t_side_poll(&a);
		t_side_poll(&b);
	}
	return late;
}

int main(int argc, char **argv)
{
	enum way way = PLAIN;
	int rounds = 100, late = 0, option;

	while ((option = getopt(argc, argv, "fwn:")) != -1) {
		if (option == 'f')
			way = FENCE;
		else if (option == 'w')
			way = WAIT;
		else if (option == 'n')
			rounds = atoi(optarg);
		else
			return 2;
	}
	if (optind == argc) {
		fprintf(stderr, "usage: %s [-f | -w] [-n ROUNDS] PROVIDER [DOMAIN]\n", argv[0]);
		return 2;
	}
	t_side_open(&a, get_info(argv[optind], argv[optind + 1], way), FI_WAIT_NONE, 0);
	t_side_open(&b, get_info(argv[optind], argv[optind + 1], way), FI_WAIT_NONE, 0);
	t_side_enable(&a);
	t_side_enable(&b);
	t_side_meet(&a, &b);
	for (int i = 1; i <= rounds; i++)
		late += round_is_late(way, (uint64_t)i);
	printf("%d of %d writes were seen after the message behind them\n", late, rounds);
	t_side_close(&a);
	t_side_close(&b);
	return late ? EXIT_FAILURE : EXIT_SUCCESS;
}
