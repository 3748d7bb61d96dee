/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/handshake.h"

#include "auth/crypto.h"
#include "auth/session.h"
#include "base/addr.h"
#include "base/clock.h"
#include "base/log.h"
#include "cm/channel.h"
#include "cm/channel_send.h"
#include "cm/channel_dial.h"
#include "cm/wire.h"
#include "fabric/quirks.h"
#include "object/ia.h"
#include "object/transport.h"

#include <errno.h>
#include <rdma/fabric.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* --- failure --- */

/*
 * Closes the channel and logs the reason. Any process can cause this on the accepting side, so the
 * number of messages is limited.
 */
static void refuse(struct dofi_chan *chan, enum dofi_log_level level, const char *why)
{
	struct dofi_ia *ia = chan->ia;
	char text[DOFI_ADDR_TEXT];

	DOFI_LOG_LIMITED(&ia->cm.refusals, level, ia->name, "%s: no control channel %s %s: %s",
			 ia->name, chan->accepted ? "from" : "to", dofi_chan_peer_text(chan, text),
			 why);
	/* This sends the HELLO that was queued: the peer can derive the reason from it. */
	dofi_chan_close(chan, -EPROTO, false);
}

static void refuse_key(struct dofi_chan *chan, const char *why)
{
	DOFI_COUNT_SHARED(chan->ia, IA_CM_REFUSED_KEY);
	refuse(chan, DOFI_LOG_WARN, why);
}

/* The peer is another program: worth a warning only if this side has dialled it. */
static void refuse_stranger(struct dofi_chan *chan, const char *why)
{
	refuse(chan, chan->accepted ? DOFI_LOG_INFO : DOFI_LOG_WARN, why);
}

/* --- HELLO --- */

static enum dofi_role role_of(const struct dofi_chan *chan)
{
	return chan->accepted ? DOFI_ROLE_ACCEPTS : DOFI_ROLE_DIALS;
}

static bool has_key(const struct dofi_chan *chan)
{
	return chan->ia->key.source != DOFI_KEY_NONE;
}

static void remember(struct dofi_chan *chan, enum dofi_role role, const uint8_t *body, size_t size)
{
	struct dofi_handshake *shake = &chan->shake;

	if (role == DOFI_ROLE_DIALS) {
		memcpy(shake->dials, body, size);
		shake->dials_size = (uint32_t)size;
	} else {
		memcpy(shake->accepts, body, size);
		shake->accepts_size = (uint32_t)size;
	}
}

/* Queues HELLO, and keeps its bytes for the proofs. False: no random numbers. */
static bool put_hello(struct dofi_chan *chan)
{
	struct dofi_hello hello = {.role = (uint8_t)role_of(chan)};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	size_t size;

	if (dofi_random(hello.nonce, sizeof(hello.nonce)))
		return false;
	memcpy(hello.key_id, chan->ia->key.id, sizeof(hello.key_id));
	size = dofi_wire_put_hello(frame, &hello);
	remember(chan, role_of(chan), frame + DOFI_WIRE_LENGTH, size - DOFI_WIRE_LENGTH);
	dofi_chan_put(chan, frame, size);
	return true;
}

/* All of an earlier dial is replaced before it is used. But its keys do not stay until then. */
void dofi_handshake_begin(struct dofi_chan *chan)
{
	chan->step = DOFI_STEP_HELLO;
	memset(&chan->shake, 0, sizeof(chan->shake));
	memset(&chan->session, 0, sizeof(chan->session));
	chan->shake.port = dofi_addr_port(&chan->names[0].addr);
	if (!put_hello(chan))
		dofi_chan_close(chan, -EIO, false);
}

static void find_own_port(struct dofi_chan *chan)
{
	struct sockaddr_storage here = {.ss_family = AF_UNSPEC};
	socklen_t size = sizeof(here);

	if (!getsockname(chan->fd.fd, (struct sockaddr *)&here, &size))
		chan->shake.port = dofi_addr_port(&here);
}

static bool same_key(struct dofi_chan *chan, const struct dofi_hello *hello)
{
	char why[DOFI_KEY_TEXT + 256], ours[DOFI_KEY_TEXT], id[DOFI_KEY_ID_TEXT];
	static const uint8_t none[DOFI_KEY_ID_SIZE];
	const struct dofi_key *key = &chan->ia->key;

	if (!memcmp(hello->key_id, key->id, sizeof(key->id)))
		return true;
	dofi_key_text(key, ours);
	dofi_key_id_text(hello->key_id, id);
	if (!has_key(chan))
		snprintf(why, sizeof(why),
			 "it wants a key (%s) and this side has auth=none; use the same auth and "
			 "key_file on both sides",
			 id);
	else if (!memcmp(hello->key_id, none, sizeof(none)))
		snprintf(why, sizeof(why),
			 "it has auth=none and this side wants the %s; use the same auth and "
			 "key_file on both sides",
			 ours);
	else
		snprintf(why, sizeof(why),
			 "it has another key (%s) than ours (%s); run both as one user with one "
			 "home directory, or give both a copy of one file by DAT_OFI_KEY_FILE",
			 id, ours);
	refuse_key(chan, why);
	return false;
}

/* --- PROOF --- */

static void put_proof(struct dofi_chan *chan)
{
	const uint8_t *proof = dofi_session_proof(&chan->session, role_of(chan));
	uint8_t frame[DOFI_WIRE_MAX_FRAME];

	dofi_chan_put(chan, frame, dofi_wire_put_proof(frame, proof));
}

static bool is_proof(const struct dofi_chan *chan, const uint8_t *body, size_t size)
{
	enum dofi_role role = dofi_role_of_peer(role_of(chan));
	uint8_t theirs[DOFI_PROOF_SIZE];

	return dofi_wire_get_proof(body, size, theirs) &&
	       dofi_crypto_equal(theirs, dofi_session_proof(&chan->session, role), sizeof(theirs));
}

/* --- DETAILS --- */

#define OLD_MARK "@1.17"

/*
 * Both sides have to have the same name. An old provider that does not understand later ones has a
 * mark behind its name.
 */
static void name_provider(const struct dofi_ia *ia, char name[DOFI_PROVIDER_SIZE])
{
	const char *mark = ia->quirks & DOFI_QUIRK_OLD_MESSAGES ? OLD_MARK : "";

	snprintf(name, DOFI_PROVIDER_SIZE, "%s%s", ia->info->fabric_attr->prov_name, mark);
}

static void put_details(struct dofi_chan *chan)
{
	const struct dofi_ia *ia = chan->ia;
	struct dofi_details details = {
		.transport = (uint8_t)ia->trans->id,
		.addr = ia->addr,
		.ctxtab_key = ia->ctxtab.key,
		.sink_key = ia->sink.key,
		.sink_address = ia->sink.address,
		.ctxtab_address = ia->ctxtab.address,
		.ctxtab_entries = ia->ctxtab.entries,
		.fabric_name_size = (uint32_t)ia->fabric_name_size,
	};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];

	memcpy(details.uuid, ia->cm.uuid, sizeof(details.uuid));
	memcpy(details.fabric_name, ia->fabric_name, ia->fabric_name_size);
	name_provider(ia, details.provider);
	dofi_chan_put_sealed(chan, frame, dofi_wire_put_details(frame, &details));
}

/* Both sides have the key. The dialling side sends its DETAILS first. */
static void begin_details(struct dofi_chan *chan)
{
	chan->step = DOFI_STEP_DETAILS;
	if (chan->accepted)
		return;
	put_details(chan);
	dofi_chan_proved(chan);
}

/* Whether the names of two providers differ in the mark alone. */
static bool differ_in_age(const char *a, const char *b)
{
	size_t size = strcspn(a, "@");

	return size == strcspn(b, "@") && !strncmp(a, b, size);
}

static bool agreeable(const struct dofi_chan *chan, const uint8_t *body, size_t size,
		      struct dofi_details *details_p, char *why, size_t why_size)
{
	char provider[DOFI_PROVIDER_SIZE];

	name_provider(chan->ia, provider);
	if (!dofi_wire_get_details(body, size, details_p))
		snprintf(why, why_size, "its details are malformed");
	else if (strcmp(details_p->provider, provider))
		snprintf(why, why_size, "it uses the libfabric provider %s, we use %s; %s",
			 details_p->provider, provider,
			 differ_in_age(provider, details_p->provider)
				 ? "both hosts need libfabric 1.18 or later, or another provider"
				 : "choose one for both with DAT_OFI_PROVIDER");
	else if (details_p->transport != chan->ia->trans->id)
		snprintf(why, why_size,
			 "it uses another transport than ours, %s; choose one for both with "
			 "DAT_OFI_TRANSPORT",
			 chan->ia->trans->name);
	else
		return true;
	return false;
}

/* --- steps --- */

static void on_hello(struct dofi_chan *chan, const uint8_t *body, size_t size)
{
	struct dofi_hello hello;
	uint32_t version;
	char why[200];
	bool answered = !chan->accepted;

	if (!dofi_wire_hello_version(body, size, &version)) {
		refuse_stranger(chan, "it does not speak the control protocol of dat-ofi");
		return;
	}
	/* The answer tells a peer with another version or another key what ours is. */
	if (chan->accepted) {
		find_own_port(chan);
		answered = put_hello(chan);
	}
	if (version != DOFI_WIRE_VERSION) {
		snprintf(why, sizeof(why),
			 "it speaks version %u of the control protocol, we speak %u; "
			 "install the same release of dat-ofi on both hosts",
			 version, DOFI_WIRE_VERSION);
		refuse_stranger(chan, why);
		return;
	}
	if (!answered || !dofi_wire_get_hello(body, size, &hello) || hello.role == role_of(chan)) {
		refuse_stranger(chan, "its HELLO is malformed");
		return;
	}
	if (!same_key(chan, &hello))
		return;
	remember(chan, (enum dofi_role)hello.role, body, size);
	chan->step = DOFI_STEP_PROOF;
	if (!has_key(chan))
		begin_details(chan);
	else if (!dofi_session_start(&chan->session, &chan->ia->key, role_of(chan), &chan->shake))
		dofi_chan_close(chan, -EIO, false);
	else if (chan->accepted)
		put_proof(chan);
}

static void on_proof(struct dofi_chan *chan, const uint8_t *body, size_t size)
{
	if (!is_proof(chan, body, size)) {
		refuse_key(chan, "it names our key and cannot prove that it has it; something "
				 "between the two may pass their messages on");
		return;
	}
	if (!chan->accepted)
		put_proof(chan);
	begin_details(chan);
}

static void on_details(struct dofi_chan *chan, const uint8_t *frame, size_t size)
{
	char why[200];
	size_t body;

	if (!dofi_wire_open(frame, size, &chan->session, &body)) {
		refuse_key(chan, "the seal of its details is wrong");
		return;
	}
	/* Answers even if version or key differ, so that the other side can log the reason. */
	if (chan->accepted)
		put_details(chan);
	if (agreeable(chan, frame + DOFI_WIRE_LENGTH, body, &chan->peer, why, sizeof(why)))
		dofi_chan_handshake_done(chan);
	else
		refuse_stranger(chan, why);
}

void dofi_handshake_frame(struct dofi_chan *chan, const uint8_t *frame, size_t size)
{
	const uint8_t *body = frame + DOFI_WIRE_LENGTH;

	if (!chan->accepted)
		chan->ia->cm.last_answer = dofi_now();
	switch (chan->step) {
	case DOFI_STEP_HELLO:
		on_hello(chan, body, size - DOFI_WIRE_LENGTH);
		break;
	case DOFI_STEP_PROOF:
		on_proof(chan, body, size - DOFI_WIRE_LENGTH);
		break;
	default:
		on_details(chan, frame, size);
	}
	dofi_chan_flush(chan);
}
