# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The provider: one source, compiled once per generation of DAT. Tests link the convenience
# libraries. The registries load libdatofi.so.1 and libdatofi.so.2 by these names, so there is no
# development link and no further version digit. Libtool appends a suffix to the name of the .la
# file; here the suffix is empty.
lib_LTLIBRARIES += %D%/libdatofi.so.1.la %D%/libdatofi.so.2.la
noinst_LIBRARIES += %D%/libdofi1.a %D%/libdofi2.a

# From the lowest room to the highest; see ARCHITECTURE.md.
dofi_base_sources = \
	%D%/base/addr.c %D%/base/addr.h \
	%D%/base/ascii.h \
	%D%/base/clock.c %D%/base/clock.h \
	%D%/base/cookie.c %D%/base/cookie.h \
	%D%/base/count.def %D%/base/count.h \
	%D%/base/eventfd.c %D%/base/eventfd.h \
	%D%/base/hint.h \
	%D%/base/list.h \
	%D%/base/lock.c %D%/base/lock.h \
	%D%/base/lock_order.c %D%/base/lock_order.h \
	%D%/base/last_word.h \
	%D%/base/log.c %D%/base/log.h \
	%D%/base/log_fabric.c %D%/base/log_fabric.h \
	%D%/base/param.c %D%/base/param.def %D%/base/param.h \
	%D%/base/run_delay.c %D%/base/run_delay.h \
	%D%/base/power.h \
	%D%/base/probe.h \
	%D%/base/process_watch.c %D%/base/process_watch.h \
	%D%/base/secure.c %D%/base/secure.h \
	%D%/base/thread.c %D%/base/thread.h

dofi_memory_sources = \
	%D%/memory/local_socket.c %D%/memory/local_socket.h \
	%D%/memory/remote_copy.c %D%/memory/remote_copy.h \
	%D%/memory/ring.c %D%/memory/ring.h \
	%D%/memory/segment.c %D%/memory/segment.h

dofi_auth_sources = \
	%D%/auth/crypto.c %D%/auth/crypto.h \
	%D%/auth/key.c %D%/auth/key.h \
	%D%/auth/key_file.c %D%/auth/key_file.h \
	%D%/auth/key_user.c %D%/auth/key_user.h \
	%D%/auth/session.c %D%/auth/session.h

dofi_fabric_sources = \
	%D%/fabric/absent.c %D%/fabric/absent.h \
	%D%/fabric/descriptors.c %D%/fabric/descriptors.h \
	%D%/fabric/device_atomics.c %D%/fabric/device_atomics.h \
	%D%/fabric/env.c %D%/fabric/env.h \
	%D%/fabric/eqs.c %D%/fabric/eqs.h \
	%D%/fabric/error.c %D%/fabric/error.h \
	%D%/fabric/facts.c %D%/fabric/facts.h \
	%D%/fabric/fid.c %D%/fabric/fid.h \
	%D%/fabric/foresight.c %D%/fabric/foresight.h \
	%D%/fabric/info.c %D%/fabric/info.h \
	%D%/fabric/mr_cache.c %D%/fabric/mr_cache.h \
	%D%/fabric/netdev.c %D%/fabric/netdev.h \
	%D%/fabric/nic.c %D%/fabric/nic.h \
	%D%/fabric/port_reservation.c %D%/fabric/port_reservation.h \
	%D%/fabric/quirks.c %D%/fabric/quirks.h \
	%D%/fabric/refusals.c %D%/fabric/refusals.h \
	%D%/fabric/requirements.c %D%/fabric/requirements.h \
	%D%/fabric/same_process.c %D%/fabric/same_process.h \
	%D%/fabric/select.c %D%/fabric/select.h \
	%D%/fabric/topo.c %D%/fabric/topo.h \
	%D%/fabric/topo_hwloc.c %D%/fabric/topo_hwloc.h \
	%D%/fabric/traits.c %D%/fabric/traits.h \
	%D%/fabric/wish.c %D%/fabric/wish.h

dofi_object_sources = \
	%D%/base/dat_api.h \
	%D%/object/ctxtab.c %D%/object/ctxtab.h \
	%D%/object/ep.c \
	%D%/object/ep.h \
	%D%/object/ia.h \
	%D%/object/ia_parts.h \
	%D%/object/mem.h \
	%D%/object/mr.c %D%/object/mr.h \
	%D%/object/mr_cached.c %D%/object/mr_cached.h \
	%D%/object/object.c %D%/object/object.h \
	%D%/object/op.c %D%/object/op.h \
	%D%/object/scratch.c %D%/object/scratch.h \
	%D%/object/srq_count.c %D%/object/srq_count.h \
	%D%/object/transport.h \
	%D%/object/ud_ah.h \
	%D%/object/upcalls.h \
	%D%/object/wr.h

dofi_progress_sources = \
	%D%/progress/agent.c %D%/progress/agent.h \
	%D%/progress/cno.c %D%/progress/cno.h \
	%D%/progress/cq_ready.c %D%/progress/cq_ready.h \
	%D%/progress/cq_watch.c %D%/progress/cq_watch.h \
	%D%/progress/cqs.c %D%/progress/cqs.h \
	%D%/progress/driver_sleep.c %D%/progress/driver_sleep.h \
	%D%/progress/engine.c %D%/progress/engine.h \
	%D%/progress/engine_fds.c %D%/progress/engine_fds.h \
	%D%/progress/evd.c %D%/progress/evd.h \
	%D%/progress/evd_streams.c %D%/progress/evd_streams.h \
	%D%/progress/evd_wait.c %D%/progress/evd_wait.h \
	%D%/progress/event.h \
	%D%/progress/nap.c %D%/progress/nap.h \
	%D%/progress/progress_thread.c %D%/progress/progress_thread.h \
	%D%/progress/stall.c %D%/progress/stall.h \
	%D%/progress/timer.c %D%/progress/timer.h \
	%D%/progress/unfold.h \
	%D%/progress/wait.c %D%/progress/wait.h \
	%D%/progress/wakeup.c %D%/progress/wakeup.h \
	%D%/progress/work.c %D%/progress/work.h

dofi_dto_sources = \
	%D%/dto/atomic.c %D%/dto/atomic.h \
	%D%/dto/bounce.c %D%/dto/bounce.h \
	%D%/dto/control.c %D%/dto/control.h \
	%D%/dto/control_message.c %D%/dto/control_message.h \
	%D%/dto/credit.c %D%/dto/credit.h \
	%D%/dto/data_flag.c %D%/dto/data_flag.h \
	%D%/dto/ep_attr.c %D%/dto/ep_attr.h \
	%D%/dto/failure.c %D%/dto/failure.h \
	%D%/dto/guard_byte.c %D%/dto/guard_byte.h \
	%D%/dto/issue.c %D%/dto/issue.h \
	%D%/dto/lmr.c %D%/dto/lmr.h \
	%D%/dto/op_context.h \
	%D%/dto/orphan.c %D%/dto/orphan.h \
	%D%/dto/parts.c %D%/dto/parts.h \
	%D%/dto/post.c %D%/dto/post.h \
	%D%/dto/post_special.c %D%/dto/post_special.h \
	%D%/dto/reap.c %D%/dto/reap.h \
	%D%/dto/receive.c %D%/dto/receive.h \
	%D%/dto/release.c %D%/dto/release.h \
	%D%/dto/remote_context.c %D%/dto/remote_context.h \
	%D%/dto/request.c %D%/dto/request.h \
	%D%/dto/ring.c %D%/dto/ring.h \
	%D%/dto/rma.c %D%/dto/rma.h \
	%D%/dto/rmr.c %D%/dto/rmr.h \
	%D%/dto/srq.c %D%/dto/srq.h \
	%D%/dto/srq_receive.c %D%/dto/srq_receive.h \
	%D%/dto/translate.c %D%/dto/translate.h \
	%D%/dto/ud.c %D%/dto/ud.h \
	%D%/dto/ud_pool.c %D%/dto/ud_pool.h \
	%D%/dto/ud_window.c %D%/dto/ud_window.h \
	%D%/dto/watermark.c %D%/dto/watermark.h

dofi_cm_sources = \
	%D%/cm/accept.c %D%/cm/accept.h \
	%D%/cm/channel.c %D%/cm/channel.h \
	%D%/cm/channel_dial.c %D%/cm/channel_dial.h \
	%D%/cm/channel_find.c %D%/cm/channel_find.h \
	%D%/cm/channel_read.c %D%/cm/channel_read.h \
	%D%/cm/channel_send.c %D%/cm/channel_send.h \
	%D%/cm/cm.c %D%/cm/cm.h \
	%D%/cm/conn.c %D%/cm/conn.h \
	%D%/cm/conn_end.c %D%/cm/conn_end.h \
	%D%/cm/conn_event.c %D%/cm/conn_event.h \
	%D%/cm/conn_message.c %D%/cm/conn_message.h \
	%D%/cm/conn_state.c %D%/cm/conn_state.h \
	%D%/cm/connect.c %D%/cm/connect.h \
	%D%/cm/cr.c %D%/cm/cr.h \
	%D%/cm/crowd.c %D%/cm/crowd.h \
	%D%/cm/disconnect.c %D%/cm/disconnect.h \
	%D%/cm/drain.c %D%/cm/drain.h \
	%D%/cm/ep_life.c %D%/cm/ep_life.h \
	%D%/cm/invalidation.c \
	%D%/cm/invalidation.h \
	%D%/cm/handshake.c %D%/cm/handshake.h \
	%D%/cm/linger.c %D%/cm/linger.h \
	%D%/cm/listener.c %D%/cm/listener.h \
	%D%/cm/path.c %D%/cm/path.h \
	%D%/cm/redial.c %D%/cm/redial.h \
	%D%/cm/service_point.c %D%/cm/service_point.h \
	%D%/cm/stranger.c %D%/cm/stranger.h \
	%D%/cm/truncated.c %D%/cm/truncated.h \
	%D%/cm/ud_ah.c %D%/cm/ud_ah.h \
	%D%/cm/upcalls.c %D%/cm/upcalls.h \
	%D%/cm/wire.c %D%/cm/wire.h

dofi_transport_sources = \
	%D%/transport/async_errors.c %D%/transport/async_errors.h \
	%D%/transport/control_receives.c %D%/transport/control_receives.h \
	%D%/transport/greeting.c %D%/transport/greeting.h \
	%D%/transport/live_threads.c %D%/transport/live_threads.h \
	%D%/transport/memory.c %D%/transport/memory.h \
	%D%/transport/memory_box.c %D%/transport/memory_box.h \
	%D%/transport/memory_fetch.c %D%/transport/memory_fetch.h \
	%D%/transport/memory_in.c %D%/transport/memory_in.h \
	%D%/transport/memory_out.c %D%/transport/memory_out.h \
	%D%/transport/memory_path.c %D%/transport/memory_path.h \
	%D%/transport/memory_pending.c %D%/transport/memory_pending.h \
	%D%/transport/memory_poll.c %D%/transport/memory_poll.h \
	%D%/transport/memory_rdma.c %D%/transport/memory_rdma.h \
	%D%/transport/memory_send.c %D%/transport/memory_send.h \
	%D%/transport/msg.c %D%/transport/msg_path.c %D%/transport/msg_path.h \
	%D%/transport/peer.c %D%/transport/peer.h \
	%D%/transport/rdm.c %D%/transport/rdm.h \
	%D%/transport/rdm_completion.c %D%/transport/rdm_completion.h \
	%D%/transport/rdm_path.c %D%/transport/rdm_path.h \
	%D%/transport/rdm_post.c %D%/transport/rdm_post.h \
	%D%/transport/rdm_tag.h \
	%D%/transport/receive_slots.c %D%/transport/receive_slots.h \
	%D%/transport/shm_cleanup.c %D%/transport/shm_cleanup.h \
	%D%/transport/shm_commands.c %D%/transport/shm_commands.h \
	%D%/transport/shm_layout.c %D%/transport/shm_layout.h \
	%D%/transport/shm_name.c %D%/transport/shm_name.h \
	%D%/transport/shm_peer_table.c %D%/transport/shm_peer_table.h \
	%D%/transport/shm_queue.c %D%/transport/shm_queue.h \
	%D%/transport/shm_region.c %D%/transport/shm_region.h \
	%D%/transport/shm_repair.c %D%/transport/shm_repair.h \
	%D%/transport/shm_requests.c %D%/transport/shm_requests.h \
	%D%/transport/shm_structures.h

dofi_api_sources = \
	%D%/api/api.h \
	%D%/api/attr.c %D%/api/attr.h \
	%D%/api/cno.c %D%/api/cno.h \
	%D%/api/counters.c %D%/api/counters.h \
	%D%/api/cr.c %D%/api/cr.h \
	%D%/api/ep.c %D%/api/ep.h \
	%D%/api/ep_connect.c %D%/api/ep_connect.h \
	%D%/api/evd.c %D%/api/evd.h \
	%D%/api/ia.c %D%/api/ia.h \
	%D%/api/ia_async.c %D%/api/ia_async.h \
	%D%/api/ia_choose.c %D%/api/ia_choose.h \
	%D%/api/ia_list.c %D%/api/ia_list.h \
	%D%/api/ia_steps.c %D%/api/ia_steps.h \
	%D%/api/init.c %D%/api/init.h \
	%D%/api/lmr.c %D%/api/lmr.h \
	%D%/api/psp.c %D%/api/psp.h \
	%D%/api/pz.c %D%/api/pz.h \
	%D%/api/rmr.c %D%/api/rmr.h \
	%D%/api/rsp.c %D%/api/rsp.h \
	%D%/api/stats.c %D%/api/stats.h

dofi_sources = \
	$(dofi_base_sources) \
	$(dofi_memory_sources) \
	$(dofi_auth_sources) \
	$(dofi_fabric_sources) \
	$(dofi_object_sources) \
	$(dofi_progress_sources) \
	$(dofi_dto_sources) \
	$(dofi_cm_sources) \
	$(dofi_transport_sources) \
	$(dofi_api_sources)

dofi_cppflags = $(product_cppflags) -I$(srcdir)/%D% $(LIBFABRIC_CFLAGS) $(HWLOC_CFLAGS) $(CRYPTO_CFLAGS)
dofi_libs = $(LIBFABRIC_LIBS) $(HWLOC_LIBS) $(CRYPTO_LIBS) $(LIBS)

%C%_libdofi1_a_SOURCES = $(dofi_sources) %D%/api/api12.c %D%/progress/unfold12.c
%C%_libdofi1_a_SHORTNAME = v1
%C%_libdofi1_a_CPPFLAGS = $(dofi_cppflags) -DDOFI_DAT_MAJOR=1
%C%_libdofi1_a_CFLAGS = $(pic_cflags)
dofi1_libs = %D%/libdofi1.a $(dofi_libs)

%C%_libdofi2_a_SOURCES = $(dofi_sources) %D%/api/api20.c %D%/progress/unfold20.c %D%/api/ext.c %D%/api/ext.h
%C%_libdofi2_a_SHORTNAME = v2
%C%_libdofi2_a_CPPFLAGS = $(dofi_cppflags) -DDOFI_DAT_MAJOR=2
%C%_libdofi2_a_CFLAGS = $(pic_cflags)
dofi2_libs = %D%/libdofi2.a $(dofi_libs)

# The provider is not linked with a registry, because a registry has loaded it. The provider is
# never unloaded, because its threads and those of libfabric may still run its code.
dofi_ldflags = $(library_ldflags) -module -avoid-version -shared -shrext '' -Wl,-z,nodelete \
	-Wl,--version-script=$(srcdir)/%D%/libdatofi.map

%C%_libdatofi_so_1_la_SOURCES =
%C%_libdatofi_so_1_la_LDFLAGS = $(dofi_ldflags) \
	-Wl,--whole-archive,%D%/libdofi1.a,--no-whole-archive \
	$(dofi_libs:-l%=-Wl,-l%)
EXTRA_%C%_libdatofi_so_1_la_DEPENDENCIES = %D%/libdatofi.map %D%/libdofi1.a

%C%_libdatofi_so_2_la_SOURCES =
%C%_libdatofi_so_2_la_LDFLAGS = $(dofi_ldflags) \
	-Wl,--whole-archive,%D%/libdofi2.a,--no-whole-archive \
	$(dofi_libs:-l%=-Wl,-l%)
EXTRA_%C%_libdatofi_so_2_la_DEPENDENCIES = %D%/libdatofi.map %D%/libdofi2.a

EXTRA_DIST += %D%/libdatofi.map
