#include "test/conformance/probe.h"

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "test/conformance/flow_request.h"
#include "test/conformance/labs/soft_device.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

// The least that raw packets need; nothing here is expected to work.
class Trial {
 public:
  Trial() = default;
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() {
    if (qp_ != nullptr) ibv_destroy_qp(qp_);
    if (cq_ != nullptr) ibv_destroy_cq(cq_);
    if (pd_ != nullptr) ibv_dealloc_pd(pd_);
    if (context_ != nullptr) ibv_close_device(context_);
  }

  // Empty, or the call that failed and why.
  std::string Build(ibv_device* device) {
    context_ = ibv_open_device(device);
    if (context_ == nullptr) return "ibv_open_device: " + OpenError(device);
    pd_ = ibv_alloc_pd(context_);
    if (pd_ == nullptr) return Failed("ibv_alloc_pd");
    cq_ = ibv_create_cq(context_, 16, nullptr, nullptr, 0);
    if (cq_ == nullptr) return Failed("ibv_create_cq");
    ibv_qp_init_attr attr =
        InitAttributes(cq_, cq_, {.send_wr = 4, .recv_wr = 4});
    qp_ = ibv_create_qp(pd_, &attr);
    if (qp_ == nullptr) return Failed("ibv_create_qp(IBV_QPT_RAW_PACKET)");
    errno = ModifyQp(qp_, IBV_QPS_INIT);
    return errno == 0 ? std::string() : Failed("ibv_modify_qp");
  }

  uint32_t capabilities() const {
    return Reported() | Objects() | Flows() | Multicast();
  }

 private:
  static std::string Failed(const char* call) {
    const std::string reason = std::strerror(errno);
    return std::string(call) + ": " + reason +
           (errno == EPERM ? "; needs CAP_NET_RAW" : "");
  }

  uint32_t Reported() const;
  uint32_t Objects() const;
  uint32_t Flows() const;
  uint32_t Multicast() const;
  bool Accepts(const FlowRequest& request) const;

  ibv_context* context_ = nullptr;
  ibv_pd* pd_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
};

uint32_t Trial::Reported() const {
  ibv_device_attr_ex attr{};
  if (ibv_query_device_ex(context_, nullptr, &attr) != 0) return 0;
  constexpr uint32_t kRaw = 1u << IBV_QPT_RAW_PACKET;
  uint32_t found = 0;
  if ((attr.raw_packet_caps & IBV_RAW_PACKET_CAP_IP_CSUM) != 0) {
    found |= kChecksumCap;
  }
  if ((attr.raw_packet_caps & IBV_RAW_PACKET_CAP_CVLAN_STRIPPING) != 0) {
    found |= kCvlanCap;
  }
  if ((attr.raw_packet_caps & IBV_RAW_PACKET_CAP_SCATTER_FCS) != 0) {
    found |= kScatterFcsCap;
  }
  if (attr.tso_caps.max_tso > 0 && (attr.tso_caps.supported_qpts & kRaw) != 0) {
    found |= kTsoCap;
  }
  if (attr.rss_caps.max_rwq_indirection_tables > 0 &&
      (attr.rss_caps.supported_qpts & kRaw) != 0) {
    found |= kRssCap;
  }
  if (attr.completion_timestamp_mask != 0) found |= kTimestampCap;
  return found;
}

uint32_t Trial::Objects() const {
  uint32_t found = 0;
  ibv_cq_init_attr_ex cq_attr{};
  cq_attr.cqe = 16;
  cq_attr.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM;
  if (ibv_cq_ex* const cq = ibv_create_cq_ex(context_, &cq_attr)) {
    found |= kExtendedCqCap;
    ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
  }
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = attr.recv_cq = cq_;
  attr.cap = {.max_send_wr = 4,
              .max_recv_wr = 4,
              .max_send_sge = 1,
              .max_recv_sge = 1,
              .max_inline_data = 0};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  attr.pd = pd_;
  attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
  if (ibv_qp* const qp = ibv_create_qp_ex(context_, &attr)) {
    found |= kExtendedQpCap;
    ibv_destroy_qp(qp);
  }
  ibv_counters_init_attr counters_attr{};
  if (ibv_counters* const counters =
          ibv_create_counters(context_, &counters_attr)) {
    found |= kFlowCountCap;
    ibv_destroy_counters(counters);
  }
  return found;
}

bool Trial::Accepts(const FlowRequest& request) const {
  ibv_flow* const flow = request.Create(qp_);
  return flow != nullptr && ibv_destroy_flow(flow) == 0;
}

uint32_t Trial::Flows() const {
  uint32_t found = 0;
  ibv_flow_spec_action_tag tag{};
  tag.type = IBV_FLOW_SPEC_ACTION_TAG;
  tag.size = sizeof(tag);
  tag.tag_id = 7;
  if (Accepts(TakeTo(kTestMacB).Add(tag))) found |= kFlowTagCap;
  ibv_flow_spec_action_drop drop{};
  drop.type = IBV_FLOW_SPEC_ACTION_DROP;
  drop.size = sizeof(drop);
  if (Accepts(TakeTo(kTestMacB).Add(drop))) found |= kFlowDropCap;
  if (Accepts(TakeTo(kTestMacB).Flags(IBV_FLOW_ATTR_FLAGS_DONT_TRAP))) {
    found |= kDontTrapCap;
  }
  if (Accepts(FlowRequest(IBV_FLOW_ATTR_SNIFFER))) found |= kSnifferCap;
  return found;
}

uint32_t Trial::Multicast() const {
  const union ibv_gid gid = GroupGid({{1, 0, 0x5e, 1, 1, 1}});
  if (ibv_attach_mcast(qp_, &gid, 0) != 0) return 0;
  ibv_detach_mcast(qp_, &gid, 0);
  return kMulticastCap;
}

}  // namespace

uint32_t Probe(Lab& lab, std::string& error) {
  Trial trial;
  lab.Prepare({});
  error = trial.Build(lab.device());
  return error.empty() ? trial.capabilities() : 0;
}

}  // namespace weir::conformance
