# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# The manual. If several calls share a page, the other names have files of one line that refer to
# it.

dist_man1_MANS = \
	%D%/man1/dat_conf.1 \
	%D%/man1/dat_info.1 \
	%D%/man1/dat_perf.1

dist_man3_MANS = \
	%D%/man3/dat_cno_create.3dat \
	%D%/man3/dat_cno_fd_create.3dat \
	%D%/man3/dat_cno_free.3dat \
	%D%/man3/dat_cno_modify_agent.3dat \
	%D%/man3/dat_cno_query.3dat \
	%D%/man3/dat_cno_trigger.3dat \
	%D%/man3/dat_cno_wait.3dat \
	%D%/man3/dat_cr_accept.3dat \
	%D%/man3/dat_cr_handoff.3dat \
	%D%/man3/dat_cr_query.3dat \
	%D%/man3/dat_cr_reject.3dat \
	%D%/man3/dat_csp_create.3dat \
	%D%/man3/dat_csp_free.3dat \
	%D%/man3/dat_csp_query.3dat \
	%D%/man3/dat_ep_common_connect.3dat \
	%D%/man3/dat_ep_connect.3dat \
	%D%/man3/dat_ep_create.3dat \
	%D%/man3/dat_ep_create_with_srq.3dat \
	%D%/man3/dat_ep_disconnect.3dat \
	%D%/man3/dat_ep_dup_connect.3dat \
	%D%/man3/dat_ep_free.3dat \
	%D%/man3/dat_ep_get_status.3dat \
	%D%/man3/dat_ep_modify.3dat \
	%D%/man3/dat_ep_post_rdma_read.3dat \
	%D%/man3/dat_ep_post_rdma_read_to_rmr.3dat \
	%D%/man3/dat_ep_post_rdma_write.3dat \
	%D%/man3/dat_ep_post_recv.3dat \
	%D%/man3/dat_ep_post_send.3dat \
	%D%/man3/dat_ep_post_send_with_invalidate.3dat \
	%D%/man3/dat_ep_query.3dat \
	%D%/man3/dat_ep_recv_query.3dat \
	%D%/man3/dat_ep_reset.3dat \
	%D%/man3/dat_ep_set_watermark.3dat \
	%D%/man3/dat_evd_clear_unwaitable.3dat \
	%D%/man3/dat_evd_create.3dat \
	%D%/man3/dat_evd_dequeue.3dat \
	%D%/man3/dat_evd_disable.3dat \
	%D%/man3/dat_evd_enable.3dat \
	%D%/man3/dat_evd_free.3dat \
	%D%/man3/dat_evd_modify_cno.3dat \
	%D%/man3/dat_evd_post_se.3dat \
	%D%/man3/dat_evd_query.3dat \
	%D%/man3/dat_evd_resize.3dat \
	%D%/man3/dat_evd_set_unwaitable.3dat \
	%D%/man3/dat_evd_wait.3dat \
	%D%/man3/dat_extension_op.3dat \
	%D%/man3/dat_get_consumer_context.3dat \
	%D%/man3/dat_get_handle_type.3dat \
	%D%/man3/dat_ia_close.3dat \
	%D%/man3/dat_ia_open.3dat \
	%D%/man3/dat_ia_openv.3dat \
	%D%/man3/dat_ia_query.3dat \
	%D%/man3/dat_ib_close_query.3dat \
	%D%/man3/dat_ib_collective.3dat \
	%D%/man3/dat_ib_collective_allgather.3dat \
	%D%/man3/dat_ib_collective_allgatherv.3dat \
	%D%/man3/dat_ib_collective_allreduce.3dat \
	%D%/man3/dat_ib_collective_alltoall.3dat \
	%D%/man3/dat_ib_collective_alltoallv.3dat \
	%D%/man3/dat_ib_collective_barrier.3dat \
	%D%/man3/dat_ib_collective_broadcast.3dat \
	%D%/man3/dat_ib_collective_create_group.3dat \
	%D%/man3/dat_ib_collective_create_member.3dat \
	%D%/man3/dat_ib_collective_free_group.3dat \
	%D%/man3/dat_ib_collective_free_member.3dat \
	%D%/man3/dat_ib_collective_gather.3dat \
	%D%/man3/dat_ib_collective_gatherv.3dat \
	%D%/man3/dat_ib_collective_read_clock.3dat \
	%D%/man3/dat_ib_collective_reduce.3dat \
	%D%/man3/dat_ib_collective_reduce_scatter.3dat \
	%D%/man3/dat_ib_collective_scan.3dat \
	%D%/man3/dat_ib_collective_scatter.3dat \
	%D%/man3/dat_ib_collective_scatterv.3dat \
	%D%/man3/dat_ib_collective_set_clock.3dat \
	%D%/man3/dat_ib_extensions.3dat \
	%D%/man3/dat_ib_open_query.3dat \
	%D%/man3/dat_ib_post_cmp_and_swap.3dat \
	%D%/man3/dat_ib_post_fetch_and_add.3dat \
	%D%/man3/dat_ib_post_rdma_write_immed.3dat \
	%D%/man3/dat_ib_post_send_ud.3dat \
	%D%/man3/dat_ib_print_counters.3dat \
	%D%/man3/dat_ib_query_counters.3dat \
	%D%/man3/dat_ib_start_counter.3dat \
	%D%/man3/dat_ib_stop_counter.3dat \
	%D%/man3/dat_ib_ud_ah_free.3dat \
	%D%/man3/dat_ib_ud_cm_free.3dat \
	%D%/man3/dat_lmr_create.3dat \
	%D%/man3/dat_lmr_free.3dat \
	%D%/man3/dat_lmr_query.3dat \
	%D%/man3/dat_lmr_sync_rdma_read.3dat \
	%D%/man3/dat_lmr_sync_rdma_write.3dat \
	%D%/man3/dat_provider_fini.3dat \
	%D%/man3/dat_provider_init.3dat \
	%D%/man3/dat_psp_create.3dat \
	%D%/man3/dat_psp_create_any.3dat \
	%D%/man3/dat_psp_free.3dat \
	%D%/man3/dat_psp_query.3dat \
	%D%/man3/dat_pz_create.3dat \
	%D%/man3/dat_pz_free.3dat \
	%D%/man3/dat_pz_query.3dat \
	%D%/man3/dat_registry_add_provider.3dat \
	%D%/man3/dat_registry_list_providers.3dat \
	%D%/man3/dat_registry_providers_related.3dat \
	%D%/man3/dat_registry_remove_provider.3dat \
	%D%/man3/dat_rmr_bind.3dat \
	%D%/man3/dat_rmr_create.3dat \
	%D%/man3/dat_rmr_create_for_ep.3dat \
	%D%/man3/dat_rmr_free.3dat \
	%D%/man3/dat_rmr_query.3dat \
	%D%/man3/dat_rsp_create.3dat \
	%D%/man3/dat_rsp_free.3dat \
	%D%/man3/dat_rsp_query.3dat \
	%D%/man3/dat_set_consumer_context.3dat \
	%D%/man3/dat_srq_create.3dat \
	%D%/man3/dat_srq_free.3dat \
	%D%/man3/dat_srq_post_recv.3dat \
	%D%/man3/dat_srq_query.3dat \
	%D%/man3/dat_srq_resize.3dat \
	%D%/man3/dat_srq_set_lw.3dat \
	%D%/man3/dat_strerror.3dat \
	%D%/man3/dats_get_ia_handle.3dat

dist_man5_MANS = \
	%D%/man5/dat.conf.5

dist_man7_MANS = \
	%D%/man7/dat-ofi-provider.7 \
	%D%/man7/dat-ofi.7 \
	%D%/man7/dat_endpoint.7 \
	%D%/man7/dat_event.7 \
	%D%/man7/dat_porting.7

# The table of all calls needs the report of the conformance suite.
EXTRA_DIST += %D%/manual.py %D%/rules.tsv %D%/FUNCTIONS.md test/conform/report.py
