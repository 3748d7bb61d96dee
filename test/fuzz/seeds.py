#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
"""Write the seeds of fuzz_channel: one file per way through docs/connections.md.

seeds.py [FOLDER]       (test/fuzz/corpus/channel)

A seed is the kind of the IA (world.h) and steps. A step is a word of STEPS, with what it takes.
"""
import pathlib
import sys

RDM, SLOTS, CREDITS, FEW, CLOSED_KEYS, NATIVE, FENCE, DELAY, NO_KEY = (
    1 << bit for bit in range(9))
(NOTHING, DIAL, HELLO, MESSAGE, FRAME, BYTES, HANG_UP, ROOM, ANSWER, FAULT, TIME, LISTEN,
 LISTEN_ONCE, STOP, MAKE_EP, FREE_EP, RESET_EP, CONNECT, ACCEPT_CR, REJECT_CR, HANDOFF, DISCONNECT,
 DEQUEUE, FREE_AH, RECEIVE, REQUEST, BIND, ASK, PATH, COMPLETE, FABRIC) = range(31)
NO_ROUND = 0x80
NOBODY = 4  # instead of a connection

# Messages, to the connection that the peer heard of last: type, reason and receiver, number of the
# sender, flags, count, context.
NONE, CONSUMER, NOT_MINE, RESOURCES, VERSION, ORDERLY, ERROR = range(7)
F_NO_RECV, F_SOLICITED, F_DATA, F_CREDITS, F_CTRL, F_WORD, F_ATOMICS, F_UD = (
    1, 2, 4, 8, 16, 32, 64, 128)


def message(kind, reason=NONE, to=0, src=7, flags=0, count=0, context=0, rest=()):
    return (MESSAGE, 0, kind, reason << 3 | to, src, flags, count, context, *rest)


def request(flags=0, qual=0, src=7):
    return message(1, NONE, NOBODY, src, flags, 4, 0, (qual,))


def bye(reason=ORDERLY, count=0):
    return message(7, reason, 0, 7, 0, count)


ACCEPT, ACCEPT_UD = message(2), message(2, flags=F_UD)
REJECT, NOT_HERE = message(3, RESOURCES), message(3, NOT_MINE)
REJECTED = (MESSAGE, 0, 3, 0x40 | CONSUMER << 3, 7, 0, 0, 0, 11)
READY, CANCEL, LEAVE = message(4), message(5, ORDERLY), message(6, flags=F_NO_RECV)
INVALIDATE, DONE, GOODBYE = message(8, context=3), message(9), message(10)
COUNT, COUNTED = message(11), message(12)
SUBSCRIBE, SUBSCRIBED = message(13, context=3), message(14, context=3)
LATE_CANCEL = message(5, ORDERLY, NOBODY)

EP, EP_SRQ, EP_UD = (MAKE_EP, 0, 0), (MAKE_EP, 0, 1), (MAKE_EP, 0, 2)
LISTENS, LISTENS_LONG, LISTENS_PROVIDER = (LISTEN, 0, 0), (LISTEN, 0x80, 0), (LISTEN, 0, 1)
CALLS = (DIAL, 0) + (HELLO, 0, 0)
CALLED = LISTENS + EP + CALLS + request()
ACCEPTED = CALLED + (ACCEPT_CR, 0, 0)
UP, DOWN, REFUSED = (PATH, 0, 0), (PATH, 0, 1), (PATH, 0, 3)
DIALS = EP + (CONNECT, 0, 0, 0)
ASKS = DIALS + (HELLO, 0, 0)
CONNECTED = ASKS + ACCEPT + UP
MESSAGE_COMES, TOO_LONG = (COMPLETE, 0, 0), (COMPLETE, 0, 4)
RECV, RECV_SRQ, SEND, READ, WRITE = (
    (RECEIVE, 0, 0), (RECEIVE, 0, 1), (REQUEST, 0, 0), (REQUEST, 0, 1), (REQUEST, 0, 2))
SLOW_PATH = (FABRIC, 0)
BUSY, IDLE = (FABRIC, 3), (FABRIC, 1)
GRACEFUL, ABRUPT, FREE, RESET = (DISCONNECT, 0, 0), (DISCONNECT, 0, 1), (FREE_EP, 0), (RESET_EP, 0)
GRACE, SECOND, HANDSHAKE, MINUTE = (TIME, 3), (TIME, 4), (TIME, 6), (TIME, 7)
LOST, CLOSED = (HANG_UP, 0, 1), (HANG_UP, 0, 0)

SEEDS = {
    # the accepting side
    "offered": CALLED,
    "offered-twice": CALLED + request(),
    "offered-cancelled": CALLED + LATE_CANCEL + (ACCEPT_CR, 0, 0),
    "offered-lost": CALLED + LOST + (ACCEPT_CR, 0, 0),
    "offered-ready": CALLED + READY + LEAVE,
    "offered-rejected": CALLED + (REJECT_CR, 0),
    "offered-handed-on": CALLED + (LISTEN, 1, 0) + (HANDOFF, 0, 1) + (ACCEPT_CR, 0, 0) + READY,
    "offered-to-nobody": LISTENS + CALLS + message(1, NONE, NOBODY, 7, 0, 4, 0, (9,)),
    "offered-provider-ep": LISTENS_PROVIDER + CALLS + request() + (ACCEPT_CR, 0, 0) + READY,
    "offered-once": EP + (LISTEN_ONCE, 0, 0) + CALLS + request() + (ACCEPT_CR, 0, 0) + READY,
    "offered-once-rejected": EP + (LISTEN_ONCE, 0, 0) + CALLS + request() + (REJECT_CR, 0),
    "offered-once-freed": EP + (LISTEN_ONCE, 0, 0) + (STOP, 1, 0) + LISTENS_LONG,
    "backlog-full": CALLED + sum((request(src=n) for n in range(20, 32)), ()),
    "accepted-ready": ACCEPTED + READY,
    "accepted-ready-slow": CALLED + SLOW_PATH + (ACCEPT_CR, 0, 0) + READY + UP,
    "accepted-ready-twice": CALLED + SLOW_PATH + (ACCEPT_CR, 0, 0) + READY + READY + UP + READY,
    "accepted-path-first": ACCEPTED + UP + READY,
    "accepted-path-lost": ACCEPTED + UP + DOWN + READY + bye(),
    "accepted-path-lost-timer": ACCEPTED + UP + DOWN + MINUTE,
    "accepted-refused": CALLED + SLOW_PATH + (ACCEPT_CR, 0, 0) + REFUSED,
    "accepted-overdue": ACCEPTED + HANDSHAKE + MINUTE,
    "accepted-lost": ACCEPTED + LOST,
    "accepted-bye": ACCEPTED + bye(ERROR),
    "accepted-first-message": RECV + CALLED + RECV + (ACCEPT_CR, 0, 0) + MESSAGE_COMES,
    "accepted-no-memory": CALLED + (FABRIC, 9) + (ACCEPT_CR, 0, 0),
    "accepted-too-late": LISTENS + EP + CALLS + request() + CLOSED + (ACCEPT_CR, 0, 0x10),
    # the asking side
    "dialled": CONNECTED,
    "dialled-slow": SLOW_PATH + ASKS + ACCEPT + UP + RECV + SEND + MESSAGE_COMES,
    "dialled-twice": DIALS + (MAKE_EP, 1, 0) + (CONNECT, 1, 0, 0) + (HELLO, 0, 0) + ACCEPT,
    "dialled-merged": (DIALS + (HELLO, 0, 1) + (MAKE_EP, 1, 0) + (CONNECT, 1, 1, 0) +
                       (HELLO, 1, 1) + ACCEPT),
    "dialled-again": CONNECTED + (MAKE_EP, 1, 0) + (CONNECT, 1, 2, 0) + ACCEPT,
    "dialled-rejected": ASKS + REJECTED,
    "dialled-refused": ASKS + REJECT,
    "dialled-not-mine": ASKS + NOT_HERE + (HELLO, 1, 1) + NOT_HERE,
    "dialled-not-mine-long": EP + (CONNECT, 0, 0, 0x80) + (HELLO, 0, 0) + NOT_HERE + SECOND,
    "dialled-lost": ASKS + LOST,
    "dialled-closed": ASKS + GOODBYE,
    "dialled-silent": DIALS + HANDSHAKE + MINUTE,
    "dialled-hung-up": DIALS + CLOSED + CLOSED + CLOSED + CLOSED,
    "dialled-answers-twice": CONNECTED + ACCEPT + REJECTED + READY,
    "dialled-other-service": ASKS + ACCEPT_UD,
    "dialled-path-refused": SLOW_PATH + ASKS + ACCEPT + REFUSED,
    "dialled-no-memory": ASKS + (FABRIC, 5) + ACCEPT,
    "dialled-timeout": EP + (CONNECT, 0, 4, 0) + SECOND + SECOND,
    "dialled-timeout-connecting": EP + (CONNECT, 0, 4, 0) + (HELLO, 0, 0) + ACCEPT + MINUTE,
    "dialled-stopped": DIALS + ABRUPT + RESET + (CONNECT, 0, 0, 0),
    "dialled-freed": ASKS + FREE + ACCEPT,
    "dialled-late-accept": ASKS + ABRUPT + ACCEPT,
    "dialled-cancelled": ASKS + CANCEL,
    # established
    "up-disconnect": CONNECTED + GRACEFUL + bye(),
    "up-disconnect-both": CONNECTED + GRACEFUL + LEAVE + bye(),
    "up-disconnect-busy": CONNECTED + SEND + GRACEFUL + MESSAGE_COMES + MESSAGE_COMES,
    "up-abrupt": CONNECTED + SEND + ABRUPT,
    "up-bye": CONNECTED + bye(),
    "up-bye-error": CONNECTED + bye(ERROR),
    "up-bye-early": CONNECTED + RECV + bye(ORDERLY, 1) + MESSAGE_COMES,
    "up-bye-early-timer": CONNECTED + RECV + bye(ORDERLY, 1) + SECOND,
    "up-bye-early-leave": CONNECTED + RECV + bye(ERROR, 1) + GRACEFUL + DOWN,
    "up-path-lost": CONNECTED + DOWN + bye(),
    "up-path-lost-timer": CONNECTED + DOWN + SECOND,
    "up-path-lost-leave": CONNECTED + DOWN + GRACEFUL,
    "up-channel-lost": CONNECTED + RECV + LOST,
    "up-goodbye": CONNECTED + GOODBYE,
    "up-operation-fails": CONNECTED + SEND + (COMPLETE, 0, 6),
    "up-truncated": CONNECTED + RECV + TOO_LONG,
    "up-reconnect": CONNECTED + bye() + RESET + (CONNECT, 0, 0, 0) + ACCEPT + UP,
    "up-overflow": CONNECTED + (SEND + MESSAGE_COMES) * 10,
    # memory and its contexts
    "read": CONNECTED + READ + MESSAGE_COMES + MESSAGE_COMES,
    "write": CONNECTED + WRITE + MESSAGE_COMES + MESSAGE_COMES,
    "subscribed": CONNECTED + READ + SUBSCRIBE + SUBSCRIBED + READ,
    "invalidated": CONNECTED + READ + MESSAGE_COMES + INVALIDATE,
    "bind": CONNECTED + (BIND, 0, 0) + (BIND, 0, 0) + DONE,
    "bind-unanswered": CONNECTED + (BIND, 0, 0) + (BIND, 0, 0) + HANDSHAKE,
    "asked": CONNECTED + (ASK, 1, 0) + DONE,
    "asked-given-up": CONNECTED + (ASK, 1, 1),
    "asked-lost": CONNECTED + (ASK, 1, 0) + LOST,
    # a shared receive queue
    "srq-message": EP_SRQ + RECV_SRQ + (CONNECT, 0, 0, 0) + (HELLO, 0, 0) + ACCEPT + UP +
                   MESSAGE_COMES,
    "srq-truncated": EP_SRQ + RECV_SRQ + (CONNECT, 0, 0, 0) + (HELLO, 0, 0) + ACCEPT + UP +
                     TOO_LONG + message(12, count=1) + SECOND,
    "srq-bye": EP_SRQ + RECV_SRQ + (CONNECT, 0, 0, 0) + (HELLO, 0, 0) + ACCEPT + UP + TOO_LONG +
               bye(ORDERLY, 1),
    "count": CONNECTED + SEND + COUNT,
    # datagrams
    "ud-dialled": EP_UD + (CONNECT, 0, 0, 0) + (HELLO, 0, 0) + ACCEPT_UD + UP + (REQUEST, 0, 3, 0),
    "ud-accepted": LISTENS + EP_UD + CALLS + request(F_UD) + (ACCEPT_CR, 0, 0) + READY,
    "ud-rejected": EP_UD + (CONNECT, 0, 0, 0) + (HELLO, 0, 0) + REJECTED,
    "ud-bye": LISTENS + EP_UD + CALLS + request(F_UD) + (ACCEPT_CR, 0, 0) + READY + bye(),
    "ud-lost": LISTENS + EP_UD + CALLS + request(F_UD) + (ACCEPT_CR, 0, 0) + READY + LOST,
    "ud-freed": (LISTENS + EP_UD + CALLS + request(F_UD) + (ACCEPT_CR, 0, 0) + READY +
                 (FREE_AH, 0, 1, 0) + (FREE_AH, 0, 0, 0)),
    "ud-path-down": EP_UD + (CONNECT, 0, 0, 0) + (HELLO, 0, 0) + ACCEPT_UD + UP + DOWN,
    # strangers, and what is no message
    "stranger-silent": LISTENS + (DIAL, 0) + HANDSHAKE,
    "stranger-garbage": LISTENS + (DIAL, 0) + (BYTES, 0, 4, 255, 255, 255, 255),
    "stranger-text": LISTENS + (DIAL, 0) + (BYTES, 0, 16) + tuple(b"GET / HTTP/1.0\r\n"),
    "stranger-frame": LISTENS + (DIAL, 0) + (FRAME, 0, 4, 1, 2, 3, 4),
    "stranger-version": LISTENS + (DIAL, 0) + (HELLO, 0, 0x80, 0, 11, 0, 9),
    "stranger-provider": LISTENS + (DIAL, 0) + (HELLO, 0, 4),
    "stranger-transport": LISTENS + (DIAL, 0) + (HELLO, 0, 8),
    "stranger-many": LISTENS + (DIAL, 0) * 6 + (HELLO, 3, 0),
    "stranger-no-files": LISTENS + (FAULT, 0x21) + (DIAL, 0) + (TIME, 3) + (DIAL, 0),
    "stranger-second-hello": LISTENS + CALLS + (HELLO, 0, 0),
    "stranger-role": LISTENS + (DIAL, 0) + (HELLO, 0, 0x80, 0, 12, 0, 2),
    "stranger-other-key": LISTENS + (DIAL, 0) + (HELLO, 0, 0x80, 0, 29, 0, 7),
    "stranger-nonce": LISTENS + (DIAL, 0) + (HELLO, 0, 0x80, 0, 20, 0, 7),
    "stranger-proof": LISTENS + (DIAL, 0) + (HELLO, 0, 0x40, 1, 9, 0, 7),
    "stranger-details": LISTENS + (DIAL, 0) + (HELLO, 0, 0x40, 2, 12, 0, 0),
    "stranger-seal": LISTENS + (DIAL, 0) + (HELLO, 0, 0x40, 3, 12, 0, 7),
    "dialled-proof": DIALS + (HELLO, 0, 0x40, 1, 9, 0, 7),
    "dialled-details": DIALS + (HELLO, 0, 0x40, 2, 12, 0, 7),
    "dialled-seal": DIALS + (HELLO, 0, 0x40, 3, 12, 0, 7),
    "dialled-version": DIALS + (HELLO, 0, 0x80, 0, 11, 0, 9),
    "seal-wrong": CONNECTED + (MESSAGE, 0, 0x47, 0x28, 7, 0, 0, 0, 0, 30, 0, 9),
    "seal-twice": CONNECTED + (MESSAGE, 0, 0x2b, 0, 7, 0, 0, 0),
    "sealed-garbage": CONNECTED + (FRAME, 0, 5, 1, 2, 3, 4, 5),
    "channels-many": LISTENS + CALLS * 10,
    "requests-many": LISTENS + CALLS + sum((request(src=n) for n in range(20, 34)), ()),
    "long-name": LISTENS + (DIAL, 0) + (HELLO, 0, 0x30) + request(),
    "idle": LISTENS + CALLS + MINUTE,
    "idle-dialled": CONNECTED + FREE + (TIME, 5),
    # the kernel
    "no-room": CONNECTED + (ROOM, 0, 0) + GRACEFUL + (ROOM, 0, 255) + (NOTHING,),
    "dial-refused": (FAULT, 0x13) + DIALS + GRACE + GRACE,
    "dial-unreachable": (FAULT, 0x14) + DIALS,
    "dial-no-files": (FAULT, 0x01) + DIALS,
    "listen-taken": (FAULT, 0x35) + LISTENS + LISTENS_LONG + LISTENS_LONG,
    "listen-anywhere": (LISTEN, 0, 2) + CALLS + request(),
    "no-memory": LISTENS + CALLS + (FAULT, 0x40) + request() + (FAULT, 0x40) + (DIAL, 0),
}


def seed(kind, steps):
    return kind.to_bytes(2, "little") + bytes(steps)


def seeds():
    for name, steps in SEEDS.items():
        yield name, seed(SLOTS, steps)
    # Ends that are waited for, and what a goodbye counts.
    for name in ("up-abrupt", "up-bye-early", "up-channel-lost", "up-disconnect-busy",
                 "srq-truncated", "invalidated", "accepted-overdue"):
        yield "rdm-" + name, seed(RDM | CREDITS | CLOSED_KEYS, SEEDS[name])
    yield "rdm-busy", seed(RDM, CONNECTED + SEND + BUSY + ABRUPT + SECOND + IDLE)
    yield "rdm-drain", seed(RDM, CONNECTED + RECV + ABRUPT + bye(ORDERLY, 3) + MESSAGE_COMES * 4)
    for name in ("dialled", "dialled-silent", "dialled-stopped", "dialled-timeout"):
        yield "slow-" + name, seed(DELAY, SEEDS[name] + (ANSWER, 1) + GRACE)
    yield "slow-unreachable", seed(DELAY, DIALS + (ANSWER, 2))
    yield "few-strangers", seed(FEW, SEEDS["stranger-many"])
    for name in ("dialled", "accepted-ready", "stranger-garbage", "up-goodbye"):
        yield "no-key-" + name, seed(NO_KEY, SEEDS[name])


def main():
    here = pathlib.Path(__file__).parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here / "corpus/channel"
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in seeds():
        (folder / f"seed-{name}").write_bytes(content)


if __name__ == "__main__":
    main()
