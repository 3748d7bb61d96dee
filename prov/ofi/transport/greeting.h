/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Greetings: messages on the fabric, which both sides of a new connection exchange before it is
 * established.
 */
#ifndef DOFI_GREETING_H
#define DOFI_GREETING_H

#include <stdbool.h>
#include <stdint.h>

struct dofi_conn;
struct dofi_ia;

/* Begins the exchange; now: this side sends its greeting at once. */
void dofi_greeting_begin(struct dofi_conn *conn, bool now);
/* Ends the exchange, if one is under way. */
void dofi_greeting_end(struct dofi_conn *conn);
/* The greeting of the peer has come, for the connection of this number. */
void dofi_greeting_arrived(struct dofi_ia *ia, uint32_t number);
/* The stream below broke: sends the greeting again, because it may be lost. */
void dofi_greeting_again(struct dofi_conn *conn);
/* Sends due greetings. Returns their number. */
int dofi_greetings_poll(struct dofi_ia *ia);

#endif
