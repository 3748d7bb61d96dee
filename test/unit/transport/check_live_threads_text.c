/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the kernel's texts tell about threads: which states and which processor time show that a
 * thread has left. The linker redirects the files of /proc to this file.
 */
#include "t_hooks.h"
#include "unit.h"

#include "../../../prov/ofi/transport/live_threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

#define MOST 300
#define FDS  64

static struct thread {
	pid_t pid, tid;
	const char *stat; /* NULL: error */
	char status[128];
	int error;
	char text[128];
} all[MOST];

static unsigned int nall, opened, closed, dirs_opened, dirs_closed, allocations;
static bool is_ours[FDS];
static int dir_error;
static struct dofi_live_threads threads;

/* --- /proc --- */

T_STAND_IN int __wrap_open(const char *path, int flags, ...);
int __real_open(const char *path, int flags, ...);
T_STAND_IN int __wrap_close(int fd);
int __real_close(int fd);
T_STAND_IN DIR *__wrap_opendir(const char *path);
T_STAND_IN struct dirent *__wrap_readdir(DIR *dir);
T_STAND_IN int __wrap_closedir(DIR *dir);
T_STAND_IN void *__wrap_realloc(void *block, size_t size);
void *__real_realloc(void *block, size_t size);

static bool no_memory;

void *__wrap_realloc(void *block, size_t size)
{
	if (block != threads.list || size % sizeof(*threads.list))
		return __real_realloc(block, size); /* not of the list */
	allocations++;
	return no_memory ? NULL : __real_realloc(block, size);
}

static const void *list_to_free;

T_STAND_IN void __wrap_free(void *block);
void __real_free(void *block);

void __wrap_free(void *block)
{
	if (block == list_to_free)
		list_to_free = NULL;
	__real_free(block);
}

static bool without_stdin; /* so the next descriptor is 0 */

static int file_of(const char *text)
{
	size_t size = strlen(text);
	int fd = memfd_create("proc", MFD_CLOEXEC);

	ck_assert_int_eq(write(fd, text, size), (ssize_t)size);
	ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
	if (without_stdin && fd) {
		ck_assert_int_eq(dup2(fd, 0), 0);
		__real_close(fd);
		fd = 0;
	}
	ck_assert_int_lt(fd, FDS);
	is_ours[fd] = true;
	opened++;
	return fd;
}

int __wrap_open(const char *path, int flags, ...)
{
	char file[16];
	int pid, tid;

	if (sscanf(path, "/proc/%d/task/%d/%15s", &pid, &tid, file) != 3)
		return __real_open(path, flags);
	ck_assert_int_eq(flags, O_RDONLY | O_CLOEXEC);
	for (unsigned int i = 0; i < nall; i++) {
		if (all[i].pid != pid || all[i].tid != tid)
			continue;
		if (!strcmp(file, "status"))
			return file_of(all[i].status);
		ck_assert_str_eq(file, "stat");
		if (all[i].stat)
			return file_of(all[i].stat);
		errno = all[i].error;
		return -1;
	}
	ck_abort_msg("%s", path);
	return -1;
}

int __wrap_close(int fd)
{
	if (fd >= 0 && fd < FDS && is_ours[fd])
		closed++;
	if (fd >= 0 && fd < FDS)
		is_ours[fd] = false;
	return __real_close(fd);
}

static int listed_pid;
static unsigned int next;

DIR *__wrap_opendir(const char *path)
{
	ck_assert_int_eq(sscanf(path, "/proc/%d/task", &listed_pid), 1);
	ck_assert_str_eq(strrchr(path, '/'), "/task");
	if (dir_error) {
		errno = dir_error;
		return NULL;
	}
	dirs_opened++;
	next = 0;
	return (DIR *)all;
}

/* The two entries of each directory, and then the threads. */
struct dirent *__wrap_readdir(DIR *dir)
{
	static struct dirent entry;

	ck_assert_ptr_eq(dir, all);
	if (next++ < 2) {
		strcpy(entry.d_name, next == 1 ? "." : "..");
		return &entry;
	}
	while (next - 3 < nall && all[next - 3].pid != listed_pid)
		next++;
	if (next - 3 >= nall)
		return NULL;
	snprintf(entry.d_name, sizeof(entry.d_name), "%d", (int)all[next - 3].tid);
	return &entry;
}

int __wrap_closedir(DIR *dir)
{
	ck_assert_ptr_eq(dir, all);
	dirs_closed++;
	return 0;
}

/* --- */

/* Above the largest number that the kernel gives, so none is our own. */
#define PID 5000011
#define TID 5000012

static void set_stat(struct thread *thread, char state, unsigned long long ticks)
{
	/* the name of a program may contain anything */
	snprintf(thread->text, sizeof(thread->text),
		 "%d (a) R 9 (b) %c 1 2 3 4 -1 4194560 7 8 9 10 %llu 99 98 97 20 0 1 0 12345\n",
		 thread->tid, state, ticks);
	thread->stat = thread->text;
}

static void set_sleeps(struct thread *thread, unsigned long long sleeps)
{
	snprintf(thread->status, sizeof(thread->status),
		 "Name:\tx\nvoluntary_ctxt_switches:\t%llu\nnonvoluntary_ctxt_switches:\t77777\n",
		 sleeps);
}

static struct thread *add(pid_t pid, pid_t tid, char state)
{
	struct thread *thread = &all[nall++];

	ck_assert_uint_le(nall, MOST);
	thread->pid = pid;
	thread->tid = tid;
	set_stat(thread, state, 100);
	set_sleeps(thread, 200);
	return thread;
}

static bool note(void)
{
	const pid_t pid = PID;

	return dofi_live_threads_note(&threads, &pid, 1);
}

static void teardown(void)
{
	ck_assert_uint_eq(opened, closed);
	ck_assert_uint_eq(dirs_opened, dirs_closed);
	list_to_free = threads.list;
	dofi_live_threads_free(&threads);
	ck_assert_ptr_null(list_to_free);
	ck_assert_ptr_null(threads.list);
	ck_assert_uint_eq(threads.n + threads.room, 0);
}

/* --- */

START_TEST(the_state_of_a_thread)
{
	static const struct {
		char state;
		bool out;
	} states[] = {{'S', true},  {'I', true},  {'Z', true},  {'X', true},
		      {'R', false}, {'D', false}, {'T', false}, {'t', false}};
	struct thread *thread = add(PID, TID, 'R');

	ck_assert(note());
	ck_assert_uint_eq(threads.n, 1);
	ck_assert_int_eq(threads.list[0].pid, PID);
	ck_assert_int_eq(threads.list[0].tid, TID);
	ck_assert_uint_eq(threads.list[0].user_ticks, 100);
	ck_assert_uint_eq(threads.list[0].sleeps, 200);
	set_stat(thread, states[_i].state, 100);
	ck_assert(dofi_live_threads_are_out(&threads) == states[_i].out);
}
END_TEST

/* A tenth of a second of processor time, or 16 sleeps, while it runs again. */
START_TEST(a_thread_that_runs_for_long_has_left)
{
	struct thread *thread = add(PID, TID, 'R');

	ck_assert(note());
	set_stat(thread, 'R', 109);
	set_sleeps(thread, 215);
	ck_assert(!dofi_live_threads_are_out(&threads));
	set_stat(thread, 'R', 110);
	ck_assert(dofi_live_threads_are_out(&threads));
	set_stat(thread, 'R', 109);
	set_sleeps(thread, 216);
	ck_assert(dofi_live_threads_are_out(&threads));
	set_stat(thread, 'T', 110); /* stopped, perhaps in another section */
	ck_assert(!dofi_live_threads_are_out(&threads));
	ck_assert_uint_eq(opened, closed);
}
END_TEST

/* Its file is gone, or the kernel finds no such thread. */
START_TEST(a_thread_that_has_ended_is_out)
{
	struct thread *thread = add(PID, TID, 'R');

	ck_assert(note());
	thread->stat = NULL;
	thread->error = _i ? ESRCH : ENOENT;
	ck_assert(dofi_live_threads_are_out(&threads));
	ck_assert(note()); /* it ended meanwhile */
	thread->stat = "";
	ck_assert(dofi_live_threads_are_out(&threads));
}
END_TEST

START_TEST(a_thread_whose_state_is_not_known_may_be_inside)
{
	static const char *const texts[] = {NULL, NULL, NULL, "12 x S 1 2 3 4 -1 5 6 7 8 9 10 11",
					    "12 (x) S 1 2 3 4 -1 5 6 7 8 9"};
	static const int errors[] = {EACCES, EPERM, EMFILE, 0, 0};
	struct thread *thread = add(PID, TID, 'R');

	ck_assert(note());
	thread->stat = texts[_i];
	thread->error = errors[_i];
	ck_assert(!dofi_live_threads_are_out(&threads));
	ck_assert(!note());
	ck_assert_uint_eq(opened, closed);
}
END_TEST

/* Each text ends where the kernel's ends, whatever was read before. */
START_TEST(a_text_that_is_shorter_than_the_one_before)
{
	struct thread *thread = add(PID, TID, 'R');
	char text[400];

	ck_assert(note());
	snprintf(text, sizeof(text), "%s%200s) S 1 2 3 4 5 6 7 8 9 10 11 12", thread->text, "");
	thread->stat = text;
	ck_assert(dofi_live_threads_are_out(&threads));
	thread->stat = thread->text;
	ck_assert(!dofi_live_threads_are_out(&threads));
}
END_TEST

/* What does not fit is not read, and the fields are at the beginning. */
START_TEST(a_text_that_is_longer_than_any)
{
	static char text[8192];
	struct thread *thread = add(PID, TID, 'R');

	memset(text, ' ', sizeof(text) - 1);
	memcpy(text, thread->text, strlen(thread->text));
	thread->stat = text;
	ck_assert(note());
	ck_assert_uint_eq(threads.list[0].user_ticks, 100);
	ck_assert(!dofi_live_threads_are_out(&threads));
}
END_TEST

START_TEST(a_process_without_standard_input)
{
	without_stdin = true;
	add(PID, TID, 'R');
	ck_assert(note());
	ck_assert_uint_eq(threads.list[0].sleeps, 200);
	ck_assert_uint_eq(opened, 2);
}
END_TEST

/* Without the count, only the processor time tells. */
START_TEST(a_status_without_the_count_of_sleeps)
{
	struct thread *thread = add(PID, TID, 'R');

	strcpy(thread->status, _i ? "" : "Name:\tvoluntary_ctxt_switches:\t50\nState:\tR\n");
	ck_assert(note());
	ck_assert_uint_eq(threads.list[0].sleeps, UINT64_MAX);
	set_sleeps(thread, 1000);
	ck_assert(!dofi_live_threads_are_out(&threads));
	set_stat(thread, 'R', 110);
	ck_assert(dofi_live_threads_are_out(&threads));
}
END_TEST

START_TEST(each_thread_has_to_be_out)
{
	const pid_t pids[] = {PID, PID + 10};
	struct thread *last;

	add(PID, TID, 'S');
	add(PID, TID + 1, 'S');
	last = add(PID + 10, TID + 10, 'R');
	add(PID + 20, TID + 20, 'R'); /* of a process that nobody asks for */
	ck_assert(dofi_live_threads_note(&threads, pids, 2));
	ck_assert_uint_eq(threads.n, 3);
	ck_assert(!dofi_live_threads_are_out(&threads));
	set_stat(last, 'S', 100);
	ck_assert(dofi_live_threads_are_out(&threads));
	ck_assert(note());
	ck_assert_uint_eq(threads.n, 2); /* only those of the last call */
}
END_TEST

START_TEST(the_caller_is_left_out)
{
	add(PID, (pid_t)syscall(SYS_gettid), 'R');
	ck_assert(note());
	ck_assert_uint_eq(threads.n, 0);
	ck_assert(dofi_live_threads_are_out(&threads));
}
END_TEST

/* A process that has ended has no threads; what cannot be listed may have some. */
START_TEST(a_process_that_cannot_be_listed)
{
	static const struct {
		int error;
		bool ok;
	} errors[] = {{ENOENT, true}, {ESRCH, true}, {EMFILE, false}, {EACCES, false}};

	dir_error = errors[_i].error;
	ck_assert(note() == errors[_i].ok);
	ck_assert_uint_eq(threads.n, 0);
}
END_TEST

/* The list has room for 64, and doubles. */
START_TEST(the_list_grows)
{
	for (int i = 0; i < 64; i++)
		add(PID, TID + i, 'S');
	ck_assert(note());
	ck_assert_uint_eq(allocations, 1);
	add(PID, TID + 64, 'S');
	ck_assert(note());
	ck_assert_uint_eq(allocations, 2);
	while (nall < 128)
		add(PID, TID + (int)nall, 'S');
	ck_assert(note());
	ck_assert_uint_eq(allocations, 2);
	ck_assert_uint_eq(threads.n, 128);
	ck_assert_uint_eq(threads.room, 128);
	ck_assert_int_eq(threads.list[127].tid, TID + 127);
}
END_TEST

START_TEST(a_list_without_memory)
{
	add(PID, TID, 'S');
	no_memory = true;
	ck_assert(!note());
	ck_assert_uint_eq(threads.n, 0);
	no_memory = false;
	ck_assert(note());
	ck_assert_uint_eq(threads.n, 1);
	for (int i = 1; i < 65; i++)
		add(PID, TID + i, 'S');
	no_memory = true;
	ck_assert(!note()); /* the list stays as long as it is */
	ck_assert_uint_eq(threads.room, 64);
	no_memory = false;
	ck_assert(note());
	ck_assert_uint_eq(threads.n, 65);
}
END_TEST

/* After the first of several processes whose state is not known, nothing more is read. */
START_TEST(a_look_that_fails_ends)
{
	const pid_t pids[] = {PID, PID + 10};

	add(PID, TID, 'S')->stat = "?";
	add(PID, TID + 1, 'S');
	add(PID + 10, TID + 10, 'S');
	ck_assert(!dofi_live_threads_note(&threads, pids, 2));
	ck_assert_uint_eq(dirs_opened, 1);
	ck_assert_uint_eq(opened, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("live_threads_text");
	TCase *tc = tcase_create("live_threads_text");

	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_loop_test(tc, the_state_of_a_thread, 0, 8);
	tcase_add_test(tc, a_thread_that_runs_for_long_has_left);
	tcase_add_loop_test(tc, a_thread_that_has_ended_is_out, 0, 2);
	tcase_add_loop_test(tc, a_thread_whose_state_is_not_known_may_be_inside, 0, 5);
	tcase_add_loop_test(tc, a_status_without_the_count_of_sleeps, 0, 2);
	tcase_add_test(tc, a_text_that_is_shorter_than_the_one_before);
	tcase_add_test(tc, a_text_that_is_longer_than_any);
	tcase_add_test(tc, a_process_without_standard_input);
	tcase_add_test(tc, each_thread_has_to_be_out);
	tcase_add_test(tc, the_caller_is_left_out);
	tcase_add_loop_test(tc, a_process_that_cannot_be_listed, 0, 4);
	tcase_add_test(tc, the_list_grows);
	tcase_add_test(tc, a_list_without_memory);
	tcase_add_test(tc, a_look_that_fails_ends);
	suite_add_tcase(suite, tc);
	return t_run(suite);
}
