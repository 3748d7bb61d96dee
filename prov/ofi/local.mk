# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The provider: one core, compiled once per API generation. Tests link the convenience libraries.
# The registries dlopen libdatofi.so.1 and libdatofi.so.2 by these very names: no development link,
# no further digits. Libtool makes a file name of the name of the .la and a suffix; an empty suffix
# gives exactly ours.
lib_LTLIBRARIES += %D%/libdatofi.so.1.la %D%/libdatofi.so.2.la
noinst_LTLIBRARIES += %D%/libdofi1.la %D%/libdofi2.la

dofi_sources = \
	%D%/absent.c %D%/absent.h \
	%D%/addr.c %D%/addr.h \
	%D%/api.h \
	%D%/atomics.c %D%/atomics.h \
	%D%/attr.c \
	%D%/bell.c %D%/bell.h \
	%D%/chan.c %D%/chan.h \
	%D%/cm.c \
	%D%/cno.c %D%/cno.h \
	%D%/conn.c %D%/conn.h \
	%D%/conn_end.c %D%/conn_end.h \
	%D%/context.h \
	%D%/cookie.c %D%/cookie.h \
	%D%/count.c %D%/count.def %D%/count.h \
	%D%/cqs.c %D%/cqs.h \
	%D%/cr.c \
	%D%/credit.c %D%/credit.h \
	%D%/ctxtab.c %D%/ctxtab.h \
	%D%/dat_api.h \
	%D%/drain.c %D%/drain.h \
	%D%/engine.c %D%/engine.h \
	%D%/ep.c %D%/ep.h \
	%D%/ep_attr.c %D%/ep_attr.h \
	%D%/ep_connect.c \
	%D%/eqs.c %D%/eqs.h \
	%D%/error.c %D%/error.h \
	%D%/evd.c %D%/evd.h \
	%D%/event.h \
	%D%/fabric_env.c %D%/fabric_env.h \
	%D%/fact.c %D%/fact.h \
	%D%/guard.c %D%/guard.h \
	%D%/held_port.c %D%/held_port.h \
	%D%/hint.h \
	%D%/ia.c %D%/ia.h \
	%D%/init.c \
	%D%/issue.c %D%/issue.h \
	%D%/leftover.c %D%/leftover.h \
	%D%/letter.c %D%/letter.h \
	%D%/linger.c %D%/linger.h \
	%D%/list.h \
	%D%/listen.c \
	%D%/lmr.c \
	%D%/lock.c %D%/lock.h \
	%D%/log.c %D%/log.h \
	%D%/log_fabric.c \
	%D%/mem.h \
	%D%/misfit.c %D%/misfit.h \
	%D%/mr.c \
	%D%/mr_cache.c %D%/mr_cache.h \
	%D%/netdev.c %D%/netdev.h \
	%D%/nic.c %D%/nic.h \
	%D%/note.c %D%/note.h \
	%D%/object.c %D%/object.h \
	%D%/orphan.c %D%/orphan.h \
	%D%/param.c %D%/param.def %D%/param.h \
	%D%/peer.c %D%/peer.h \
	%D%/places.c %D%/places.h \
	%D%/post.c \
	%D%/probe.h \
	%D%/psp.c \
	%D%/pz.c \
	%D%/quirks.c %D%/quirks.h \
	%D%/rdm_events.c %D%/rdm_events.h \
	%D%/reap.c \
	%D%/redial.c %D%/redial.h \
	%D%/rma.c %D%/rma.h \
	%D%/rmr.c \
	%D%/rsp.c \
	%D%/segments.c %D%/segments.h \
	%D%/select.c %D%/select.h \
	%D%/short_cut.c %D%/short_cut.h \
	%D%/sp.c %D%/sp.h \
	%D%/srq.c %D%/srq.h \
	%D%/stale.c \
	%D%/stats.c %D%/stats.h \
	%D%/topo.c %D%/topo.h \
	%D%/topo_hwloc.c \
	%D%/trans.h \
	%D%/trans_msg.c \
	%D%/trans_rdm.c \
	%D%/ud.c %D%/ud.h \
	%D%/ud_ah.c \
	%D%/ud_pool.c \
	%D%/unmarked.c %D%/unmarked.h \
	%D%/wait.c %D%/wait.h \
	%D%/wire.c %D%/wire.h

dofi_cppflags = $(product_cppflags) $(LIBFABRIC_CFLAGS) $(HWLOC_CFLAGS)
dofi_libs = $(LIBFABRIC_LIBS) $(HWLOC_LIBS)

%C%_libdofi1_la_SOURCES = $(dofi_sources) %D%/api12.c
%C%_libdofi1_la_SHORTNAME = v1
%C%_libdofi1_la_CPPFLAGS = $(dofi_cppflags) -DDOFI_DAT_MAJOR=1
%C%_libdofi1_la_LIBADD = $(dofi_libs)

%C%_libdofi2_la_SOURCES = $(dofi_sources) %D%/api20.c %D%/ext.c %D%/ext.h
%C%_libdofi2_la_SHORTNAME = v2
%C%_libdofi2_la_CPPFLAGS = $(dofi_cppflags) -DDOFI_DAT_MAJOR=2
%C%_libdofi2_la_LIBADD = $(dofi_libs)

# The registry is the one that loaded us, so none is linked. The library is never unloaded: its
# threads and libfabric's would lose their code.
dofi_ldflags = $(library_ldflags) -module -avoid-version -shared -shrext '' -Wl,-z,nodelete \
	-Wl,--version-script=$(srcdir)/%D%/libdatofi.map

%C%_libdatofi_so_1_la_SOURCES =
%C%_libdatofi_so_1_la_LIBADD = %D%/libdofi1.la
%C%_libdatofi_so_1_la_LDFLAGS = $(dofi_ldflags)
EXTRA_%C%_libdatofi_so_1_la_DEPENDENCIES = %D%/libdatofi.map

%C%_libdatofi_so_2_la_SOURCES =
%C%_libdatofi_so_2_la_LIBADD = %D%/libdofi2.la
%C%_libdatofi_so_2_la_LDFLAGS = $(dofi_ldflags)
EXTRA_%C%_libdatofi_so_2_la_DEPENDENCIES = %D%/libdatofi.map

EXTRA_DIST += %D%/libdatofi.map
