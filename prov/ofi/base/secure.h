/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs that run with more rights than their user (set-user-ID, set-group-ID, capabilities of
 * the file): the environment is the user's. libfabric loads providers from FI_PROVIDER_PATH, and
 * other libraries below it load plugins and write files where variables say.
 */
#ifndef DOFI_SECURE_H
#define DOFI_SECURE_H

/*
 * In such a program: removes these variables from the environment. Before libfabric's first call;
 * any number of times.
 */
void dofi_secure_environment(void);

#endif
