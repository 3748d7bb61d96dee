/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * rdma_copy: copy a file by RDMA. A worked example of a DAT 2.0 program.
 *
 *	server$ rdma_copy -a ofi-tcp serve
 *	client$ rdma_copy -a ofi-tcp put SERVER local.iso copy.iso	(RDMA writes)
 *	client$ rdma_copy -a ofi-tcp get SERVER copy.iso again.iso	(RDMA reads)
 *
 * The connection request names the file. The answer tells the file's address in the server's
 * memory. The client alone then moves the data. One message in each direction ends the copy. The
 * server serves one client and exits. It reads and writes only files of its current directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <endian.h>

#include <dat2/udat.h>

#define CHUNK    (1u << 20) /* bytes per RDMA operation */
#define WINDOW   8          /* RDMA operations under way */
#define PATIENCE 30000000   /* microseconds to wait for a peer that should answer */

enum op { OP_PUT = 1, OP_GET = 2 };

/* The messages between the two sides. All numbers are big endian on the wire. */

/* private data of the connection request */
struct request {
	uint32_t op;
	uint32_t pad;
	uint64_t length; /* of the file, for OP_PUT */
	char name[40];
};

/* private data of the answer */
struct offer {
	uint64_t address;
	uint64_t length;
	uint32_t context;
	uint32_t pad;
};

/* the message that ends a copy */
struct notice {
	uint32_t error; /* an errno, 0 when all is well */
};

struct memory {
	void *base;
	uint64_t length;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT local;  /* names the memory in our own operations */
	DAT_RMR_CONTEXT remote; /* names it in the operations of the peer */
};

struct session {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async_evd;
	DAT_EVD_HANDLE conn_evd;
	DAT_EVD_HANDLE dto_evd;
	DAT_EP_HANDLE ep;
	struct memory file;
	struct memory notices; /* [0] is received into, [1] is sent from */
};

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...)
{
	va_list args;

	fputs("rdma_copy: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(EXIT_FAILURE);
}

/* If `ret` is an error, prints DAT's names for it and exits. */
static void must(DAT_RETURN ret, const char *what)
{
	const char *major = "?", *minor = "";

	if (ret == DAT_SUCCESS)
		return;
	dat_strerror(ret, &major, &minor);
	fail("cannot %s: %s %s", what, major, minor);
}

static const char *event_text(DAT_EVENT_NUMBER number)
{
	switch (number) {
	case DAT_CONNECTION_EVENT_PEER_REJECTED:
		return "the server refused";
	case DAT_CONNECTION_EVENT_NON_PEER_REJECTED:
		return "no server listens there";
	case DAT_CONNECTION_EVENT_UNREACHABLE:
		return "the host cannot be reached";
	case DAT_CONNECTION_EVENT_TIMED_OUT:
		return "the server did not answer in time";
	case DAT_CONNECTION_EVENT_DISCONNECTED:
		return "the peer disconnected";
	case DAT_CONNECTION_EVENT_BROKEN:
		return "the connection broke";
	default:
		return "an unexpected event came";
	}
}

static void wait_event(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, const char *what, DAT_EVENT *event)
{
	DAT_COUNT more;
	DAT_RETURN ret;

	do {
		ret = dat_evd_wait(evd, timeout, 1, event, &more);
	} while (DAT_GET_TYPE(ret) == DAT_INTERRUPTED_CALL);
	must(ret, what);
}

static void expect_connection_event(struct session *s, DAT_EVENT_NUMBER number, const char *what,
				    DAT_EVENT *event)
{
	wait_event(s->conn_evd, PATIENCE, what, event);
	if (event->event_number != number)
		fail("cannot %s: %s (event 0x%x)", what, event_text(event->event_number),
		     event->event_number);
}

static void expect_completion(struct session *s, const char *what, DAT_EVENT *event)
{
	wait_event(s->dto_evd, PATIENCE, what, event);
	if (event->event_number != DAT_DTO_COMPLETION_EVENT)
		fail("cannot %s: event 0x%x came instead of a completion", what,
		     event->event_number);
	if (event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		fail("cannot %s: the operation ended with DTO status %d", what,
		     (int)event->event_data.dto_completion_event_data.status);
}

static void memory_create(struct session *s, uint64_t length, DAT_MEM_PRIV_FLAGS privileges,
			  struct memory *mem)
{
	DAT_REGION_DESCRIPTION region;

	/* An LMR has at least one byte, even for an empty file. */
	mem->length = length ? length : 1;
	mem->base = calloc(1, mem->length);
	if (!mem->base)
		fail("cannot allocate %" PRIu64 " bytes for the file", length);
	region.for_va = mem->base;
	must(dat_lmr_create(s->ia, DAT_MEM_TYPE_VIRTUAL, region, mem->length, s->pz, privileges,
			    DAT_VA_TYPE_VA, &mem->lmr, &mem->local, &mem->remote, NULL, NULL),
	     "register memory");
}

static void memory_free(struct memory *mem)
{
	if (!mem->base)
		return;
	must(dat_lmr_free(mem->lmr), "unregister memory");
	free(mem->base);
}

static DAT_LMR_TRIPLET local_part(const struct memory *mem, uint64_t offset, uint32_t length)
{
	return (DAT_LMR_TRIPLET){
		.virtual_address = (uintptr_t)mem->base + offset,
		.segment_length = length,
		.lmr_context = mem->local,
	};
}

static void session_open(struct session *s, char *name)
{
	memset(s, 0, sizeof(*s));
	s->async_evd = DAT_HANDLE_NULL;
	must(dat_ia_open(name, 8, &s->async_evd, &s->ia), "open the interface adapter");
	must(dat_pz_create(s->ia, &s->pz), "create a protection zone");
	must(dat_evd_create(s->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
			    &s->conn_evd),
	     "create a connection event dispatcher");
	must(dat_evd_create(s->ia, 2 * WINDOW + 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &s->dto_evd),
	     "create a completion event dispatcher");
	must(dat_ep_create(s->ia, s->pz, s->dto_evd, s->dto_evd, s->conn_evd, NULL, &s->ep),
	     "create an endpoint");
	memory_create(s, 2 * sizeof(struct notice),
		      DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &s->notices);
}

/* Objects are freed in the reverse order of their creation, because DAT keeps what is in use. */
static void session_close(struct session *s)
{
	must(dat_ep_free(s->ep), "free the endpoint");
	memory_free(&s->file);
	memory_free(&s->notices);
	must(dat_evd_free(s->dto_evd), "free the completion event dispatcher");
	must(dat_evd_free(s->conn_evd), "free the connection event dispatcher");
	must(dat_pz_free(s->pz), "free the protection zone");
	must(dat_ia_close(s->ia, DAT_CLOSE_GRACEFUL_FLAG), "close the interface adapter");
}

/* The receive is posted before the connection exists, so that the peer's notice finds it. */
static void post_notice_receive(struct session *s)
{
	DAT_LMR_TRIPLET part = local_part(&s->notices, 0, sizeof(struct notice));
	DAT_DTO_COOKIE cookie = {.as_64 = 0};

	must(dat_ep_post_recv(s->ep, 1, &part, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	     "post a receive");
}

static void send_notice(struct session *s, int error)
{
	struct notice *notice = (struct notice *)s->notices.base + 1;
	DAT_LMR_TRIPLET part = local_part(&s->notices, sizeof(*notice), sizeof(*notice));
	DAT_DTO_COOKIE cookie = {.as_64 = 1};

	notice->error = htonl((uint32_t)error);
	must(dat_ep_post_send(s->ep, 1, &part, cookie, DAT_COMPLETION_DEFAULT_FLAG),
	     "send a notice");
}

/* Takes `n` completions: that of our send and that of the peer's notice come in any order. */
static void take_completions(struct session *s, int n, const char *what)
{
	const struct notice *notice = s->notices.base;
	DAT_EVENT event;

	while (n--)
		expect_completion(s, what, &event);
	if (notice->error)
		fail("cannot %s: the peer says: %s", what, strerror((int)ntohl(notice->error)));
}

static void file_read(const char *path, struct memory *mem, int fd)
{
	uint64_t done = 0;

	while (done < mem->length) {
		ssize_t n = read(fd, (char *)mem->base + done, mem->length - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			fail("cannot read %s: %s", path, strerror(errno));
		if (n == 0)
			break;
		done += (uint64_t)n;
	}
}

/* Returns 0 or an errno, which the server reports to the client. */
static int file_write(const char *path, const void *base, uint64_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	uint64_t done = 0;

	if (fd < 0)
		return errno;
	while (done < length) {
		ssize_t n = write(fd, (const char *)base + done, length - done);

		if (n < 0 && errno != EINTR) {
			int error = errno;

			close(fd);
			return error;
		}
		if (n > 0)
			done += (uint64_t)n;
	}
	return close(fd) ? errno : 0;
}

/* Returns a descriptor or -1 with errno set. */
static int file_open(const char *path, uint64_t *length)
{
	struct stat st;
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		errno = EINVAL;
		return -1;
	}
	*length = (uint64_t)st.st_size;
	return fd;
}

/* Keeps WINDOW operations under way until the whole file has moved. */
static void move_file(struct session *s, enum op op, const struct offer *offer)
{
	const char *what = op == OP_PUT ? "write to the server" : "read from the server";
	uint64_t posted = 0, finished = 0;
	DAT_EVENT event;
	DAT_RETURN ret;

	while (finished < offer->length) {
		while (posted < offer->length && posted - finished < (uint64_t)WINDOW * CHUNK) {
			uint64_t left = offer->length - posted;
			uint32_t size = left < CHUNK ? (uint32_t)left : CHUNK;
			DAT_LMR_TRIPLET here = local_part(&s->file, posted, size);
			DAT_RMR_TRIPLET there = {
				.virtual_address = offer->address + posted,
				.segment_length = size,
				.rmr_context = offer->context,
			};
			DAT_DTO_COOKIE cookie = {.as_64 = size};

			if (op == OP_PUT)
				ret = dat_ep_post_rdma_write(s->ep, 1, &here, cookie, &there,
							     DAT_COMPLETION_DEFAULT_FLAG);
			else
				ret = dat_ep_post_rdma_read(s->ep, 1, &here, cookie, &there,
							    DAT_COMPLETION_DEFAULT_FLAG);
			must(ret, what);
			posted += size;
		}
		expect_completion(s, what, &event);
		finished += event.event_data.dto_completion_event_data.user_cookie.as_64;
	}
}

static struct offer connect_to(struct session *s, const char *host, DAT_CONN_QUAL port,
			       struct request *request)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *address;
	struct offer offer;
	DAT_EVENT event;
	int error = getaddrinfo(host, NULL, &hints, &address);

	if (error)
		fail("cannot find host %s: %s", host, gai_strerror(error));
	must(dat_ep_connect(s->ep, (DAT_IA_ADDRESS_PTR)address->ai_addr, port, PATIENCE,
			    sizeof(*request), request, DAT_QOS_BEST_EFFORT,
			    DAT_CONNECT_DEFAULT_FLAG),
	     "connect");
	freeaddrinfo(address);

	wait_event(s->conn_evd, DAT_TIMEOUT_INFINITE, "connect", &event);
	if (event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED)
		fail("cannot copy with %s: %s", host, event_text(event.event_number));
	if (event.event_data.connect_event_data.private_data_size < (DAT_COUNT)sizeof(offer))
		fail("%s does not use our protocol: its answer is too short", host);
	memcpy(&offer, event.event_data.connect_event_data.private_data, sizeof(offer));
	offer.address = be64toh(offer.address);
	offer.length = be64toh(offer.length);
	offer.context = ntohl(offer.context);
	return offer;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void client(char *ia_name, DAT_CONN_QUAL port, enum op op, const char *host,
		   const char *local, const char *remote)
{
	struct request request = {.op = htonl(op)};
	struct session s;
	struct offer offer;
	DAT_EVENT event;
	uint64_t length = 0;
	double seconds;
	int error;

	if (strlen(remote) >= sizeof(request.name))
		fail("the name %s is longer than %zu bytes", remote, sizeof(request.name) - 1);
	memcpy(request.name, remote, strlen(remote));

	session_open(&s, ia_name);
	if (op == OP_PUT) {
		int fd = file_open(local, &length);

		if (fd < 0)
			fail("cannot open %s: %s", local, strerror(errno));
		memory_create(&s, length, DAT_MEM_PRIV_LOCAL_READ_FLAG, &s.file);
		file_read(local, &s.file, fd);
		close(fd);
	}
	request.length = htobe64(length);

	post_notice_receive(&s);
	offer = connect_to(&s, host, port, &request);
	if (op == OP_PUT && offer.length != length)
		fail("%s does not use our protocol: it offers %" PRIu64 " bytes", host,
		     offer.length);
	if (op == OP_GET)
		memory_create(&s, offer.length, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, &s.file);

	seconds = now();
	move_file(&s, op, &offer);
	seconds = now() - seconds;

	/* The server receives the notice after the writes, so it has the whole file then. */
	send_notice(&s, 0);
	take_completions(&s, 2, "finish the copy");
	must(dat_ep_disconnect(s.ep, DAT_CLOSE_GRACEFUL_FLAG), "disconnect");
	expect_connection_event(&s, DAT_CONNECTION_EVENT_DISCONNECTED, "disconnect", &event);

	if (op == OP_GET) {
		error = file_write(local, s.file.base, offer.length);
		if (error)
			fail("cannot write %s: %s", local, strerror(error));
	}
	printf("%" PRIu64 " bytes by RDMA %s in %.3f s: %.0f MB/s\n", offer.length,
	       op == OP_PUT ? "write" : "read", seconds, (double)offer.length / seconds * 1e-6);
	session_close(&s);
}

/* Returns 0, or an errno if the request cannot be served. */
static int prepare(struct session *s, const struct request *request, struct offer *offer)
{
	enum op op = ntohl(request->op);
	uint64_t length = be64toh(request->length);
	DAT_MEM_PRIV_FLAGS privileges;
	int fd = -1;

	if (!memchr(request->name, 0, sizeof(request->name)) || strchr(request->name, '/'))
		return EACCES;
	if (op != OP_PUT && op != OP_GET)
		return EPROTO;
	if (op == OP_GET) {
		fd = file_open(request->name, &length);
		if (fd < 0)
			return errno;
	}
	/* The client gets only the rights that it needs. */
	if (op == OP_PUT)
		privileges = DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG;
	else
		privileges = DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG;
	memory_create(s, length, privileges, &s->file);
	if (op == OP_GET) {
		file_read(request->name, &s->file, fd);
		close(fd);
	}
	offer->address = htobe64((uintptr_t)s->file.base);
	offer->length = htobe64(length);
	offer->context = htonl(s->file.remote);
	return 0;
}

static void server(char *ia_name, DAT_CONN_QUAL port)
{
	struct request request;
	struct offer offer = {0};
	struct session s;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM param;
	DAT_PSP_HANDLE psp;
	DAT_EVENT event;
	int error;

	session_open(&s, ia_name);
	must(dat_psp_create(s.ia, port, s.conn_evd, DAT_PSP_CONSUMER_FLAG, &psp), "listen");
	printf("%s: listening on conn_qual %" PRIu64 "\n", ia_name, (uint64_t)port);
	fflush(stdout);

	wait_event(s.conn_evd, DAT_TIMEOUT_INFINITE, "wait for a client", &event);
	cr = event.event_data.cr_arrival_event_data.cr_handle;
	must(dat_cr_query(cr, DAT_CR_FIELD_ALL, &param), "query the request");
	if (param.private_data_size < (DAT_COUNT)sizeof(request)) {
		must(dat_cr_reject(cr, 0, NULL), "refuse a request");
		fail("the client does not use our protocol: its request is too short");
	}
	memcpy(&request, param.private_data, sizeof(request));

	error = prepare(&s, &request, &offer);
	if (error) {
		must(dat_cr_reject(cr, 0, NULL), "refuse a request");
		fail("refused to serve \"%.*s\": %s", (int)sizeof(request.name), request.name,
		     strerror(error));
	}
	post_notice_receive(&s);
	must(dat_cr_accept(cr, s.ep, sizeof(offer), &offer), "accept the client");
	expect_connection_event(&s, DAT_CONNECTION_EVENT_ESTABLISHED, "accept the client", &event);

	wait_event(s.dto_evd, DAT_TIMEOUT_INFINITE, "wait for the end of the copy", &event);
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
		fail("the client went away before the copy was done");
	if (ntohl(request.op) == OP_PUT)
		error = file_write(request.name, s.file.base, be64toh(offer.length));
	send_notice(&s, error);
	take_completions(&s, 1, "confirm the copy");
	expect_connection_event(&s, DAT_CONNECTION_EVENT_DISCONNECTED, "see the client leave",
				&event);
	must(dat_psp_free(psp), "stop listening");
	session_close(&s);
	if (error)
		fail("cannot write %s: %s", request.name, strerror(error));
}

static void usage(void)
{
	fputs("usage: rdma_copy [-a IA] [-q CONN_QUAL] serve\n"
	      "       rdma_copy [-a IA] [-q CONN_QUAL] put HOST FILE NAME\n"
	      "       rdma_copy [-a IA] [-q CONN_QUAL] get HOST NAME FILE\n"
	      "IA is ofi unless given, CONN_QUAL 7471. NAME lies in the directory where the server "
	      "runs.\n",
	      stderr);
	exit(2);
}

int main(int argc, char **argv)
{
	char *ia_name = "ofi";
	DAT_CONN_QUAL port = 7471;
	int opt;

	while ((opt = getopt(argc, argv, "+a:q:")) != -1) {
		if (opt == 'a')
			ia_name = optarg;
		else if (opt == 'q')
			port = strtoull(optarg, NULL, 0);
		else
			usage();
	}
	argc -= optind;
	argv += optind;
	if (argc == 1 && !strcmp(argv[0], "serve"))
		server(ia_name, port);
	else if (argc == 4 && !strcmp(argv[0], "put"))
		client(ia_name, port, OP_PUT, argv[1], argv[2], argv[3]);
	else if (argc == 4 && !strcmp(argv[0], "get"))
		client(ia_name, port, OP_GET, argv[1], argv[3], argv[2]);
	else
		usage();
	return 0;
}
