# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Every test program and script writes TAP (Check writes it itself, see run-env.in). A program whose
# name ends in 1 or 2 is compiled for that generation of DAT.

unit_tests = \
	%D%/unit/auth/check_crypto \
	%D%/unit/auth/check_key \
	%D%/unit/auth/check_session \
	%D%/unit/progress/check_wakeup \
	%D%/unit/progress/check_cno1 %D%/unit/progress/check_cno2 \
	%D%/unit/registry/check_conf1 %D%/unit/registry/check_conf2 \
	%D%/unit/registry/check_loader2 %D%/unit/registry/check_log2 \
	%D%/unit/cm/check_conn \
	%D%/unit/cm/check_conn_begin %D%/unit/cm/check_conn_disconnect %D%/unit/cm/check_conn_end \
	%D%/unit/cm/check_conn_message %D%/unit/cm/check_conn_state %D%/unit/cm/check_conn_table \
	%D%/unit/cm/check_conn_ud \
	%D%/unit/cm/check_linger \
	%D%/unit/cm/check_channel %D%/unit/cm/check_strangers \
	%D%/unit/dto/check_failure \
	%D%/unit/cm/check_channel_find \
	%D%/unit/cm/check_crowd \
	%D%/unit/progress/check_cqs \
	%D%/unit/dto/check_credit \
	%D%/unit/registry/check_dispatch1 %D%/unit/registry/check_dispatch2 \
	%D%/unit/cm/check_cr \
	%D%/unit/cm/check_dial \
	%D%/unit/cm/check_drain \
	%D%/unit/cm/check_handshake \
	%D%/unit/cm/check_ep_life \
	%D%/unit/cm/check_path \
	%D%/unit/cm/check_redial \
	%D%/unit/cm/check_service_point \
	%D%/unit/progress/check_progress_thread \
	%D%/unit/fabric/check_eqs \
	%D%/unit/fabric/check_error \
	%D%/unit/progress/check_evd1 %D%/unit/progress/check_evd2 \
	%D%/unit/dto/check_ep_attr1 %D%/unit/dto/check_ep_attr2 \
	%D%/unit/dto/check_guard_byte \
	%D%/unit/fabric/check_port_reservation \
	%D%/unit/object/check_ia1 %D%/unit/object/check_ia2 \
	%D%/unit/dto/check_issue \
	%D%/unit/dto/check_lmr \
	%D%/unit/dto/check_remote \
	%D%/unit/dto/check_retry \
	%D%/unit/dto/check_ring \
	%D%/unit/dto/check_rmr \
	%D%/unit/transport/check_shm_cleanup \
	%D%/unit/transport/check_shm_commands %D%/unit/transport/check_shm_layout \
	%D%/unit/transport/check_shm_name \
	%D%/unit/transport/check_shm_peer_table %D%/unit/transport/check_shm_queue \
	%D%/unit/transport/check_shm_requests \
	%D%/unit/transport/check_shm_repair \
	%D%/unit/transport/check_shm_steps \
	%D%/unit/transport/check_live_threads \
	%D%/unit/transport/check_live_threads_text \
	%D%/unit/dto/check_control \
	%D%/unit/dto/check_control_message \
	%D%/unit/dto/check_control_slots \
	%D%/unit/base/check_addr \
	%D%/unit/base/check_ascii \
	%D%/unit/base/check_clock \
	%D%/unit/base/check_cookie \
	%D%/unit/base/check_dat_api1 %D%/unit/base/check_dat_api2 \
	%D%/unit/base/check_eventfd \
	%D%/unit/memory/check_local_socket \
	%D%/unit/memory/check_remote_copy \
	%D%/unit/memory/check_ring \
	%D%/unit/memory/check_segment \
	%D%/unit/base/check_list \
	%D%/unit/base/check_lock \
	%D%/unit/base/check_secure \
	%D%/unit/object/check_ctxtab \
	%D%/unit/base/check_lock_order \
	%D%/unit/base/check_log \
	%D%/unit/base/check_log_fabric \
	%D%/unit/api/check_api20 \
	%D%/unit/api/check_attr \
	%D%/unit/api/check_counters \
	%D%/unit/api/check_ep \
	%D%/unit/api/check_ep_connect \
	%D%/unit/api/check_free1 %D%/unit/api/check_free2 \
	%D%/unit/api/check_ia \
	%D%/unit/api/check_ia_async \
	%D%/unit/api/check_ia_choose \
	%D%/unit/api/check_ia_list \
	%D%/unit/api/check_ia_steps \
	%D%/unit/api/check_init \
	%D%/unit/api/check_no_registry \
	%D%/unit/api/check_stats \
	%D%/unit/api/check_mem1 %D%/unit/api/check_mem2 \
	%D%/unit/cm/check_truncated \
	%D%/unit/object/check_mr \
	%D%/unit/object/check_mr_cached \
	%D%/unit/object/check_ep \
	%D%/unit/object/check_scratch \
	%D%/unit/object/check_slab \
	%D%/unit/fabric/check_mr_cache \
	%D%/unit/fabric/check_netdev \
	%D%/unit/fabric/check_descriptors \
	%D%/unit/fabric/check_device_atomics \
	%D%/unit/fabric/check_facts \
	%D%/unit/fabric/check_info \
	%D%/unit/fabric/check_nic \
	%D%/unit/fabric/check_topo \
	%D%/unit/registry/check_nomem1 %D%/unit/registry/check_nomem2 \
	%D%/unit/object/check_object1 %D%/unit/object/check_object2 \
	%D%/unit/object/check_op1 %D%/unit/object/check_op2 \
	%D%/unit/base/check_param \
	%D%/unit/base/check_process_watch \
	%D%/unit/base/check_run_delay \
	%D%/unit/transport/check_peer \
	%D%/unit/transport/check_receive_slots \
	%D%/unit/dto/check_post \
	%D%/unit/dto/check_post_special \
	%D%/unit/fabric/check_quirks \
	%D%/unit/fabric/check_traits \
	%D%/unit/transport/check_async_errors \
	%D%/unit/dto/check_rma \
	%D%/unit/dto/check_bounce \
	%D%/unit/dto/check_orphan \
	%D%/unit/dto/check_receive \
	%D%/unit/dto/check_reap \
	%D%/unit/dto/check_release \
	%D%/unit/registry/check_ext2 \
	%D%/unit/registry/check_handle1 %D%/unit/registry/check_handle2 \
	%D%/unit/registry/check_list1 %D%/unit/registry/check_list2 \
	%D%/unit/registry/check_registry1 %D%/unit/registry/check_registry2 \
	%D%/unit/registry/check_search1 %D%/unit/registry/check_search2 \
	%D%/unit/fabric/check_env \
	%D%/unit/dto/check_segments \
	%D%/unit/fabric/check_absent \
	%D%/unit/fabric/check_refusals \
	%D%/unit/fabric/check_requirements \
	%D%/unit/fabric/check_select \
	%D%/unit/fabric/check_wish \
	%D%/unit/fabric/check_same_process \
	%D%/unit/cm/check_invalidation \
	%D%/unit/registry/check_strerror1 %D%/unit/registry/check_strerror2 \
	%D%/unit/progress/check_timer \
	%D%/unit/progress/check_unfold1 %D%/unit/progress/check_unfold2 \
	%D%/unit/transport/check_memory \
	%D%/unit/transport/check_memory_box \
	%D%/unit/transport/check_memory_in \
	%D%/unit/transport/check_memory_out \
	%D%/unit/transport/check_memory_path \
	%D%/unit/transport/check_memory_pending \
	%D%/unit/transport/check_memory_poll \
	%D%/unit/transport/check_memory_rdma \
	%D%/unit/transport/check_memory_send \
	%D%/unit/transport/check_msg \
	%D%/unit/transport/check_msg_arguments \
	%D%/unit/transport/check_rdm \
	%D%/unit/transport/check_greeting \
	%D%/unit/transport/check_rdm_completion \
	%D%/unit/transport/check_rdm_post \
	%D%/unit/transport/check_rdm_arguments \
	%D%/unit/transport/check_rdm_path \
	%D%/unit/transport/check_rdm_open \
	%D%/unit/dto/check_atomic \
	%D%/unit/dto/check_immediate \
	%D%/unit/dto/check_srq \
	%D%/unit/dto/check_ud_ep %D%/unit/dto/check_ud_receive %D%/unit/dto/check_ud_send \
	%D%/unit/dto/check_data_flag \
	%D%/unit/progress/check_cq_ready \
	%D%/unit/progress/check_cq_watch \
	%D%/unit/progress/check_drive \
	%D%/unit/progress/check_driver_sleep \
	%D%/unit/progress/check_engine \
	%D%/unit/progress/check_nap \
	%D%/unit/progress/check_quiet \
	%D%/unit/progress/check_stall \
	%D%/unit/progress/check_wait \
	%D%/unit/cm/check_wire
conform_tests = %D%/conform/conform12 %D%/conform/conform20
# conform20 in three parts that run side by side. With a sanitizer the whole takes longer than all
# other tests.
conform_parts = %D%/conform/part1 %D%/conform/part2 %D%/conform/part3
if SANITIZE
quick_conform_tests = %D%/conform/conform12 $(conform_parts)
else
quick_conform_tests = $(conform_tests)
endif
# The conformance suites over fabrics that lack a feature.
without_tests = %D%/conform/without12 %D%/conform/without20
fabric_tests = %D%/fabric/check_fabric
fault_tests = \
	%D%/fault/agent1 %D%/fault/agent2 \
	%D%/fault/alloc1 %D%/fault/alloc2 \
	%D%/fault/auth \
	%D%/fault/bombard \
	%D%/fault/cancel1 %D%/fault/cancel2 \
	%D%/fault/connect1 %D%/fault/connect2 \
	%D%/fault/cut1 %D%/fault/cut2 \
	%D%/fault/datagrams2 \
	%D%/fault/early \
	%D%/fault/elevated \
	%D%/fault/fabric1 %D%/fault/fabric2 \
	%D%/fault/flood1 %D%/fault/flood2 \
	%D%/fault/fork1 %D%/fault/fork2 \
	%D%/fault/freeze1 %D%/fault/freeze2 \
	%D%/fault/hostile \
	%D%/fault/idle1 %D%/fault/idle2 \
	%D%/fault/intruder \
	%D%/fault/kill1 %D%/fault/kill2 \
	%D%/fault/kill_at1 %D%/fault/kill_at2 \
	%D%/fault/leaks1 %D%/fault/leaks2 \
	%D%/fault/lies \
	%D%/fault/neighbour \
	%D%/fault/middle \
	%D%/fault/nomem1 %D%/fault/nomem2 \
	%D%/fault/order1 %D%/fault/order2 \
	%D%/fault/outlive1 %D%/fault/outlive2 \
	%D%/fault/passive1 %D%/fault/passive2 \
	%D%/fault/quals1 %D%/fault/quals2 \
	%D%/fault/random1 %D%/fault/random2 \
	%D%/fault/reach1 %D%/fault/reach2 \
	%D%/fault/same_host1 %D%/fault/same_host2 \
	%D%/fault/scale1 %D%/fault/scale2 \
	%D%/fault/sever1 %D%/fault/sever2 \
	%D%/fault/signal1 %D%/fault/signal2 \
	%D%/fault/spin1 %D%/fault/spin2 \
	%D%/fault/invalidate1 %D%/fault/invalidate2 \
	%D%/fault/stats1 %D%/fault/stats2 \
	%D%/fault/stops1 %D%/fault/stops2 \
	%D%/fault/threads1 %D%/fault/threads2
# The fault programs over every fabric of one host: a short form here, the long form in
# check-faults.
everywhere_tests = %D%/fault/everywhere.sh
# Programs that behave like those of sites and load the library at run time.
site_programs = %D%/programs/impi_like1 %D%/programs/impi_like2 %D%/programs/purescale_like \
	%D%/programs/storm
program_tests = %D%/programs/programs.sh
tool_tests = %D%/tools/completion.sh %D%/tools/containers.sh %D%/tools/coverage.sh \
	%D%/tools/dapl-programs.sh %D%/tools/dat_conf.sh %D%/tools/dat_info.sh \
	%D%/tools/dat_perf.sh %D%/tools/hardening.sh %D%/tools/headers.sh %D%/tools/house.sh \
	%D%/tools/manual.sh %D%/tools/mutants.sh %D%/tools/probes.sh %D%/tools/process.sh \
	%D%/tools/quirks.sh %D%/tools/rules.sh %D%/tools/segments.sh
tool_tests += %D%/packages/abi.sh %D%/packages/recipes.sh

TEST_EXTENSIONS = .sh
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_COMPILER = %D%/run-env
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_COMPILER = %D%/run-env $(SHELL)

# Programs that tests run
helper_programs = %D%/fabric/late_write %D%/lib/plugin_open1 %D%/lib/plugin_open2

if HAVE_CHECK
check_PROGRAMS += $(unit_tests) $(fuzz_tests) $(sim_tests) $(conform_tests) $(without_tests) $(fabric_tests) $(fault_tests) $(site_programs) \
	$(helper_programs)
if SANITIZE
check_PROGRAMS += $(conform_parts)
endif
check_LTLIBRARIES += %D%/fabric/libsham-fi.la %D%/lib/fake_provider1.la %D%/lib/fake_provider2.la
check_LIBRARIES += %D%/lib/libt_fortify.a %D%/lib/libt1.a %D%/lib/libt2.a %D%/conform/libconform20.a
# The long ones first: one that starts last would run alone.
TESTS = $(everywhere_tests) $(quick_conform_tests) $(program_tests) $(fabric_tests) \
	$(checked_efa_tests) $(tool_tests) $(without_tests) $(fault_tests) \
	$(sim_tests) $(fuzz_tests) $(unit_tests)
else
check-local:
	@echo 'The tests need Check: install the package check (Debian) or check-devel (Fedora,' \
		'SUSE) and configure again.' >&2
	@exit 1
endif

t_cppflags = $(AM_CPPFLAGS) $(CHECK_CFLAGS) -I$(top_srcdir)/test/lib
t1_cppflags = $(t_cppflags) -DT_DAT_MAJOR=1
t2_cppflags = $(t_cppflags) -DT_DAT_MAJOR=2
t1_libs = src/.libs/libdat.so $(CHECK_LIBS)
t2_libs = src/.libs/libdat2.so $(CHECK_LIBS)
t_headers = %D%/lib/dat_version.h %D%/lib/t_check.h %D%/lib/t_fstat.h %D%/lib/t_heap.h %D%/lib/t_pidfd.h \
	%D%/lib/unit.h
t_fstat_wraps = -Wl,--wrap=fstat -Wl,--wrap=__fxstat
t_syslog_wraps = -Wl,--wrap=syslog -Wl,--wrap=__syslog_chk -Wl,--wrap=__vsyslog_chk
t_blocks_wraps = -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=free

late_dat = %D%/programs/late_dat.c %D%/programs/late_dat.h %D%/programs/ranks.c %D%/programs/ranks.h \
	%D%/lib/dat_version.h
impi_like = %D%/programs/impi_like.c %D%/programs/hooks.c %D%/programs/hooks.h $(late_dat)
late_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/test/lib
%C%_programs_impi_like1_SOURCES = $(impi_like)
%C%_programs_impi_like1_CPPFLAGS = $(late_cppflags) -DT_DAT_MAJOR=1
%C%_programs_impi_like2_SOURCES = $(impi_like)
%C%_programs_impi_like2_CPPFLAGS = $(late_cppflags) -DT_DAT_MAJOR=2
%C%_programs_purescale_like_SOURCES = %D%/programs/purescale_like.c $(late_dat)
%C%_programs_purescale_like_CPPFLAGS = $(late_cppflags) -DT_DAT_MAJOR=2
%C%_programs_storm_SOURCES = %D%/programs/storm.c $(late_dat)
%C%_programs_storm_CPPFLAGS = $(late_cppflags) -DT_DAT_MAJOR=2

# A provider that the registry loads, and a program that loads the registry into a local scope. The
# -rpath makes libtool build a shared library that is not installed.
t_module_ldflags = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
t1_paths = -DT_MODULE='"$(abs_builddir)/%D%/lib/.libs/fake_provider1.so"' \
	-DT_PLUGIN_OPEN='"$(abs_builddir)/%D%/lib/plugin_open1"'
t2_paths = -DT_MODULE='"$(abs_builddir)/%D%/lib/.libs/fake_provider2.so"' \
	-DT_PLUGIN_OPEN='"$(abs_builddir)/%D%/lib/plugin_open2"'

%C%_lib_fake_provider1_la_SOURCES = %D%/lib/fake_provider.c %D%/lib/fake_provider.h
%C%_lib_fake_provider1_la_CPPFLAGS = $(t1_cppflags)
%C%_lib_fake_provider1_la_LDFLAGS = $(t_module_ldflags)
%C%_lib_fake_provider2_la_SOURCES = %D%/lib/fake_provider.c %D%/lib/fake_provider.h
%C%_lib_fake_provider2_la_CPPFLAGS = $(t2_cppflags)
%C%_lib_fake_provider2_la_LDFLAGS = $(t_module_ldflags)

%C%_lib_plugin_open1_SOURCES = %D%/lib/plugin_open.c
%C%_lib_plugin_open1_CPPFLAGS = $(t1_cppflags)
%C%_lib_plugin_open2_SOURCES = %D%/lib/plugin_open.c
%C%_lib_plugin_open2_CPPFLAGS = $(t2_cppflags)

# --- the registries ---

%C%_unit_registry_check_conf1_SOURCES = %D%/unit/registry/check_conf.c src/conf.c src/log.c $(t_headers)
%C%_unit_registry_check_conf1_CPPFLAGS = $(t1_cppflags) -DDATR_DAT_MAJOR=1 -DDAT_CONF_DIR='"etc"'
%C%_unit_registry_check_conf1_LINK = $(LINK) -Wl,--wrap=fopen
%C%_unit_registry_check_conf1_LDADD = $(CHECK_LIBS)
%C%_unit_registry_check_conf2_SOURCES = %D%/unit/registry/check_conf.c src/conf.c src/log.c $(t_headers)
%C%_unit_registry_check_conf2_CPPFLAGS = $(t2_cppflags) -DDATR_DAT_MAJOR=2 -DDAT_CONF_DIR='"etc"'
%C%_unit_registry_check_conf2_LINK = $(LINK) -Wl,--wrap=fopen
%C%_unit_registry_check_conf2_LDADD = $(CHECK_LIBS)

%C%_unit_registry_check_dispatch1_SOURCES = %D%/unit/registry/check_dispatch.c $(t_headers)
%C%_unit_registry_check_dispatch1_CPPFLAGS = $(t1_cppflags)
%C%_unit_registry_check_dispatch1_LDADD = $(t1_libs)
%C%_unit_registry_check_dispatch2_SOURCES = %D%/unit/registry/check_dispatch.c $(t_headers)
%C%_unit_registry_check_dispatch2_CPPFLAGS = $(t2_cppflags)
%C%_unit_registry_check_dispatch2_LDADD = $(t2_libs)

%C%_unit_registry_check_loader2_SOURCES = %D%/unit/registry/check_loader.c src/loader.c src/log.c $(t_headers)
%C%_unit_registry_check_loader2_CPPFLAGS = $(t2_cppflags) -DDATR_DAT_MAJOR=2 -DDATR_LIBDIR='"/usr/lib/dat"'
%C%_unit_registry_check_loader2_LINK = $(LINK) -Wl,--wrap=getauxval -Wl,--wrap=dladdr -Wl,--wrap=dlopen \
	-Wl,--wrap=dlinfo -Wl,--wrap=dlclose -Wl,--wrap=dlerror -Wl,--wrap=dlsym
%C%_unit_registry_check_loader2_LDADD = $(t2_libs)

%C%_unit_registry_check_nomem1_SOURCES = %D%/unit/registry/check_nomem.c $(t_headers)
%C%_unit_registry_check_nomem1_CPPFLAGS = $(t1_cppflags)
%C%_unit_registry_check_nomem1_LINK = $(LINK) -Wl,--wrap=calloc -Wl,--wrap=free
%C%_unit_registry_check_nomem1_LDADD = src/libdatr1.a $(CHECK_LIBS)
%C%_unit_registry_check_nomem2_SOURCES = %D%/unit/registry/check_nomem.c $(t_headers)
%C%_unit_registry_check_nomem2_CPPFLAGS = $(t2_cppflags)
%C%_unit_registry_check_nomem2_LINK = $(LINK) -Wl,--wrap=calloc -Wl,--wrap=free
%C%_unit_registry_check_nomem2_LDADD = src/libdatr2.a $(CHECK_LIBS)

# The provider that these programs load uses symbols of the program, hence -export-dynamic.
registry_world = %D%/unit/registry/registry_world.h %D%/lib/fake_provider.h $(t_headers)
%C%_unit_registry_check_registry1_SOURCES = %D%/unit/registry/check_registry.c $(registry_world)
%C%_unit_registry_check_registry1_CPPFLAGS = $(t1_cppflags) $(t1_paths)
%C%_unit_registry_check_registry1_LINK = $(LINK) -rdynamic
%C%_unit_registry_check_registry1_LDADD = $(t1_libs)
%C%_unit_registry_check_registry2_SOURCES = %D%/unit/registry/check_registry.c $(registry_world)
%C%_unit_registry_check_registry2_CPPFLAGS = $(t2_cppflags) $(t2_paths)
%C%_unit_registry_check_registry2_LINK = $(LINK) -rdynamic
%C%_unit_registry_check_registry2_LDADD = $(t2_libs)
%C%_unit_registry_check_search1_SOURCES = %D%/unit/registry/check_search.c $(registry_world)
%C%_unit_registry_check_search1_CPPFLAGS = $(t1_cppflags) $(t1_paths)
%C%_unit_registry_check_search1_LINK = $(LINK) -rdynamic
%C%_unit_registry_check_search1_LDADD = $(t1_libs)
%C%_unit_registry_check_search2_SOURCES = %D%/unit/registry/check_search.c $(registry_world)
%C%_unit_registry_check_search2_CPPFLAGS = $(t2_cppflags) $(t2_paths)
%C%_unit_registry_check_search2_LINK = $(LINK) -rdynamic
%C%_unit_registry_check_search2_LDADD = $(t2_libs)
%C%_unit_registry_check_log2_SOURCES = %D%/unit/registry/check_log.c src/log.c %D%/lib/t_syslog.h $(t_headers)
%C%_unit_registry_check_log2_CPPFLAGS = $(t2_cppflags) -DDATR_DAT_MAJOR=2 -DDAT_CONF_DIR='"etc"'
%C%_unit_registry_check_log2_LINK = $(LINK) $(t_syslog_wraps)
%C%_unit_registry_check_log2_LDADD = $(CHECK_LIBS)
%C%_unit_registry_check_list1_SOURCES = %D%/unit/registry/check_list.c $(registry_world)
%C%_unit_registry_check_list1_CPPFLAGS = $(t1_cppflags) $(t1_paths)
%C%_unit_registry_check_list1_LINK = $(LINK) -rdynamic
%C%_unit_registry_check_list1_LDADD = $(t1_libs)
%C%_unit_registry_check_list2_SOURCES = %D%/unit/registry/check_list.c $(registry_world)
%C%_unit_registry_check_list2_CPPFLAGS = $(t2_cppflags) $(t2_paths)
%C%_unit_registry_check_list2_LINK = $(LINK) -rdynamic
%C%_unit_registry_check_list2_LDADD = $(t2_libs)
%C%_unit_registry_check_handle1_SOURCES = %D%/unit/registry/check_handle.c $(registry_world)
%C%_unit_registry_check_handle1_CPPFLAGS = $(t1_cppflags) $(t1_paths)
%C%_unit_registry_check_handle1_LINK = $(LINK) -rdynamic
%C%_unit_registry_check_handle1_LDADD = $(t1_libs)
%C%_unit_registry_check_handle2_SOURCES = %D%/unit/registry/check_handle.c $(registry_world)
%C%_unit_registry_check_handle2_CPPFLAGS = $(t2_cppflags) $(t2_paths)
%C%_unit_registry_check_handle2_LINK = $(LINK) -rdynamic
%C%_unit_registry_check_handle2_LDADD = $(t2_libs)
%C%_unit_registry_check_ext2_SOURCES = %D%/unit/registry/check_ext.c $(registry_world)
%C%_unit_registry_check_ext2_CPPFLAGS = $(t2_cppflags) $(t2_paths)
%C%_unit_registry_check_ext2_LINK = $(LINK) -rdynamic
%C%_unit_registry_check_ext2_LDADD = $(t2_libs)

%C%_unit_registry_check_strerror1_SOURCES = %D%/unit/registry/check_strerror.c $(t_headers)
%C%_unit_registry_check_strerror1_CPPFLAGS = $(t1_cppflags)
%C%_unit_registry_check_strerror1_LDADD = $(t1_libs)
%C%_unit_registry_check_strerror2_SOURCES = %D%/unit/registry/check_strerror.c $(t_headers)
%C%_unit_registry_check_strerror2_CPPFLAGS = $(t2_cppflags)
%C%_unit_registry_check_strerror2_LDADD = $(t2_libs)

# --- the provider: code that does not depend on the generation is tested in one of them ---

# These tests use the provider's structures, which differ with assertions: hence product_cppflags.
p_cppflags = $(product_cppflags) $(CHECK_CFLAGS) $(LIBFABRIC_CFLAGS) \
	-I$(top_srcdir)/test/lib -I$(top_srcdir)/prov/ofi
p1_cppflags = $(p_cppflags) -DDOFI_DAT_MAJOR=1 -DT_DAT_MAJOR=1
p2_cppflags = $(p_cppflags) -DDOFI_DAT_MAJOR=2 -DT_DAT_MAJOR=2
p1_libs = $(dofi1_libs) %D%/lib/libt_fortify.a $(t1_libs)
p2_libs = $(dofi2_libs) %D%/lib/libt_fortify.a $(t2_libs)

# Tests of objects on an IA without a fabric: the linker prefers the functions of fake_ia.c to those
# of libdofi.
fake_ia = %D%/lib/fake_ia.c %D%/lib/fake_ia.h $(t_headers)
fake_ia_wraps = -Wl,--wrap=malloc -Wl,--wrap=mmap

%C%_unit_progress_check_cno1_SOURCES = %D%/unit/progress/check_cno.c $(fake_ia)
%C%_unit_progress_check_cno1_CPPFLAGS = $(p1_cppflags)
%C%_unit_progress_check_cno1_LINK = $(LINK) $(fake_ia_wraps)
%C%_unit_progress_check_cno1_LDADD = $(p1_libs)
%C%_unit_progress_check_cno2_SOURCES = %D%/unit/progress/check_cno.c $(fake_ia)
%C%_unit_progress_check_cno2_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_cno2_LINK = $(LINK) $(fake_ia_wraps)
%C%_unit_progress_check_cno2_LDADD = $(p2_libs)

%C%_unit_fabric_check_error_SOURCES = %D%/unit/fabric/check_error.c $(t_headers)
%C%_unit_fabric_check_error_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_error_LDADD = $(p2_libs)

%C%_unit_progress_check_evd1_SOURCES = %D%/unit/progress/check_evd.c $(fake_ia)
%C%_unit_progress_check_evd1_CPPFLAGS = $(p1_cppflags)
%C%_unit_progress_check_evd1_LINK = $(LINK) $(fake_ia_wraps) -Wl,--wrap=free
%C%_unit_progress_check_evd1_LDADD = $(p1_libs)
%C%_unit_progress_check_evd2_SOURCES = %D%/unit/progress/check_evd.c $(fake_ia)
%C%_unit_progress_check_evd2_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_evd2_LINK = $(LINK) $(fake_ia_wraps) -Wl,--wrap=free
%C%_unit_progress_check_evd2_LDADD = $(p2_libs)

%C%_unit_progress_check_unfold1_SOURCES = %D%/unit/progress/check_unfold.c $(t_headers)
%C%_unit_progress_check_unfold1_CPPFLAGS = $(p1_cppflags)
%C%_unit_progress_check_unfold1_LDADD = $(p1_libs)
%C%_unit_progress_check_unfold2_SOURCES = %D%/unit/progress/check_unfold.c $(t_headers)
%C%_unit_progress_check_unfold2_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_unfold2_LDADD = $(p2_libs)

# The program replaces the registry, whose functions the provider looks up by name, hence
# -export-dynamic.
%C%_unit_object_check_ia1_SOURCES = %D%/unit/object/check_ia.c $(t_headers)
%C%_unit_object_check_ia1_CPPFLAGS = $(p1_cppflags)
%C%_unit_object_check_ia1_LINK = $(LINK) -rdynamic -Wl,--wrap=mmap
%C%_unit_object_check_ia1_LDADD = $(dofi1_libs) $(CHECK_LIBS)
%C%_unit_object_check_ia2_SOURCES = %D%/unit/object/check_ia.c $(t_headers)
%C%_unit_object_check_ia2_CPPFLAGS = $(p2_cppflags)
%C%_unit_object_check_ia2_LINK = $(LINK) -rdynamic -Wl,--wrap=mmap
%C%_unit_object_check_ia2_LDADD = $(dofi2_libs) $(CHECK_LIBS)

# Without -export-dynamic and without libdat.
%C%_unit_api_check_no_registry_SOURCES = %D%/unit/api/check_no_registry.c $(t_headers)
%C%_unit_api_check_no_registry_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_no_registry_LDADD = $(dofi2_libs) $(CHECK_LIBS)
%C%_unit_api_check_mem1_SOURCES = %D%/unit/api/check_mem.c $(fake_ia)
%C%_unit_api_check_mem1_CPPFLAGS = $(p1_cppflags)
%C%_unit_api_check_mem1_LINK = $(LINK) $(fake_ia_wraps)
%C%_unit_api_check_mem1_LDADD = $(p1_libs)
%C%_unit_api_check_mem2_SOURCES = %D%/unit/api/check_mem.c $(fake_ia)
%C%_unit_api_check_mem2_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_mem2_LINK = $(LINK) $(fake_ia_wraps)
%C%_unit_api_check_mem2_LDADD = $(p2_libs)

# Each program tests one object file of the provider and defines the functions that the object
# calls.
%C%_unit_auth_check_key_SOURCES = %D%/unit/auth/check_key.c $(t_headers)
%C%_unit_auth_check_key_CPPFLAGS = $(p2_cppflags)
%C%_unit_auth_check_key_LINK = $(LINK) -Wl,--wrap=write -Wl,--wrap=fsync -Wl,--wrap=linkat \
	-Wl,--wrap=read -Wl,--wrap=close -Wl,--wrap=open -Wl,--wrap=getpwuid_r \
	-Wl,--wrap=dofi_random -Wl,--wrap=dofi_hkdf -Wl,--wrap=dofi_crypto_start \
	-Wl,--wrap=dofi_crypto_forget
%C%_unit_auth_check_key_LDADD = $(p2_libs)
%C%_unit_auth_check_session_SOURCES = %D%/unit/auth/check_session.c $(t_headers)
%C%_unit_auth_check_session_CPPFLAGS = $(p2_cppflags)
%C%_unit_auth_check_session_LINK = $(LINK) -Wl,--wrap=dofi_hmac -Wl,--wrap=dofi_hmac_by
%C%_unit_auth_check_session_LDADD = $(p2_libs)
%C%_unit_auth_check_crypto_SOURCES = %D%/unit/auth/check_crypto.c $(t_headers)
%C%_unit_auth_check_crypto_CPPFLAGS = $(p2_cppflags)
%C%_unit_auth_check_crypto_LINK = $(LINK) -Wl,--wrap=getrandom -Wl,--wrap=mmap -Wl,--wrap=madvise \
	-Wl,--wrap=EVP_MAC_init -Wl,--wrap=EVP_MAC_fetch -Wl,--wrap=EVP_MAC_CTX_set_params
%C%_unit_auth_check_crypto_LDADD = $(p2_libs)
%C%_unit_base_check_addr_SOURCES = %D%/unit/base/check_addr.c $(t_headers)
%C%_unit_base_check_addr_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_addr_LDADD = $(p2_libs)
%C%_unit_base_check_run_delay_SOURCES = %D%/unit/base/check_run_delay.c $(t_headers)
%C%_unit_base_check_run_delay_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_run_delay_LINK = $(LINK) -Wl,--wrap=open -Wl,--wrap=dofi_now -Wl,--wrap=opendir \
	-Wl,--wrap=readdir -Wl,--wrap=closedir
%C%_unit_base_check_run_delay_LDADD = $(p2_libs)

%C%_unit_base_check_clock_SOURCES = %D%/unit/base/check_clock.c $(t_headers)
%C%_unit_base_check_clock_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_clock_LINK = $(LINK) -Wl,--wrap=clock_gettime -Wl,--wrap=ppoll
%C%_unit_base_check_clock_LDADD = $(p2_libs)
%C%_unit_memory_check_local_socket_SOURCES = %D%/unit/memory/check_local_socket.c $(t_headers)
%C%_unit_memory_check_local_socket_CPPFLAGS = $(p2_cppflags)
%C%_unit_memory_check_local_socket_LINK = $(LINK) -Wl,--wrap=setsockopt
%C%_unit_memory_check_local_socket_LDADD = $(p2_libs)
%C%_unit_memory_check_remote_copy_SOURCES = %D%/unit/memory/check_remote_copy.c $(t_headers)
%C%_unit_memory_check_remote_copy_CPPFLAGS = $(p2_cppflags)
%C%_unit_memory_check_remote_copy_LDADD = $(p2_libs)
%C%_unit_memory_check_ring_SOURCES = %D%/unit/memory/check_ring.c $(t_headers)
%C%_unit_memory_check_ring_CPPFLAGS = $(p2_cppflags)
%C%_unit_memory_check_ring_LDADD = $(p2_libs)
%C%_unit_memory_check_segment_SOURCES = %D%/unit/memory/check_segment.c $(t_headers)
%C%_unit_memory_check_segment_CPPFLAGS = $(p2_cppflags)
%C%_unit_memory_check_segment_LINK = $(LINK) -Wl,--wrap=mmap -Wl,--wrap=fcntl $(t_fstat_wraps)
%C%_unit_memory_check_segment_LDADD = $(p2_libs)
%C%_unit_progress_check_wakeup_SOURCES = %D%/unit/progress/check_wakeup.c $(t_headers)
%C%_unit_progress_check_wakeup_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_wakeup_LINK = $(LINK) -Wl,--wrap=dofi_local_socket_receive \
	-Wl,--wrap=dofi_engine_watch -Wl,--wrap=dofi_engine_unwatch -Wl,--wrap=dofi_engine_drain_cq
%C%_unit_progress_check_wakeup_LDADD = $(p2_libs)
%C%_unit_api_check_api20_SOURCES = %D%/unit/api/check_api20.c %D%/lib/ep_ia.h %D%/lib/bare_ia.h $(t_headers)
%C%_unit_api_check_api20_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_api20_LINK = $(LINK) -Wl,--wrap=dofi_lmr_create_based -Wl,--wrap=dofi_rmr_bind_based \
	-Wl,--wrap=dofi_ep_post_send -Wl,--wrap=dofi_ep_post_send_invalidate \
	-Wl,--wrap=dofi_ep_post_write_immediate -Wl,--wrap=dofi_ep_post_send_ud \
	-Wl,--wrap=dofi_ep_post_atomic -Wl,--wrap=dofi_ud_ah_free -Wl,--wrap=dofi_ud_cm_free \
	-Wl,--wrap=dofi_count_query -Wl,--wrap=dofi_count_print -Wl,--wrap=dofi_ia_open \
	-Wl,--wrap=dofi_ia_query -Wl,--wrap=dofi_ia_close
%C%_unit_api_check_api20_LDADD = $(p2_libs)
%C%_unit_api_check_attr_SOURCES = %D%/unit/api/check_attr.c $(t_headers)
%C%_unit_api_check_attr_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_attr_LDADD = $(p2_libs)
%C%_unit_api_check_counters_SOURCES = %D%/unit/api/check_counters.c $(t_headers)
%C%_unit_api_check_counters_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_counters_LINK = $(LINK) -Wl,--wrap=calloc -Wl,--wrap=dofi_engine_poll
%C%_unit_api_check_counters_LDADD = $(p2_libs)
%C%_unit_api_check_ep_SOURCES = %D%/unit/api/check_ep.c %D%/lib/ep_ia.h %D%/lib/bare_ia.h $(t_headers)
%C%_unit_api_check_ep_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_ep_LINK = $(LINK) -Wl,--wrap=aligned_alloc -Wl,--wrap=dofi_engine_poll \
	-Wl,--wrap=dofi_engine_begin -Wl,--wrap=dofi_engine_end -Wl,--wrap=dofi_evd_detach_other
%C%_unit_api_check_ep_LDADD = $(p2_libs)
%C%_unit_api_check_ep_connect_SOURCES = %D%/unit/api/check_ep_connect.c %D%/lib/ep_ia.h %D%/lib/bare_ia.h $(t_headers)
%C%_unit_api_check_ep_connect_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_ep_connect_LINK = $(LINK) -Wl,--wrap=dofi_conn_start -Wl,--wrap=dofi_conn_disconnect \
	-Wl,--wrap=dofi_conn_end_now -Wl,--wrap=dofi_engine_round
%C%_unit_api_check_ep_connect_LDADD = $(p2_libs)
%C%_unit_api_check_free1_SOURCES = %D%/unit/api/check_free.c %D%/lib/bare_ia.h $(t_headers)
%C%_unit_api_check_free1_CPPFLAGS = $(p1_cppflags)
%C%_unit_api_check_free1_LINK = $(LINK) -Wl,--wrap=dofi_obj_retire
%C%_unit_api_check_free1_LDADD = $(p1_libs)
%C%_unit_api_check_free2_SOURCES = %D%/unit/api/check_free.c %D%/lib/bare_ia.h $(t_headers)
%C%_unit_api_check_free2_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_free2_LINK = $(LINK) -Wl,--wrap=dofi_obj_retire
%C%_unit_api_check_free2_LDADD = $(p2_libs)
%C%_unit_api_check_ia_SOURCES = %D%/unit/api/check_ia.c $(t_headers)
%C%_unit_api_check_ia_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_ia_LINK = $(LINK) -Wl,--wrap=dofi_start_thread -Wl,--wrap=dofi_init_lookup \
	-Wl,--wrap=dofi_ia_choose -Wl,--wrap=dofi_ia_steps_begin -Wl,--wrap=dofi_ia_steps_end \
	-Wl,--wrap=dofi_stats_start -Wl,--wrap=dofi_stats_closing -Wl,--wrap=dofi_ia_list_remove \
	-Wl,--wrap=dofi_ia_list_prepare \
	-Wl,--wrap=dofi_cno_in_agent -Wl,--wrap=dofi_sp_unlisten -Wl,--wrap=dofi_linger_begin_all \
	-Wl,--wrap=dofi_cr_destroy -Wl,--wrap=dofi_ep_destroy -Wl,--wrap=dofi_srq_destroy \
	-Wl,--wrap=dofi_sp_destroy -Wl,--wrap=dofi_rmr_destroy -Wl,--wrap=dofi_lmr_destroy \
	-Wl,--wrap=dofi_evd_destroy -Wl,--wrap=dofi_cno_flush -Wl,--wrap=dofi_cno_destroy \
	-Wl,--wrap=dofi_cno_await_agents -Wl,--wrap=dofi_pz_destroy -Wl,--wrap=fi_freeinfo \
	-Wl,--wrap=dofi_obj_alloc -Wl,--wrap=dofi_obj_free -Wl,--wrap=pthread_detach
%C%_unit_api_check_ia_LDADD = $(p2_libs)
%C%_unit_api_check_ia_async_SOURCES = %D%/unit/api/check_ia_async.c %D%/lib/ep_ia.h %D%/lib/bare_ia.h $(t_headers)
%C%_unit_api_check_ia_async_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_ia_async_LINK = $(LINK) -Wl,--wrap=dofi_evd_new -Wl,--wrap=dofi_ia_list_visit
%C%_unit_api_check_ia_async_LDADD = $(p2_libs)
%C%_unit_api_check_init_SOURCES = %D%/unit/api/check_init.c $(t_headers)
%C%_unit_api_check_init_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_init_LINK = $(LINK) -Wl,--wrap=dladdr -Wl,--wrap=dlopen -Wl,--wrap=dlsym \
	-Wl,--wrap=dlvsym -Wl,--wrap=dofi_obj_set_ia_numbers -Wl,--wrap=pthread_mutex_lock \
	-Wl,--wrap=pthread_mutex_unlock -Wl,--wrap=calloc -Wl,--wrap=strdup -Wl,--wrap=free \
	-Wl,--wrap=dofi_secure_environment -Wl,--wrap=dofi_log_set_level
%C%_unit_api_check_init_LDADD = $(p2_libs)
%C%_unit_api_check_ia_choose_SOURCES = %D%/unit/api/check_ia_choose.c $(t_headers)
%C%_unit_api_check_ia_choose_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_ia_choose_LINK = $(LINK) -Wl,--wrap=dofi_params_load -Wl,--wrap=dofi_mr_cache_choose \
	-Wl,--wrap=dofi_fabric_env_prepare -Wl,--wrap=dofi_select -Wl,--wrap=dofi_select_addr \
	-Wl,--wrap=dofi_nic_place_thread -Wl,--wrap=dofi_attr_init -Wl,--wrap=dofi_quirks_of \
	-Wl,--wrap=dofi_order_of -Wl,--wrap=dofi_writes_overtake -Wl,--wrap=dofi_reads_overtake \
	-Wl,--wrap=dofi_has_data -Wl,--wrap=dofi_has_immediates -Wl,--wrap=dofi_inject_max \
	-Wl,--wrap=dofi_stores_targets_in_order
%C%_unit_api_check_ia_choose_LDADD = $(p2_libs)
%C%_unit_api_check_ia_list_SOURCES = %D%/unit/api/check_ia_list.c $(t_headers)
%C%_unit_api_check_ia_list_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_ia_list_LINK = $(LINK) -Wl,--wrap=dofi_now -Wl,--wrap=dofi_thread_time -Wl,--wrap=dofi_cm_fork_child \
	-Wl,--wrap=dofi_cm_exit -Wl,--wrap=dofi_progress_exit -Wl,--wrap=dofi_count_report \
	-Wl,--wrap=dofi_stats_exit -Wl,--wrap=dofi_stats_fork_child \
	-Wl,--wrap=pthread_mutex_lock -Wl,--wrap=pthread_mutex_unlock -Wl,--wrap=dofi_obj_publish \
	-Wl,--wrap=dofi_obj_retire -Wl,--wrap=dofi_obj_fork_begin -Wl,--wrap=dofi_obj_fork_end \
	-Wl,--wrap=dofi_setup_begin_for -Wl,--wrap=dofi_setup_end
%C%_unit_api_check_ia_list_LDADD = $(p2_libs)
%C%_unit_api_check_ia_steps_SOURCES = %D%/unit/api/check_ia_steps.c $(t_headers)
%C%_unit_api_check_ia_steps_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_ia_steps_LINK = $(LINK) -Wl,--wrap=getrlimit -Wl,--wrap=dofi_setup_begin \
	-Wl,--wrap=dofi_setup_end -Wl,--wrap=dofi_device_does_atomics -Wl,--wrap=dofi_domain_has_atomics \
	-Wl,--wrap=fi_fabric -Wl,--wrap=dofi_key_load -Wl,--wrap=dofi_key_text \
	-Wl,--wrap=dofi_key_wipe -Wl,--wrap=dofi_descriptors_look \
	-Wl,--wrap=dofi_fabric_env_choose -Wl,--wrap=dofi_fid_close \
	-Wl,--wrap=dofi_mr_cache_disable -Wl,--wrap=dofi_eqs_open -Wl,--wrap=dofi_eqs_close \
	-Wl,--wrap=dofi_cqs_open -Wl,--wrap=dofi_cqs_close -Wl,--wrap=dofi_engine_init \
	-Wl,--wrap=dofi_engine_fini -Wl,--wrap=dofi_bounces_init -Wl,--wrap=dofi_bounces_fini \
	-Wl,--wrap=dofi_bounces_abandon -Wl,--wrap=dofi_mr_unmap_all -Wl,--wrap=dofi_ctxtab_init \
	-Wl,--wrap=dofi_ctxtab_fini -Wl,--wrap=dofi_scratch_open -Wl,--wrap=dofi_scratch_close \
	-Wl,--wrap=dofi_guard_open -Wl,--wrap=dofi_guard_close -Wl,--wrap=dofi_mr_cached_look \
	-Wl,--wrap=dofi_credit_init -Wl,--wrap=dofi_credit_fini -Wl,--wrap=dofi_memory_open \
	-Wl,--wrap=dofi_ctrl_slots_open -Wl,--wrap=dofi_ctrl_slots_close -Wl,--wrap=dofi_cm_init \
	-Wl,--wrap=dofi_cm_fini -Wl,--wrap=dofi_wakeup_open -Wl,--wrap=dofi_wakeup_close \
	-Wl,--wrap=dofi_progress_start -Wl,--wrap=dofi_progress_stop
%C%_unit_api_check_ia_steps_LDADD = $(p2_libs)
%C%_unit_api_check_stats_SOURCES = %D%/unit/api/check_stats.c $(t_headers)
%C%_unit_api_check_stats_CPPFLAGS = $(p2_cppflags)
%C%_unit_api_check_stats_LINK = $(LINK) -Wl,--wrap=dofi_start_thread -Wl,--wrap=getsockopt \
	-Wl,--wrap=geteuid \
	-Wl,--wrap=open_memstream -Wl,--wrap=fclose -Wl,--wrap=free -Wl,--wrap=poll
%C%_unit_api_check_stats_LDADD = $(p2_libs)
%C%_unit_progress_check_cqs_SOURCES = %D%/unit/progress/check_cqs.c $(t_headers)
%C%_unit_progress_check_cqs_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_cqs_LDADD = $(p2_libs)
%C%_unit_cm_check_cr_SOURCES = %D%/unit/cm/check_cr.c %D%/lib/bare_ia.h $(t_headers)
%C%_unit_cm_check_cr_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_cr_LINK = $(LINK) -Wl,--wrap=mmap
%C%_unit_cm_check_cr_LDADD = $(p2_libs)
%C%_unit_cm_check_service_point_SOURCES = %D%/unit/cm/check_service_point.c %D%/lib/ep_ia.h %D%/lib/bare_ia.h \
	$(t_headers)
%C%_unit_cm_check_service_point_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_service_point_LINK = $(LINK) -Wl,--wrap=dofi_conn_accept -Wl,--wrap=dofi_conn_reject \
	-Wl,--wrap=mmap -Wl,--wrap=dofi_engine_begin
%C%_unit_cm_check_service_point_LDADD = $(p2_libs)
%C%_unit_cm_check_ep_life_SOURCES = %D%/unit/cm/check_ep_life.c %D%/lib/ep_ia.h %D%/lib/bare_ia.h %D%/lib/t_blocks.h \
	$(t_headers)
%C%_unit_cm_check_ep_life_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_ep_life_LINK = $(LINK) $(t_blocks_wraps) -Wl,--wrap=aligned_alloc \
	-Wl,--wrap=dofi_ctrl_slots_attach -Wl,--wrap=dofi_ctrl_slots_detach -Wl,--wrap=dofi_ud_open \
	-Wl,--wrap=dofi_ud_close -Wl,--wrap=dofi_conn_end_now -Wl,--wrap=dofi_bind_cancel \
	-Wl,--wrap=dofi_wait_kick -Wl,--wrap=mmap
%C%_unit_cm_check_ep_life_LDADD = $(p2_libs)
%C%_unit_cm_check_path_SOURCES = %D%/unit/cm/check_path.c $(t_headers)
%C%_unit_cm_check_path_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_path_LINK = $(LINK) -Wl,--wrap=dofi_wait_kick -Wl,--wrap=dofi_ep_issue
%C%_unit_cm_check_path_LDADD = $(p2_libs)
%C%_unit_cm_check_dial_SOURCES = %D%/unit/cm/check_dial.c %D%/lib/t_blocks.h $(t_headers)
%C%_unit_cm_check_dial_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_dial_LINK = $(LINK) -Wl,--wrap=dofi_now -Wl,--wrap=dofi_wait_kick -Wl,--wrap=connect \
	-Wl,--wrap=dofi_conn_ask -Wl,--wrap=dofi_conn_chan_up -Wl,--wrap=dofi_conn_dial_failed \
	-Wl,--wrap=dofi_netdev_is_ours -Wl,--wrap=dofi_conn_chan_lost -Wl,--wrap=dofi_drain_chan_lost \
	-Wl,--wrap=dofi_run_delay_recent -Wl,--wrap=dofi_run_delay_is_high -Wl,--wrap=socket $(t_blocks_wraps)
%C%_unit_cm_check_dial_LDADD = $(p2_libs)
%C%_unit_cm_check_handshake_SOURCES = %D%/unit/cm/check_handshake.c %D%/lib/t_channel.c %D%/lib/t_channel.h \
	$(t_headers)
%C%_unit_cm_check_handshake_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_handshake_LINK = $(LINK) -Wl,--wrap=dofi_wait_kick -Wl,--wrap=dofi_conn_ask \
	-Wl,--wrap=dofi_conn_chan_up -Wl,--wrap=dofi_random -Wl,--wrap=dofi_session_start
%C%_unit_cm_check_handshake_LDADD = $(p2_libs)
%C%_unit_cm_check_redial_SOURCES = %D%/unit/cm/check_redial.c $(t_headers)
%C%_unit_cm_check_redial_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_redial_LINK = $(LINK) -Wl,--wrap=dofi_now -Wl,--wrap=dofi_wait_kick \
	-Wl,--wrap=dofi_conn_handle
%C%_unit_cm_check_redial_LDADD = $(p2_libs)
%C%_unit_cm_check_drain_SOURCES = %D%/unit/cm/check_drain.c %D%/lib/t_blocks.h $(t_headers)
%C%_unit_cm_check_drain_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_drain_LINK = $(LINK) -Wl,--wrap=dofi_now -Wl,--wrap=dofi_wait_kick $(t_blocks_wraps)
%C%_unit_cm_check_drain_LDADD = $(p2_libs)
%C%_unit_cm_check_channel_find_SOURCES = %D%/unit/cm/check_channel_find.c $(t_headers)
%C%_unit_cm_check_channel_find_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_channel_find_LINK = $(LINK) -Wl,--wrap=dofi_addr_equal \
	-Wl,--wrap=dofi_addr_same_host
%C%_unit_cm_check_channel_find_LDADD = $(p2_libs)
%C%_unit_cm_check_crowd_SOURCES = %D%/unit/cm/check_crowd.c $(t_headers)
%C%_unit_cm_check_crowd_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_crowd_LINK = $(LINK) -Wl,--wrap=dofi_now -Wl,--wrap=dofi_chan_close \
	-Wl,--wrap=dofi_chan_send -Wl,--wrap=dofi_addr_same_host -Wl,--wrap=getrlimit
%C%_unit_cm_check_crowd_LDADD = $(p2_libs)
%C%_unit_dto_check_credit_SOURCES = %D%/unit/dto/check_credit.c $(t_headers)
%C%_unit_dto_check_credit_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_credit_LINK = $(LINK) -Wl,--wrap=dofi_mr_map -Wl,--wrap=dofi_mr_abandon
%C%_unit_dto_check_credit_LDADD = $(p2_libs)
%C%_unit_transport_check_shm_cleanup_SOURCES = %D%/unit/transport/check_shm_cleanup.c $(t_headers)
%C%_unit_transport_check_shm_cleanup_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_shm_cleanup_LINK = $(LINK) -Wl,--wrap=dofi_now $(t_fstat_wraps) -Wl,--wrap=fchmod -Wl,--wrap=open \
	-Wl,--wrap=openat
%C%_unit_transport_check_shm_cleanup_LDADD = $(p2_libs)
%C%_unit_transport_check_shm_name_SOURCES = %D%/unit/transport/check_shm_name.c $(t_headers)
%C%_unit_transport_check_shm_name_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_shm_name_LINK = $(LINK) -Wl,--wrap=readlink -Wl,--wrap=dofi_random
%C%_unit_transport_check_shm_name_LDADD = $(p2_libs)
# Regions that a test makes; made_region.c replaces some functions of the C library.
made_region = %D%/unit/transport/made_region.c %D%/unit/transport/made_region.h $(t_headers)
made_region_wraps = -Wl,--wrap=mmap -Wl,--wrap=strdup -Wl,--wrap=free
%C%_unit_transport_check_shm_commands_SOURCES = %D%/unit/transport/check_shm_commands.c $(made_region)
%C%_unit_transport_check_shm_commands_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_shm_commands_LINK = $(LINK) $(made_region_wraps) -Wl,--wrap=malloc -Wl,--wrap=calloc
%C%_unit_transport_check_shm_commands_LDADD = $(p2_libs)
%C%_unit_transport_check_shm_layout_SOURCES = %D%/unit/transport/check_shm_layout.c $(made_region)
%C%_unit_transport_check_shm_layout_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_shm_layout_LINK = $(LINK) $(made_region_wraps) $(t_fstat_wraps) -Wl,--wrap=open
%C%_unit_transport_check_shm_layout_LDADD = $(p2_libs)
%C%_unit_transport_check_shm_peer_table_SOURCES = %D%/unit/transport/check_shm_peer_table.c $(made_region)
%C%_unit_transport_check_shm_peer_table_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_shm_peer_table_LINK = $(LINK) $(made_region_wraps)
%C%_unit_transport_check_shm_peer_table_LDADD = $(p2_libs)
%C%_unit_transport_check_shm_queue_SOURCES = %D%/unit/transport/check_shm_queue.c $(made_region)
%C%_unit_transport_check_shm_queue_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_shm_queue_LINK = $(LINK) $(made_region_wraps)
%C%_unit_transport_check_shm_queue_LDADD = $(p2_libs)
%C%_unit_transport_check_shm_requests_SOURCES = %D%/unit/transport/check_shm_requests.c $(made_region)
%C%_unit_transport_check_shm_requests_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_shm_requests_LINK = $(LINK) $(made_region_wraps)
%C%_unit_transport_check_shm_requests_LDADD = $(p2_libs)
%C%_unit_transport_check_shm_repair_SOURCES = %D%/unit/transport/check_shm_repair.c $(t_headers)
%C%_unit_transport_check_shm_repair_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_shm_repair_LINK = $(LINK) -Wl,--wrap=syscall -Wl,--wrap=dofi_process_watch_open
%C%_unit_transport_check_shm_repair_LDADD = $(p2_libs)
%C%_unit_transport_check_shm_steps_SOURCES = %D%/unit/transport/check_shm_steps.c $(t_headers)
%C%_unit_transport_check_shm_steps_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_shm_steps_LINK = $(LINK) -Wl,--wrap=dofi_shm_map_open \
	-Wl,--wrap=dofi_shm_map_close -Wl,--wrap=dofi_shm_trylock -Wl,--wrap=dofi_shm_take_over \
	-Wl,--wrap=dofi_shm_unlock -Wl,--wrap=dofi_shm_progress -Wl,--wrap=dofi_shm_fill_dead \
	-Wl,--wrap=dofi_shm_repair_own -Wl,--wrap=dofi_shm_refill -Wl,--wrap=dofi_shm_is_idle \
	-Wl,--wrap=dofi_shm_claims -Wl,--wrap=dofi_shm_is_claimed -Wl,--wrap=dofi_shm_discard \
	-Wl,--wrap=dofi_shm_settle -Wl,--wrap=dofi_shm_commands -Wl,--wrap=dofi_shm_give_back \
	-Wl,--wrap=dofi_live_threads_note -Wl,--wrap=dofi_live_threads_are_out \
	-Wl,--wrap=dofi_live_threads_free -Wl,--wrap=dofi_wait_kick -Wl,--wrap=dofi_start_thread \
	-Wl,--wrap=calloc -Wl,--wrap=free -Wl,--wrap=eventfd \
	-Wl,--wrap=dofi_process_watch_open
%C%_unit_transport_check_shm_steps_LDADD = $(p2_libs)
%C%_unit_transport_check_live_threads_SOURCES = %D%/unit/transport/check_live_threads.c $(t_headers)
%C%_unit_transport_check_live_threads_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_live_threads_LDADD = $(p2_libs)
%C%_unit_transport_check_live_threads_text_SOURCES = %D%/unit/transport/check_live_threads_text.c \
	%D%/lib/t_hooks.h $(t_headers)
%C%_unit_transport_check_live_threads_text_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_live_threads_text_LINK = $(LINK) -Wl,--wrap=open -Wl,--wrap=close \
	-Wl,--wrap=opendir -Wl,--wrap=readdir -Wl,--wrap=closedir -Wl,--wrap=realloc \
	-Wl,--wrap=free
%C%_unit_transport_check_live_threads_text_LDADD = $(p2_libs)
%C%_unit_dto_check_control_SOURCES = %D%/unit/dto/check_control.c $(t_headers)
%C%_unit_dto_check_control_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_control_LDADD = $(p2_libs)
%C%_unit_dto_check_control_message_SOURCES = %D%/unit/dto/check_control_message.c $(t_headers)
%C%_unit_dto_check_control_message_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_control_message_LDADD = $(p2_libs)
%C%_unit_dto_check_control_slots_SOURCES = %D%/unit/dto/check_control_slots.c $(t_headers)
%C%_unit_dto_check_control_slots_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_control_slots_LINK = $(LINK) -Wl,--wrap=dofi_mr_map \
	-Wl,--wrap=dofi_mr_abandon -Wl,--wrap=calloc
%C%_unit_dto_check_control_slots_LDADD = $(p2_libs)
%C%_unit_cm_check_truncated_SOURCES = %D%/unit/cm/check_truncated.c $(t_headers)
%C%_unit_cm_check_truncated_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_truncated_LDADD = $(p2_libs)
%C%_unit_transport_check_peer_SOURCES = %D%/unit/transport/check_peer.c %D%/lib/t_blocks.h $(t_headers)
%C%_unit_transport_check_peer_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_peer_LINK = $(LINK) $(t_blocks_wraps) -Wl,--wrap=dofi_now \
	-Wl,--wrap=dofi_shm_may_meet
%C%_unit_transport_check_peer_LDADD = $(p2_libs)
%C%_unit_dto_check_atomic_SOURCES = %D%/unit/dto/check_atomic.c $(t_headers)
%C%_unit_dto_check_atomic_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_atomic_LINK = $(LINK) -Wl,--wrap=dofi_release_rings -Wl,--wrap=dofi_ep_issue \
	-Wl,--wrap=dofi_ep_stall
%C%_unit_dto_check_atomic_LDADD = $(p2_libs)
%C%_unit_dto_check_ep_attr1_SOURCES = %D%/unit/dto/check_ep_attr.c $(t_headers)
%C%_unit_dto_check_ep_attr1_CPPFLAGS = $(p1_cppflags)
%C%_unit_dto_check_ep_attr1_LDADD = $(p1_libs)
%C%_unit_dto_check_ep_attr2_SOURCES = %D%/unit/dto/check_ep_attr.c $(t_headers)
%C%_unit_dto_check_ep_attr2_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_ep_attr2_LDADD = $(p2_libs)
%C%_unit_dto_check_immediate_SOURCES = %D%/unit/dto/check_immediate.c $(t_headers)
%C%_unit_dto_check_immediate_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_immediate_LINK = $(LINK) -Wl,--wrap=dofi_ctrl_msg_announce \
	-Wl,--wrap=dofi_rmr_invalidate -Wl,--wrap=dofi_ep_stall
%C%_unit_dto_check_immediate_LDADD = $(p2_libs)
%C%_unit_dto_check_srq_SOURCES = %D%/unit/dto/check_srq.c %D%/lib/bare_ia.h $(t_headers)
%C%_unit_dto_check_srq_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_srq_LINK = $(LINK) -Wl,--wrap=malloc -Wl,--wrap=realloc \
	-Wl,--wrap=aligned_alloc -Wl,--wrap=mmap -Wl,--wrap=dofi_random -Wl,--wrap=dofi_bounce_give \
	-Wl,--wrap=dofi_obj_free
%C%_unit_dto_check_srq_LDADD = $(p2_libs)
# UD EPs on a fabric that the test controls
ud_world = %D%/unit/dto/ud_world.c %D%/unit/dto/ud_world.h $(t_headers)
%C%_unit_dto_check_ud_ep_SOURCES = %D%/unit/dto/check_ud_ep.c $(ud_world)
%C%_unit_dto_check_ud_ep_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_ud_ep_LINK = $(LINK) -Wl,--wrap=dofi_mr_register -Wl,--wrap=dofi_mr_close \
	-Wl,--wrap=calloc -Wl,--wrap=free -Wl,--wrap=dofi_random -Wl,--wrap=dofi_bounce_give
%C%_unit_dto_check_ud_ep_LDADD = $(p2_libs)
%C%_unit_dto_check_ud_receive_SOURCES = %D%/unit/dto/check_ud_receive.c $(ud_world)
%C%_unit_dto_check_ud_receive_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_ud_receive_LDADD = $(p2_libs)
%C%_unit_dto_check_ud_send_SOURCES = %D%/unit/dto/check_ud_send.c $(ud_world)
%C%_unit_dto_check_ud_send_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_ud_send_LINK = $(LINK) -Wl,--wrap=dofi_bounce_give
%C%_unit_dto_check_ud_send_LDADD = $(p2_libs)
%C%_unit_transport_check_receive_slots_SOURCES = %D%/unit/transport/check_receive_slots.c $(t_headers)
%C%_unit_transport_check_receive_slots_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_receive_slots_LDADD = $(p2_libs)
%C%_unit_object_check_mr_SOURCES = %D%/unit/object/check_mr.c $(t_headers)
%C%_unit_object_check_mr_CPPFLAGS = $(p2_cppflags)
%C%_unit_object_check_mr_LINK = $(LINK) -Wl,--wrap=getrlimit
%C%_unit_object_check_mr_LDADD = $(p2_libs)
%C%_unit_object_check_mr_cached_SOURCES = %D%/unit/object/check_mr_cached.c $(t_headers)
%C%_unit_object_check_mr_cached_CPPFLAGS = $(p2_cppflags)
%C%_unit_object_check_mr_cached_LDADD = $(p2_libs)
%C%_unit_fabric_check_quirks_SOURCES = %D%/unit/fabric/check_quirks.c $(t_headers)
%C%_unit_fabric_check_quirks_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_quirks_LDADD = $(p2_libs)

%C%_unit_fabric_check_traits_SOURCES = %D%/unit/fabric/check_traits.c $(t_headers)
%C%_unit_fabric_check_traits_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_traits_LDADD = $(p2_libs)
%C%_unit_transport_check_async_errors_SOURCES = %D%/unit/transport/check_async_errors.c $(t_headers)
%C%_unit_transport_check_async_errors_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_async_errors_LINK = $(LINK) -Wl,--wrap=dofi_evd_async -Wl,--wrap=dofi_obj_ia_handle
%C%_unit_transport_check_async_errors_LDADD = $(p2_libs)
%C%_unit_fabric_check_env_SOURCES = %D%/unit/fabric/check_env.c %D%/lib/t_machine.c %D%/lib/t_machine.h $(t_headers)
%C%_unit_fabric_check_env_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_env_LINK = $(LINK) -Wl,--wrap=setenv -Wl,--wrap=fi_dupinfo -Wl,--wrap=fi_freeinfo \
	-Wl,--wrap=strdup
%C%_unit_fabric_check_env_LDADD = $(p2_libs)
%C%_unit_cm_check_invalidation_SOURCES = %D%/unit/cm/check_invalidation.c $(t_headers)
%C%_unit_cm_check_invalidation_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_invalidation_LINK = $(LINK) -Wl,--wrap=dofi_wait_kick -Wl,--wrap=dofi_bind_apply \
	-Wl,--wrap=dofi_release_rings -Wl,--wrap=dofi_ep_issue -Wl,--wrap=dofi_wait_sleep \
	-Wl,--wrap=dofi_reap -Wl,--wrap=dofi_now -Wl,--wrap=dofi_ctxtab_subscribe
%C%_unit_cm_check_invalidation_LDADD = $(p2_libs)
%C%_unit_fabric_check_same_process_SOURCES = %D%/unit/fabric/check_same_process.c $(t_headers)
%C%_unit_fabric_check_same_process_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_same_process_LDADD = $(p2_libs)
%C%_unit_transport_check_memory_poll_SOURCES = %D%/unit/transport/check_memory_poll.c $(t_headers)
%C%_unit_transport_check_memory_poll_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_memory_poll_LINK = $(LINK) -Wl,--wrap=dofi_memory_take_cells -Wl,--wrap=dofi_reap \
	-Wl,--wrap=dofi_memory_go_on -Wl,--wrap=dofi_box_serve -Wl,--wrap=dofi_conn_path_down
%C%_unit_transport_check_memory_poll_LDADD = $(p2_libs)

# A path that a test makes; made_path.c replaces some functions of the provider.
made_path = %D%/unit/transport/made_path.c %D%/unit/transport/made_path.h $(t_headers)
made_path_wraps = -Wl,--wrap=dofi_remote_write -Wl,--wrap=dofi_remote_read -Wl,--wrap=dofi_box_ask \
	-Wl,--wrap=dofi_reap_done -Wl,--wrap=dofi_wait_kick
%C%_unit_transport_check_memory_out_SOURCES = %D%/unit/transport/check_memory_out.c $(made_path)
%C%_unit_transport_check_memory_out_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_memory_out_LINK = $(LINK) $(made_path_wraps) \
	-Wl,--wrap=dofi_wakeup_call -Wl,--wrap=dofi_memory_source
%C%_unit_transport_check_memory_out_LDADD = $(p2_libs)
%C%_unit_transport_check_memory_path_SOURCES = %D%/unit/transport/check_memory_path.c $(made_path)
%C%_unit_transport_check_memory_path_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_memory_path_LINK = $(LINK) $(made_path_wraps)
%C%_unit_transport_check_memory_path_LDADD = $(p2_libs)
%C%_unit_transport_check_memory_pending_SOURCES = %D%/unit/transport/check_memory_pending.c $(made_path)
%C%_unit_transport_check_memory_pending_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_memory_pending_LINK = $(LINK) $(made_path_wraps) -Wl,--wrap=dofi_box_is_done
%C%_unit_transport_check_memory_pending_LDADD = $(p2_libs)
%C%_unit_transport_check_memory_rdma_SOURCES = %D%/unit/transport/check_memory_rdma.c $(made_path)
%C%_unit_transport_check_memory_rdma_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_memory_rdma_LINK = $(LINK) $(made_path_wraps)
%C%_unit_transport_check_memory_rdma_LDADD = $(p2_libs)
%C%_unit_transport_check_memory_send_SOURCES = %D%/unit/transport/check_memory_send.c $(made_path)
%C%_unit_transport_check_memory_send_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_memory_send_LINK = $(LINK) $(made_path_wraps)
%C%_unit_transport_check_memory_send_LDADD = $(p2_libs)
%C%_unit_transport_check_memory_box_SOURCES = %D%/unit/transport/check_memory_box.c $(t_headers)
%C%_unit_transport_check_memory_box_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_memory_box_LINK = $(LINK) -Wl,--wrap=dofi_ctx_memory
%C%_unit_transport_check_memory_box_LDADD = $(p2_libs)
%C%_unit_transport_check_memory_SOURCES = %D%/unit/transport/check_memory.c %D%/lib/t_blocks.h $(t_headers)
%C%_unit_transport_check_memory_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_memory_LINK = $(LINK) -Wl,--wrap=dofi_wait_kick \
	-Wl,--wrap=dofi_wakeup_pass -Wl,--wrap=dofi_wakeup_read -Wl,--wrap=dofi_memory_path_join \
	-Wl,--wrap=dofi_conn_expected -Wl,--wrap=dofi_conn_path_up -Wl,--wrap=dofi_conn_path_down \
	-Wl,--wrap=dofi_conn_by_id -Wl,--wrap=dofi_conn_by_token -Wl,--wrap=prctl \
	-Wl,--wrap=dofi_badge_show -Wl,--wrap=dofi_process_is_dead $(t_blocks_wraps)
%C%_unit_transport_check_memory_LDADD = $(p2_libs)

%C%_unit_transport_check_memory_in_SOURCES = %D%/unit/transport/check_memory_in.c $(t_headers)
%C%_unit_transport_check_memory_in_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_memory_in_LINK = $(LINK) -Wl,--wrap=dofi_reap_done \
	-Wl,--wrap=dofi_wait_end_sleep \
	-Wl,--wrap=dofi_receive_done_held \
	-Wl,--wrap=dofi_ctrl_arrived -Wl,--wrap=dofi_credit_arrived -Wl,--wrap=dofi_ctx_memory \
	-Wl,--wrap=dofi_ctrl_msg_arrived -Wl,--wrap=dofi_remote_read \
	-Wl,--wrap=dofi_remote_read_pieces -Wl,--wrap=dofi_ring_read
%C%_unit_transport_check_memory_in_LDADD = $(p2_libs)
%C%_unit_transport_check_msg_SOURCES = %D%/unit/transport/check_msg.c $(t_headers)
%C%_unit_transport_check_msg_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_msg_LINK = $(LINK) -Wl,--wrap=dofi_conn_path_made -Wl,--wrap=dofi_conn_proceeds \
	-Wl,--wrap=dofi_conn_end -Wl,--wrap=dofi_conn_by_token -Wl,--wrap=dofi_conn_by_id \
	-Wl,--wrap=dofi_conn_path_up -Wl,--wrap=dofi_conn_path_down \
	-Wl,--wrap=dofi_rma_write_data -Wl,--wrap=dofi_reap_done -Wl,--wrap=dofi_ctrl_arrived \
	-Wl,--wrap=fi_freeinfo -Wl,--wrap=dofi_wait_kick
%C%_unit_transport_check_msg_LDADD = $(p2_libs)
%C%_unit_transport_check_msg_arguments_SOURCES = %D%/unit/transport/check_msg_arguments.c %D%/unit/transport/noted_call.h \
	$(t_headers)
%C%_unit_transport_check_msg_arguments_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_msg_arguments_LINK = $(LINK) -Wl,--wrap=dofi_rma_ctrl -Wl,--wrap=dofi_credit_write \
	-Wl,--wrap=dofi_reap_done
%C%_unit_transport_check_msg_arguments_LDADD = $(p2_libs)
%C%_unit_transport_check_rdm_SOURCES = %D%/unit/transport/check_rdm.c $(t_headers)
%C%_unit_transport_check_rdm_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_rdm_LINK = $(LINK) -Wl,--wrap=dofi_mr_register -Wl,--wrap=dofi_mr_close
%C%_unit_transport_check_rdm_LDADD = $(p2_libs)
%C%_unit_transport_check_rdm_completion_SOURCES = %D%/unit/transport/check_rdm_completion.c $(t_headers)
%C%_unit_transport_check_rdm_completion_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_rdm_completion_LINK = $(LINK) -Wl,--wrap=dofi_conn_by_secret -Wl,--wrap=dofi_conn_by_id \
	-Wl,--wrap=dofi_ud_conn_of -Wl,--wrap=dofi_ctrl_msg_arrived -Wl,--wrap=dofi_ud_mark_answered \
	-Wl,--wrap=dofi_credit_arrived -Wl,--wrap=dofi_greeting_arrived -Wl,--wrap=dofi_ctrl_arrived \
	-Wl,--wrap=dofi_reap_done -Wl,--wrap=dofi_ctrl_recv_taken -Wl,--wrap=dofi_ctrl_recvs_post_missing \
	-Wl,--wrap=dofi_ctrl_recv_post_again
%C%_unit_transport_check_rdm_completion_LDADD = $(p2_libs)
%C%_unit_transport_check_greeting_SOURCES = %D%/unit/transport/check_greeting.c $(t_headers)
%C%_unit_transport_check_greeting_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_greeting_LINK = $(LINK) -Wl,--wrap=dofi_conn_by_id -Wl,--wrap=dofi_conn_path_up \
	-Wl,--wrap=dofi_conn_path_down -Wl,--wrap=dofi_conn_proceeds -Wl,--wrap=dofi_memory_withdraw \
	-Wl,--wrap=dofi_now
%C%_unit_transport_check_greeting_LDADD = $(p2_libs)
%C%_unit_transport_check_rdm_post_SOURCES = %D%/unit/transport/check_rdm_post.c $(t_headers)
%C%_unit_transport_check_rdm_post_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_rdm_post_LDADD = $(p2_libs)
%C%_unit_transport_check_rdm_arguments_SOURCES = %D%/unit/transport/check_rdm_arguments.c %D%/unit/transport/noted_call.h \
	$(t_headers)
%C%_unit_transport_check_rdm_arguments_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_rdm_arguments_LINK = $(LINK) -Wl,--wrap=dofi_rma_read -Wl,--wrap=dofi_rma_write \
	-Wl,--wrap=dofi_rma_write_data -Wl,--wrap=dofi_rma_ctrl -Wl,--wrap=dofi_rma_peek \
	-Wl,--wrap=dofi_wakeup_send -Wl,--wrap=dofi_wait_kick
%C%_unit_transport_check_rdm_arguments_LDADD = $(p2_libs)
%C%_unit_transport_check_rdm_path_SOURCES = %D%/unit/transport/check_rdm_path.c $(t_headers)
%C%_unit_transport_check_rdm_path_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_rdm_path_LINK = $(LINK) -Wl,--wrap=dofi_peer_take -Wl,--wrap=dofi_peer_give \
	-Wl,--wrap=dofi_conn_path_made -Wl,--wrap=dofi_greeting_begin -Wl,--wrap=dofi_greeting_end \
	-Wl,--wrap=dofi_orphans_outstanding -Wl,--wrap=dofi_orphans_adopt_ep \
	-Wl,--wrap=dofi_drain_begin -Wl,--wrap=dofi_drain_settle -Wl,--wrap=dofi_engine_drain_cq
%C%_unit_transport_check_rdm_path_LDADD = $(p2_libs)
%C%_unit_transport_check_rdm_open_SOURCES = %D%/unit/transport/check_rdm_open.c %D%/lib/t_blocks.h $(t_headers)
%C%_unit_transport_check_rdm_open_CPPFLAGS = $(p2_cppflags)
%C%_unit_transport_check_rdm_open_LINK = $(LINK) $(t_blocks_wraps) \
	-Wl,--wrap=dofi_ctrl_recvs_post -Wl,--wrap=dofi_ctrl_recvs_post_missing \
	-Wl,--wrap=dofi_shm_repair_close -Wl,--wrap=dofi_shm_cleanup_fini \
	-Wl,--wrap=dofi_ud_pool_close -Wl,--wrap=dofi_ud_pool_retry \
	-Wl,--wrap=dofi_ud_answers_retry -Wl,--wrap=dofi_orphans_free_all \
	-Wl,--wrap=dofi_drain_free_all -Wl,--wrap=dofi_drain_retry -Wl,--wrap=dofi_peers_open \
	-Wl,--wrap=dofi_peers_withdraw -Wl,--wrap=dofi_peers_close \
	-Wl,--wrap=dofi_async_errors_open -Wl,--wrap=dofi_async_errors_begin \
	-Wl,--wrap=dofi_async_errors_close -Wl,--wrap=dofi_async_errors_poll \
	-Wl,--wrap=dofi_shm_cleanup_probe -Wl,--wrap=dofi_shm_cleanup_init \
	-Wl,--wrap=dofi_shm_repair_open -Wl,--wrap=dofi_shm_name_set \
	-Wl,--wrap=dofi_same_process_hide -Wl,--wrap=dofi_greetings_poll \
	-Wl,--wrap=dofi_rx_slots_try_more -Wl,--wrap=dofi_mr_close -Wl,--wrap=dofi_peer_of \
	-Wl,--wrap=dofi_peer_find -Wl,--wrap=dofi_peer_closed -Wl,--wrap=dofi_srq_cancel \
	-Wl,--wrap=dofi_srq_abandon -Wl,--wrap=dofi_engine_drain_cq
%C%_unit_transport_check_rdm_open_LDADD = $(p2_libs)
%C%_unit_fabric_check_mr_cache_SOURCES = %D%/unit/fabric/check_mr_cache.c %D%/lib/t_machine.c %D%/lib/t_machine.h $(t_headers)
%C%_unit_fabric_check_mr_cache_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_mr_cache_LDADD = $(p2_libs)

%C%_unit_fabric_check_netdev_SOURCES = %D%/unit/fabric/check_netdev.c %D%/lib/t_machine.c \
	%D%/lib/t_machine.h $(t_headers)
%C%_unit_fabric_check_netdev_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_netdev_LINK = $(LINK) -Wl,--wrap=getifaddrs -Wl,--wrap=freeifaddrs
%C%_unit_fabric_check_netdev_LDADD = $(p2_libs)

%C%_unit_fabric_check_facts_SOURCES = %D%/unit/fabric/check_facts.c $(t_headers)
%C%_unit_fabric_check_facts_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_facts_LINK = $(LINK) -Wl,--wrap=fopen -Wl,--wrap=dladdr -Wl,--wrap=fi_version
%C%_unit_fabric_check_facts_LDADD = $(p2_libs)
%C%_unit_fabric_check_info_SOURCES = %D%/unit/fabric/check_info.c $(t_headers)
%C%_unit_fabric_check_info_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_info_LINK = $(LINK) -Wl,--wrap=fi_getinfo -Wl,--wrap=dofi_thread_time
%C%_unit_fabric_check_info_LDADD = $(p2_libs)
%C%_unit_fabric_check_nic_SOURCES = %D%/unit/fabric/check_nic.c %D%/lib/t_machine.c %D%/lib/t_machine.h $(t_headers)
%C%_unit_fabric_check_nic_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_nic_LINK = $(LINK) -Wl,--wrap=sched_getaffinity -Wl,--wrap=dofi_hwloc_load \
	-Wl,--wrap=dofi_cpus_of_group -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=free
%C%_unit_fabric_check_nic_LDADD = $(p2_libs)
%C%_unit_fabric_check_descriptors_SOURCES = %D%/unit/fabric/check_descriptors.c $(t_headers)
%C%_unit_fabric_check_descriptors_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_descriptors_LINK = $(LINK) -Wl,--wrap=open -Wl,--wrap=close
%C%_unit_fabric_check_descriptors_LDADD = $(p2_libs)
%C%_unit_fabric_check_device_atomics_SOURCES = %D%/unit/fabric/check_device_atomics.c $(t_headers)
%C%_unit_fabric_check_device_atomics_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_device_atomics_LINK = $(LINK) -Wl,--wrap=dlopen -Wl,--wrap=dlsym -Wl,--wrap=dlclose
%C%_unit_fabric_check_device_atomics_LDADD = $(p2_libs)
%C%_unit_fabric_check_topo_SOURCES = %D%/unit/fabric/check_topo.c %D%/lib/t_machine.c %D%/lib/t_machine.h $(t_headers)
%C%_unit_fabric_check_topo_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_topo_LINK = $(LINK) -Wl,--wrap=fopen -Wl,--wrap=dofi_hwloc_load \
	-Wl,--wrap=dofi_hwloc_unload -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=free \
	-Wl,--wrap=hwloc_topology_init -Wl,--wrap=hwloc_topology_load -Wl,--wrap=hwloc_topology_destroy \
	-Wl,--wrap=hwloc_topology_set_all_types_filter -Wl,--wrap=hwloc_topology_set_type_filter \
	-Wl,--wrap=hwloc_topology_set_flags -Wl,--wrap=hwloc_topology_set_components \
	-Wl,--wrap=hwloc_distances_get_by_type -Wl,--wrap=hwloc_distances_release
%C%_unit_fabric_check_topo_LDADD = $(p2_libs)

%C%_unit_object_check_object1_SOURCES = %D%/unit/object/check_object.c $(fake_ia)
%C%_unit_object_check_object1_CPPFLAGS = $(p1_cppflags)
%C%_unit_object_check_object1_LINK = $(LINK) $(fake_ia_wraps)
%C%_unit_object_check_object1_LDADD = $(p1_libs)
%C%_unit_object_check_object2_SOURCES = %D%/unit/object/check_object.c $(fake_ia)
%C%_unit_object_check_object2_CPPFLAGS = $(p2_cppflags)
%C%_unit_object_check_object2_LINK = $(LINK) $(fake_ia_wraps)
%C%_unit_object_check_object2_LDADD = $(p2_libs)

%C%_unit_object_check_scratch_SOURCES = %D%/unit/object/check_scratch.c $(t_headers)
%C%_unit_object_check_scratch_CPPFLAGS = $(p2_cppflags)
%C%_unit_object_check_scratch_LINK = $(LINK) -Wl,--wrap=dofi_mr_map -Wl,--wrap=dofi_mr_abandon
%C%_unit_object_check_scratch_LDADD = $(p2_libs)
%C%_unit_object_check_slab_SOURCES = %D%/unit/object/check_slab.c %D%/lib/t_hooks.h $(t_headers)
%C%_unit_object_check_slab_CPPFLAGS = $(p2_cppflags)
%C%_unit_object_check_slab_LINK = $(LINK) -Wl,--wrap=mmap
%C%_unit_object_check_slab_LDADD = $(p2_libs)
%C%_unit_object_check_ep_SOURCES = %D%/unit/object/check_ep.c $(t_headers)
%C%_unit_object_check_ep_CPPFLAGS = $(p2_cppflags)
%C%_unit_object_check_ep_LDADD = $(p2_libs)

%C%_unit_object_check_op1_SOURCES = %D%/unit/object/check_op.c $(t_headers)
%C%_unit_object_check_op1_CPPFLAGS = $(p1_cppflags)
%C%_unit_object_check_op1_LDADD = $(p1_libs)
%C%_unit_object_check_op2_SOURCES = %D%/unit/object/check_op.c $(t_headers)
%C%_unit_object_check_op2_CPPFLAGS = $(p2_cppflags)
%C%_unit_object_check_op2_LDADD = $(p2_libs)

%C%_unit_base_check_param_SOURCES = %D%/unit/base/check_param.c $(t_headers)
%C%_unit_base_check_param_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_param_LINK = $(LINK) -Wl,--wrap=strdup
%C%_unit_base_check_param_LDADD = $(p2_libs)

offers = %D%/unit/fabric/simulated_offers.c %D%/unit/fabric/simulated_offers.h \
	%D%/lib/t_machine.c %D%/lib/t_machine.h $(t_headers)
offers_wraps = -Wl,--wrap=fi_getinfo -Wl,--wrap=fi_version
%C%_unit_fabric_check_absent_SOURCES = %D%/unit/fabric/check_absent.c $(offers)
%C%_unit_fabric_check_absent_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_absent_LINK = $(LINK) $(offers_wraps)
%C%_unit_fabric_check_absent_LDADD = $(p2_libs)
%C%_unit_fabric_check_refusals_SOURCES = %D%/unit/fabric/check_refusals.c $(offers)
%C%_unit_fabric_check_refusals_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_refusals_LINK = $(LINK) $(offers_wraps)
%C%_unit_fabric_check_refusals_LDADD = $(p2_libs)
%C%_unit_fabric_check_requirements_SOURCES = %D%/unit/fabric/check_requirements.c $(offers)
%C%_unit_fabric_check_requirements_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_requirements_LINK = $(LINK) $(offers_wraps)
%C%_unit_fabric_check_requirements_LDADD = $(p2_libs)
%C%_unit_fabric_check_select_SOURCES = %D%/unit/fabric/check_select.c $(offers)
%C%_unit_fabric_check_select_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_select_LINK = $(LINK) $(offers_wraps) -Wl,--wrap=fi_dupinfo \
	-Wl,--wrap=fi_freeinfo -Wl,--wrap=strdup -Wl,--wrap=calloc -Wl,--wrap=open_memstream
%C%_unit_fabric_check_select_LDADD = $(p2_libs)
%C%_unit_fabric_check_wish_SOURCES = %D%/unit/fabric/check_wish.c $(offers)
%C%_unit_fabric_check_wish_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_wish_LINK = $(LINK) $(offers_wraps) -Wl,--wrap=getifaddrs \
	-Wl,--wrap=freeifaddrs -Wl,--wrap=connect
%C%_unit_fabric_check_wish_LDADD = $(p2_libs)

%C%_unit_cm_check_conn_SOURCES = %D%/unit/cm/check_conn.c %D%/lib/t_blocks.h $(t_headers)
%C%_unit_cm_check_conn_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_conn_LINK = $(LINK) -Wl,--wrap=dofi_now -Wl,--wrap=dofi_sp_offer -Wl,--wrap=dofi_wait_kick \
	-Wl,--wrap=dofi_chan_dial -Wl,--wrap=dofi_random $(t_blocks_wraps)
%C%_unit_cm_check_conn_LDADD = $(p2_libs)
# What leads out of a connection is replaced, in conn_world.c.
conn_world = %D%/unit/cm/conn_world.c %D%/unit/cm/conn_world.h $(t_headers)
conn_world_wraps = -Wl,--wrap=dofi_now -Wl,--wrap=dofi_sp_offer -Wl,--wrap=dofi_wait_kick \
	-Wl,--wrap=dofi_chan_dial -Wl,--wrap=dofi_chan_send -Wl,--wrap=dofi_chan_flush -Wl,--wrap=dofi_evd_push \
	-Wl,--wrap=dofi_ep_sync -Wl,--wrap=dofi_engine_drain_cq -Wl,--wrap=dofi_linger_wait -Wl,--wrap=dofi_ud_forget \
	-Wl,--wrap=dofi_conn_step -Wl,--wrap=dofi_chan_read -Wl,--wrap=dofi_release_flushed \
	-Wl,--wrap=dofi_evd_async -Wl,--wrap=dofi_truncated_settle -Wl,--wrap=dofi_run_delay_is_high \
	-Wl,--wrap=dofi_wakeup_read
%C%_unit_cm_check_conn_begin_SOURCES = %D%/unit/cm/check_conn_begin.c $(conn_world)
%C%_unit_cm_check_conn_begin_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_conn_begin_LINK = $(LINK) $(conn_world_wraps)
%C%_unit_cm_check_conn_begin_LDADD = $(p2_libs)
%C%_unit_cm_check_conn_disconnect_SOURCES = %D%/unit/cm/check_conn_disconnect.c $(conn_world)
%C%_unit_cm_check_conn_disconnect_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_conn_disconnect_LINK = $(LINK) $(conn_world_wraps)
%C%_unit_cm_check_conn_disconnect_LDADD = $(p2_libs)
%C%_unit_cm_check_conn_end_SOURCES = %D%/unit/cm/check_conn_end.c $(conn_world)
%C%_unit_cm_check_conn_end_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_conn_end_LINK = $(LINK) $(conn_world_wraps)
%C%_unit_cm_check_conn_end_LDADD = $(p2_libs)
%C%_unit_cm_check_conn_message_SOURCES = %D%/unit/cm/check_conn_message.c $(conn_world)
%C%_unit_cm_check_conn_message_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_conn_message_LINK = $(LINK) $(conn_world_wraps)
%C%_unit_cm_check_conn_message_LDADD = $(p2_libs)
%C%_unit_cm_check_conn_state_SOURCES = %D%/unit/cm/check_conn_state.c %D%/unit/cm/conn_cells.h $(conn_world)
%C%_unit_cm_check_conn_state_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_conn_state_LINK = $(LINK) $(conn_world_wraps)
%C%_unit_cm_check_conn_state_LDADD = $(p2_libs)
%C%_unit_cm_check_conn_ud_SOURCES = %D%/unit/cm/check_conn_ud.c $(conn_world)
%C%_unit_cm_check_conn_ud_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_conn_ud_LINK = $(LINK) $(conn_world_wraps) -Wl,--wrap=dofi_conn_by_secret \
	-Wl,--wrap=dofi_ud_mark_answered -Wl,--wrap=dofi_obj_alloc
%C%_unit_cm_check_conn_ud_LDADD = $(p2_libs)
%C%_unit_cm_check_conn_table_SOURCES = %D%/unit/cm/check_conn_table.c $(t_headers)
%C%_unit_cm_check_conn_table_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_conn_table_LDADD = $(p2_libs)
%C%_unit_cm_check_linger_SOURCES = %D%/unit/cm/check_linger.c $(t_headers)
%C%_unit_cm_check_linger_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_linger_LINK = $(LINK) -Wl,--wrap=dofi_now -Wl,--wrap=dofi_ep_sync \
	-Wl,--wrap=dofi_engine_drain_cq -Wl,--wrap=dofi_engine_hear -Wl,--wrap=sched_yield
%C%_unit_cm_check_linger_LDADD = $(p2_libs)
%C%_unit_cm_check_channel_SOURCES = %D%/unit/cm/check_channel.c %D%/lib/t_blocks.h $(t_headers)
%C%_unit_cm_check_channel_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_channel_LINK = $(LINK) -Wl,--wrap=dofi_wait_kick -Wl,--wrap=recv -Wl,--wrap=send \
	-Wl,--wrap=realloc \
	-Wl,--wrap=dofi_session_seal -Wl,--wrap=dofi_wipe -Wl,--wrap=dofi_engine_rewatch $(t_blocks_wraps)
%C%_unit_cm_check_channel_LDADD = $(p2_libs)
%C%_unit_cm_check_strangers_SOURCES = %D%/unit/cm/check_strangers.c %D%/lib/t_blocks.h $(t_headers)
%C%_unit_cm_check_strangers_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_strangers_LINK = $(LINK) -Wl,--wrap=dofi_wait_kick -Wl,--wrap=accept4 -Wl,--wrap=socket \
	-Wl,--wrap=bind -Wl,--wrap=setsockopt -Wl,--wrap=dofi_run_delay_is_high -Wl,--wrap=getsockname \
	-Wl,--wrap=sched_yield -Wl,--wrap=dofi_linger_all $(t_blocks_wraps)
%C%_unit_cm_check_strangers_LDADD = $(p2_libs)
%C%_unit_dto_check_failure_SOURCES = %D%/unit/dto/check_failure.c $(t_headers)
%C%_unit_dto_check_failure_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_failure_LINK = $(LINK) -Wl,--wrap=dofi_wait_kick
%C%_unit_dto_check_failure_LDADD = $(p2_libs)
%C%_unit_fabric_check_port_reservation_SOURCES = %D%/unit/fabric/check_port_reservation.c $(t_headers)
%C%_unit_fabric_check_port_reservation_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_port_reservation_LDADD = $(inside2_libs)
%C%_unit_dto_check_issue_SOURCES = %D%/unit/dto/check_issue.c $(t_headers)
%C%_unit_dto_check_issue_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_issue_LDADD = $(p2_libs)
%C%_unit_dto_check_remote_SOURCES = %D%/unit/dto/check_remote.c $(t_headers)
%C%_unit_dto_check_remote_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_remote_LDADD = $(p2_libs)
%C%_unit_dto_check_retry_SOURCES = %D%/unit/dto/check_retry.c $(t_headers)
%C%_unit_dto_check_retry_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_retry_LDADD = $(p2_libs)
%C%_unit_dto_check_ring_SOURCES = %D%/unit/dto/check_ring.c $(t_headers)
%C%_unit_dto_check_ring_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_ring_LINK = $(LINK) -Wl,--wrap=aligned_alloc
%C%_unit_dto_check_ring_LDADD = $(p2_libs)
%C%_unit_dto_check_rmr_SOURCES = %D%/unit/dto/check_rmr.c $(t_headers)
%C%_unit_dto_check_rmr_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_rmr_LINK = $(LINK) -Wl,--wrap=dofi_mr_register -Wl,--wrap=dofi_obj_free
%C%_unit_dto_check_rmr_LDADD = $(p2_libs)
%C%_unit_dto_check_lmr_SOURCES = %D%/unit/dto/check_lmr.c %D%/lib/bare_ia.h $(t_headers)
%C%_unit_dto_check_lmr_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_lmr_LINK = $(LINK) -Wl,--wrap=dofi_mr_register -Wl,--wrap=dofi_mr_close \
	-Wl,--wrap=dofi_cookie_share -Wl,--wrap=dofi_cookie_unshare -Wl,--wrap=dofi_obj_free
%C%_unit_dto_check_lmr_LDADD = $(p2_libs)
%C%_unit_dto_check_post_SOURCES = %D%/unit/dto/check_post.c $(t_headers)
%C%_unit_dto_check_post_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_post_LINK = $(LINK) -Wl,--wrap=dofi_engine_catch_up -Wl,--wrap=dofi_cno_run_due
%C%_unit_dto_check_post_LDADD = $(p2_libs)
%C%_unit_dto_check_post_special_SOURCES = %D%/unit/dto/check_post_special.c $(t_headers)
%C%_unit_dto_check_post_special_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_post_special_LDADD = $(p2_libs)
%C%_unit_base_check_lock_order_SOURCES = %D%/unit/base/check_lock_order.c $(t_headers)
%C%_unit_base_check_lock_order_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_lock_order_LDADD = $(p2_libs)
%C%_unit_base_check_log_SOURCES = %D%/unit/base/check_log.c %D%/lib/t_syslog.h $(t_headers)
%C%_unit_base_check_log_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_log_LINK = $(LINK) -Wl,--wrap=clock_gettime $(t_syslog_wraps) -Wl,--wrap=write
%C%_unit_base_check_log_LDADD = $(p2_libs)
%C%_unit_base_check_log_fabric_SOURCES = %D%/unit/base/check_log_fabric.c $(t_headers)
%C%_unit_base_check_log_fabric_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_log_fabric_LINK = $(LINK) -Wl,--wrap=fi_open
%C%_unit_base_check_log_fabric_LDADD = $(p2_libs)
%C%_unit_base_check_process_watch_SOURCES = %D%/unit/base/check_process_watch.c $(t_headers)
%C%_unit_base_check_process_watch_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_process_watch_LINK = $(LINK) -Wl,--wrap=syscall -Wl,--wrap=openat -Wl,--wrap=read
%C%_unit_base_check_process_watch_LDADD = $(p2_libs)
%C%_unit_base_check_eventfd_SOURCES = %D%/unit/base/check_eventfd.c $(t_headers)
%C%_unit_base_check_eventfd_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_eventfd_LINK = $(LINK) -Wl,--wrap=pthread_create
%C%_unit_base_check_eventfd_LDADD = $(p2_libs)
%C%_unit_base_check_dat_api1_SOURCES = %D%/unit/base/check_dat_api.c $(t_headers)
%C%_unit_base_check_dat_api1_CPPFLAGS = $(p1_cppflags)
%C%_unit_base_check_dat_api1_LDADD = $(p1_libs)
%C%_unit_base_check_dat_api2_SOURCES = %D%/unit/base/check_dat_api.c $(t_headers)
%C%_unit_base_check_dat_api2_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_dat_api2_LDADD = $(p2_libs)
%C%_unit_base_check_ascii_SOURCES = %D%/unit/base/check_ascii.c $(t_headers)
%C%_unit_base_check_ascii_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_ascii_LDADD = $(p2_libs)
%C%_unit_base_check_list_SOURCES = %D%/unit/base/check_list.c $(t_headers)
%C%_unit_base_check_list_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_list_LDADD = $(p2_libs)
%C%_unit_base_check_cookie_SOURCES = %D%/unit/base/check_cookie.c $(t_headers)
%C%_unit_base_check_cookie_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_cookie_LINK = $(LINK) -Wl,--wrap=pwrite -Wl,--wrap=access -Wl,--wrap=fcntl \
	-Wl,--wrap=nanosleep -Wl,--wrap=fopen $(t_fstat_wraps) -Wl,--wrap=open
%C%_unit_base_check_cookie_LDADD = $(p2_libs)
%C%_unit_object_check_ctxtab_SOURCES = %D%/unit/object/check_ctxtab.c $(t_headers)
%C%_unit_object_check_ctxtab_CPPFLAGS = $(p2_cppflags)
%C%_unit_object_check_ctxtab_LINK = $(LINK) -Wl,--wrap=dofi_mr_map -Wl,--wrap=dofi_mr_abandon -Wl,--wrap=mmap \
	-Wl,--wrap=munmap -Wl,--wrap=getrandom
%C%_unit_object_check_ctxtab_LDADD = $(p2_libs)
%C%_unit_base_check_secure_SOURCES = %D%/unit/base/check_secure.c $(t_headers)
%C%_unit_base_check_secure_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_secure_LINK = $(LINK) -Wl,--wrap=getauxval -Wl,--wrap=unsetenv
%C%_unit_base_check_secure_LDADD = $(p2_libs)
%C%_unit_base_check_lock_SOURCES = %D%/unit/base/check_lock.c $(t_headers)
%C%_unit_base_check_lock_CPPFLAGS = $(p2_cppflags)
%C%_unit_base_check_lock_LINK = $(LINK) -Wl,--wrap=syscall -Wl,--wrap=dofi_now -Wl,--wrap=dofi_thread_time \
	-Wl,--wrap=sched_yield
%C%_unit_base_check_lock_LDADD = $(p2_libs)
%C%_unit_dto_check_guard_byte_SOURCES = %D%/unit/dto/check_guard_byte.c $(t_headers)
%C%_unit_dto_check_guard_byte_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_guard_byte_LINK = $(LINK) -Wl,--wrap=dofi_mr_map -Wl,--wrap=dofi_mr_abandon
%C%_unit_dto_check_guard_byte_LDADD = $(p2_libs)
%C%_unit_dto_check_data_flag_SOURCES = %D%/unit/dto/check_data_flag.c $(t_headers)
%C%_unit_dto_check_data_flag_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_data_flag_LINK = $(LINK) -Wl,--wrap=dofi_reap_done
%C%_unit_dto_check_data_flag_LDADD = $(p2_libs)
%C%_unit_dto_check_segments_SOURCES = %D%/unit/dto/check_segments.c $(t_headers)
%C%_unit_dto_check_segments_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_segments_LDADD = $(p2_libs)
%C%_unit_dto_check_bounce_SOURCES = %D%/unit/dto/check_bounce.c %D%/lib/t_blocks.h $(t_headers)
%C%_unit_dto_check_bounce_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_bounce_LINK = $(LINK) $(t_blocks_wraps) -Wl,--wrap=mmap -Wl,--wrap=munmap \
	-Wl,--wrap=dofi_mr_register -Wl,--wrap=dofi_mr_close
%C%_unit_dto_check_bounce_LDADD = $(p2_libs)
%C%_unit_dto_check_orphan_SOURCES = %D%/unit/dto/check_orphan.c $(t_headers)
%C%_unit_dto_check_orphan_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_orphan_LINK = $(LINK) -Wl,--wrap=calloc -Wl,--wrap=aligned_alloc -Wl,--wrap=free
%C%_unit_dto_check_orphan_LDADD = $(p2_libs)
%C%_unit_dto_check_receive_SOURCES = %D%/unit/dto/check_receive.c $(t_headers)
%C%_unit_dto_check_receive_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_receive_LINK = $(LINK) -Wl,--wrap=dofi_cno_notify
%C%_unit_dto_check_receive_LDADD = $(p2_libs)
%C%_unit_dto_check_reap_SOURCES = %D%/unit/dto/check_reap.c $(t_headers)
%C%_unit_dto_check_reap_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_reap_LDADD = $(p2_libs)
%C%_unit_dto_check_release_SOURCES = %D%/unit/dto/check_release.c $(t_headers)
%C%_unit_dto_check_release_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_release_LINK = $(LINK) -Wl,--wrap=dofi_cno_notify -Wl,--wrap=dofi_bind_cancel
%C%_unit_dto_check_release_LDADD = $(p2_libs)
%C%_unit_progress_check_progress_thread_SOURCES = %D%/unit/progress/check_progress_thread.c $(t_headers)
%C%_unit_progress_check_progress_thread_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_progress_thread_LDADD = $(p2_libs)
%C%_unit_dto_check_rma_SOURCES = %D%/unit/dto/check_rma.c $(t_headers)
%C%_unit_dto_check_rma_CPPFLAGS = $(p2_cppflags)
%C%_unit_dto_check_rma_LDADD = $(p2_libs)
%C%_unit_fabric_check_eqs_SOURCES = %D%/unit/fabric/check_eqs.c $(t_headers)
%C%_unit_fabric_check_eqs_CPPFLAGS = $(p2_cppflags)
%C%_unit_fabric_check_eqs_LDADD = $(p2_libs)
%C%_unit_progress_check_cq_ready_SOURCES = %D%/unit/progress/check_cq_ready.c $(t_headers)
%C%_unit_progress_check_cq_ready_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_cq_ready_LDADD = $(p2_libs)
%C%_unit_progress_check_cq_watch_SOURCES = %D%/unit/progress/check_cq_watch.c $(t_headers)
%C%_unit_progress_check_cq_watch_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_cq_watch_LINK = $(LINK) -Wl,--wrap=dofi_now
%C%_unit_progress_check_cq_watch_LDADD = $(p2_libs)
%C%_unit_progress_check_drive_SOURCES = %D%/unit/progress/check_drive.c %D%/unit/progress/noted_rounds.h \
	$(t_headers)
%C%_unit_progress_check_drive_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_drive_LINK = $(LINK) -Wl,--wrap=dofi_engine_round -Wl,--wrap=dofi_wait_on_fds \
	-Wl,--wrap=dofi_now
%C%_unit_progress_check_drive_LDADD = $(p2_libs)
%C%_unit_progress_check_driver_sleep_SOURCES = %D%/unit/progress/check_driver_sleep.c $(t_headers)
%C%_unit_progress_check_driver_sleep_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_driver_sleep_LINK = $(LINK) -Wl,--wrap=dofi_poll_until -Wl,--wrap=dofi_cq_watch_leave \
	-Wl,--wrap=poll -Wl,--wrap=dofi_cq_watch_awake -Wl,--wrap=dofi_wakeup_mark -Wl,--wrap=dofi_cq_ready_arm \
	-Wl,--wrap=dofi_eqs_put_fids -Wl,--wrap=dofi_nap_until -Wl,--wrap=dofi_nap_blind_until -Wl,--wrap=realloc
%C%_unit_progress_check_driver_sleep_LDADD = $(p2_libs)
%C%_unit_progress_check_engine_SOURCES = %D%/unit/progress/check_engine.c $(t_headers)
%C%_unit_progress_check_engine_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_engine_LDADD = $(p2_libs)

%C%_unit_progress_check_quiet_SOURCES = %D%/unit/progress/check_quiet.c %D%/unit/progress/noted_rounds.h \
	$(t_headers)
%C%_unit_progress_check_quiet_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_quiet_LINK = $(LINK) -Wl,--wrap=nanosleep -Wl,--wrap=epoll_wait -Wl,--wrap=dofi_now \
	-Wl,--wrap=dofi_engine_round -Wl,--wrap=dofi_wait_arm_events -Wl,--wrap=dofi_wait_on_fds \
	-Wl,--wrap=dofi_eventfd_clear -Wl,--wrap=dofi_nic_enter_thread -Wl,--wrap=syscall \
	-Wl,--wrap=dofi_wait_probe -Wl,--wrap=dofi_start_thread -Wl,--wrap=pthread_timedjoin_np \
	-Wl,--wrap=pthread_join -Wl,--wrap=clock_gettime -Wl,--wrap=dofi_process_time
%C%_unit_progress_check_quiet_LDADD = $(p2_libs)
%C%_unit_progress_check_stall_SOURCES = %D%/unit/progress/check_stall.c $(t_headers)
%C%_unit_progress_check_stall_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_stall_LINK = $(LINK) -Wl,--wrap=dofi_wait_kick
%C%_unit_progress_check_stall_LDADD = $(p2_libs)
%C%_unit_progress_check_nap_SOURCES = %D%/unit/progress/check_nap.c $(t_headers)
%C%_unit_progress_check_nap_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_nap_LINK = $(LINK) -Wl,--wrap=dofi_now
%C%_unit_progress_check_nap_LDADD = $(p2_libs)
%C%_unit_progress_check_wait_SOURCES = %D%/unit/progress/check_wait.c $(t_headers)
%C%_unit_progress_check_wait_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_wait_LINK = $(LINK) -Wl,--wrap=dofi_poll_until
%C%_unit_progress_check_wait_LDADD = $(p2_libs)
%C%_unit_progress_check_timer_SOURCES = %D%/unit/progress/check_timer.c $(t_headers)
%C%_unit_progress_check_timer_CPPFLAGS = $(p2_cppflags)
%C%_unit_progress_check_timer_LINK = $(LINK) -Wl,--wrap=dofi_now -Wl,--wrap=dofi_wait_kick
%C%_unit_progress_check_timer_LDADD = $(p2_libs)

%C%_unit_cm_check_wire_SOURCES = %D%/unit/cm/check_wire.c $(t_headers)
%C%_unit_cm_check_wire_CPPFLAGS = $(p2_cppflags)
%C%_unit_cm_check_wire_LDADD = $(p2_libs)

include test/sim/local.mk
include test/fuzz/local.mk

# --- the test provider with the limits of cards, for FI_PROVIDER_PATH, and its own tests ---

sham_cppflags = $(AM_CPPFLAGS) $(LIBFABRIC_CFLAGS) -I$(top_srcdir)/prov/ofi
sham_dir = $(abs_builddir)/%D%/fabric/.libs
side = %D%/fabric/side.c %D%/fabric/side.h

%C%_fabric_libsham_fi_la_SOURCES = \
	%D%/fabric/av.c \
	%D%/fabric/context.c \
	%D%/fabric/cq.c \
	%D%/fabric/domain.c \
	%D%/fabric/ep.c \
	%D%/fabric/fabric.c \
	%D%/fabric/fault.c \
	%D%/fabric/fault.h \
	%D%/fabric/info.c \
	%D%/fabric/late.c \
	%D%/fabric/mr.c \
	%D%/fabric/op.c \
	%D%/fabric/pieces.c \
	%D%/fabric/post.c \
	%D%/fabric/profile.c \
	%D%/fabric/set.c \
	%D%/fabric/sham.h
%C%_fabric_libsham_fi_la_CPPFLAGS = $(sham_cppflags)
%C%_fabric_libsham_fi_la_LDFLAGS = $(t_module_ldflags)
%C%_fabric_libsham_fi_la_LIBADD = $(LIBFABRIC_LIBS)

%C%_fabric_check_fabric_SOURCES = %D%/fabric/check_fabric.c %D%/fabric/fault.h $(side) $(t_headers)
%C%_fabric_check_fabric_CPPFLAGS = $(t_cppflags) $(LIBFABRIC_CFLAGS) -DT_SHAM_DIR='"$(sham_dir)"'
%C%_fabric_check_fabric_LDADD = $(LIBFABRIC_LIBS) $(CHECK_LIBS)

%C%_fabric_late_write_SOURCES = %D%/fabric/late_write.c $(side)
%C%_fabric_late_write_CPPFLAGS = $(t_cppflags) $(LIBFABRIC_CFLAGS)
%C%_fabric_late_write_LDADD = $(LIBFABRIC_LIBS)

include %D%/efa/local.mk

# --- programs on the public API, and their helpers ---

t_sources = \
	%D%/lib/t.h \
	%D%/lib/t_conn.c \
	%D%/lib/t_dat.c \
	%D%/lib/t_network.c \
	%D%/lib/t_network.h \
	%D%/lib/t_peer.c \
	%D%/lib/t_peer.h \
	%D%/lib/t_wait.c \
	$(t_headers)
%C%_lib_libt_fortify_a_SOURCES = %D%/lib/t_fortify.c
%C%_lib_libt1_a_SOURCES = $(t_sources)
%C%_lib_libt1_a_CPPFLAGS = $(t1_cppflags)
%C%_lib_libt2_a_SOURCES = $(t_sources) %D%/lib/t_ud.c %D%/lib/t_ud.h
%C%_lib_libt2_a_CPPFLAGS = $(t2_cppflags)
user1_libs = %D%/lib/libt1.a $(t1_libs)
user2_libs = %D%/lib/libt2.a $(t2_libs)

# --- faults ---

# The libraries must call the allocator and the system through the program, hence -export-dynamic.
t_hooks = %D%/lib/t_hooks.c %D%/lib/t_hooks.h

%C%_fault_agent1_SOURCES = %D%/fault/agent.c %D%/fault/process.h %D%/fault/fault.h
%C%_fault_agent1_CPPFLAGS = $(t1_cppflags)
%C%_fault_agent1_LDADD = $(user1_libs)
%C%_fault_agent2_SOURCES = %D%/fault/agent.c %D%/fault/process.h %D%/fault/fault.h
%C%_fault_agent2_CPPFLAGS = $(t2_cppflags)
%C%_fault_agent2_LDADD = $(user2_libs)

%C%_fault_alloc1_SOURCES = %D%/fault/alloc.c %D%/fault/fault.h $(t_hooks)
%C%_fault_alloc1_CPPFLAGS = $(t1_cppflags)
%C%_fault_alloc1_LINK = $(LINK) -rdynamic
%C%_fault_alloc1_LDADD = $(user1_libs)
%C%_fault_alloc2_SOURCES = %D%/fault/alloc.c %D%/fault/fault.h $(t_hooks)
%C%_fault_alloc2_CPPFLAGS = $(t2_cppflags)
%C%_fault_alloc2_LINK = $(LINK) -rdynamic
%C%_fault_alloc2_LDADD = $(user2_libs)

%C%_fault_connect1_SOURCES = %D%/fault/connect.c %D%/fault/fault.h
%C%_fault_connect1_CPPFLAGS = $(t1_cppflags)
%C%_fault_connect1_LDADD = $(user1_libs)
%C%_fault_connect2_SOURCES = %D%/fault/connect.c %D%/fault/fault.h
%C%_fault_connect2_CPPFLAGS = $(t2_cppflags)
%C%_fault_connect2_LDADD = $(user2_libs)

%C%_fault_cut1_SOURCES = %D%/fault/cut.c %D%/fault/fault.h
%C%_fault_cut1_CPPFLAGS = $(t1_cppflags)
%C%_fault_cut1_LDADD = $(user1_libs)
%C%_fault_cut2_SOURCES = %D%/fault/cut.c %D%/fault/fault.h
%C%_fault_cut2_CPPFLAGS = $(t2_cppflags)
%C%_fault_cut2_LDADD = $(user2_libs)

%C%_fault_datagrams2_SOURCES = %D%/fault/datagrams.c %D%/fault/fault.h %D%/fault/shm.h
%C%_fault_datagrams2_CPPFLAGS = $(t2_cppflags) $(LIBFABRIC_CFLAGS)
%C%_fault_datagrams2_LDADD = $(user2_libs) $(LIBFABRIC_LIBS)

t_channel = %D%/lib/t_channel.c %D%/lib/t_channel.h
# The provider is linked into the program, so that --wrap applies to the provider's calls.
inside1_libs = %D%/lib/libt1.a $(p1_libs)
inside2_libs = %D%/lib/libt2.a $(p2_libs)
inside = %D%/fault/inside.h %D%/fault/fault.h
flood_wraps = -Wl,--wrap=dofi_credit_choose
spin_wraps = -Wl,--wrap=dofi_wait_on_fds -Wl,--wrap=dofi_wait_watch
lies_wraps = -Wl,--wrap=dofi_conn_sent -Wl,--wrap=dofi_conn_uses_forgotten
order_wraps = -Wl,--wrap=dofi_order_of
fabric_wraps = -Wl,--wrap=fi_fabric -Wl,--wrap=fi_getinfo -Wl,--wrap=clock_gettime
nomem_wraps = -Wl,--wrap=dofi_random -Wl,--wrap=getrandom \
	-Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc \
	-Wl,--wrap=aligned_alloc -Wl,--wrap=strdup -Wl,--wrap=open_memstream -Wl,--wrap=mmap

%C%_fault_fabric1_SOURCES = %D%/fault/fabric.c %D%/fault/process.h %D%/lib/t_fabric.c %D%/lib/t_fabric.h $(inside)
%C%_fault_fabric1_CPPFLAGS = $(p1_cppflags)
%C%_fault_fabric1_LINK = $(LINK) $(fabric_wraps) -Wl,--wrap=dofi_quirks_of
%C%_fault_fabric1_LDADD = $(inside1_libs)
%C%_fault_fabric2_SOURCES = %D%/fault/fabric.c %D%/fault/process.h %D%/lib/t_fabric.c %D%/lib/t_fabric.h $(inside)
%C%_fault_fabric2_CPPFLAGS = $(p2_cppflags)
%C%_fault_fabric2_LINK = $(LINK) $(fabric_wraps) -Wl,--wrap=dofi_quirks_of
%C%_fault_fabric2_LDADD = $(inside2_libs)

%C%_fault_flood1_SOURCES = %D%/fault/flood.c %D%/fault/memory.h $(inside)
%C%_fault_flood1_CPPFLAGS = $(p1_cppflags)
%C%_fault_flood1_LINK = $(LINK) $(flood_wraps)
%C%_fault_flood1_LDADD = $(inside1_libs)
%C%_fault_flood2_SOURCES = %D%/fault/flood.c %D%/fault/memory.h $(inside)
%C%_fault_flood2_CPPFLAGS = $(p2_cppflags)
%C%_fault_flood2_LINK = $(LINK) $(flood_wraps)
%C%_fault_flood2_LDADD = $(inside2_libs)

%C%_fault_fork1_SOURCES = %D%/fault/fork.c %D%/fault/fault.h
%C%_fault_fork1_CPPFLAGS = $(t1_cppflags)
%C%_fault_fork1_LDADD = $(user1_libs)
%C%_fault_fork2_SOURCES = %D%/fault/fork.c %D%/fault/fault.h
%C%_fault_fork2_CPPFLAGS = $(t2_cppflags)
%C%_fault_fork2_LDADD = $(user2_libs)

%C%_fault_freeze1_SOURCES = %D%/fault/freeze.c %D%/fault/fault.h
%C%_fault_freeze1_CPPFLAGS = $(t1_cppflags)
%C%_fault_freeze1_LDADD = $(user1_libs)
%C%_fault_freeze2_SOURCES = %D%/fault/freeze.c %D%/fault/fault.h
%C%_fault_freeze2_CPPFLAGS = $(t2_cppflags)
%C%_fault_freeze2_LDADD = $(user2_libs)

%C%_fault_auth_SOURCES = %D%/fault/auth.c %D%/fault/server.h $(t_channel) $(inside)
%C%_fault_auth_CPPFLAGS = $(p2_cppflags)
%C%_fault_auth_LDADD = $(inside2_libs)

%C%_fault_bombard_SOURCES = %D%/fault/bombard.c %D%/fault/process.h %D%/fault/server.h %D%/fault/memory.h $(t_channel) $(inside)
%C%_fault_bombard_CPPFLAGS = $(p2_cppflags)
%C%_fault_bombard_LDADD = $(inside2_libs)

%C%_fault_early_SOURCES = %D%/fault/early.c $(t_channel) $(inside)
%C%_fault_early_CPPFLAGS = $(p2_cppflags)
%C%_fault_early_LDADD = $(inside2_libs)

%C%_fault_middle_SOURCES = %D%/fault/middle.c %D%/fault/server.h $(t_channel) $(inside)
%C%_fault_middle_CPPFLAGS = $(p2_cppflags)
%C%_fault_middle_LDADD = $(inside2_libs)

%C%_fault_hostile_SOURCES = %D%/fault/hostile.c $(t_channel) $(t_headers)
%C%_fault_hostile_CPPFLAGS = $(p2_cppflags)
%C%_fault_hostile_LDADD = $(p2_libs)

%C%_fault_kill1_SOURCES = %D%/fault/kill.c %D%/fault/victim.h %D%/fault/fault.h %D%/fault/shm.h
%C%_fault_kill1_CPPFLAGS = $(t1_cppflags) $(LIBFABRIC_CFLAGS)
%C%_fault_kill1_LDADD = $(user1_libs) $(LIBFABRIC_LIBS)
%C%_fault_kill2_SOURCES = %D%/fault/kill.c %D%/fault/victim.h %D%/fault/fault.h %D%/fault/shm.h
%C%_fault_kill2_CPPFLAGS = $(t2_cppflags) $(LIBFABRIC_CFLAGS)
%C%_fault_kill2_LDADD = $(user2_libs) $(LIBFABRIC_LIBS)
%C%_fault_kill_at1_SOURCES = %D%/fault/kill_at.c %D%/fault/victim.h %D%/fault/fault.h %D%/fault/shm.h
%C%_fault_kill_at1_CPPFLAGS = $(t1_cppflags) $(LIBFABRIC_CFLAGS)
%C%_fault_kill_at1_LDADD = $(user1_libs) $(LIBFABRIC_LIBS)
%C%_fault_kill_at2_SOURCES = %D%/fault/kill_at.c %D%/fault/victim.h %D%/fault/fault.h %D%/fault/shm.h
%C%_fault_kill_at2_CPPFLAGS = $(t2_cppflags) $(LIBFABRIC_CFLAGS)
%C%_fault_kill_at2_LDADD = $(user2_libs) $(LIBFABRIC_LIBS)

%C%_fault_leaks1_SOURCES = %D%/fault/leaks.c %D%/fault/process.h %D%/fault/fault.h
%C%_fault_leaks1_CPPFLAGS = $(t1_cppflags)
%C%_fault_leaks1_LDADD = $(user1_libs)
%C%_fault_leaks2_SOURCES = %D%/fault/leaks.c %D%/fault/process.h %D%/fault/fault.h
%C%_fault_leaks2_CPPFLAGS = $(t2_cppflags)
%C%_fault_leaks2_LDADD = $(user2_libs)

%C%_fault_nomem1_SOURCES = %D%/fault/nomem.c $(inside)
%C%_fault_nomem1_CPPFLAGS = $(t1_cppflags)
%C%_fault_nomem1_LINK = $(LINK) $(nomem_wraps)
%C%_fault_nomem1_LDADD = $(inside1_libs)
%C%_fault_nomem2_SOURCES = %D%/fault/nomem.c $(inside)
%C%_fault_nomem2_CPPFLAGS = $(t2_cppflags)
%C%_fault_nomem2_LINK = $(LINK) $(nomem_wraps)
%C%_fault_nomem2_LDADD = $(inside2_libs)

%C%_fault_order1_SOURCES = %D%/fault/order.c $(inside)
%C%_fault_order1_CPPFLAGS = $(p1_cppflags)
%C%_fault_order1_LINK = $(LINK) $(order_wraps)
%C%_fault_order1_LDADD = $(inside1_libs)
%C%_fault_order2_SOURCES = %D%/fault/order.c $(inside)
%C%_fault_order2_CPPFLAGS = $(p2_cppflags)
%C%_fault_order2_LINK = $(LINK) $(order_wraps)
%C%_fault_order2_LDADD = $(inside2_libs)

%C%_fault_idle1_SOURCES = %D%/fault/idle.c %D%/fault/process.h %D%/fault/fault.h
%C%_fault_idle1_CPPFLAGS = $(t1_cppflags)
%C%_fault_idle1_LDADD = $(user1_libs)
%C%_fault_idle2_SOURCES = %D%/fault/idle.c %D%/fault/process.h %D%/fault/fault.h
%C%_fault_idle2_CPPFLAGS = $(t2_cppflags)
%C%_fault_idle2_LDADD = $(user2_libs)

%C%_fault_outlive1_SOURCES = %D%/fault/outlive.c %D%/fault/victim.h %D%/fault/fault.h %D%/fault/shm.h
%C%_fault_outlive1_CPPFLAGS = $(t1_cppflags) $(LIBFABRIC_CFLAGS)
%C%_fault_outlive1_LDADD = $(user1_libs) $(LIBFABRIC_LIBS)
%C%_fault_outlive2_SOURCES = %D%/fault/outlive.c %D%/fault/victim.h %D%/fault/fault.h %D%/fault/shm.h
%C%_fault_outlive2_CPPFLAGS = $(t2_cppflags) $(LIBFABRIC_CFLAGS)
%C%_fault_outlive2_LDADD = $(user2_libs) $(LIBFABRIC_LIBS)

%C%_fault_same_host1_SOURCES = %D%/fault/same_host.c %D%/fault/fault.h
%C%_fault_same_host1_CPPFLAGS = $(t1_cppflags)
%C%_fault_same_host1_LDADD = $(user1_libs)
%C%_fault_same_host2_SOURCES = %D%/fault/same_host.c %D%/fault/fault.h
%C%_fault_same_host2_CPPFLAGS = $(t2_cppflags)
%C%_fault_same_host2_LDADD = $(user2_libs)
%C%_fault_passive1_SOURCES = %D%/fault/passive.c %D%/fault/fault.h
%C%_fault_passive1_CPPFLAGS = $(t1_cppflags)
%C%_fault_passive1_LDADD = $(user1_libs)
%C%_fault_passive2_SOURCES = %D%/fault/passive.c %D%/fault/fault.h
%C%_fault_passive2_CPPFLAGS = $(t2_cppflags)
%C%_fault_passive2_LDADD = $(user2_libs)

%C%_fault_quals1_SOURCES = %D%/fault/quals.c %D%/fault/fault.h
%C%_fault_quals1_CPPFLAGS = $(p1_cppflags)
%C%_fault_quals1_LDADD = $(inside1_libs)
%C%_fault_quals2_SOURCES = %D%/fault/quals.c %D%/fault/fault.h
%C%_fault_quals2_CPPFLAGS = $(p2_cppflags)
%C%_fault_quals2_LDADD = $(inside2_libs)

%C%_fault_random1_SOURCES = %D%/fault/random.c %D%/fault/places.h %D%/fault/watched.h %D%/fault/fault.h
%C%_fault_random1_CPPFLAGS = $(t1_cppflags)
%C%_fault_random1_LDADD = $(user1_libs)
%C%_fault_random2_SOURCES = %D%/fault/random.c %D%/fault/places.h %D%/fault/watched.h %D%/fault/fault.h
%C%_fault_random2_CPPFLAGS = $(t2_cppflags)
%C%_fault_random2_LDADD = $(user2_libs)

%C%_fault_reach1_SOURCES = %D%/fault/reach.c %D%/fault/fault.h
%C%_fault_reach1_CPPFLAGS = $(t1_cppflags)
%C%_fault_reach1_LINK = $(LINK) -rdynamic
%C%_fault_reach1_LDADD = $(user1_libs)
%C%_fault_reach2_SOURCES = %D%/fault/reach.c %D%/fault/fault.h
%C%_fault_reach2_CPPFLAGS = $(t2_cppflags)
%C%_fault_reach2_LINK = $(LINK) -rdynamic
%C%_fault_reach2_LDADD = $(user2_libs)

%C%_fault_scale1_SOURCES = %D%/fault/scale.c %D%/fault/process.h %D%/fault/memory.h $(inside)
%C%_fault_scale1_CPPFLAGS = $(p1_cppflags)
%C%_fault_scale1_LDADD = $(inside1_libs)
%C%_fault_scale2_SOURCES = %D%/fault/scale.c %D%/fault/process.h %D%/fault/memory.h $(inside)
%C%_fault_scale2_CPPFLAGS = $(p2_cppflags)
%C%_fault_scale2_LDADD = $(inside2_libs)

%C%_fault_sever1_SOURCES = %D%/fault/sever.c %D%/fault/fault.h
%C%_fault_sever1_CPPFLAGS = $(t1_cppflags)
%C%_fault_sever1_LDADD = $(user1_libs)
%C%_fault_sever2_SOURCES = %D%/fault/sever.c %D%/fault/fault.h
%C%_fault_sever2_CPPFLAGS = $(t2_cppflags)
%C%_fault_sever2_LDADD = $(user2_libs)
%C%_fault_cancel1_SOURCES = %D%/fault/cancel.c %D%/fault/fault.h
%C%_fault_cancel1_CPPFLAGS = $(t1_cppflags)
%C%_fault_cancel1_LDADD = $(user1_libs)
%C%_fault_cancel2_SOURCES = %D%/fault/cancel.c %D%/fault/fault.h
%C%_fault_cancel2_CPPFLAGS = $(t2_cppflags)
%C%_fault_cancel2_LDADD = $(user2_libs)
%C%_fault_signal1_SOURCES = %D%/fault/signal.c %D%/fault/fault.h
%C%_fault_signal1_CPPFLAGS = $(t1_cppflags)
%C%_fault_signal1_LDADD = $(user1_libs)
%C%_fault_signal2_SOURCES = %D%/fault/signal.c %D%/fault/fault.h
%C%_fault_signal2_CPPFLAGS = $(t2_cppflags)
%C%_fault_signal2_LDADD = $(user2_libs)

%C%_fault_spin1_SOURCES = %D%/fault/spin.c %D%/fault/process.h $(inside)
%C%_fault_spin1_CPPFLAGS = $(p1_cppflags)
%C%_fault_spin1_LINK = $(LINK) $(spin_wraps)
%C%_fault_spin1_LDADD = $(inside1_libs)
%C%_fault_spin2_SOURCES = %D%/fault/spin.c %D%/fault/process.h $(inside)
%C%_fault_spin2_CPPFLAGS = $(p2_cppflags)
%C%_fault_spin2_LINK = $(LINK) $(spin_wraps)
%C%_fault_spin2_LDADD = $(inside2_libs)

%C%_fault_invalidate1_SOURCES = %D%/fault/invalidate.c $(inside)
%C%_fault_invalidate1_CPPFLAGS = $(p1_cppflags)
%C%_fault_invalidate1_LDADD = $(inside1_libs) $(LIBFABRIC_LIBS)
%C%_fault_invalidate2_SOURCES = %D%/fault/invalidate.c $(inside)
%C%_fault_invalidate2_CPPFLAGS = $(p2_cppflags)
%C%_fault_invalidate2_LDADD = $(inside2_libs) $(LIBFABRIC_LIBS)

# Registry and provider are linked into the program, because a program with raised privileges
# ignores LD_LIBRARY_PATH.
%C%_fault_elevated_SOURCES = %D%/fault/elevated.c $(t_headers)
%C%_fault_elevated_CPPFLAGS = $(p2_cppflags) -DDATR_DAT_MAJOR=2
%C%_fault_elevated_LINK = $(LINK) -rdynamic
%C%_fault_elevated_LDADD = $(dofi2_libs) src/libdatr2.a $(CHECK_LIBS)

# It uses libfabric beside the provider, whose structures tell it what it could only guess.
%C%_fault_intruder_SOURCES = %D%/fault/intruder.c $(inside)
%C%_fault_intruder_CPPFLAGS = $(p2_cppflags)
%C%_fault_intruder_LDADD = $(inside2_libs) $(LIBFABRIC_LIBS)

# The program uses the provider's functions to send false messages.
%C%_fault_neighbour_SOURCES = %D%/fault/neighbour.c $(inside)
%C%_fault_neighbour_CPPFLAGS = $(p2_cppflags)
%C%_fault_neighbour_LINK = $(LINK) -Wl,--wrap=dofi_segment_make
%C%_fault_neighbour_LDADD = $(inside2_libs)

%C%_fault_lies_SOURCES = %D%/fault/lies.c $(inside)
%C%_fault_lies_CPPFLAGS = $(p2_cppflags)
%C%_fault_lies_LINK = $(LINK) $(lies_wraps)
%C%_fault_lies_LDADD = $(inside2_libs)

%C%_fault_stops1_SOURCES = %D%/fault/stops.c %D%/fault/fault.h $(t_headers)
%C%_fault_stops1_CPPFLAGS = $(t1_cppflags)
%C%_fault_stops1_LDADD = $(user1_libs)
%C%_fault_stops2_SOURCES = %D%/fault/stops.c %D%/fault/fault.h $(t_headers)
%C%_fault_stops2_CPPFLAGS = $(t2_cppflags)
%C%_fault_stops2_LDADD = $(user2_libs)

%C%_fault_stats1_SOURCES = %D%/fault/stats.c %D%/fault/fault.h $(t_headers)
%C%_fault_stats1_CPPFLAGS = $(t1_cppflags)
%C%_fault_stats1_LDADD = $(user1_libs)
%C%_fault_stats2_SOURCES = %D%/fault/stats.c %D%/fault/fault.h $(t_headers)
%C%_fault_stats2_CPPFLAGS = $(t2_cppflags)
%C%_fault_stats2_LDADD = $(user2_libs)

%C%_fault_threads1_SOURCES = %D%/fault/threads.c %D%/fault/fault.h
%C%_fault_threads1_CPPFLAGS = $(t1_cppflags)
%C%_fault_threads1_LDADD = $(user1_libs)
%C%_fault_threads2_SOURCES = %D%/fault/threads.c %D%/fault/fault.h
%C%_fault_threads2_CPPFLAGS = $(t2_cppflags)
%C%_fault_threads2_LDADD = $(user2_libs)

# --- conformance: all suites in one program per generation; T_IA names the IA ---

conform_sources = \
	%D%/conform/conform.c \
	%D%/conform/conform.h \
	%D%/conform/conform_access.c \
	%D%/conform/conform_cno.c \
	%D%/conform/conform_cr.c \
	%D%/conform/conform_dto.c \
	%D%/conform/conform_dto.h \
	%D%/conform/conform_ep.c \
	%D%/conform/conform_eps.c \
	%D%/conform/conform_eps.h \
	%D%/conform/conform_eps_events.c \
	%D%/conform/conform_eps_rules.c \
	%D%/conform/conform_errors.c \
	%D%/conform/conform_evd.c \
	%D%/conform/conform_events.c \
	%D%/conform/conform_ext.c \
	%D%/conform/conform_handles.c \
	%D%/conform/conform_ia.c \
	%D%/conform/conform_loose.c \
	%D%/conform/conform_mem.c \
	%D%/conform/conform_gone.c \
	%D%/conform/conform_late.c \
	%D%/conform/conform_prg.c \
	%D%/conform/conform_process.c \
	%D%/conform/conform_queue.c \
	%D%/conform/conform_rdma.c \
	%D%/conform/conform_records.c \
	%D%/conform/conform_registry.c \
	%D%/conform/conform_returns.c \
	%D%/conform/conform_sp.c \
	%D%/conform/conform_srq.c \
	%D%/conform/conform_wmark.c \
	%D%/conform/conform_srq_ep.c \
	%D%/conform/conform_ud.c \
	%D%/conform/paired.c \
	%D%/conform/paired.h \
	%D%/conform/place.c \
	%D%/conform/place.h \
	%D%/conform/zoo.c \
	%D%/conform/zoo.h

%C%_conform_conform12_SOURCES = %D%/conform/main.c $(conform_sources)
%C%_conform_conform12_CPPFLAGS = $(conform1_cppflags)
%C%_conform_conform12_LDADD = $(user1_libs)
%C%_conform_conform20_SOURCES = %D%/conform/main.c
%C%_conform_conform20_CPPFLAGS = $(conform2_cppflags)
%C%_conform_conform20_LDADD = $(conform2_libs)
%C%_conform_libconform20_a_SOURCES = $(conform_sources)
%C%_conform_libconform20_a_CPPFLAGS = $(conform2_cppflags)
conform1_cppflags = $(t1_cppflags) $(LIBFABRIC_CFLAGS)
conform2_cppflags = $(t2_cppflags) $(LIBFABRIC_CFLAGS)
conform2_libs = %D%/conform/libconform20.a $(user2_libs)

%C%_conform_part1_SOURCES = %D%/conform/main.c
%C%_conform_part1_CPPFLAGS = $(conform2_cppflags) -DPART=0 -DPARTS=3
%C%_conform_part1_LDADD = $(conform2_libs)
%C%_conform_part2_SOURCES = %D%/conform/main.c
%C%_conform_part2_CPPFLAGS = $(conform2_cppflags) -DPART=1 -DPARTS=3
%C%_conform_part2_LDADD = $(conform2_libs)
%C%_conform_part3_SOURCES = %D%/conform/main.c
%C%_conform_part3_CPPFLAGS = $(conform2_cppflags) -DPART=2 -DPARTS=3
%C%_conform_part3_LDADD = $(conform2_libs)

%C%_conform_without12_SOURCES = %D%/conform/without.c $(inside)
%C%_conform_without12_CPPFLAGS = $(p1_cppflags)
%C%_conform_without12_LINK = $(LINK) -Wl,--wrap=dofi_quirks_of
%C%_conform_without12_LDADD = $(inside1_libs)
%C%_conform_without20_SOURCES = %D%/conform/without.c $(inside)
%C%_conform_without20_CPPFLAGS = $(p2_cppflags)
%C%_conform_without20_LINK = $(LINK) -Wl,--wrap=dofi_quirks_of
%C%_conform_without20_LDADD = $(inside2_libs)

# Prints the rules of DAT, which of them are tested, and the results; one TAP file per generation.
conform: all $(conform_tests) $(without_tests)
	for test in $(conform_tests) $(without_tests); do \
		CK_TAP_LOG_FILE_NAME=$$test.tap $(SHELL) %D%/run-env $$test 2>$$test.err || :; \
	done
	$(srcdir)/%D%/conform/report.py --api12 %D%/conform/conform12.tap \
		--api12 %D%/conform/without12.tap --api20 %D%/conform/conform20.tap \
		--api20 %D%/conform/without20.tap $(srcdir)/%D%/conform

# Runs all suites over each fabric of one host. fabrics='shm rxm' and parts='conform20 dapl' choose
# some. The fault programs are those that do not choose a fabric themselves.
fabrics =
parts = conform12 conform20 fault dapl
matrix_faults = \
	%D%/fault/agent1 %D%/fault/agent2 %D%/fault/cancel1 %D%/fault/cancel2 %D%/fault/alloc1 %D%/fault/alloc2 %D%/fault/connect1 %D%/fault/connect2 \
	%D%/fault/cut1 %D%/fault/cut2 %D%/fault/flood1 %D%/fault/flood2 %D%/fault/fork1 %D%/fault/fork2 \
	%D%/fault/freeze1 %D%/fault/freeze2 %D%/fault/idle1 %D%/fault/idle2 %D%/fault/kill1 %D%/fault/kill2 %D%/fault/kill_at1 %D%/fault/kill_at2 %D%/fault/leaks1 %D%/fault/leaks2 \
	%D%/fault/order1 %D%/fault/order2 %D%/fault/outlive1 %D%/fault/outlive2 %D%/fault/passive1 %D%/fault/passive2 %D%/fault/random1 %D%/fault/random2 %D%/fault/same_host1 %D%/fault/same_host2 %D%/fault/scale1 %D%/fault/scale2 \
	%D%/fault/sever1 %D%/fault/sever2 %D%/fault/signal1 %D%/fault/signal2 %D%/fault/stops1 %D%/fault/stops2 %D%/fault/spin1 %D%/fault/spin2 %D%/fault/invalidate1 %D%/fault/invalidate2 %D%/fault/threads1 %D%/fault/threads2
check-all: all $(conform_tests) $(fault_tests) %D%/fabric/libsham-fi.la
	T_PARTS='$(parts)' $(SHELL) %D%/run-env $(SHELL) $(srcdir)/%D%/matrix.sh $(abs_builddir)/%D%/matrix \
		'$(matrix_faults)' $(fabrics)

# Installs and removes dat-ofi, by make install and as packages. "make check-packages
# PACKAGES=slurm" runs one of the tests. They must not find this tree by accident, so run-env is not
# used.
package_tests = \
	%D%/packages/debian.sh \
	%D%/packages/install.sh \
	%D%/packages/new-user.sh \
	%D%/packages/rpm.sh \
	%D%/packages/slurm.sh
PACKAGES = install rpm debian new-user slurm
check-packages: all
	@$(MAKE) $(AM_MAKEFLAGS) -s dist >/dev/null
	@failed=; for test in $(PACKAGES); do \
		echo "# $$test"; \
		top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' \
			$(SHELL) $(srcdir)/%D%/packages/$$test.sh || failed="$$failed $$test"; \
	done; \
	test -z "$$failed" || { echo "failed:$$failed" >&2; exit 1; }

# Runs the commands of README in a fresh Debian 12 or 13, as root. With RUN='make check
# TESTS=test/unit/object/check_ia2' it runs that command in a configured build directory there; the
# environment passes the command.
check-debian12 check-debian13:
	@$(MAKE) $(AM_MAKEFLAGS) -s dist >/dev/null
	@case $@ in *12) release=bookworm ;; *) release=trixie ;; esac; \
	top_srcdir='$(abs_top_srcdir)' top_builddir='$(abs_top_builddir)' DAT_OFI_DEBIAN=$$release \
		$(SHELL) $(srcdir)/%D%/packages/check.sh "$${RUN-}"

# The fresh systems remain until make clean.
clean-local:
	-rm -rf %D%/packages/cache %D%/mutants/work %D%/coverage

# Runs only the fault programs, in their long form: a million rounds, a minute of silence.
check-faults:
	T_FULL=1 CK_DEFAULT_TIMEOUT=3000 $(MAKE) $(AM_MAKEFLAGS) check-all parts=fault

# Runs the suites over verbs, in emulated machines with Soft-RoCE and Soft-iWARP. This takes hours,
# the smoke form minutes.
check-verbs check-verbs-smoke: all $(conform_tests) $(fault_tests)
	case $@ in *-smoke) smoke=--smoke ;; esac; \
	$(SHELL) %D%/run-env $(srcdir)/%D%/verbs/matrix $$smoke

# Changes one place of the sources at a time, in a copy, and tells which test notices it. See
# test/mutants/README.md. An index beyond an array ends a mutant, as in the builds with UBSan.
TRAPS = -fsanitize=bounds -fsanitize-undefined-trap-on-error
N = 100
SEED = 1
DEPTH = all
JOBS = 2
WORKERS = 2
AT_A_TIME = 2
WORK = $(abs_builddir)/%D%/mutants/work
check-mutants:
	@$(srcdir)/%D%/mutants/mutants.py --source '$(abs_srcdir)' --work '$(WORK)' \
		--configure "$$(./config.status --config | sed "s/'*--enable-werror'*//") CFLAGS='$(CFLAGS) $(TRAPS)'" \
		--n '$(N)' --seed '$(SEED)' \
		--depth '$(DEPTH)' --workers '$(WORKERS)' --jobs '$(JOBS)' --at-a-time '$(AT_A_TIME)' \
		$(if $(ONLY),--only '$(ONLY)') $(if $(RESUME),--resume) $(if $(AGAIN),--again) \
		--products '$(lib_LTLIBRARIES) $(filter-out %D%/fuzz/% %D%/efa/%,$(check_LTLIBRARIES)) $(helper_programs)' \
		--unit '$(unit_tests)' --conform '$(conform_tests)' --fault '$(fault_tests)' \
		--other '$(without_tests) $(fabric_tests) $(program_tests) $(filter-out %D%/tools/mutants.sh,$(tool_tests))'

# Prints which lines and branches ran, by room, in a build of its own. COVERAGE= chooses the tests;
# the conformance suites also run over the fabrics of OVER=. MISSED=1 lists what no test reached and
# tools/untaken.tsv does not explain.
COVERAGE = $(unit_tests) $(conform_tests) $(without_tests) $(fault_tests)
OVER = shm
# for make, too, which would inherit a CC= of its command line
COVERED = CC='$(CC) --coverage' CFLAGS='-O0 -g'
coverage:
	@mkdir -p %D%/coverage && cd %D%/coverage && { test -f config.status || \
		'$(abs_srcdir)/configure' $(COVERED) >configure.out; }
	@find %D%/coverage -name '*.gcda' -exec rm -f {} +
	-$(MAKE) $(AM_MAKEFLAGS) $(COVERED) -C %D%/coverage check TESTS='$(COVERAGE)' >%D%/coverage/check.out
	@sed -n '/^# \(TOTAL\|FAIL\|ERROR\):/p' %D%/coverage/check.out
	@cd %D%/coverage && for fabric in $(OVER); do for suite in 12 20; do \
		CK_TAP_LOG_FILE_NAME=- $(SHELL) test/run-env $(SHELL) '$(abs_srcdir)/%D%/over.sh' $$fabric $$suite \
			>$$fabric$$suite.tap 2>$$fabric$$suite.err; \
		echo "# conform$$suite over $$fabric: $$(grep -c '^ok' $$fabric$$suite.tap) passed," \
			"$$(grep -c '^not ok' $$fabric$$suite.tap) failed"; \
	done; done
	@$(srcdir)/%D%/tools/coverage.py $${FILES:+--files} $${MISSED:+--missed} '$(abs_srcdir)' %D%/coverage

.PHONY: coverage
.PHONY: conform check-all check-debian12 check-debian13 check-faults check-mutants check-packages check-verbs \
	check-verbs-smoke

installcheck-local:
	$(SHELL) $(srcdir)/%D%/installcheck.sh '$(DESTDIR)' '$(bindir)' '$(libdir)' '$(CC)'

# run-env makes the key of the tests.
CLEANFILES += %D%/key
CLEANFILES += %D%/conform/conform12.tap %D%/conform/conform12.err \
	%D%/conform/conform20.tap %D%/conform/conform20.err \
	%D%/conform/without12.tap %D%/conform/without12.err \
	%D%/conform/without20.tap %D%/conform/without20.err \
	%D%/matrix/*
EXTRA_DIST += %D%/installcheck.sh %D%/fabric/README.md %D%/over.sh %D%/matrix.sh %D%/lib/tap.sh %D%/lib/fabrics.sh \
	$(package_tests) %D%/packages/check.sh %D%/packages/root.sh $(everywhere_tests) $(program_tests) $(tool_tests) \
	%D%/conform/catalogue.py %D%/conform/report.py %D%/conform/rules.tsv %D%/conform/subtypes.py \
	%D%/conform/untested.tsv
EXTRA_DIST += %D%/tools/coverage.py %D%/tools/house.py %D%/tools/untaken.tsv
EXTRA_DIST += %D%/mutants/README.md %D%/mutants/changes.py %D%/mutants/equivalent.tsv %D%/mutants/mutants.py
EXTRA_DIST += %D%/verbs/guest %D%/verbs/instructions %D%/verbs/lab %D%/verbs/locked %D%/verbs/matrix %D%/verbs/ofed %D%/verbs/ports %D%/verbs/pulled %D%/verbs/yama \
	%D%/conform/rules/README.md %D%/conform/rules/cno.md %D%/conform/rules/datagrams.md \
	%D%/conform/rules/dto.md %D%/conform/rules/ep-state-machine.md %D%/conform/rules/ep.md \
	%D%/conform/rules/errors.md %D%/conform/rules/evd.md %D%/conform/rules/event-semantics.md \
	%D%/conform/rules/ia.md %D%/conform/rules/lmr.md %D%/conform/rules/programs.md \
	%D%/conform/rules/psp-rsp-cr.md %D%/conform/rules/pz.md %D%/conform/rules/registry.md \
	%D%/conform/rules/rmr.md %D%/conform/rules/srq.md %D%/conform/rules/transport-notes.md
