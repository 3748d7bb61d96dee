/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "t_machine.h"

#include "t_check.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/topo.h"

static char root[64];

/* --- files --- */

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
	(void)stat, (void)type, (void)ftw;
	return remove(path);
}

static void remove_root(void)
{
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void make_root(void)
{
	if (*root)
		return;
	strcpy(root, "/tmp/t_machine.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
	atexit(remove_root);
	dofi_sysfs = root;
}

static void full_path(char *out, size_t size, const char *path)
{
	make_root();
	snprintf(out, size, "%s/%s", root, path);
	for (char *slash = strchr(out + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ck_assert(!mkdir(out, 0700) || errno == EEXIST);
		*slash = '/';
	}
}

void t_machine_put(const char *path, const char *content)
{
	char full[256];
	FILE *file;

	full_path(full, sizeof(full), path);
	if (!content) {
		ck_assert(!mkdir(full, 0700) || errno == EEXIST);
		return;
	}
	file = fopen(full, "w");
	ck_assert_ptr_nonnull(file);
	fputs(content, file);
	ck_assert(!fclose(file));
}

void t_machine_link(const char *path, const char *target)
{
	char full[256], full_target[256];

	full_path(full, sizeof(full), path);
	snprintf(full_target, sizeof(full_target), "%s/%s", root, target);
	ck_assert_int_eq(symlink(full_target, full), 0);
}

/* --- sets --- */

static unsigned int nodes_of(const struct t_machine *m)
{
	return m->packages * m->nodes;
}

static void add_node(struct dofi_cpus *cpus, const struct t_machine *m, unsigned int node)
{
	for (unsigned int thread = 0; thread < m->threads; thread++)
		for (unsigned int core = 0; core < m->cores; core++)
			dofi_cpus_add(cpus, (thread * nodes_of(m) + node) * m->cores + core);
}

static struct dofi_cpus cpus_of(const struct t_machine *m, unsigned int first, unsigned int n)
{
	struct dofi_cpus cpus = {0};

	for (unsigned int node = first; node < first + n; node++)
		add_node(&cpus, m, node);
	return cpus;
}

/* --- sysfs --- */

__attribute__((format(printf, 1, 2))) static const char *text(const char *fmt, ...)
{
	static char texts[4][512];
	static unsigned int turn;
	char *out = texts[turn++ % 4];
	va_list args;

	va_start(args, fmt);
	vsnprintf(out, sizeof(texts[0]), fmt, args);
	va_end(args);
	return out;
}

static void put_sysfs(const struct t_machine *m)
{
	struct dofi_cpus cpus = cpus_of(m, 0, nodes_of(m));
	char list[256], line[512];

	t_machine_put("devices/system/cpu/online", dofi_cpus_text(&cpus, list, sizeof(list)));
	t_machine_put("devices/system/node/online", text("0-%u\n", nodes_of(m) - 1));
	for (unsigned int node = 0; node < nodes_of(m); node++) {
		cpus = cpus_of(m, node, 1);
		t_machine_put(text("devices/system/node/node%u/cpulist", node),
			      text("%s\n", dofi_cpus_text(&cpus, list, sizeof(list))));
		*line = '\0';
		for (unsigned int other = 0; other < nodes_of(m); other++)
			sprintf(line + strlen(line), "%d ",
				other == node                         ? 10
				: other / m->nodes == node / m->nodes ? 12
				: m->far                              ? (int)m->far
								      : 20);
		t_machine_put(text("devices/system/node/node%u/distance", node), line);
	}
	for (const struct t_machine_device *d = m->devices;
	     d < m->devices + T_MACHINE_DEVICES && d->bus; d++) {
		cpus = cpus_of(m, d->node, 1);
		t_machine_put(text("bus/pci/devices/0000:%02x:00.0/numa_node", d->bus),
			      text("%u\n", d->node));
		t_machine_put(text("bus/pci/devices/0000:%02x:00.0/local_cpulist", d->bus),
			      text("%s\n", dofi_cpus_text(&cpus, list, sizeof(list))));
	}
}

/* --- hwloc --- */

/* The set as words of 32 bits, the highest word first. */
static const char *mask(const struct dofi_cpus *cpus)
{
	static char out[256];
	size_t used = 0;

	for (unsigned int word = 8; word--;) {
		unsigned int bits = 0;

		for (unsigned int bit = 0; bit < 32; bit++)
			bits |= (unsigned int)dofi_cpus_have(cpus, word * 32 + bit) << bit;
		used += (size_t)snprintf(out + used, sizeof(out) - used, "%s0x%08x",
					 used ? "," : "", bits);
	}
	return out;
}

static void open_object(FILE *out, const char *type, unsigned int index,
			const struct dofi_cpus *cpus, unsigned int nodeset)
{
	static unsigned int serial;
	const char *set = mask(cpus);

	fprintf(out,
		"<object type=\"%s\" os_index=\"%u\" gp_index=\"%u\" cpuset=\"%s\" "
		"complete_cpuset=\"%s\" "
		"nodeset=\"0x%x\" complete_nodeset=\"0x%x\"",
		type, index, ++serial, set, set, nodeset, nodeset);
	if (!strcmp(type, "Machine"))
		fprintf(out, " allowed_cpuset=\"%s\" allowed_nodeset=\"0x%x\"", set, nodeset);
	fputs(">\n", out);
}

static void put_device(FILE *out, const struct t_machine_device *d)
{
	fprintf(out,
		"<object type=\"Bridge\" gp_index=\"%u\" bridge_type=\"0-1\" depth=\"0\" "
		"bridge_pci=\"0000:[%02x-%02x]\">\n"
		"<object type=\"PCIDev\" gp_index=\"%u\" pci_busid=\"0000:%02x:00.0\" "
		"pci_type=\"0200 [15b3:1021] [15b3:0001] 00\" "
		"pci_link_speed=\"31.5\"/>\n</object>\n",
		1000 + d->bus, d->bus, d->bus, 2000 + d->bus, d->bus);
}

static void put_node(FILE *out, const struct t_machine *m, unsigned int node)
{
	struct dofi_cpus cpus = cpus_of(m, node, 1);

	open_object(out, "Die", node, &cpus, 1u << node);
	open_object(out, "NUMANode", node, &cpus, 1u << node);
	fputs("</object>\n", out);
	for (unsigned int cpu = 0; cpu < nodes_of(m) * m->cores * m->threads; cpu++) {
		struct dofi_cpus one = {0};

		if (!dofi_cpus_have(&cpus, cpu))
			continue;
		dofi_cpus_add(&one, cpu);
		open_object(out, "PU", cpu, &one, 1u << node);
		fputs("</object>\n", out);
	}
	for (const struct t_machine_device *d = m->devices;
	     d < m->devices + T_MACHINE_DEVICES && d->bus; d++)
		if (d->node == node)
			put_device(out, d);
	fputs("</object>\n", out);
}

/* What the firmware tells; without it hwloc has no distances. */
static void put_distances(FILE *out, const struct t_machine *m)
{
	unsigned int n = nodes_of(m);

	fprintf(out, "<distances2 type=\"NUMANode\" nbobjs=\"%u\" kind=\"5\" indexing=\"os\">\n",
		n);
	for (unsigned int i = 0; i < n; i++)
		fprintf(out, "<indexes length=\"2\">%u </indexes>\n", i);
	for (unsigned int i = 0; i < n * n; i++)
		fprintf(out, "<u64values length=\"3\">%u </u64values>\n",
			i / n == i % n                         ? 10
			: i / n / m->nodes == i % n / m->nodes ? 12
							       : m->far);
	fputs("</distances2>\n", out);
}

static void put_hwloc(const struct t_machine *m)
{
	struct dofi_cpus cpus = cpus_of(m, 0, nodes_of(m));
	char path[128];
	FILE *out;

	full_path(path, sizeof(path), "machine.xml");
	out = fopen(path, "w");
	ck_assert_ptr_nonnull(out);
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM "
	      "\"hwloc2.dtd\">\n"
	      "<topology version=\"2.0\">\n",
	      out);
	open_object(out, "Machine", 0, &cpus, (1u << nodes_of(m)) - 1);
	for (unsigned int package = 0; package < m->packages; package++) {
		cpus = cpus_of(m, package * m->nodes, m->nodes);
		open_object(out, "Package", package, &cpus,
			    ((1u << m->nodes) - 1) << package * m->nodes);
		for (unsigned int node = 0; node < m->nodes; node++)
			put_node(out, m, package * m->nodes + node);
		fputs("</object>\n", out);
	}
	fputs("</object>\n", out);
	if (m->far)
		put_distances(out, m);
	fputs("</topology>\n", out);
	ck_assert(!fclose(out));
	setenv("HWLOC_XMLFILE", path, 1);
}

void t_machine_set(const struct t_machine *machine)
{
	make_root();
	put_sysfs(machine);
	put_hwloc(machine);
}
