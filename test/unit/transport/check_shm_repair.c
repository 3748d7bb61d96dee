/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Our region, and processes that take its lock or an entry of its queue. The repair releases those
 * of a killed process, and never those of a living process.
 */
#include "t_hooks.h"
#include "t_pidfd.h"
#include "unit.h"

#include "../../../prov/ofi/fabric/quirks.h"
#include "../../../prov/ofi/object/ia.h"
#include "../../../prov/ofi/transport/shm_repair.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define SIZE      (1u << 18)
#define CMD_QUEUE 0x400u
#define RESP_RING 0x20000u
#define INJECT    0x28000u
#define SAR       0x30000u
#define ENTRIES   8u
#define ENTRY     576u
#define LIMIT_S   60

/* Layout 8. */
struct head {
	uint8_t number, pad0[3];
	int32_t pid;
	uint8_t pad1[48];
	pthread_spinlock_t lock;
	uint64_t map, total, cmd_queue, resp_ring, inject, sar;
};

enum { HOLDER, CLAIMER, BYSTANDER, OUTDATED /* with another libfabric */, NEWEST };

static struct dofi_ia ia;
static struct head *own;
static char own_name[64];

struct process {
	pid_t pid;
	char name[64];
	struct dofi_shm_peer *peer;
};

static void path_of(char *path, const char *name)
{
	snprintf(path, 96, "/dev/shm/%s", name + strlen("fi_shm://"));
}

static struct head *map_region(const char *name, bool create)
{
	struct head *head;
	char path[96];
	int fd;

	path_of(path, name);
	fd = open(path, create ? O_CREAT | O_EXCL | O_RDWR : O_RDWR, 0600);
	ck_assert_msg(fd >= 0, "%s: %m", path);
	if (create)
		ck_assert_int_eq(ftruncate(fd, SIZE), 0);
	head = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ck_assert(head != MAP_FAILED);
	close(fd);
	return head;
}

static void fill_pool(struct head *head, uint64_t offset, uint64_t buffer_size)
{
	uint64_t *pool = (void *)((char *)head + offset);
	int16_t *rest = (void *)&pool[3];

	pool[1] = buffer_size;
	pool[2] = ENTRIES;
	rest[0] = ENTRIES;
	for (int16_t i = 0; i < (int16_t)ENTRIES; i++)
		rest[2 + i] = (int16_t)(i + 1 < (int16_t)ENTRIES ? i + 1 : -1);
}

static struct head *make_region(char *name, pid_t pid)
{
	struct head *head;
	int32_t *size;

	snprintf(name, 64, "fi_shm://%d:%u:27182", (int)pid, (unsigned int)geteuid());
	head = map_region(name, true);
	*head = (struct head){.number = 8,
			      .pid = pid,
			      .total = SIZE,
			      .cmd_queue = CMD_QUEUE,
			      .resp_ring = RESP_RING,
			      .inject = INJECT,
			      .sar = SAR};
	ck_assert_int_eq(pthread_spin_init(&head->lock, PTHREAD_PROCESS_SHARED), 0);
	fill_pool(head, INJECT, 4096);
	fill_pool(head, SAR, 32768);
	size = (void *)((char *)head + CMD_QUEUE + 128);
	size[0] = ENTRIES;
	size[1] = ENTRIES - 1;
	for (uint64_t i = 0; i < ENTRIES; i++)
		*(uint64_t *)(void *)((char *)head + CMD_QUEUE + 192 + i * ENTRY) = i;
	return head;
}

/* The members of the layout of 1.17 that lie where those of layout 8 are. */
static void become_layout_4(struct head *head)
{
	head->number = 4;
	head->map = CMD_QUEUE;
	head->total = RESP_RING;
	head->cmd_queue = INJECT;
	head->resp_ring = SAR;
}

/* --- layout 10: commands are memory of the initiator's --- */

#define STACK     0x38000u
#define COMMANDS  (STACK + 1024u)
#define COMMAND   368u
#define RETURNS   0x3a000u
#define PEERS     0x3c000u
#define BASE      0x10000000u
#define FAILED    4u
#define COME_BACK 8u

static void put(struct head *head, size_t offset, uint64_t value, size_t size)
{
	memcpy((char *)head + offset, &value, size);
}

static uint64_t get(const struct head *head, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)head + offset, sizeof(value));
	return value;
}

static void fill_queue(struct head *head, size_t queue, size_t entry)
{
	put(head, queue + 128, ENTRIES, 4);
	put(head, queue + 132, ENTRIES - 1, 4);
	for (uint64_t i = 0; i < ENTRIES; i++)
		put(head, queue + 192 + i * entry, i, 8);
}

static void become_layout_10(struct head *head)
{
	static const struct {
		size_t offset;
		uint64_t value;
	} fields[] = {{48, BASE},   {56, SIZE},     {128, CMD_QUEUE}, {136, INJECT},
		      {144, STACK}, {152, RETURNS}, {160, SAR},       {168, PEERS}};
	pid_t pid = head->pid;

	memset((void *)head, 0, CMD_QUEUE);
	put(head, 0, 10, 1);
	put(head, 40, (uint64_t)pid, 4);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		put(head, fields[i].offset, fields[i].value, 8);
	ck_assert_int_eq(pthread_spin_init((void *)((char *)head + 64), PTHREAD_PROCESS_SHARED), 0);
	fill_queue(head, CMD_QUEUE, 384);
	fill_queue(head, RETURNS, 64);
	fill_pool(head, STACK, COMMAND);
	put(head, STACK, COMMANDS - STACK, 8);
}

static void remove_region(const char *name)
{
	char path[96];

	path_of(path, name);
	unlink(path);
}

/* --- a process that cannot be watched; the linker redirects this call --- */

static bool no_watch;

int __wrap_dofi_process_watch_open(struct dofi_process_watch *watch, pid_t pid);
int __real_dofi_process_watch_open(struct dofi_process_watch *watch, pid_t pid);

int __wrap_dofi_process_watch_open(struct dofi_process_watch *watch, pid_t pid)
{
	if (!no_watch)
		return __real_dofi_process_watch_open(watch, pid);
	*watch = DOFI_NO_PROCESS;
	return -EMFILE;
}

/* --- what the engine calls --- */

static struct dofi_shm_peer *watch(const char *name)
{
	struct dofi_shm_peer *peer;

	dofi_lock(&ia.engine.lock);
	peer = dofi_shm_repair_watch(&ia, (const uint8_t *)name);
	dofi_unlock(&ia.engine.lock);
	return peer;
}

static void stop_using(struct dofi_shm_peer *peer)
{
	dofi_lock(&ia.engine.lock);
	dofi_shm_repair_use(&ia, peer, false);
	dofi_unlock(&ia.engine.lock);
}

static void forget(struct dofi_shm_peer *peer, bool closed)
{
	dofi_lock(&ia.engine.lock);
	dofi_shm_repair_forget(&ia, peer, closed);
	dofi_unlock(&ia.engine.lock);
}

/* --- the other processes --- */

static _Atomic uint64_t *write_pos(void)
{
	return (void *)((char *)own + CMD_QUEUE);
}

static _Atomic uint64_t *first_entry(void)
{
	return (void *)((char *)own + CMD_QUEUE + 192);
}

static void be(int role, int fd)
{
	own = map_region(own_name, false);
	if (role == HOLDER)
		pthread_spin_lock(&own->lock);
	if (role == CLAIMER)
		atomic_fetch_add(write_pos(), 1);
	if (write(fd, "", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* Starts a process and returns when it holds its lock or entry. It is a watched peer then. */
static struct process start(int role)
{
	struct process process;
	int fds[2];
	char byte;

	ck_assert_int_eq(pipe(fds), 0);
	process.pid = fork();
	ck_assert_int_ge(process.pid, 0);
	if (!process.pid) {
		char name[64];
		struct head *head;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		head = make_region(name, getpid());
		if (role == OUTDATED)
			become_layout_4(head);
		if (role == NEWEST)
			become_layout_10(head);
		be(role, fds[1]);
	}
	ck_assert_int_eq(read(fds[0], &byte, 1), 1);
	close(fds[0]);
	close(fds[1]);
	snprintf(process.name, sizeof(process.name), "fi_shm://%d:%u:27182", (int)process.pid,
		 (unsigned int)geteuid());
	process.peer = watch(process.name);
	ck_assert_ptr_nonnull(process.peer);
	return process;
}

static void stop(const struct process *process)
{
	int status;

	ck_assert_int_eq(kill(process->pid, SIGSTOP), 0);
	ck_assert_int_eq(waitpid(process->pid, &status, WUNTRACED), process->pid);
}

static void end(const struct process *process)
{
	ck_assert_int_eq(kill(process->pid, SIGKILL), 0);
	ck_assert_int_eq(waitpid(process->pid, NULL, 0), process->pid);
	remove_region(process->name);
}

/* --- our process --- */

static bool own_is_newest;

static void open_own(void)
{
	ia.quirks = DOFI_QUIRK_DEAD_LOCKS;
	snprintf(ia.name, sizeof(ia.name), "test");
	own = make_region(own_name, getpid());
	if (own_is_newest)
		become_layout_10(own);
	dofi_shm_repair_open(&ia, (const uint8_t *)own_name);
	ck_assert_ptr_nonnull(ia.shm_repair);
}

static void close_own(void)
{
	dofi_shm_repair_close(&ia);
	ck_assert_ptr_null(ia.shm_repair);
	remove_region(own_name);
}

static bool lock_is_free(void)
{
	if (pthread_spin_trylock(&own->lock))
		return false;
	pthread_spin_unlock(&own->lock);
	return true;
}

static void await(bool (*condition)(void))
{
	time_t limit = time(NULL) + LIMIT_S;

	while (!condition()) {
		ck_assert_msg(time(NULL) < limit, "it never came");
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

static bool is_passed_over(void)
{
	return atomic_load(first_entry()) == 1;
}

/* Returns whether the condition holds for longer than a repair takes. */
static bool stays(bool (*condition)(void))
{
	for (int i = 0; i < 500; i++) {
		if (condition())
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return true;
}

/* Without standard input, the first peer's descriptor is 0. */
START_TEST(lock_of_a_killed_process_is_released)
{
	struct process holder, bystander;

	open_own();
	t_no_pidfd = _i == 2 ? ENOSYS : 0;
	if (_i == 1)
		close(STDIN_FILENO);
	holder = start(HOLDER);
	bystander = start(BYSTANDER);
	ck_assert(!lock_is_free());
	end(&holder);
	await(lock_is_free);
	end(&bystander);
	close_own();
}
END_TEST

START_TEST(entry_of_a_killed_process_is_released)
{
	struct process claimer;

	open_own();
	claimer = start(CLAIMER);
	ck_assert(!is_passed_over());
	end(&claimer);
	await(is_passed_over);
	ck_assert(lock_is_free());
	close_own();
}
END_TEST

/* A stopped process may continue later, so it keeps its lock when another process dies. */
START_TEST(a_stopped_process_keeps_its_lock)
{
	struct process keeper, other;

	open_own();
	keeper = start(_i);
	stop(&keeper);
	other = start(BYSTANDER);
	end(&other);
	ck_assert(stays(_i == HOLDER ? lock_is_free : is_passed_over));
	end(&keeper);
	await(_i == HOLDER ? lock_is_free : is_passed_over);
	close_own();
}
END_TEST

/* --- peers whose death cannot be noticed --- */

/*
 * Its region does not exist, or the process with the region's number has ended or has not mapped
 * it, or its layout is another one, or nothing tells of its end.
 */
enum { NO_REGION, ENDED, NOT_MAPPED, OTHER_LAYOUT, NO_WATCH, REASONS };

static pid_t pid_of_none(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return pid;
}

static struct process start_unknown(int reason)
{
	struct process process = {.name = "fi_shm://no such region"};

	if (reason == OTHER_LAYOUT)
		return start(OUTDATED);
	if (reason == NO_WATCH) {
		no_watch = true;
		process = start(BYSTANDER);
		no_watch = false;
		return process;
	}
	if (reason == ENDED)
		make_region(process.name, pid_of_none());
	if (reason == NOT_MAPPED)
		make_region(process.name, getppid());
	process.peer = watch(process.name);
	ck_assert_ptr_nonnull(process.peer);
	return process;
}

static void end_unknown(const struct process *process)
{
	if (process->pid)
		end(process);
	else
		remove_region(process->name);
}

/* While its death is not known, it may hold the lock. */
START_TEST(a_peer_that_cannot_be_watched_keeps_its_lock)
{
	struct process unknown, holder;

	open_own();
	unknown = start_unknown(_i);
	holder = start(HOLDER);
	end(&holder);
	ck_assert(stays(lock_is_free));
	stop_using(unknown.peer);
	await(lock_is_free);
	end_unknown(&unknown);
	close_own();
}
END_TEST

/* The program's descriptors, also later ones, are not closed with the peer. */
START_TEST(a_peer_that_cannot_be_watched_has_no_descriptor)
{
	struct process unknown;
	int first, later;

	open_own();
	ck_assert_int_eq(dup2(eventfd(0, 0), STDIN_FILENO), STDIN_FILENO);
	first = eventfd(0, 0);
	close(first);
	unknown = start_unknown(_i);
	ck_assert_int_ge(fcntl(STDIN_FILENO, F_GETFD), 0);
	later = eventfd(0, 0);
	ck_assert_int_eq(later, first);
	forget(unknown.peer, true);
	ck_assert_int_ge(fcntl(STDIN_FILENO, F_GETFD), 0);
	ck_assert_int_ge(fcntl(later, F_GETFD), 0);
	end_unknown(&unknown);
	close_own();
}
END_TEST

/* Another IA of this process, or a peer that presents our own address. */
START_TEST(our_own_process_is_not_watched)
{
	struct dofi_shm_peer *peer;
	int next;

	open_own();
	next = eventfd(0, 0);
	close(next);
	for (int i = 0; i < 5000; i++) {
		peer = watch(own_name);
		ck_assert_ptr_nonnull(peer);
		ck_assert_int_eq(fcntl(next, F_GETFD), -1);
		stop_using(peer);
		forget(peer, false);
	}
	close_own();
}
END_TEST

/* Until the thread that repairs has woken the one that drives the engine. */
static void await_kick(void)
{
	struct pollfd kick = {.fd = ia.engine.wake_fd, .events = POLLIN};
	uint64_t count;

	ck_assert_msg(poll(&kick, 1, LIMIT_S * 1000) == 1, "nothing was repaired");
	ck_assert_int_eq(read(kick.fd, &count, sizeof(count)), sizeof(count));
}

/* The requests that wait for a dead peer end when the engine lets go of it, however late. */
START_TEST(a_dead_peer_is_settled_when_it_is_used_no_more)
{
	struct process other;

	ia.engine.wake_fd = eventfd(0, 0);
	atomic_store(&ia.wait.asleep, 1);
	open_own();
	other = start(BYSTANDER);
	await_kick();
	end(&other);
	await_kick(); /* then the thread sleeps until it is woken */
	stop_using(other.peer);
	await_kick();
	close_own();
}
END_TEST

/* A command of ours that the peer has not given back. */
static void put_command(size_t i, uint16_t peer, const struct process *process)
{
	size_t command = COMMANDS + i * COMMAND;

	put(own, PEERS + peer * 64u + 16, (uintptr_t)map_region(process->name, false), 8);
	put(own, command + 10, COME_BACK, 1);
	put(own, command + 14, peer, 2);
	put(own, command + 48, 1000 + i, 8);
	put(own, STACK + 26, i + 1, 2); /* the first that is free */
}

static bool are_back(void)
{
	return get(own, RETURNS) == 2 && get(own, RETURNS + 192 + 64) == 2;
}

static bool is_back(size_t i)
{
	size_t command = COMMANDS + i * COMMAND;

	return (get(own, RETURNS + 208) == BASE + command ||
		get(own, RETURNS + 208 + 64) == BASE + command) &&
	       *((char *)own + command + 10) == (FAILED | COME_BACK);
}

/* Of each one, however many have died; not while a connection uses it. */
START_TEST(commands_at_dead_peers_come_back)
{
	struct process others[2];

	own_is_newest = true;
	open_own();
	for (uint16_t i = 0; i < 2; i++) {
		others[i] = start(NEWEST);
		put_command(i, 3 + i, &others[i]);
	}
	for (int i = 0; i < 2; i++)
		end(&others[i]);
	ck_assert(stays(are_back));
	ck_assert_uint_eq(get(own, RETURNS), 0);
	for (int i = 0; i < 2; i++) {
		stop_using(others[i].peer);
		forget(others[i].peer, false);
	}
	await(are_back);
	ck_assert(is_back(0) && is_back(1));
	close_own();
}
END_TEST

/* It is the same process, and its death is still noticed. */
START_TEST(a_forgotten_peer_that_returns_is_the_same)
{
	struct process holder;

	open_own();
	holder = start(HOLDER);
	stop_using(holder.peer);
	forget(holder.peer, false);
	ck_assert_ptr_eq(watch(holder.name), holder.peer);
	end(&holder);
	await(lock_is_free);
	close_own();
}
END_TEST

/* How often this process has mapped the region. */
static int mappings(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int n = 0;

	ck_assert_ptr_nonnull(maps);
	while (fgets(line, sizeof(line), maps))
		n += strstr(line, name + strlen("fi_shm://")) != NULL;
	fclose(maps);
	return n;
}

static struct process gone;

static bool is_unmapped(void)
{
	return !mappings(gone.name);
}

/* At once if its IA has closed, or else when its process ends; at the latest with our own IA. */
START_TEST(a_forgotten_peer_leaves_nothing)
{
	int next = eventfd(0, 0);

	close(next);
	open_own();
	ck_assert_int_eq(mappings(own_name), 2); /* one is the test's */
	for (int i = 0; i < 3; i++) {
		gone = start(BYSTANDER);
		ck_assert(!is_unmapped());
		if (i < 2)
			forget(gone.peer, i == 0);
		ck_assert_int_eq(is_unmapped(), i == 0);
		if (i < 2)
			end(&gone);
		if (i == 1)
			await(is_unmapped);
	}
	close_own();
	ck_assert(is_unmapped());
	ck_assert_int_eq(mappings(own_name), 1);
	ck_assert_int_eq(eventfd(0, 0), next);
	end(&gone);
}
END_TEST

START_TEST(a_repair_that_cannot_start_leaves_nothing)
{
	int next = eventfd(0, 0);
	char name[64];

	close(next);
	make_region(name, getppid());
	ia.quirks = DOFI_QUIRK_DEAD_LOCKS;
	dofi_shm_repair_open(&ia, (const uint8_t *)name);
	remove_region(name);
	ck_assert_ptr_null(ia.shm_repair);
	ck_assert_int_eq(mappings(name), 1); /* the test's */
	ck_assert_int_eq(eventfd(0, 0), next);
}
END_TEST

START_TEST(more_peers_than_can_be_watched)
{
	int n = 0;

	open_own();
	while (n < 5000 && watch("fi_shm://no such region"))
		n++;
	ck_assert_int_eq(n, 1024);
	close_own();
}
END_TEST

START_TEST(a_region_of_another_process_is_not_repaired)
{
	char name[64];

	make_region(name, getppid());
	ia.quirks = DOFI_QUIRK_DEAD_LOCKS;
	dofi_shm_repair_open(&ia, (const uint8_t *)name);
	remove_region(name);
	ck_assert_ptr_null(ia.shm_repair);
}
END_TEST

/* The region of the dead process has no room, and its lock is free. */
START_TEST(region_of_a_killed_process_accepts_nothing)
{
	struct process other;
	struct head *region;

	open_own();
	other = start(BYSTANDER);
	region = map_region(other.name, false);
	pthread_spin_lock(&region->lock);
	end(&other);
	while (pthread_spin_trylock(&region->lock))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	ck_assert_int_eq(*(int16_t *)(void *)((char *)region + INJECT + 26), -1);
	close_own();
}
END_TEST

START_TEST(lock_of_a_removed_peer_is_released)
{
	struct process holder, closed;

	open_own();
	closed = start(BYSTANDER);
	forget(closed.peer, true);
	holder = start(HOLDER);
	forget(holder.peer, false);
	end(&closed);
	end(&holder);
	await(lock_is_free);
	close_own();
}
END_TEST

START_TEST(a_fabric_without_such_locks)
{
	ia.quirks = 0;
	dofi_shm_repair_open(&ia, (const uint8_t *)"fi_shm://1:1:1");
	ck_assert_ptr_null(ia.shm_repair);
	ck_assert_ptr_null(watch("fi_shm://1:1:1"));
	stop_using(NULL);
	forget(NULL, false);
	dofi_shm_repair_close(&ia);
	ia.quirks = DOFI_QUIRK_DEAD_LOCKS;
	dofi_shm_repair_open(&ia, (const uint8_t *)"fi_shm://no such region");
	ck_assert_ptr_null(ia.shm_repair);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("shm_repair");
	TCase *tcase = tcase_create("shm_repair");

	suite_add_tcase(suite, tcase);
	tcase_set_timeout(tcase, 2 * LIMIT_S);
	tcase_add_loop_test(tcase, lock_of_a_killed_process_is_released, 0, 3);
	tcase_add_test(tcase, entry_of_a_killed_process_is_released);
	tcase_add_loop_test(tcase, a_stopped_process_keeps_its_lock, HOLDER, CLAIMER + 1);
	tcase_add_loop_test(tcase, a_peer_that_cannot_be_watched_keeps_its_lock, 0, REASONS);
	tcase_add_loop_test(tcase, a_peer_that_cannot_be_watched_has_no_descriptor, 0, REASONS);
	tcase_add_test(tcase, our_own_process_is_not_watched);
	tcase_add_test(tcase, a_dead_peer_is_settled_when_it_is_used_no_more);
	tcase_add_test(tcase, commands_at_dead_peers_come_back);
	tcase_add_test(tcase, a_forgotten_peer_that_returns_is_the_same);
	tcase_add_test(tcase, a_forgotten_peer_leaves_nothing);
	tcase_add_test(tcase, a_repair_that_cannot_start_leaves_nothing);
	tcase_add_test(tcase, more_peers_than_can_be_watched);
	tcase_add_test(tcase, a_region_of_another_process_is_not_repaired);
	tcase_add_test(tcase, region_of_a_killed_process_accepts_nothing);
	tcase_add_test(tcase, lock_of_a_removed_peer_is_released);
	tcase_add_test(tcase, a_fabric_without_such_locks);
	return t_run(suite);
}
