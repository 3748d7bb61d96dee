/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "auth/key.h"

#include "auth/crypto.h"
#include "auth/key_file.h"
#include "auth/key_user.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SALT "dat-ofi key 1"
#define TEXT(string)                         \
	(struct dofi_bytes)                  \
	{                                    \
		(string), sizeof(string) - 1 \
	}

/* --- the secret --- */

static int from_file(struct dofi_key *key, const char *path, struct dofi_secret *secret)
{
	int ret;

	if (snprintf(key->path, sizeof(key->path), "%s", path) >= (int)sizeof(key->path))
		return -ENAMETOOLONG;
	key->source = DOFI_KEY_FILE;
	ret = dofi_secret_read(secret, AT_FDCWD, key->path, key->path);
	if (ret == -ENOENT)
		DOFI_LOG_E("there is no key %s, which key_file names; make one by: (umask 077; "
			   "openssl rand -hex 32 >%s)",
			   path, path);
	return ret;
}

static int from_user(struct dofi_key *key, struct dofi_secret *secret)
{
	key->source = DOFI_KEY_USER;
	return dofi_key_user(secret, key->path, sizeof(key->path));
}

/* If no file can be created, only this process has the key. */
static int from_host(struct dofi_key *key, const char *ia_name, struct dofi_secret *secret)
{
	int ret = dofi_key_host(secret, key->path, sizeof(key->path));

	key->source = DOFI_KEY_HOST;
	if (ret && ret != -ENOENT)
		return ret;
	if (!ret) {
		DOFI_LOG_I("IA %s: there is no home directory for a key: peers on other hosts are "
			   "refused, unless key_file names one for all of them",
			   ia_name);
		return 0;
	}
	DOFI_LOG_W("IA %s: neither a home directory nor /dev/shm nor /tmp takes a key: all other "
		   "processes are refused, unless key_file names a key or auth=none is chosen",
		   ia_name);
	key->source = DOFI_KEY_PROCESS;
	key->path[0] = '\0';
	secret->size = DOFI_SECRET_MIN;
	return dofi_random(secret->bytes, secret->size);
}

static int from_anywhere(struct dofi_key *key, const char *ia_name, const char *key_file,
			 struct dofi_secret *secret)
{
	int ret;

	if (*key_file)
		return from_file(key, key_file, secret);
	ret = from_user(key, secret);
	return ret == -ENOENT ? from_host(key, ia_name, secret) : ret;
}

/* --- the job --- */

static int find_job(struct dofi_key *key, const char *ia_name)
{
	/* The most specific variable first: a batch job may start several programs. */
	static const char *const variables[] = {"PALS_APID", "PMIX_NAMESPACE", "SLURM_JOB_ID",
						"PBS_JOBID", "LSB_JOBID",      "FLUX_JOB_ID",
						"JOB_ID"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = getenv(variables[i]);

		if (!value || !*value)
			continue;
		if (snprintf(key->job, sizeof(key->job), "%s=%s", variables[i], value) <
		    (int)sizeof(key->job))
			return 0;
	}
	DOFI_LOG_E("IA %s: auth=job needs a job, and no launcher has said which one this is; "
		   "auth=auto lets all processes of this user connect",
		   ia_name);
	return -ENOENT;
}

static int derive(struct dofi_key *key, const struct dofi_secret *secret)
{
	char info[160];
	struct dofi_bytes none = {NULL, 0};
	int size = snprintf(info, sizeof(info), "%s%s", *key->job ? "job " : "user", key->job);

	if (!dofi_hkdf(key->bytes, sizeof(key->bytes), TEXT(SALT),
		       (struct dofi_bytes){secret->bytes, secret->size},
		       (struct dofi_bytes){info, (size_t)size}) ||
	    !dofi_hkdf(key->id, sizeof(key->id), none,
		       (struct dofi_bytes){key->bytes, sizeof(key->bytes)}, TEXT("key id")))
		return -ENOSYS;
	return 0;
}

/* --- the choice --- */

static int read_secret(struct dofi_key *key, const char *ia_name, const char *auth,
		       const char *key_file, struct dofi_secret *secret)
{
	int ret;

	if (!strcmp(auth, "auto"))
		return from_anywhere(key, ia_name, key_file, secret);
	if (!strcmp(auth, "job")) {
		ret = find_job(key, ia_name);
		return ret ? ret : from_anywhere(key, ia_name, key_file, secret);
	}
	if (!strcmp(auth, "key")) {
		if (*key_file)
			return from_file(key, key_file, secret);
		DOFI_LOG_E("IA %s: auth=key needs a file: name it by key_file", ia_name);
		return -ENOENT;
	}
	if (!strcmp(auth, "user")) {
		ret = from_user(key, secret);
		if (ret == -ENOENT)
			DOFI_LOG_E("IA %s: auth=user needs a home directory that takes a file; "
				   "key_file names a key elsewhere",
				   ia_name);
		return ret;
	}
	DOFI_LOG_E("IA %s: auth=%s is not known; there are auto, key, user, job and none%s",
		   ia_name, auth,
		   strcmp(auth, "munge") ? "" : "; this release has no support for munge");
	return -EINVAL;
}

int dofi_key_load(struct dofi_key *key, const char *ia_name, const char *auth, const char *key_file)
{
	char text[DOFI_KEY_TEXT];
	struct dofi_secret secret;
	int ret;

	memset(key, 0, sizeof(*key));
	if (!strcmp(auth, "none")) {
		DOFI_LOG_W("IA %s: auth=none: every process that reaches this one may connect to "
			   "it, and on many fabrics read and write its memory",
			   ia_name);
		return 0;
	}
	ret = dofi_crypto_start();
	if (ret) {
		DOFI_LOG_E("IA %s: the library for cryptography does not compute HMAC-SHA256; does "
			   "a policy of this host forbid it?",
			   ia_name);
		return ret;
	}
	ret = read_secret(key, ia_name, auth, key_file, &secret);
	if (!ret)
		ret = derive(key, &secret);
	dofi_wipe(&secret, sizeof(secret));
	if (ret)
		dofi_key_wipe(key);
	else
		DOFI_LOG_I("IA %s: peers need the %s", ia_name, dofi_key_text(key, text));
	return ret;
}

void dofi_key_wipe(struct dofi_key *key)
{
	dofi_wipe(key, sizeof(*key));
	dofi_crypto_forget();
}

/* --- text --- */

const char *dofi_key_id_text(const uint8_t id[DOFI_KEY_ID_SIZE], char text[DOFI_KEY_ID_TEXT])
{
	static const uint8_t none[DOFI_KEY_ID_SIZE];

	if (!memcmp(id, none, sizeof(none)))
		snprintf(text, DOFI_KEY_ID_TEXT, "none");
	else
		snprintf(text, DOFI_KEY_ID_TEXT, "%02x%02x%02x%02x", id[0], id[1], id[2], id[3]);
	return text;
}

const char *dofi_key_text(const struct dofi_key *key, char text[DOFI_KEY_TEXT])
{
	static const char *const names[] = {
		[DOFI_KEY_NONE] = "no key",
		[DOFI_KEY_FILE] = "key",
		[DOFI_KEY_USER] = "user's key",
		[DOFI_KEY_HOST] = "host's key",
		[DOFI_KEY_PROCESS] = "process's own key",
	};
	char id[DOFI_KEY_ID_TEXT];

	if (key->source == DOFI_KEY_NONE)
		snprintf(text, DOFI_KEY_TEXT, "%s", names[key->source]);
	else
		snprintf(text, DOFI_KEY_TEXT, "%s %s%s%s%s%s", names[key->source],
			 dofi_key_id_text(key->id, id), *key->path ? " of " : "", key->path,
			 *key->job ? " for " : "", key->job);
	return text;
}
