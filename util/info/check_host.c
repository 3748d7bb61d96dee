/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Limits, memory, addresses and names of the host. */
#include "info/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define KIB           (UINT64_C(1) << 10)
#define MIB           (UINT64_C(1) << 20)

/* The traditional default limit; too little for one queue of a card. */
#define SMALL_MEMLOCK (64 * KIB)
/* More than the shm fabric takes for an IA. */
#define SMALL_SHM     (64 * MIB)

void check_memlock(struct check *check)
{
	bool rdma = check_has_rdma(check);
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit)) {
		check_say(check, CHECK_WARN, "ulimit -l should tell it",
			  "the limit of locked memory can't be read: %s", strerror(errno));
	} else if (limit.rlim_cur == RLIM_INFINITY) {
		check_say(check, CHECK_OK, NULL, "locked memory is not limited");
	} else if (limit.rlim_cur <= SMALL_MEMLOCK || rdma) {
		check_say(check, rdma && limit.rlim_cur <= SMALL_MEMLOCK ? CHECK_FAIL : CHECK_WARN,
			  "set \"memlock unlimited\", soft and hard, in /etc/security/limits.conf, "
			  "LimitMEMLOCK=infinity for services and job daemons, --ulimit memlock=-1 "
			  "for containers",
			  "locked memory is limited to %llu KiB; %s",
			  (unsigned long long)(limit.rlim_cur / KIB),
			  rdma ? "registered memory and queues of the cards count, and opening an "
				 "IA or dat_lmr_create fails beyond it"
			       : "enough for tcp, not for a card");
	} else {
		check_say(check, CHECK_OK, NULL,
			  "locked memory is limited to %llu KiB, which software fabrics don't mind",
			  (unsigned long long)(limit.rlim_cur / KIB));
	}
}

void check_shared_memory(struct check *check)
{
	static const char remedy[] = "mount a larger tmpfs there; --shm-size for containers";
	struct statvfs fs;
	char path[PATH_MAX];
	uint64_t room;

	snprintf(path, sizeof(path), "%s/dev/shm", check->root);
	if (statvfs(path, &fs) || access(path, W_OK)) {
		check_say(check, CHECK_WARN, "mount a tmpfs there to which all may write",
			  "/dev/shm can't be used (%s); shm and EFA within a host need it",
			  strerror(errno));
		return;
	}
	room = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (room < SMALL_SHM)
		check_say(check, CHECK_WARN, remedy,
			  "/dev/shm has %llu MiB left; each IA over shm takes 16",
			  (unsigned long long)(room / MIB));
	else
		check_say(check, CHECK_OK, NULL, "/dev/shm has %llu MiB left",
			  (unsigned long long)(room / MIB));
}

/* ---- copies between processes ---- */

/* Whether seccomp forbids copies: a filter is applied before the kernel checks the process. */
static bool is_filtered(void)
{
	char from = 1, to = 0;
	struct iovec remote = {&from, 1}, local = {&to, 1};

	return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != 1;
}

#define TWICE "connections within this host copy data twice"

/*
 * Copies between processes of this host. Without them, data of connections within the host are
 * copied twice: a warning if same_host asks for copies.
 */
void check_remote_copies(struct check *check)
{
	const char *same_host = getenv("DAT_OFI_SAME_HOST");
	bool wanted = same_host && *same_host && strcmp(same_host, "fabric") != 0 &&
		      strcmp(same_host, "rings") != 0;
	bool traced = wanted && !strcmp(same_host, "ptracer");
	enum check_verdict bad = wanted ? CHECK_WARN : CHECK_OK;
	char scope[16];

	check_read(check, "/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (is_filtered())
		check_say(check, bad, wanted ? "--cap-add=SYS_PTRACE for containers" : NULL,
			  "seccomp forbids process_vm_readv: " TWICE);
	else if (*scope == '1' && traced)
		check_say(check, CHECK_OK, NULL,
			  "ptrace_scope is 1, and same_host=ptracer allows copies");
	else if (*scope == '1')
		check_say(check, bad,
			  wanted ? "same_host=ptracer, or sysctl kernel.yama.ptrace_scope=0" : NULL,
			  "ptrace_scope is 1: " TWICE);
	else if (*scope && *scope != '0')
		check_say(check, bad, wanted ? "sysctl kernel.yama.ptrace_scope=0" : NULL,
			  "ptrace_scope is %s: " TWICE, scope);
	else
		check_say(check, CHECK_OK, NULL, "processes of one user may copy from each other");
}

/* ---- fork and huge pages ---- */

/*
 * Since Linux 5.12 a child gets copies of registered pages at fork, so programs need no
 * preparation.
 */
static bool kernel_copies_on_fork(const struct check *check)
{
	unsigned int major = 0, minor = 0;
	char text[64];

	check_read(check, "/proc/sys/kernel/osrelease", text, sizeof(text));
	return sscanf(text, "%u.%u", &major, &minor) != 2 || major > 5 ||
	       (major == 5 && minor >= 12);
}

static bool has_huge_pages(const struct check *check)
{
	struct check_list sizes;
	unsigned long total = 0;
	char path[PATH_MAX], text[32];

	check_folder(check, "/sys/kernel/mm/hugepages", &sizes);
	for (size_t i = 0; i < sizes.count; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/%s/nr_hugepages",
			 sizes.names[i]);
		check_read(check, path, text, sizeof(text));
		total += strtoul(text, NULL, 10);
	}
	check_list_free(&sizes);
	return total;
}

void check_fork(struct check *check)
{
	bool safe = check_env("RDMAV_FORK_SAFE") || check_env("IBV_FORK_SAFE") ||
		    check_env("FI_EFA_FORK_SAFE");

	if (check_env("FI_EFA_FORK_SAFE") && check_env("FI_EFA_USE_HUGE_PAGE"))
		check_say(check, CHECK_FAIL, "unset one of the two",
			  "FI_EFA_FORK_SAFE and FI_EFA_USE_HUGE_PAGE are both set and exclude each "
			  "other");
	else if (safe && has_huge_pages(check) && !check_env("RDMAV_HUGEPAGES_SAFE"))
		check_say(check, CHECK_WARN, "set RDMAV_HUGEPAGES_SAFE=1 as well",
			  "fork support of rdma-core is on and the system has huge pages: "
			  "registering memory in them fails");
	else if (!safe && check_has_rdma(check) && !kernel_copies_on_fork(check))
		check_say(check, CHECK_WARN,
			  "set RDMAV_FORK_SAFE=1 for programs that fork after dat_ia_open",
			  "this kernel is older than 5.12: registered memory of a program that "
			  "forks goes astray");
	else
		check_say(check, CHECK_OK, NULL, "settings for fork and huge pages agree");
}

/* ---- addresses ---- */

static bool is_loopback(const struct sockaddr *addr)
{
	if (addr->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)addr)->sin_addr.s_addr) >>
			       24 ==
		       IN_LOOPBACKNET;
	return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr);
}

static bool is_usable(const struct ifaddrs *ifa)
{
	const struct sockaddr *addr = ifa->ifa_addr;

	if (!addr || !(ifa->ifa_flags & IFF_UP))
		return false;
	if (addr->sa_family == AF_INET)
		return true;
	return addr->sa_family == AF_INET6 &&
	       !IN6_IS_ADDR_LINKLOCAL(
		       &((const struct sockaddr_in6 *)(const void *)addr)->sin6_addr);
}

void check_addresses(struct check *check)
{
	size_t own = 0, loopback = 0;
	struct ifaddrs *all;
	char names[512] = "";

	if (getifaddrs(&all)) {
		check_say(check, CHECK_FAIL, "ip address should tell them",
			  "the addresses of this host can't be read: %s", strerror(errno));
		return;
	}
	for (const struct ifaddrs *ifa = all; ifa; ifa = ifa->ifa_next) {
		char text[64];
		size_t used = strlen(names);

		if (!is_usable(ifa))
			continue;
		if (is_loopback(ifa->ifa_addr)) {
			loopback++;
			continue;
		}
		snprintf(names + used, sizeof(names) - used, "%s%s %s", own++ ? ", " : "",
			 ifa->ifa_name, util_address_text(ifa->ifa_addr, text, sizeof(text)));
	}
	freeifaddrs(all);
	if (own)
		check_say(check, CHECK_OK, NULL, "%s", names);
	else if (loopback)
		check_say(check, CHECK_WARN,
			  "bring a network device up; for containers, use the network of the host",
			  "only the loopback has an address: peers are those on this host");
	else
		check_say(
			check, CHECK_FAIL,
			"bring a network device up (ip link set lo up for programs of one host)",
			"no device that is up has an IP address; connections are arranged over TCP "
			"on all fabrics, so none can be made");
}

/* ---- the name of the host ---- */

/* Finds the first address of the host in root/etc/hosts. */
static bool find_in_hosts(const struct check *check, const char *host, char *address, size_t size)
{
	char path[PATH_MAX], line[1024], *save;
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/etc/hosts", check->root);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *first;

		line[strcspn(line, "#\n")] = '\0';
		first = strtok_r(line, " \t", &save);
		if (!first)
			continue;
		snprintf(address, size, "%s", first);
		for (char *word = strtok_r(NULL, " \t", &save); word && !found;
		     word = strtok_r(NULL, " \t", &save))
			found = !strcmp(word, host);
	}
	if (file)
		fclose(file);
	return found;
}

static bool resolve(const char *host, char *address, size_t size)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list;

	if (getaddrinfo(host, NULL, &hints, &list))
		return false;
	util_address_text(list->ai_addr, address, size);
	freeaddrinfo(list);
	return true;
}

void check_host_name(struct check *check)
{
	char host[HOST_NAME_MAX + 1] = "", address[64] = "";
	bool found;

	if (*check->root)
		check_read(check, "/etc/hostname", host, sizeof(host));
	else
		gethostname(host, sizeof(host) - 1);
	found = *check->root ? find_in_hosts(check, host, address, sizeof(address))
			     : resolve(host, address, sizeof(address));
	if (!found)
		check_say(check, CHECK_WARN, "give it a line in /etc/hosts or an entry in DNS",
			  "the name of this host, \"%s\", has no IPv4 address; programs that look "
			  "themselves up fail",
			  host);
	else if (!strncmp(address, "127.", 4))
		check_say(check, CHECK_WARN,
			  "write the address that peers use before the name in /etc/hosts, in the "
			  "place of that one",
			  "the name of this host, %s, stands for %s: programs that give peers that "
			  "address are found by nobody else",
			  host, address);
	else
		check_say(check, CHECK_OK, NULL, "%s is %s", host, address);
}
