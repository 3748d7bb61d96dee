/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks of cards: their device files, and needs of some kinds of cards. */
#include "info/check.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool check_has_rdma(const struct check *check)
{
	static const char *const classes[] = {"/sys/class/infiniband", "/sys/class/cxi"};
	bool found = false;

	for (size_t i = 0; i < UTIL_ARRAY_LEN(classes) && !found; i++) {
		struct check_list list;

		check_folder(check, classes[i], &list);
		found = list.count;
		check_list_free(&list);
	}
	return found;
}

/* The kernel's device classes, and the device files that programs open. */
static const struct {
	const char *class, *files;
} kinds[] = {
	{"/sys/class/infiniband_verbs", "/dev/infiniband"},
	{"/sys/class/cxi", "/dev"},
	{"/sys/class/hfi1_user", "/dev"},
};

static void say_rights(struct check *check, const char *path, const char *full)
{
	const char *why = strerror(errno);
	struct stat stat_;
	struct group *group = stat(full, &stat_) ? NULL : getgrgid(stat_.st_gid);
	char remedy[256];

	if (group && stat_.st_gid && (stat_.st_mode & 0060) == 0060)
		snprintf(remedy, sizeof(remedy), "add the user to the group %s", group->gr_name);
	else
		snprintf(remedy, sizeof(remedy),
			 "a udev rule has to give users the right to read and write %s", path);
	check_say(check, CHECK_FAIL, remedy, "%s can't be opened to read and write: %s", path, why);
}

/* Checks that the device file exists and may be used. */
static bool check_file(struct check *check, const char *name, const char *folder)
{
	char full[PATH_MAX], *path = full + strlen(check->root);

	snprintf(full, sizeof(full), "%s%s/%s", check->root, folder, name);
	if (!access(full, R_OK | W_OK))
		return true;
	if (errno == ENOENT)
		check_say(check, CHECK_FAIL,
			  "hand the devices to the container (docker: --device=/dev/infiniband and "
			  "the like), or load the kernel module of user access (ib_uverbs)",
			  "the kernel has %s, but %s is not there: hidden by a container?", name,
			  path);
	else
		say_rights(check, path, full);
	return false;
}

/* Counts cards on the bus without a device of a driver. PCI class 0x0207 is InfiniBand. */
static size_t count_idle_cards(const struct check *check)
{
	struct check_list slots;
	size_t found = 0;

	check_folder(check, "/sys/bus/pci/devices", &slots);
	for (size_t i = 0; i < slots.count; i++) {
		char path[PATH_MAX], class[32];

		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/class", slots.names[i]);
		check_read(check, path, class, sizeof(class));
		found += !strncmp(class, "0x0207", 6) &&
			 !check_exists(check, "/sys/bus/pci/devices/%s/infiniband", slots.names[i]);
	}
	check_list_free(&slots);
	return found;
}

void check_devices(struct check *check)
{
	size_t found = 0, bad = 0, idle = count_idle_cards(check);

	for (size_t i = 0; i < UTIL_ARRAY_LEN(kinds); i++) {
		struct check_list list;

		check_folder(check, kinds[i].class, &list);
		for (size_t j = 0; j < list.count; j++) {
			/* Skips "abi_version". */
			if (!strpbrk(list.names[j], "0123456789"))
				continue;
			found++;
			bad += !check_file(check, list.names[j], kinds[i].files);
		}
		check_list_free(&list);
	}
	if (check_exists(check, "/sys/class/infiniband_cm/rdma_cm") ||
	    check_exists(check, "/sys/class/misc/rdma_cm"))
		bad += !check_file(check, "rdma_cm", "/dev/infiniband");
	if (idle)
		check_say(check, CHECK_WARN, "load its driver; dmesg tells why it gave up",
			  "%zu InfiniBand card%s on the bus without a device of the kernel", idle,
			  idle > 1 ? "s are" : " is");
	else if (!bad && found)
		check_say(check, CHECK_OK, NULL, "%zu RDMA device%s, which may be used", found,
			  found > 1 ? "s" : "");
	else if (!bad)
		check_say(check, CHECK_OK, NULL, "no RDMA device; software fabrics need none");
}

/* ---- Slingshot ---- */

static size_t count_items(const char *list)
{
	size_t count = *list ? 1 : 0;

	for (; *list; list++)
		count += *list == ',';
	return count;
}

/* VNIs are numbers of 16 bits other than 0. */
static bool are_vnis(const char *list)
{
	while (*list) {
		char *end;
		unsigned long vni = strtoul(list, &end, 10);

		if (end == list || !vni || vni > 0xffff || (*end && *end != ','))
			return false;
		list = *end ? end + 1 : end;
	}
	return true;
}

/* Finds the first device of the list that the kernel does not have. */
static bool find_foreign(const struct check *check, const char *devices, char *name, size_t size)
{
	while (*devices) {
		size_t len = strcspn(devices, ",");

		snprintf(name, size, "%.*s", (int)len, devices);
		if (!check_exists(check, "/sys/class/cxi/%s", name))
			return true;
		devices += len + (devices[len] == ',');
	}
	return false;
}

void check_slingshot(struct check *check)
{
	static const char remedy[] = "start the program by the workload manager, whose plugin for "
				     "Slingshot sets SLINGSHOT_VNIS, SLINGSHOT_SVC_IDS and "
				     "SLINGSHOT_DEVICES";
	const char *vnis = getenv("SLINGSHOT_VNIS"), *services = getenv("SLINGSHOT_SVC_IDS");
	const char *devices = getenv("SLINGSHOT_DEVICES");
	char foreign[64];

	if (!check_exists(check, "/sys/class/cxi"))
		return;
	if (!vnis || !services || !devices)
		check_say(check, CHECK_WARN, remedy,
			  "%s is not set: the default service of the card is used, which sites "
			  "close",
			  !vnis       ? "SLINGSHOT_VNIS"
			  : !services ? "SLINGSHOT_SVC_IDS"
				      : "SLINGSHOT_DEVICES");
	else if (!*vnis || !are_vnis(vnis))
		check_say(check, CHECK_FAIL, remedy,
			  "SLINGSHOT_VNIS=%s is no list of numbers from 1 to 65535", vnis);
	else if (count_items(services) != count_items(devices))
		check_say(check, CHECK_FAIL, remedy,
			  "SLINGSHOT_SVC_IDS has %zu services for the %zu devices of "
			  "SLINGSHOT_DEVICES",
			  count_items(services), count_items(devices));
	else if (find_foreign(check, devices, foreign, sizeof(foreign)))
		check_say(check, CHECK_FAIL, remedy,
			  "SLINGSHOT_DEVICES has %s, which this host or container has not",
			  foreign);
	else
		check_say(check, CHECK_OK, NULL, "VNIs %s, services %s, devices %s", vnis, services,
			  devices);
}

/* ---- EFA ---- */

static bool has_driver(const struct check *check, const char *device, const char *driver)
{
	char path[PATH_MAX], found[64];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/driver", device);
	check_link(check, path, found, sizeof(found));
	return !strcmp(found, driver);
}

static bool has_efa(const struct check *check)
{
	struct check_list list;
	bool found = false;

	check_folder(check, "/sys/class/infiniband", &list);
	for (size_t i = 0; i < list.count && !found; i++)
		found = has_driver(check, list.names[i], "efa");
	check_list_free(&list);
	return found;
}

void check_efa(struct check *check)
{
	const char *rdma = getenv("FI_EFA_USE_DEVICE_RDMA");
	char scope[16];

	if (!has_efa(check))
		return;
	check_read(check, "/proc/sys/kernel/yama/ptrace_scope", scope, sizeof(scope));
	if (rdma && !check_env("FI_EFA_USE_DEVICE_RDMA"))
		check_say(check, CHECK_WARN, "unset it",
			  "FI_EFA_USE_DEVICE_RDMA=%s: RDMA is done by messages and copies", rdma);
	else if (*scope && strcmp(scope, "0"))
		check_say(check, CHECK_WARN, "sysctl kernel.yama.ptrace_scope=0",
			  "ptrace_scope is %s: processes of one host can't copy from each other",
			  scope);
	else
		check_say(
			check, CHECK_OK, NULL,
			"nothing is in the way here; the security group has to let traffic of the "
			"group itself in and out");
}
