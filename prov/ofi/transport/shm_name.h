/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Names of our regions: PID:UID:NUMBER:NAMESPACE:RANDOM. The first three are libfabric's own name,
 * the fourth is the number of the PID namespace, or 0 if it is not known.
 *
 * The first three alone are not unique. Containers may share /dev/shm and have PID namespaces of
 * their own, in which the same numbers occur, and a container that starts again has the same
 * numbers as before. If a region of the name exists, libfabric removes it and does not enable the
 * endpoint, whether the region's owner lives or not.
 */
#ifndef DOFI_SHM_NAME_H
#define DOFI_SHM_NAME_H

#include <rdma/fi_endpoint.h>
#include <stdbool.h>

/*
 * Gives the endpoint its name, before it is enabled. Endpoints of other fabrics, and those that do
 * not know their name yet, are left alone. 0 or a negative errno.
 */
int dofi_shm_name_set(struct fid_ep *ep);

/*
 * Whether the number of the peer's process means the same process here, as far as both addresses
 * tell. libfabric copies from and to the process of that number.
 */
bool dofi_shm_name_is_near(const char *own, const char *peer);

#endif
