/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The key that peers share. A peer that has it may connect. docs/connections.md describes the
 * proof, dat-ofi-provider(7) the sources of the key.
 */
#ifndef DOFI_KEY_H
#define DOFI_KEY_H

#include <stdint.h>

#define DOFI_KEY_SIZE    32u
#define DOFI_KEY_ID_SIZE 8u
#define DOFI_KEY_PATH    512u

enum dofi_key_source {
	DOFI_KEY_NONE,    /* auth=none: peers prove nothing */
	DOFI_KEY_FILE,    /* key_file= */
	DOFI_KEY_USER,    /* .dat-ofi/key in the user's home directory */
	DOFI_KEY_HOST,    /* a file in memory: only for the user's processes on this host */
	DOFI_KEY_PROCESS, /* no file: only for this process */
};

struct dofi_key {
	enum dofi_key_source source;
	uint8_t bytes[DOFI_KEY_SIZE];
	uint8_t id[DOFI_KEY_ID_SIZE]; /* identifies the key without telling anything about it; 0:
					 none */
	char path[DOFI_KEY_PATH];     /* of the file */
	char job[128];                /* auth=job: the key is valid in this job only */
};

/*
 * Finds the key that the parameters auth and key_file select. Returns 0, or after a message:
 * -EINVAL if auth is not known, -ENOENT if the source has no key, -EACCES if the file cannot be
 * trusted, or another -errno.
 */
int dofi_key_load(struct dofi_key *key, const char *ia_name, const char *auth,
		  const char *key_file);

void dofi_key_wipe(struct dofi_key *key);

/* "1a2b3c4d", or "none". */
#define DOFI_KEY_ID_TEXT 9
const char *dofi_key_id_text(const uint8_t id[DOFI_KEY_ID_SIZE], char text[DOFI_KEY_ID_TEXT]);

/* A text for people, such as "user's key 1a2b3c4d of /home/me/.dat-ofi/key". */
#define DOFI_KEY_TEXT (DOFI_KEY_PATH + 256)
const char *dofi_key_text(const struct dofi_key *key, char text[DOFI_KEY_TEXT]);

#endif
