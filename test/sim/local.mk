# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The simulation of the connection manager; README.md.

# One seam for sockets, descriptors, time, random numbers and memory: kernel.c is behind it.
kernel_wraps = -Wl,--wrap=socket -Wl,--wrap=connect -Wl,--wrap=bind -Wl,--wrap=listen \
	-Wl,--wrap=accept4 -Wl,--wrap=send -Wl,--wrap=recv -Wl,--wrap=getsockopt \
	-Wl,--wrap=setsockopt -Wl,--wrap=getsockname -Wl,--wrap=getpeername -Wl,--wrap=close \
	-Wl,--wrap=epoll_create1 -Wl,--wrap=eventfd -Wl,--wrap=epoll_ctl -Wl,--wrap=epoll_wait \
	-Wl,--wrap=clock_gettime -Wl,--wrap=getrandom -Wl,--wrap=open -Wl,--wrap=calloc \
	-Wl,--wrap=malloc -Wl,--wrap=aligned_alloc -Wl,--wrap=realloc -Wl,--wrap=free \
	-Wl,--wrap=sched_yield -Wl,--wrap=dofi_run_delay_recent \
	-Wl,--wrap=dofi_run_delay_is_high -Wl,--wrap=dofi_random -Wl,--wrap=getifaddrs \
	-Wl,--wrap=mmap -Wl,--wrap=munmap
sim_kernel = %D%/kernel.c %D%/kernel.h %D%/bare_ia.c %D%/bare_ia.h %D%/must.h

sim_tests = %D%/sim
EXTRA_DIST += %D%/README.md %D%/bugs.py
%C%_sim_SOURCES = $(sim_kernel) %D%/attempt.h %D%/clock.c %D%/clock.h %D%/consumer.c %D%/consumer.h \
	%D%/coroutine.c %D%/coroutine.h \
	%D%/datagram.c %D%/datagram.h \
	%D%/fabric.c %D%/fabric.h %D%/fabric_msg.c %D%/fabric_msg.h %D%/fabric_rdm.c %D%/fabric_rdm.h %D%/main.c %D%/net.c %D%/net.h \
	%D%/oracle.c %D%/oracle.h %D%/plan.c %D%/plan.h %D%/pool.c %D%/pool.h %D%/random.c %D%/random.h %D%/shrink.c \
	%D%/shrink.h %D%/side.c %D%/side.h %D%/storm.c %D%/storm.h %D%/trace.c %D%/trace.h \
	%D%/world.c %D%/world.h
%C%_sim_CPPFLAGS = $(product_cppflags) $(LIBFABRIC_CFLAGS) -I$(top_srcdir)/prov/ofi -DDOFI_DAT_MAJOR=2
%C%_sim_LINK = $(LINK) $(kernel_wraps)
%C%_sim_LDADD = $(dofi2_libs) src/libdatr2.a
