// The table of functions that programs call through.

#include <cerrno>

#include "weir/hca/attributes.h"
#include "weir/hca/context.h"
#include "weir/hca/refuse.h"

namespace weir::hca {
namespace {

void FillDataPath(verbs_context& to) {
  to.context.ops.poll_cq = [](ibv_cq* cq, int max, ibv_wc* out) {
    return CompletionQueue::Of(cq).Poll(max, out);
  };
  to.context.ops.req_notify_cq = [](ibv_cq* cq, int solicited_only) {
    using enum CompletionQueue::Wanted;
    return CompletionQueue::Of(cq).Arm(solicited_only != 0 ? kErrors
                                                           : kAnything);
  };
  to.context.ops.post_send = [](ibv_qp* qp, ibv_send_wr* wr,
                                ibv_send_wr** bad) {
    return QueuePair::Of(qp).PostSend(wr, bad);
  };
  to.context.ops.post_recv = [](ibv_qp* qp, ibv_recv_wr* wr,
                                ibv_recv_wr** bad) {
    return QueuePair::Of(qp).PostReceive(wr, bad);
  };
}

// What has no meaning for raw packets.
void FillRefusals(verbs_context& to) {
  to.context.ops.post_srq_recv = [](ibv_srq*, ibv_recv_wr* wr,
                                    ibv_recv_wr** bad) {
    *bad = wr;
    return EOPNOTSUPP;
  };
  to.context.ops.alloc_mw = [](ibv_pd*, ibv_mw_type) {
    return Refuse<ibv_mw>(EOPNOTSUPP);
  };
  to.context.ops.bind_mw = [](ibv_qp*, ibv_mw*, ibv_mw_bind*) {
    return EOPNOTSUPP;
  };
  to.context.ops.dealloc_mw = [](ibv_mw*) { return EOPNOTSUPP; };
  to.close_xrcd = [](ibv_xrcd*) { return EOPNOTSUPP; };
}

void FillQueries(verbs_context& to) {
  to.context.ops._compat_query_device = [](ibv_context* of,
                                           ibv_device_attr* attr) {
    QueryDevice(Context::Of(of), *attr);
    return 0;
  };
  to.context.ops._compat_query_port = [](ibv_context* of, uint8_t number,
                                         _compat_ibv_port_attr* attr) {
    return QueryPort(Context::Of(of), number, attr, kOldPortAttrBytes);
  };

  to.query_device_ex = [](ibv_context* of,
                          const ibv_query_device_ex_input* input,
                          ibv_device_attr_ex* attr, size_t bytes) {
    if (input != nullptr && input->comp_mask != 0) return EINVAL;
    return QueryDeviceEx(Context::Of(of), attr, bytes);
  };
  to.query_rt_values = [](ibv_context*, ibv_values_ex* values) {
    return QueryRtValues(*values);
  };
  to.query_port = [](ibv_context* of, uint8_t number, ibv_port_attr* attr,
                     size_t bytes) {
    return QueryPort(Context::Of(of), number, attr, bytes);
  };
}

void FillQueues(verbs_context& to) {
  to.create_cq_ex = [](ibv_context* of, ibv_cq_init_attr_ex* attr) {
    return Context::Of(of).CreateCqEx(*attr);
  };
  to.create_qp_ex = [](ibv_context* of, ibv_qp_init_attr_ex* attr) {
    return Context::Of(of).CreateQpEx(*attr);
  };
  to.create_wq = [](ibv_context* of, ibv_wq_init_attr* attr) {
    return Context::Of(of).CreateWq(*attr);
  };
  to.modify_wq = [](ibv_wq* wq, ibv_wq_attr* attr) {
    if (Context::Of(wq->context).gone()) return EIO;
    return ReceiveWq::Of(wq).Modify(*attr);
  };
  to.destroy_wq = [](ibv_wq* wq) {
    return Context::Of(wq->context).DestroyWq(wq);
  };
  to.create_rwq_ind_table = [](ibv_context* of,
                               ibv_rwq_ind_table_init_attr* attr) {
    return Context::Of(of).CreateTable(*attr);
  };
  to.destroy_rwq_ind_table = [](ibv_rwq_ind_table* table) {
    return Context::Of(table->context).DestroyTable(table);
  };
}

}  // namespace

void Context::FillOperations() {
  FillDataPath(*this);
  FillRefusals(*this);
  FillQueries(*this);
  FillQueues(*this);
}

}  // namespace weir::hca
