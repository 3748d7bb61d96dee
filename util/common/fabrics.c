/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "common/fabrics.h"

#include "common/child.h"
#include "common/common.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

/*
 * DAT needs connections or reliable datagrams, and RDMA. Utility providers are listed with the
 * provider below.
 */
static bool carries_dat(const struct fi_info *info)
{
	return !strchr(info->fabric_attr->prov_name, ';') && info->caps & FI_RMA &&
	       (info->ep_attr->type == FI_EP_MSG || info->ep_attr->type == FI_EP_RDM);
}

static bool print_fabrics(FILE *out, const void *arg)
{
	struct fi_info *infos;
	int ret = fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &infos);

	(void)arg;
	if (ret == -FI_ENODATA)
		return true;
	if (ret) {
		fprintf(out, "%s", fi_strerror(-ret));
		return false;
	}
	for (const struct fi_info *info = infos; info; info = info->next) {
		if (carries_dat(info))
			fprintf(out, "%s %s\n", info->fabric_attr->prov_name,
				info->domain_attr->name);
	}
	fi_freeinfo(infos);
	return true;
}

static int add(struct util_fabrics *fabrics, const char *line)
{
	struct util_fabric fabric, *longer;

	if (sscanf(line, "%63s %63s", fabric.provider, fabric.domain) != 2)
		return 0;
	for (size_t i = 0; i < fabrics->count; i++) {
		if (!strcmp(fabrics->list[i].provider, fabric.provider) &&
		    !strcmp(fabrics->list[i].domain, fabric.domain))
			return 0;
	}
	longer = realloc(fabrics->list, (fabrics->count + 1) * sizeof(fabric));
	if (!longer)
		return util_fail("out of memory");
	fabrics->list = longer;
	longer[fabrics->count++] = fabric;
	return 0;
}

static int add_lines(struct util_fabrics *fabrics, char *text)
{
	char *save = NULL;

	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save)) {
		if (add(fabrics, line))
			return -1;
	}
	return 0;
}

/* An incomplete answer is an error: the fabrics that it lacks may be there. */
int util_fabrics_list(struct util_fabrics *fabrics)
{
	struct util_answer answer;
	bool asked = !util_ask_child(print_fabrics, NULL, &answer);
	int ret;

	memset(fabrics, 0, sizeof(*fabrics));
	if (asked && answer.ok && !answer.late)
		ret = add_lines(fabrics, answer.text);
	else
		ret = util_fail("libfabric cannot list its fabrics: %s; fi_info -l and "
				"FI_LOG_LEVEL=warn show more",
				asked ? util_answer_failure(&answer) : util_error());
	util_answer_free(&answer);
	return ret;
}

void util_fabrics_free(struct util_fabrics *fabrics)
{
	free(fabrics->list);
	fabrics->list = NULL;
	fabrics->count = 0;
}
