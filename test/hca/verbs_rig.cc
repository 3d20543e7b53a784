#include "test/hca/verbs_rig.h"

#include <bit>

#include "gtest/gtest.h"
#include "weir/hca_control/hca_control.h"

namespace weir::hca {

ibv_context* OpenSoftDevice(const std::string& key) {
  char name[64] = "";
  char text[256] = "";
  EXPECT_EQ(weir_hca_add_device(key.c_str(), name, text, sizeof(text)), 0)
      << text;
  ibv_device** const list = ibv_get_device_list(nullptr);
  ibv_device* found = nullptr;
  for (ibv_device** at = list; *at != nullptr; ++at) {
    if (std::string(ibv_get_device_name(*at)) == name) found = *at;
  }
  ibv_free_device_list(list);
  return found == nullptr ? nullptr : ibv_open_device(found);
}

VerbsRig::VerbsRig(const Options& options)
    : context(OpenSoftDevice(options.key)), memory_(kBuffers * kBufferBytes) {
  EXPECT_NE(context, nullptr);
  pd = ibv_alloc_pd(context);
  mr = ibv_reg_mr(pd, memory_.data(), memory_.size(), options.access);
  EXPECT_NE(mr, nullptr);
  if (options.with_channel) channel = ibv_create_comp_channel(context);
  if (options.wc_flags.has_value()) {
    ibv_cq_init_attr_ex cq_attr{};
    cq_attr.cqe = static_cast<uint32_t>(options.cqe);
    cq_attr.cq_context = this;
    cq_attr.channel = channel;
    cq_attr.wc_flags = *options.wc_flags;
    cq_ex = ibv_create_cq_ex(context, &cq_attr);
    EXPECT_NE(cq_ex, nullptr);
    cq = ibv_cq_ex_to_cq(cq_ex);
  } else {
    cq = ibv_create_cq(context, options.cqe, this, channel, 0);
  }
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = attr.recv_cq = cq;
  attr.cap = {.max_send_wr = options.send_wr,
              .max_recv_wr = options.recv_wr,
              .max_send_sge = options.sge,
              .max_recv_sge = options.sge,
              .max_inline_data = options.inline_bytes};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.sq_sig_all = options.signal_all ? 1 : 0;
  attr.pd = pd;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  if (options.create_flags != 0) {
    attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
    attr.create_flags = options.create_flags;
  }
  if (options.max_tso_header_bytes != 0) {
    attr.comp_mask |= IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
    attr.max_tso_header = options.max_tso_header_bytes;
  }
  // With nothing but a PD the header makes a plain ibv_create_qp of it.
  qp = ibv_create_qp_ex(context, &attr);
  EXPECT_NE(qp, nullptr);
  cap = attr.cap;
}

VerbsRig::~VerbsRig() {
  for (ibv_flow* flow : flows_) EXPECT_EQ(ibv_destroy_flow(flow), 0);
  if (qp != nullptr) {
    EXPECT_EQ(ibv_destroy_qp(qp), 0);
  }
  if (cq != nullptr) {
    EXPECT_EQ(ibv_destroy_cq(cq), 0);
  }
  if (channel != nullptr) {
    EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  }
  if (mr != nullptr) {
    EXPECT_EQ(ibv_dereg_mr(mr), 0);
  }
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

int VerbsRig::Modify(ibv_qp_state to) {
  ibv_qp_attr attr{};
  attr.qp_state = to;
  attr.port_num = 1;
  const bool from_reset = to == IBV_QPS_INIT;
  return ibv_modify_qp(qp, &attr,
                       IBV_QP_STATE | (from_reset ? IBV_QP_PORT : 0));
}

void VerbsRig::MoveTo(ibv_qp_state to) {
  for (const ibv_qp_state next :
       {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    ASSERT_EQ(Modify(next), 0) << next;
    if (next == to) return;
  }
}

ibv_qp_state VerbsRig::state() {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
  return attr.qp_state;
}

void VerbsRig::TakeEverything() {
  struct {
    ibv_flow_attr attr;
    ibv_flow_spec_eth eth;
  } rule{};
  static_assert(sizeof(rule) == sizeof(ibv_flow_attr) + 40);
  rule.attr.type = IBV_FLOW_ATTR_NORMAL;
  rule.attr.size = sizeof(rule);
  rule.attr.num_of_specs = 1;
  rule.attr.port = 1;
  rule.eth.type = IBV_FLOW_SPEC_ETH;
  rule.eth.size = sizeof(rule.eth);
  ibv_flow* flow = ibv_create_flow(qp, &rule.attr);
  ASSERT_NE(flow, nullptr);
  flows_.push_back(flow);
}

ibv_sge VerbsRig::Sge(size_t index, uint32_t bytes) const {
  return {
      .addr = std::bit_cast<uint64_t>(memory_.data()) + index * kBufferBytes,
      .length = bytes,
      .lkey = mr->lkey};
}

int VerbsRig::PostReceive(size_t index, uint32_t bytes) {
  ibv_sge sge = Sge(index, bytes);
  ibv_recv_wr wr{};
  wr.wr_id = index;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad);
}

int VerbsRig::PostSend(size_t index, uint32_t bytes, unsigned flags) {
  ibv_sge sge = Sge(index, bytes);
  ibv_send_wr wr{};
  wr.wr_id = index;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = flags;
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &wr, &bad);
}

std::span<std::byte> VerbsRig::Buffer(size_t index) {
  return std::span(memory_).subspan(index * kBufferBytes, kBufferBytes);
}

std::vector<ibv_wc> VerbsRig::Poll(size_t count) {
  std::vector<ibv_wc> all;
  for (int i = 0; i < 1000 && all.size() < count; ++i) {
    std::array<ibv_wc, 32> some;
    const int got = ibv_poll_cq(cq, static_cast<int>(some.size()), some.data());
    if (got < 0) break;
    all.insert(all.end(), some.begin(), some.begin() + got);
  }
  return all;
}

uint64_t VerbsRig::Counter(const std::string& name) {
  const char* each = nullptr;
  uint64_t value = 0;
  for (unsigned i = 0; weir_hca_read_counter(context, i, &each, &value) == 0;
       ++i) {
    if (name == each) return value;
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

}  // namespace weir::hca
