/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Facts about the device and the fabric of an interface. Other providers report fewer of them. */
#include "info/info.h"

#include <stdlib.h>
#include <string.h>

/* Named attributes of the provider, with their names in text and in JSON. */
static const struct fact {
	const char *attr, *title, *key;
	bool always; /* shown for each interface; the others only with --ia */
} facts[] = {
	{"DAT_OFI_DEVICE", "device", "device", true},
	{"DAT_OFI_PCI", "PCI address", "pci", true},
	{"DAT_OFI_NUMA_NODE", "NUMA node", "numa_node", true},
	{"DAT_OFI_CHOICE", "chosen", "choice", true},
	{"DAT_OFI_LINK", "link", "link", true},
	{"DAT_OFI_LINK_SPEED", NULL, "link_speed", false}, /* text: beside the link */
	{"DAT_OFI_MR_MODE", "registration", "mr_mode", false},
	{"DAT_OFI_MR_CACHE", "cache", "mr_cache", false},
	{"DAT_OFI_ORDER", "order", "order", false},
	{"DAT_OFI_TRUNCATED_MESSAGE", "too long", "truncated_message", false},
	{"DAT_OFI_THREADING", "threads", "threading", false},
	{"DAT_OFI_PROGRESS", "progress", "progress", false},
	{"DAT_OFI_LIBFABRIC", "libfabric", "libfabric", false},
	{"DAT_OFI_LIBFABRIC_COMPILED", NULL, "libfabric_compiled", false},
	{"DAT_OFI_LIBFABRIC_PATH", NULL, "libfabric_path", false},
};

/* The meaning of the words for a program. */
static const struct {
	const char *attr, *value, *meaning;
} meanings[] = {
	{"DAT_OFI_ORDER", "ORDERED", "the fabric keeps a Send behind earlier writes"},
	{"DAT_OFI_ORDER", "FENCE", "a Send behind a write takes a fence"},
	{"DAT_OFI_ORDER", "HOLD", "a Send waits until earlier writes are delivered"},
	{"DAT_OFI_TRUNCATED_MESSAGE", "CONNECTION",
	 "a message that does not fit breaks its connection alone"},
	{"DAT_OFI_TRUNCATED_MESSAGE", "PEER",
	 "a message that does not fit breaks all connections with that peer"},
	{"DAT_OFI_PROGRESS", "FI_PROGRESS_AUTO", "the fabric goes on by itself"},
	{"DAT_OFI_PROGRESS", "FI_PROGRESS_MANUAL", "calls or the progress thread drive the fabric"},
	{"DAT_OFI_MR_CACHE", "FALSE", "keys end with the registration"},
	{"DAT_OFI_MR_CACHE", "TRUE",
	 "libfabric keeps registrations, and their keys, beyond dat_lmr_free"},
	{"DAT_OFI_MR_MODE", "none", "offsets and keys of our own choice"},
};

static const char *meaning_of(const char *attr, const char *value)
{
	for (size_t i = 0; i < UTIL_ARRAY_LEN(meanings); i++) {
		if (!strcmp(meanings[i].attr, attr) && !strcmp(meanings[i].value, value))
			return meanings[i].meaning;
	}
	return NULL;
}

/* "100 Gbit/s" */
static void write_speed(char *text, size_t size, const char *bits)
{
	double speed = strtod(bits, NULL);

	if (speed >= 1e9)
		snprintf(text, size, "%g Gbit/s", speed / 1e9);
	else
		snprintf(text, size, "%g Mbit/s", speed / 1e6);
}

static void write_value(const struct info_ia *ia, const struct fact *fact, char *text, size_t size)
{
	const char *value = info_named(ia, fact->attr), *meaning = meaning_of(fact->attr, value);
	const char *speed = info_named(ia, "DAT_OFI_LINK_SPEED");
	char words[32];

	if (meaning) {
		snprintf(text, size, "%s: %s", value, meaning);
	} else if (!strcmp(fact->attr, "DAT_OFI_LINK") && *speed) {
		write_speed(words, sizeof(words), speed);
		snprintf(text, size, "%s, %s", value, words);
	} else if (!strcmp(fact->attr, "DAT_OFI_LIBFABRIC")) {
		snprintf(text, size, "%s, compiled with %s, %s", value,
			 info_named(ia, "DAT_OFI_LIBFABRIC_COMPILED"),
			 info_named(ia, "DAT_OFI_LIBFABRIC_PATH"));
	} else {
		snprintf(text, size, "%s", value);
	}
}

/* Writes "libfabric tcp, msg endpoints, domain lo", or the name of another provider. */
static void write_carrier(const struct info_ia *ia, char *text, size_t size)
{
	const char *provider = info_named(ia, DAT_OFI_ATTR_PROVIDER);

	if (*provider)
		snprintf(text, size, "libfabric %s, %s endpoints, domain %s", provider,
			 info_named(ia, DAT_OFI_ATTR_TRANSPORT),
			 info_named(ia, DAT_OFI_ATTR_DOMAIN));
	else
		snprintf(text, size, "%.*s", DAT_NAME_MAX_LENGTH, ia->provider.provider_name);
}

static void text_row(FILE *out, const char *title, const char *text)
{
	util_write_row(out, 2, 16, title, text);
}

static void text_limits(FILE *out, const struct info_ia *ia)
{
	const DAT_IA_ATTR *attr = &ia->attr;
	const DAT_PROVIDER_ATTR *provider = &ia->provider;
	char text[256];

	snprintf(text, sizeof(text),
		 "%d endpoints of %d DTOs; %d segments; messages of %u and RDMA of %u bytes; "
		 "%d bytes of private data; %s; %s",
		 attr->max_eps, attr->max_dto_per_ep, attr->max_iov_segments_per_dto,
		 attr->max_message_size, attr->max_rdma_size, provider->max_private_data_size,
		 provider->srq_supported ? "SRQ" : "no SRQ",
		 provider->is_thread_safe ? "thread safe" : "not registered as thread safe");
	text_row(out, "limits", text);
}

void info_text_facts(FILE *out, const struct info_ia *ia, bool all)
{
	char text[512], address[64];

	write_carrier(ia, text, sizeof(text));
	text_row(out, "runs on", text);
	text_row(out, "address",
		 util_address_text(ia->attr.ia_address_ptr, address, sizeof(address)));
	for (size_t i = 0; i < UTIL_ARRAY_LEN(facts); i++) {
		if (!facts[i].title || (!all && !facts[i].always) ||
		    !*info_named(ia, facts[i].attr))
			continue;
		write_value(ia, &facts[i], text, sizeof(text));
		text_row(out, facts[i].title, text);
	}
	text_limits(out, ia);
	if (!all)
		return;
	text_row(out, "adapter", ia->attr.adapter_name);
	if (*ia->attr.vendor_name)
		text_row(out, "vendor", ia->attr.vendor_name);
}

void info_json_facts(struct util_json *json, const struct info_ia *ia)
{
	char address[64];

	util_json_string(json, "provider", info_named(ia, DAT_OFI_ATTR_PROVIDER));
	util_json_string(json, "transport", info_named(ia, DAT_OFI_ATTR_TRANSPORT));
	util_json_string(json, "domain", info_named(ia, DAT_OFI_ATTR_DOMAIN));
	util_json_string(json, "fabric", info_named(ia, DAT_OFI_ATTR_FABRIC));
	util_json_string(json, "address",
			 util_address_text(ia->attr.ia_address_ptr, address, sizeof(address)));
	for (size_t i = 0; i < UTIL_ARRAY_LEN(facts); i++) {
		if (*info_named(ia, facts[i].attr))
			util_json_string(json, facts[i].key, info_named(ia, facts[i].attr));
	}
}
