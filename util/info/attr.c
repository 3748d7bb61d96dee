/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The attributes of DAT, with the names of the members of its structures. */
#include "info/info.h"

#include <stddef.h>
#include <string.h>

enum attr_kind {
	ATTR_COUNT,
	ATTR_UINT32,
	ATTR_UINT64,
	ATTR_BOOL,
	ATTR_CHOICE,
	ATTR_FLAGS,
};

struct attr {
	const char *name; /* the member of the DAT structure */
	bool provider;
	enum attr_kind kind;
	size_t offset;
	const char *const *words; /* words of an enumeration, or of flags by bit */
};

static const char *const ownerships[] = {"consumer", "provider, unmodified", "provider, modified",
					 NULL};
static const char *const creators[] = {"never", "if asked", "always", NULL};
static const char *const pz_kinds[] = {"unique", "shareable", NULL};
static const char *const scopes[] = {"endpoint", "protection zone", "any", NULL};
static const char *const extensions[] = {"none", "InfiniBand", "iWARP", NULL};
static const char *const completion_flags[] = {
	"suppress",  "solicited wait",   "unsignalled", "barrier fence",
	"threshold", "invalidate fence", NULL,
};

#define IA(kind_, name_)                                                        \
	{                                                                       \
#name_, false, ATTR_##kind_, offsetof(DAT_IA_ATTR, name_), NULL \
	}
#define WORDS(kind_, name_, words_)                                                      \
	{                                                                                \
#name_, true, ATTR_##kind_, offsetof(DAT_PROVIDER_ATTR, name_), (words_) \
	}
#define PROVIDER(kind_, name_) WORDS(kind_, name_, NULL)

static const struct attr attrs[] = {
	PROVIDER(UINT32, provider_version_major),
	PROVIDER(UINT32, provider_version_minor),
	PROVIDER(UINT32, dapl_version_major),
	PROVIDER(UINT32, dapl_version_minor),
	PROVIDER(BOOL, is_thread_safe),
	PROVIDER(COUNT, max_private_data_size),
	IA(COUNT, max_eps),
	IA(COUNT, max_dto_per_ep),
	IA(COUNT, max_rdma_read_per_ep_in),
	IA(COUNT, max_rdma_read_per_ep_out),
	IA(COUNT, max_rdma_read_in),
	IA(COUNT, max_rdma_read_out),
	IA(BOOL, max_rdma_read_per_ep_in_guaranteed),
	IA(BOOL, max_rdma_read_per_ep_out_guaranteed),
	IA(COUNT, max_evds),
	IA(COUNT, max_evd_qlen),
	IA(COUNT, max_iov_segments_per_dto),
	IA(COUNT, max_iov_segments_per_rdma_read),
	IA(COUNT, max_iov_segments_per_rdma_write),
	IA(UINT32, max_message_size),
	IA(UINT32, max_rdma_size),
	IA(COUNT, max_lmrs),
	IA(UINT32, max_lmr_block_size),
	IA(UINT64, max_lmr_virtual_address),
	IA(COUNT, max_rmrs),
	IA(UINT64, max_rmr_target_address),
	IA(COUNT, max_pzs),
	IA(COUNT, max_srqs),
	IA(COUNT, max_ep_per_srq),
	IA(COUNT, max_recv_per_srq),
	IA(BOOL, zb_supported),
	{"extension_supported", false, ATTR_CHOICE, offsetof(DAT_IA_ATTR, extension_supported),
	 extensions},
	IA(COUNT, extension_version),
	WORDS(CHOICE, iov_ownership_on_return, ownerships),
	WORDS(FLAGS, completion_flags_supported, completion_flags),
	WORDS(CHOICE, ep_creator, creators),
	WORDS(CHOICE, pz_support, pz_kinds),
	WORDS(CHOICE, rmr_scope_supported, scopes),
	PROVIDER(UINT32, optimal_buffer_alignment),
	PROVIDER(BOOL, srq_supported),
	PROVIDER(BOOL, srq_ep_pz_difference_supported),
	PROVIDER(BOOL, lmr_sync_req),
	PROVIDER(BOOL, dto_async_return_guaranteed),
	PROVIDER(BOOL, rdma_write_for_rdma_read_req),
	PROVIDER(BOOL, rdma_read_lmr_rmr_context_exposure),
	PROVIDER(BOOL, supports_multipath),
	PROVIDER(BOOL, is_signal_safe),
	PROVIDER(BOOL, ha_supported),
};

static const void *member(const struct info_ia *ia, const struct attr *attr)
{
	const void *base = attr->provider ? (const void *)&ia->provider : (const void *)&ia->attr;

	return (const char *)base + attr->offset;
}

/* Writes the words if DAT has names for the value, else the number. */
static void write_words(const struct attr *attr, uint32_t value, char *text, size_t size)
{
	uint32_t count = 0;

	while (attr->words[count])
		count++;
	*text = '\0';
	if (attr->kind == ATTR_CHOICE)
		snprintf(text, size, "%s", value < count ? attr->words[value] : "unknown");
	for (uint32_t bit = 0; attr->kind == ATTR_FLAGS && bit < count; bit++) {
		if (value & 1u << bit)
			snprintf(text + strlen(text), size - strlen(text), "%s%s",
				 *text ? ", " : "", attr->words[bit]);
	}
}

static uint64_t integer(const struct info_ia *ia, const struct attr *attr)
{
	const void *at = member(ia, attr);

	if (attr->kind == ATTR_UINT64)
		return *(const DAT_UINT64 *)at;
	if (attr->kind == ATTR_COUNT)
		return (uint64_t) * (const DAT_COUNT *)at;
	return *(const DAT_UINT32 *)at;
}

const char *info_named(const struct info_ia *ia, const char *name)
{
	const DAT_PROVIDER_ATTR *provider = &ia->provider;
	const char *value = util_named_attr(provider->provider_specific_attr,
					    provider->num_provider_specific_attr, name);

	return value ? value : "";
}

static void text_attr(FILE *out, const struct info_ia *ia, const struct attr *attr)
{
	uint64_t value = integer(ia, attr);
	char text[160];

	if (attr->kind == ATTR_CHOICE || attr->kind == ATTR_FLAGS)
		write_words(attr, (uint32_t)value, text, sizeof(text));
	else if (attr->kind == ATTR_BOOL)
		snprintf(text, sizeof(text), "%s", value ? "yes" : "no");
	else if (attr->kind == ATTR_COUNT)
		snprintf(text, sizeof(text), "%lld", (long long)value);
	else
		snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	util_write_row(out, 4, 40, attr->name, text);
}

static void text_named(FILE *out, const char *title, const DAT_NAMED_ATTR *attr, DAT_COUNT count)
{
	if (count > 0)
		fprintf(out, "  %s attributes\n", title);
	for (DAT_COUNT i = 0; i < count; i++)
		util_write_row(out, 4, 40, attr[i].name, attr[i].value);
}

static void json_named(struct util_json *json, const char *key, const DAT_NAMED_ATTR *attr,
		       DAT_COUNT count)
{
	util_json_open(json, key, '{');
	for (DAT_COUNT i = 0; i < count; i++)
		util_json_string(json, attr[i].name, attr[i].value ? attr[i].value : "");
	util_json_close(json, '}');
}

static void json_attr(struct util_json *json, const struct info_ia *ia, const struct attr *attr)
{
	uint64_t value = integer(ia, attr);
	char words[160];

	if (attr->kind == ATTR_CHOICE || attr->kind == ATTR_FLAGS) {
		write_words(attr, (uint32_t)value, words, sizeof(words));
		util_json_string(json, attr->name, words);
	} else if (attr->kind == ATTR_BOOL) {
		util_json_bool(json, attr->name, value);
	} else if (attr->kind == ATTR_COUNT) {
		util_json_real(json, attr->name, (double)(int64_t)value);
	} else {
		util_json_integer(json, attr->name, value);
	}
}

void info_text_attrs(FILE *out, const struct info_ia *ia)
{
	fprintf(out, "  attributes\n");
	for (size_t i = 0; i < UTIL_ARRAY_LEN(attrs); i++)
		text_attr(out, ia, &attrs[i]);
	text_named(out, "provider", ia->provider.provider_specific_attr,
		   ia->provider.num_provider_specific_attr);
	text_named(out, "transport", ia->attr.transport_attr, ia->attr.num_transport_attr);
	text_named(out, "vendor", ia->attr.vendor_attr, ia->attr.num_vendor_attr);
}

void info_json_attrs(struct util_json *json, const struct info_ia *ia)
{
	util_json_string(json, "adapter_name", ia->attr.adapter_name);
	util_json_string(json, "vendor_name", ia->attr.vendor_name);
	util_json_string(json, "provider_name", ia->provider.provider_name);
	for (size_t i = 0; i < UTIL_ARRAY_LEN(attrs); i++)
		json_attr(json, ia, &attrs[i]);
	json_named(json, "provider_specific_attr", ia->provider.provider_specific_attr,
		   ia->provider.num_provider_specific_attr);
	json_named(json, "transport_attr", ia->attr.transport_attr, ia->attr.num_transport_attr);
	json_named(json, "vendor_attr", ia->attr.vendor_attr, ia->attr.num_vendor_attr);
}
