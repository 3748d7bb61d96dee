/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef UTIL_PERF_H
#define UTIL_PERF_H

#include "common/common.h"

#include <stddef.h>

enum perf_test {
	PERF_SEND,
	PERF_WRITE,
	PERF_READ,
	PERF_IMMEDIATE,
	PERF_DATAGRAM,
	PERF_FETCH_ADD,
	PERF_CMP_SWAP,
	PERF_BIND,
	PERF_CONNECT,
	PERF_WAKEUP,
	PERF_TESTS,
};

#define PERF_REQUESTS PERF_CONNECT /* all before are requests of an endpoint */

/* How the two sides take part in a test. */
enum perf_shape {
	PERF_MESSAGES, /* each takes a receive of the peer */
	PERF_SILENT,   /* the peer is not told */
	PERF_ANSWERED, /* the completion is the answer; the peer's program takes no part */
	PERF_CYCLES,   /* connections begin and end */
	PERF_WAKEUPS,  /* two threads of the client wake each other */
};

struct perf_traits {
	enum perf_shape shape;
	bool dat_only;
	bool both;         /* both sides can do it at once */
	bool checked;      /* --verify can check it */
	bool windowed;     /* an endpoint can have several under way */
	size_t fixed;      /* size in bytes, if it cannot be chosen */
	uint32_t metrics;  /* bit per enum perf_metric */
	const char *sizes; /* default sizes, if they differ from those of the metric */
	const char *time;  /* meaning of a latency */
	const char *unit;  /* of a rate */
};

/* traits.c; the names end with NULL. */
extern const struct perf_traits perf_traits[PERF_TESTS];
extern const char *const perf_test_names[];
extern const char *const perf_metric_names[];
extern const char *const perf_stat_names[];

enum perf_metric {
	PERF_LATENCY,
	PERF_BANDWIDTH,
	PERF_RATE,
	PERF_METRICS,
};

enum perf_backend {
	PERF_DAT,
	PERF_RAW,
	PERF_BACKENDS,
};

/* Wait object of raw libfabric's queue while it is polled. */
enum perf_cq_wait {
	PERF_CQ_AUTO, /* as the DAT provider has it */
	PERF_CQ_NONE,
	PERF_CQ_FD,
};

/* Limit of a wait for the other side to connect, or for any completion, in milliseconds. */
#define PERF_CONNECT_MS 20000
#define PERF_STALL_MS   60000

#define PERF_NAME_LEN   128

/*
 * The configuration of a session. The client decides and sends the structure; both sides have the
 * same build and byte order.
 */
struct perf_cfg {
	uint64_t min_size, max_size;
	uint32_t backends; /* bit per enum perf_backend */
	uint32_t test;
	uint32_t metric;
	uint32_t window; /* requests under way per endpoint */
	uint32_t eps;
	uint32_t iov;
	uint32_t srq;
	uint32_t wait;         /* sleep for completions instead of polling */
	uint32_t signal_every; /* one in this many requests asks for a completion */
	uint32_t verify;
	uint32_t both;      /* both sides send at once */
	uint32_t threads;   /* with eps endpoints each */
	uint32_t ask_ia;    /* raw: on the fabric that the interface names */
	uint32_t rdm;       /* raw: FI_EP_RDM instead of FI_EP_MSG */
	uint32_t cq_wait;   /* raw: enum perf_cq_wait */
	uint32_t last_word; /* raw: the last bytes of a write are an operation of their own */
	uint32_t fresh;     /* each connection has endpoints of its own */
	uint32_t spin;      /* the receiver of a write makes no calls of DAT */
	uint32_t cost;      /* measure the costs of endpoints; they are closed with the interface */
	char ia[DAT_NAME_MAX_LENGTH];
	char provider[PERF_NAME_LEN]; /* raw: libfabric provider */
};

/* One side's view of one session, as one thread has it. */
struct perf_env {
	const struct perf_cfg *cfg;
	const char *ia;     /* this side's name for the interface */
	const char *domain; /* raw: libfabric domain, NULL to find it by source */
	const char *source; /* raw: own address, as the peer reached it */
	char *buf;          /* the buffer that both back ends register */
	size_t buf_len;
	uint32_t ntx, nrx; /* request ids are 0..ntx-1, receive ids ntx..ntx+nrx-1 */
	uint32_t rx_depth; /* receives posted per endpoint */
	uint32_t tx_depth; /* requests posted per endpoint */
	int sync;          /* socket to the peer */
	uint32_t thread;   /* 0: the one that has the socket */
	bool passive;      /* the server accepts */
};

/* Address data that one back end sends to that of the other side. */
struct perf_addr {
	uint64_t base; /* remote address of the first byte of buf */
	uint64_t key;
	uint64_t port;
	uint32_t len;
	unsigned char name[512];
};

struct perf_wr {
	uint32_t id; /* returned in the completion */
	uint32_t ep;
	size_t offset; /* of the local bytes in buf */
	size_t remote; /* of the peer's bytes in its buf; RDMA only */
	size_t len;
	bool signalled;
	uint32_t value;   /* immediate data */
	uint64_t operand; /* atomic operations: what is there now, if all went well */
};

struct perf_comp {
	uint32_t id;
	size_t len;     /* meaningful for receives only */
	uint32_t value; /* of a receive: immediate data, if the test has any */
};

/* A post that returns this was not taken: read completions, then try again. */
#define PERF_AGAIN     1

#define PERF_MAX_COMPS 16

/*
 * A back end. The measuring loops know nothing else. All calls come from one thread, but for those
 * of wake-ups; several back ends may run at a time. Each returns 0, or -1 with util_error() set;
 * the exceptions are named. Nothing here is called before open() succeeded or after close().
 */
struct perf_ops {
	const char *name;
	bool ordered; /* receives of an endpoint complete in the order in which they were posted */

	/*
	 * Everything up to the connection: objects, registered buffer, listener. first is the back
	 * end of the session's first thread, whose interface this one uses and which is closed
	 * last; NULL for that one itself.
	 */
	int (*open)(const struct perf_env *env, void *first, void **be_p);

	/* What the peer needs for connect() and RDMA. */
	int (*address)(void *be, struct perf_addr *addr);

	/* Connects all endpoints, unless the test does; blocks until they are up. */
	int (*connect)(void *be, const struct perf_addr *peer);

	/* Posts never block. They return PERF_AGAIN where the fabric is full. NULL: not here. */
	int (*post_recv)(void *be, const struct perf_wr *wr);
	int (*post[PERF_REQUESTS])(void *be, const struct perf_wr *wr);

	/*
	 * Number of completions taken, 0 to max; a failed one is an error. poll() also makes
	 * progress, wait() sleeps up to ms.
	 */
	int (*poll)(void *be, struct perf_comp *comps, int max);
	int (*wait)(void *be, struct perf_comp *comps, int max, int ms);

	/*
	 * Cycles: the first count endpoints at once, connected or disconnected. Both sides call
	 * it, with the same count. NULL: not here.
	 */
	int (*link)(void *be, uint32_t count);
	int (*unlink)(void *be, uint32_t count);

	/*
	 * Wake-ups, from any thread. wake() wakes the thread that sleeps on place 0 or 1. nap()
	 * sleeps there and returns 1 when it was woken.
	 */
	int (*wake)(void *be, int place);
	int (*nap)(void *be, int place, int ms);

	/* Disconnects and releases everything, whatever state it is in. */
	void (*close)(void *be);
};

extern const struct perf_ops perf_dat_ops;
extern const struct perf_ops perf_raw_ops;

/*
 * The libfabric provider and domain below an interface, by its named attributes. Empty strings for
 * attributes that it does not have. -1 when the interface cannot be opened.
 */
struct perf_fabric {
	char provider[PERF_NAME_LEN];
	char domain[PERF_NAME_LEN];
	bool rdm;
};

int perf_dat_fabric(const char *ia, struct perf_fabric *fabric);

/* Whether the interface does not offer what the user asked for, which has its own exit status. */
bool perf_is_absent(void);

/*
 * The local segments of a request: its bytes in cfg->iov pieces, fewer where there are not enough
 * bytes.
 */
static inline uint32_t perf_segments(const struct perf_env *env, size_t len)
{
	return len < env->cfg->iov ? (uint32_t)len : env->cfg->iov;
}

/* ---- the socket between the two sides (sync.c) ---- */

enum perf_msg {
	PERF_MSG_HELLO = 1,
	PERF_MSG_ADDR,
	PERF_MSG_CONNECTED,
	PERF_MSG_RUN,
	PERF_MSG_READY,
	PERF_MSG_END,
	PERF_MSG_BYE,
	PERF_MSG_ERROR, /* the text of util_error() on the other side */
};

/* A port is a number from 1 to 65535, or the name of a TCP service. */
int perf_sync_check_port(const char *port);
int perf_sync_listen(const char *host, const char *port);
int perf_sync_accept(int listener);
/* A server that refuses is asked again for patience seconds: it may be about to start. */
int perf_sync_connect(const char *host, const char *port, double patience);
/* Whether the server that was asked has not answered yet. A signal handler may call this. */
bool perf_sync_is_silent(void);
int perf_sync_send(int fd, enum perf_msg msg, const void *data, size_t len);

/*
 * Blocks for one message of this kind and length. A message of the error kind fails with the peer's
 * words.
 */
int perf_sync_recv(int fd, enum perf_msg msg, void *data, size_t len);
/*
 * The first message of a session. A client of another host must send it within some seconds,
 * because the server serves one client after the other.
 */
int perf_sync_recv_hello(int fd, void *data, size_t len);

/*
 * Kind of the message that waits, 0 when there is none within ms, -1 when the peer is gone or
 * reports an error.
 */
int perf_sync_peek(int fd, int ms);

/* Whether the peer reports an error within ms; its words are then in util_error(). */
bool perf_sync_complains(int fd, int ms);

/* The address under which the peer reached us, for binding the fabric to the same interface. */
int perf_sync_source(int fd, char *text, size_t size);

int64_t perf_now_ns(void);

/* ---- what endpoints cost (cost.c) ---- */

/* Of one back end, for all endpoints of this side. */
struct perf_cost {
	double open_s;   /* making and connecting them */
	double close_s;  /* all at once, while they are connected */
	uint64_t memory; /* bytes, the process's growth */
};

uint64_t perf_cost_memory(void);
/* Percent of a processor that this process uses while it is idle. Takes seconds. */
double perf_cost_idle(void);
/* Raises the limit of descriptors as far as allowed. */
void perf_cost_allow_files(void);

/* ---- measuring: all threads of one side over one back end (crew.c) ---- */

struct perf_crew;

struct perf_run {
	uint64_t size;
	uint64_t iterations; /* of each thread */
	uint32_t backend;
	/*
	 * seed of the pattern, so that bytes of an earlier run are never taken for those of this
	 * run
	 */
	uint32_t serial;
};

/* Percentiles that are kept of a latency, in the order of perf_stat_names. */
enum perf_stat {
	PERF_STAT_AVG,
	PERF_STAT_MIN,
	PERF_STAT_P50,
	PERF_STAT_P99,
	PERF_STAT_P999,
	PERF_STAT_MAX,
	PERF_STATS,
};

struct perf_result {
	double seconds;          /* for all iterations */
	double stat[PERF_STATS]; /* latency only: microseconds of one iteration, halved where
				    it is there and back */
};

/* The progress of a run, for other threads. */
struct perf_progress {
	uint64_t done, total; /* iterations of the first thread; atomic */
};

/* Sizes the queues and the buffer of a thread for cfg; perf_env_free() releases the buffer. */
int perf_env_init(struct perf_env *env);
void perf_env_free(struct perf_env *env);

/* envs: one per thread, of which the first has the socket. */
int perf_crew_open(const struct perf_env *envs, enum perf_backend backend,
		   struct perf_crew **crew_p);
void perf_crew_close(struct perf_crew *crew);
const struct perf_progress *perf_crew_progress(const struct perf_crew *crew);

/* Both sides call this for each run; the client gets the result. */
int perf_crew_run(struct perf_crew *crew, const struct perf_run *run, struct perf_result *result);

/*
 * Computes percentiles of the samples, which are nanoseconds of one iteration each, and sorts them.
 * scale: factor of the reported time.
 */
void perf_stats_find(uint32_t *samples, uint64_t count, double scale, struct perf_result *result);

/* ---- the live line on a terminal (live.c) ---- */

struct perf_live;

/* NULL without a terminal, which the other calls accept. */
struct perf_live *perf_live_begin(void);
/* progress stays valid until the next call. Without text the line is empty. */
void perf_live_show(struct perf_live *live, const char *text, const struct perf_progress *progress);
void perf_live_end(struct perf_live *live);

/* ---- output (report.c) ---- */

struct perf_limits {
	double max_ratio, min_ratio; /* 0: none */
	double max_excess;           /* nanoseconds; 0: none */
};

/* The rounds of one figure. */
struct perf_figure {
	double median, min, max;
};

/* The results of one size over one back end. */
struct perf_column {
	bool present;
	uint64_t iterations;
	struct perf_figure value;
	double stat[PERF_STATS]; /* medians of the rounds */
	double *rounds;          /* of the value */
};

/* One size, as it is written. */
struct perf_row {
	uint64_t size;
	uint32_t rounds;
	struct perf_column columns[PERF_BACKENDS];
	bool compared;
	struct perf_figure ratio;  /* DAT/raw, round by round */
	struct perf_figure excess; /* DAT-raw, likewise; latency only */
};

enum perf_format {
	PERF_TEXT,
	PERF_JSON,
	PERF_CSV,
	PERF_NOTHING, /* no output; the caller reads the report */
};

struct perf_plot;

struct perf_report {
	const struct perf_cfg *cfg;
	enum perf_format format;
	enum perf_stat stat;
	uint32_t rounds;
	struct perf_limits limits;
	const char *plot_path; /* NULL: no drawing */
	struct util_json writer;
	struct perf_plot *plot;
	struct perf_figure last; /* of the last size, over DAT */
	struct perf_cost costs[PERF_BACKENDS];
	double idle;   /* percent of a processor */
	bool violated; /* a result was outside the limits */
};

/* An output format: functions for the head, each size, and the end. */
struct perf_writer {
	void (*begin)(struct perf_report *report);
	void (*row)(struct perf_report *report, const struct perf_row *row);
	void (*end)(struct perf_report *report);
};

extern const struct perf_writer perf_text_writer, perf_json_writer, perf_csv_writer;

/* All rounds of one size. results[backend] has rounds entries where the back end took part. */
struct perf_sample {
	uint64_t size;
	uint32_t rounds;
	uint64_t iterations[PERF_BACKENDS];
	const struct perf_result *results[PERF_BACKENDS];
};

extern const char *const perf_backend_names[];

/* The unit of the figures of a test. */
const char *perf_unit(const struct perf_cfg *cfg);
/* The number of endpoints of one side. */
uint32_t perf_endpoints(const struct perf_cfg *cfg);
/* Figures for people. */
const char *perf_number(double value, char *text, size_t size);
/* "send bandwidth, window 16, 1 endpoint, polling" */
void perf_title(const struct perf_cfg *cfg, char *text, size_t size);

int perf_report_begin(struct perf_report *report, const struct perf_cfg *cfg);
int perf_report_size(struct perf_report *report, const struct perf_sample *sample);
int perf_report_end(struct perf_report *report);
/* Frees the report after a failure. */
void perf_report_drop(struct perf_report *report);

/* ---- a drawing (plot.c) ---- */

/*
 * A plot of values over sizes, as SVG. Opens the file at once, so that an error shows before the
 * measurement.
 */
int perf_plot_begin(const char *path, struct perf_plot **plot_p);
int perf_plot_add(struct perf_plot *plot, const struct perf_row *row);
/* Writes and closes the file; drop only closes it. */
int perf_plot_end(struct perf_plot *plot, const char *title, const char *unit);
void perf_plot_drop(struct perf_plot *plot);

#endif
