/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which processes may connect: two with the same key, with different keys, or one of them without a
 * key. If the keys differ, both sides refuse at once, and both logs name the cause and the address
 * of the other side.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"
#include "inside.h"
#include "object/ia.h"
#include "object/mem.h"
#include "t_channel.h"

#define NOBODY  65534u
#define FAST_US (T_LIMIT_US / 4) /* a refusal does not wait for a timeout */

static char dir[] = "/tmp/dat-ofi-auth-XXXXXX";
static const char secret[] = "this text is the secret of the first key";

static const char *path_of(const char *name)
{
	static char path[sizeof(dir) + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

/* --- one side: its parameters and its log --- */

struct side {
	const char *auth, *key; /* key: name of a file below dir */
	const char *home, *job;
};

/* clang-format off */
#define KEY(file)    {"key", file, "home", NULL}
#define AUTO(file)   {"auto", file, "home", NULL}
#define USER(folder) {"user", NULL, folder, NULL}
#define JOB(number)  {"job", "a", "home", number}
#define NONE         {"none", NULL, "home", NULL}
/* clang-format on */

static void use(const struct side *side)
{
	setenv("DAT_OFI_AUTH", side->auth, 1);
	setenv("DAT_OFI_KEY_FILE", side->key ? path_of(side->key) : "", 1);
	setenv("HOME", path_of(side->home), 1);
	if (side->job)
		setenv("SLURM_JOB_ID", side->job, 1);
}

static void log_to(int fd)
{
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	setenv("DAT_OFI_LOG", "warn", 1);
}

static struct dofi_ia *ia_of(const struct t_ia *of)
{
	return ((struct dofi_pz *)of->pz)->obj.ia;
}

static uint64_t refused_by(const struct t_ia *of)
{
	return atomic_load(&ia_of(of)->counters[DOFI_CNT_IA_CM_REFUSED_KEY]);
}

/* --- two sides --- */

static const struct pair {
	struct side client, server;
	const char *client_says, *server_says; /* NULL: they connect */
} pairs[] = {
	{KEY("a"), KEY("a"), NULL, NULL},
	{NONE, NONE, NULL, NULL},
	{AUTO("a"), KEY("a"), NULL, NULL},
	{USER("home"), USER("home"), NULL, NULL},
	{JOB("7"), JOB("7"), NULL, NULL},
	{KEY("a"), KEY("b"), "it has another key", "it has another key"},
	{USER("home"), USER("elsewhere"), "it has another key", "it has another key"},
	{JOB("7"), JOB("8"), "it has another key", "it has another key"},
	{NONE, KEY("a"), "it wants a key", "it has auth=none and this side wants the key"},
	{KEY("a"), NONE, "it has auth=none and this side wants the key", "it wants a key"},
};

static struct t_peer server;
static struct t_ia ia;
static struct t_end end;
static const struct pair *pair;
static int server_log;

/* At the end it reports how many peers it has refused. */
static void serving(struct t_peer *self)
{
	struct t_listener listener;

	log_to(server_log);
	use(&pair->server);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(self, listener.qual);
	if (!pair->server_says) {
		t_ok(t_recv(&end, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		t_ok(t_cr_accept(t_next_cr(&listener), end.ep));
		t_wait_dto(end.recv_evd, end.ep, 1, DAT_DTO_SUCCESS, 64);
	}
	t_peer_hear(self);
	t_no_event(listener.evd);
	t_peer_tell(self, refused_by(&ia));
	t_peer_hear(self);
	t_ia_close(&ia);
}

static void check_connected(void)
{
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	t_ok(t_send(&end, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	t_wait_dto(end.request_evd, end.ep, 2, DAT_DTO_SUCCESS, 64);
}

/* The line with `where` must have the reason, and no line may have the secret. */
static void assert_says(const char *log, const char *where, const char *why)
{
	const char *line = strstr(log, where);

	ck_assert_msg(line, "no \"%s\" in: %s", where, log);
	ck_assert_msg(strstr(line, why), "no \"%s\" in: %s", why, log);
	ck_assert_ptr_null(strstr(log, secret));
}

static void check_refused(int client_log, DAT_CONN_QUAL qual, uint64_t began)
{
	char where[64];

	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, end.ep);
	ck_assert_uint_lt(t_now_us() - began, FAST_US);
	ck_assert_uint_eq(refused_by(&ia), 1);
	snprintf(where, sizeof(where), "no control channel to 127.0.0.1:%u: ", (unsigned int)qual);
	assert_says(t_captured(client_log), where, pair->client_says);
}

START_TEST(same_keys_connect_and_others_are_refused)
{
	int client_log = t_memfile("client");
	DAT_CONN_QUAL qual;
	uint64_t began;

	pair = &pairs[_i];
	server_log = t_memfile("server");
	t_peer_start(&server, serving);
	qual = t_peer_hear(&server);
	log_to(client_log);
	use(&pair->client);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	began = t_now_us();
	t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	if (pair->client_says)
		check_refused(client_log, qual, began);
	else
		check_connected();
	t_peer_tell(&server, 1);
	ck_assert_uint_eq(t_peer_hear(&server), pair->server_says ? 1 : 0);
	if (pair->server_says)
		assert_says(t_captured(server_log),
			    "no control channel from 127.0.0.1:", pair->server_says);
	t_peer_tell(&server, 1);
	t_peer_join(&server);
	t_ia_close(&ia);
}
END_TEST

/* --- another user --- */

static DAT_RETURN try_to_open(void)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE handle;

	return dat_ia_open(t_ia_name(), 8, &async, &handle);
}

/*
 * Another user cannot read the file with root's key, so no IA opens. With a key of its own, its
 * connection is refused.
 */
static void other_user(struct t_peer *self)
{
	const struct side theirs = KEY("a"), own = KEY("nobody's");
	DAT_CONN_QUAL qual = t_peer_hear(self);

	ck_assert(!setgid(NOBODY) && !setuid(NOBODY));
	log_to(server_log);
	use(&theirs);
	t_error2(try_to_open(), DAT_PRIVILEGES_VIOLATION, DAT_INTERNAL_ERROR);
	assert_says(t_captured(server_log), "can't read the key", path_of("a"));
	use(&own);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_NON_PEER_REJECTED, end.ep);
	assert_says(t_captured(server_log), "no control channel to", "it has another key");
	t_ia_close(&ia);
	t_peer_tell(self, 1);
}

START_TEST(other_user_is_refused)
{
	const struct side own = KEY("a");
	struct t_listener listener;

	if (geteuid())
		t_skip("only root can be another user, too");
	if (getenv("SOFTEFA_FILE"))
		t_skip("the software EFA device belongs to one user");
	server_log = t_memfile("stranger");
	t_peer_start(&server, other_user);
	use(&own);
	t_ia_open(&ia);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	t_peer_tell(&server, listener.qual);
	t_peer_hear(&server);
	t_no_event(listener.evd);
	ck_assert_uint_eq(refused_by(&ia), 1);
	t_peer_join(&server);
	t_ia_close(&ia);
}
END_TEST

/* --- files that are not trusted --- */

static const struct {
	const char *name, *says;
} files[] = {
	{"open", "chmod 600"},          {"nobody's", "belongs to user 65534"},
	{"link", "is a symbolic link"}, {"short", "does not have 32 to 4096 bytes"},
	{"missing", "there is no key"}, {"home", "is not a file"},
};

START_TEST(untrusted_key_file_is_refused)
{
	const struct side side = KEY(files[_i].name);
	int log = t_memfile("log");

	if (geteuid() && !strcmp(files[_i].name, "nobody's"))
		t_skip("only root can give files away");
	log_to(log);
	use(&side);
	ck_assert_int_ne(try_to_open(), DAT_SUCCESS);
	assert_says(t_captured(log), "dat-ofi: ", files[_i].says);
}
END_TEST

/* --- many refusals --- */

#define STRANGERS 40

static void dial_with(uint16_t port, const struct dofi_key *key)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint8_t frame[DOFI_WIRE_MAX_FRAME];
	struct t_channel channel;

	memcpy(&to.sin_addr, &((struct sockaddr_in *)ia.attr.ia_address_ptr)->sin_addr,
	       sizeof(to.sin_addr));
	ck_assert(!connect(fd, (struct sockaddr *)&to, sizeof(to)));
	t_channel_init(&channel, fd, DOFI_ROLE_DIALS, key, port);
	ck_assert(t_channel_say_hello(&channel) && t_channel_hear_hello(&channel));
	ck_assert_uint_eq(t_channel_hear(&channel, frame), 0);
	close(fd);
}

START_TEST(refusals_are_logged_at_a_limited_rate)
{
	const struct side own = KEY("a");
	struct t_listener listener;
	struct dofi_key other;
	int log = t_memfile("log"), lines = 0;

	ck_assert_int_eq(dofi_key_load(&other, "stranger", "key", path_of("b")), 0);
	log_to(log);
	use(&own);
	t_ia_open(&ia);
	t_listen(&listener, &ia, DAT_PSP_CONSUMER_FLAG);
	for (int i = 0; i < STRANGERS; i++)
		dial_with((uint16_t)listener.qual, &other);
	ck_assert_uint_eq(refused_by(&ia), STRANGERS);
	for (const char *at = t_captured(log); (at = strstr(at, "no control channel from")); at++)
		lines++;
	/* Five in ten seconds; the test may take longer than that. */
	ck_assert_int_ge(lines, 5);
	ck_assert_int_le(lines, STRANGERS / 2);
	t_no_event(listener.evd);
	t_ia_close(&ia);
}
END_TEST

/* --- cost --- */

#define MOST_ROUNDS 1000

static const struct side costs[2] = {NONE, KEY("a")};
static const struct side *costly;

static void serving_guests(struct t_peer *self)
{
	struct server acceptor;

	use(costly);
	t_ia_open(&ia);
	t_peer_tell(self, server_listen(&acceptor, &ia, 0));
	server_run(&acceptor, self);
	t_ia_close(&ia);
}

/* Microseconds until a connection on a new channel is established. */
static uint64_t time_connection(const struct side *side, DAT_CONN_QUAL qual)
{
	uint64_t began, took;

	use(side);
	t_ia_open(&ia);
	t_end_new(&end, &ia, NULL);
	began = t_now_us();
	t_ok(t_connect_data(end.ep, &ia, qual, T_LIMIT_US, NULL, 0));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, end.ep);
	took = t_now_us() - began;
	t_ok(dat_ep_disconnect(end.ep, DAT_CLOSE_GRACEFUL_FLAG));
	t_wait_conn(end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, end.ep);
	t_end_free(&end);
	t_ia_close(&ia);
	return took;
}

static int by_size(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

#define CALLS 100 /* so few that no other program runs in between, now and then */

static struct dofi_session session;
static struct dofi_key session_key;

static bool start_session(void)
{
	const struct dofi_handshake shake = {.dials_size = 41, .accepts_size = 41};

	return dofi_session_start(&session, &session_key, DOFI_ROLE_DIALS, &shake);
}

static bool seal_message(void)
{
	const struct dofi_msg msg = {.type = DOFI_MSG_REQUEST, .src = 1};
	uint8_t frame[DOFI_WIRE_MAX_FRAME];

	return dofi_wire_seal(frame, dofi_wire_put_msg(frame, &msg), &session);
}

static unsigned int shortest_ns(bool (*work)(void))
{
	uint64_t shortest = UINT64_MAX;
	bool ok = true;

	for (int round = 0; round < 500; round++) {
		uint64_t began = t_now_us(), took;

		for (int i = 0; i < CALLS; i++)
			ok &= work();
		took = t_now_us() - began;
		if (took < shortest)
			shortest = took;
	}
	ck_assert(ok);
	return (unsigned int)(shortest * 1000 / CALLS);
}

static void print_cost_of_cryptography(void)
{
	unsigned int start, seal;

	ck_assert_int_eq(dofi_key_load(&session_key, "cost", "key", path_of("a")), 0);
	start = shortest_ns(start_session);
	seal = shortest_ns(seal_message);
	dofi_key_wipe(&session_key);
	printf("# %u ns to start a session, %u ns to seal a message\n", start, seal);
}

/*
 * Measures with and without a key in turn. Other programs may use the machine, so the fastest
 * connections are compared, and there are more rounds until both kinds had a fast one.
 */
START_TEST(key_does_not_slow_connections)
{
	static uint64_t took[2][MOST_ROUNDS];
	unsigned int least = fault_peers(30, MOST_ROUNDS), rounds = 0;
	uint64_t limit = t_now_us() + T_LIMIT_US;
	struct t_peer servers[2];
	DAT_CONN_QUAL quals[2];
	uint64_t shortest[2] = {UINT64_MAX, UINT64_MAX};

	for (int i = 0; i < 2; i++) {
		costly = &costs[i];
		t_peer_start(&servers[i], serving_guests);
		quals[i] = t_peer_hear(&servers[i]);
	}
	while (rounds < least ||
	       (shortest[1] >= 3 * shortest[0] && rounds < MOST_ROUNDS && t_now_us() < limit)) {
		for (int i = 0; i < 2; i++) {
			took[i][rounds] = time_connection(&costs[i], quals[i]);
			if (took[i][rounds] < shortest[i])
				shortest[i] = took[i][rounds];
		}
		rounds++;
	}
	for (int i = 0; i < 2; i++) {
		qsort(took[i], rounds, sizeof(took[i][0]), by_size);
		t_peer_tell(&servers[i], 1);
		t_peer_join(&servers[i]);
	}
	printf("# median time of a connection on a new channel: %u us without a key, %u us with "
	       "one\n",
	       (unsigned int)took[0][rounds / 2], (unsigned int)took[1][rounds / 2]);
	ck_assert_uint_lt(shortest[1], 3 * shortest[0]);
	print_cost_of_cryptography();
}
END_TEST

/* --- files of all tests --- */

static bool make(const char *name, const char *content, mode_t mode)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	bool made = fd >= 0 && write(fd, content, strlen(content)) == (ssize_t)strlen(content) &&
		    !fchmod(fd, mode);

	if (fd >= 0)
		close(fd);
	return made;
}

static bool make_files(void)
{
	char target[sizeof(dir) + 64];

	if (!mkdtemp(dir) || chmod(dir, 0711) || !make("a", secret, 0600) ||
	    !make("b", "this text is the secret of the second key", 0600) ||
	    !make("nobody's", "this text is the secret of another user's key", 0600) ||
	    !make("open", secret, 0640) || !make("short", "too short", 0600))
		return false;
	snprintf(target, sizeof(target), "%s", path_of("a"));
	return !symlink(target, path_of("link")) && !mkdir(path_of("home"), 0700) &&
	       !mkdir(path_of("elsewhere"), 0700) &&
	       (geteuid() || !chown(path_of("nobody's"), NOBODY, NOBODY));
}

static void remove_files(void)
{
	static const char *const names[] = {
		"a",     "b",    "nobody's",          "open",
		"short", "link", "home/.dat-ofi/key", "elsewhere/.dat-ofi/key"};
	static const char *const folders[] = {"home/.dat-ofi", "elsewhere/.dat-ofi", "home",
					      "elsewhere", ""};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(path_of(names[i]));
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		rmdir(path_of(folders[i]));
}

int main(void)
{
	Suite *suite = suite_create("auth");
	TCase *tcase = tcase_create("auth"), *cost = tcase_create("cost");
	int failed = EXIT_FAILURE;

	fault_use_linked_provider();
	suite_add_tcase(suite, tcase);
	tcase_add_loop_test(tcase, same_keys_connect_and_others_are_refused, 0,
			    sizeof(pairs) / sizeof(*pairs));
	tcase_add_test(tcase, other_user_is_refused);
	tcase_add_loop_test(tcase, untrusted_key_file_is_refused, 0,
			    sizeof(files) / sizeof(*files));
	tcase_add_test(tcase, refusals_are_logged_at_a_limited_rate);
	suite_add_tcase(suite, cost);
	tcase_add_test(cost, key_does_not_slow_connections);
	if (make_files())
		failed = t_run(suite);
	else
		perror("# no files for keys");
	remove_files();
	return failed;
}
