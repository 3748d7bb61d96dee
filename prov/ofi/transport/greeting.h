/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Greetings: the messages by which both sides of a new connection meet on the fabric. */
#ifndef DOFI_GREETING_H
#define DOFI_GREETING_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_conn;
struct dofi_ia;

/* The connection waits for its greetings; now: this side sends at once. */
void dofi_greeting_begin(struct dofi_conn *conn, bool now);
/* Also without a greeting under way. */
void dofi_greeting_end(struct dofi_conn *conn);
/* The peer's, for the connection of this number. */
void dofi_greeting_arrived(struct dofi_ia *ia, uint32_t number);
/* The stream below broke: what was sent may be lost. */
void dofi_greeting_again(struct dofi_conn *conn);
/* Sends those that are due. Number of greetings. */
int dofi_greetings_poll(struct dofi_ia *ia);

#endif
