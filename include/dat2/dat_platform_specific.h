/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DAT2_PLATFORM_SPECIFIC_H
#define DAT2_PLATFORM_SPECIFIC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <netinet/in.h>

/* Direction of a parameter, as seen from the called function; documentation only. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

/* The calling convention is that of the platform. */
#ifndef DAT_API
#define DAT_API
#endif

/* The symbol is visible even if the library is built with -fvisibility=hidden. */
#ifndef DAT_EXPORT
#if defined(__GNUC__)
#define DAT_EXPORT		extern __attribute__((visibility("default")))
#else
#define DAT_EXPORT		extern
#endif
#endif

typedef uint32_t		DAT_UINT32;
typedef uint64_t		DAT_UINT64;
typedef unsigned long long	DAT_UVERYLONG;

typedef void			*DAT_PVOID;
typedef int			DAT_COUNT;
typedef DAT_UINT64		DAT_PADDR;
typedef int			DAT_FD;

/* A communicator, named as socket(2) names a protocol. */
typedef struct dat_comm {
	int	domain;
	int	type;
	int	protocol;
} DAT_COMM;

/* sa_family tells the real length of the address. */
typedef struct sockaddr		DAT_SOCK_ADDR;
typedef struct sockaddr_in6	DAT_SOCK_ADDR6;

#define DAT_AF_INET		AF_INET
#define DAT_AF_INET6		AF_INET6

#endif /* DAT2_PLATFORM_SPECIFIC_H */
