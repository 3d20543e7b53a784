#include "weir/verbs/queue_pair.h"

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/base/errno_status.h"
#include "weir/verbs/raw_packet_error.h"

namespace weir::verbs {
namespace {

// Depths are not halved below this: a queue of fewer is of no use, and an
// error that is not about the size shows sooner.
constexpr uint32_t kMinDepth = 32;

ibv_qp_init_attr InitAttributes(const CompletionQueue& send_cq,
                                const CompletionQueue& receive_cq,
                                const QueuePairOptions& options) {
  ibv_qp_init_attr attributes{};
  attributes.send_cq = send_cq.get();
  attributes.recv_cq = receive_cq.get();
  attributes.qp_type = IBV_QPT_RAW_PACKET;
  attributes.cap.max_send_wr = options.send_depth;
  attributes.cap.max_recv_wr = options.receive_depth;
  attributes.cap.max_send_sge =
      options.send_depth == 0 ? 0 : options.send_segments;
  attributes.cap.max_recv_sge =
      options.receive_depth == 0 ? 0 : options.receive_segments;
  attributes.cap.max_inline_data = options.inline_bytes;
  return attributes;
}

// The next smaller size to try; false if there is none.
bool Shrink(QueuePairOptions& options) {
  if (options.inline_bytes != 0) {
    options.inline_bytes /= 2;
    return true;
  }
  const auto halve = [](uint32_t& depth) {
    if (depth < 2 * kMinDepth) return false;
    depth /= 2;
    return true;
  };
  const bool send = halve(options.send_depth);
  const bool receive = halve(options.receive_depth);
  return send || receive;
}

std::string Describe(absl::string_view device_name,
                     const QueuePairOptions& options) {
  return absl::StrCat(device_name, ": cannot create a raw packet queue pair (",
                      options.send_depth, " sends of ", options.send_segments,
                      " segments, ", options.receive_depth, " receives of ",
                      options.receive_segments, " segments, ",
                      options.inline_bytes, " bytes inline)");
}

absl::string_view StateName(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_RESET:
      return "ibv_modify_qp to RESET";
    case IBV_QPS_INIT:
      return "ibv_modify_qp to INIT";
    case IBV_QPS_RTR:
      return "ibv_modify_qp to RTR";
    case IBV_QPS_RTS:
      return "ibv_modify_qp to RTS";
    default:
      return "ibv_modify_qp to ERR";
  }
}

}  // namespace

absl::StatusOr<QueuePair> QueuePair::Create(const ProtectionDomain& domain,
                                            const CompletionQueue& send_cq,
                                            const CompletionQueue& receive_cq,
                                            const QueuePairOptions& options) {
  QueuePairOptions attempt = options;
  for (;;) {
    ibv_qp_init_attr attributes = InitAttributes(send_cq, receive_cq, attempt);
    ibv_qp* qp = ibv_create_qp(domain.get(), &attributes);
    if (qp != nullptr) {
      return QueuePair(domain.device_name(), qp,
                       {.send_depth = attributes.cap.max_send_wr,
                        .receive_depth = attributes.cap.max_recv_wr,
                        .send_segments = attributes.cap.max_send_sge,
                        .receive_segments = attributes.cap.max_recv_sge,
                        .inline_bytes = attributes.cap.max_inline_data});
    }
    const int error = errno;
    if ((error == EINVAL || error == ENOMEM) && Shrink(attempt)) continue;
    ibv_device_attr device{};
    const bool known = ibv_query_device(domain.get()->context, &device) == 0;
    return RawPacketError(error,
                          {.object = Describe(domain.device_name(), attempt),
                           .call = "ibv_create_qp"},
                          known ? device.max_raw_ethy_qp : 0);
  }
}

int QueuePair::Modify(ibv_qp_state state, uint8_t port) noexcept {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  attributes.port_num = port;
  // A raw queue pair takes these and nothing more.
  const int mask =
      state == IBV_QPS_INIT ? IBV_QP_STATE | IBV_QP_PORT : IBV_QP_STATE;
  return ibv_modify_qp(qp_.get(), &attributes, mask);
}

absl::Status QueuePair::ModifyOrStatus(ibv_qp_state state, uint8_t port) {
  const int error = Modify(state, port);
  if (error == 0) return absl::OkStatus();
  return ErrnoStatus(error, {.object = device_name_, .call = StateName(state)});
}

}  // namespace weir::verbs
