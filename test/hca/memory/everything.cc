#include "test/hca/memory/everything.h"

#include <array>
#include <bit>
#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "test/hca/memory/allocation_failure.h"
#include "test/hca/memory/at_last.h"
#include "weir/hca_control/hca_control.h"

#undef ibv_reg_mr

namespace weir::hca {

Everything::Everything(ibv_device* device) : memory_(2 * kHalf) {
  context = MakeAtLast("ibv_open_device",
                       [device] { return ibv_open_device(device); });
  pd = MakeAtLast("ibv_alloc_pd", [this] { return ibv_alloc_pd(context); });
  other_pd =
      MakeAtLast("ibv_alloc_pd", [this] { return ibv_alloc_pd(context); });
  mr = MakeAtLast("ibv_reg_mr", [this] {
    return ibv_reg_mr(pd, memory_.data(), kHalf, IBV_ACCESS_LOCAL_WRITE);
  });
  MakeCqs();
  MakeQueuePairs();
  MakeRss();
  MakeCounters();
}

Everything::~Everything() {
  for (ibv_flow* flow : flows_) EXPECT_EQ(ibv_destroy_flow(flow), 0);
  EXPECT_EQ(ibv_destroy_counters(counters), 0);
  for (ibv_qp* each : {qp, wr_qp, rss_qp}) EXPECT_EQ(ibv_destroy_qp(each), 0);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
  EXPECT_EQ(ibv_destroy_wq(wq), 0);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(cq_ex)), 0);
  EXPECT_EQ(ibv_destroy_comp_channel(channel), 0);
  EXPECT_EQ(ibv_dereg_mr(mr), 0);
  EXPECT_EQ(ibv_dealloc_pd(other_pd), 0);
  EXPECT_EQ(ibv_dealloc_pd(pd), 0);
  EXPECT_EQ(ibv_close_device(context), 0);
}

void Everything::MakeCqs() {
  channel = MakeAtLast("ibv_create_comp_channel",
                       [this] { return ibv_create_comp_channel(context); });
  cq = MakeAtLast("ibv_create_cq", [this] {
    return ibv_create_cq(context, 16, this, channel, 0);
  });
  cq_ex = MakeAtLast("ibv_create_cq_ex", [this] {
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 16;
    attr.channel = channel;
    attr.wc_flags = IBV_WC_STANDARD_FLAGS;
    return ibv_create_cq_ex(context, &attr);
  });
}

void Everything::MakeQueuePairs() {
  qp = MakeAtLast("ibv_create_qp", [this] {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = cq;
    attr.cap = {8, 8, 2, 2, 32};
    attr.qp_type = IBV_QPT_RAW_PACKET;
    return ibv_create_qp(pd, &attr);
  });
  wr_qp = MakeAtLast("ibv_create_qp_ex", [this] {
    ibv_qp_init_attr_ex attr{};
    attr.send_cq = attr.recv_cq = ibv_cq_ex_to_cq(cq_ex);
    attr.cap = {8, 8, 2, 2, 32};
    attr.qp_type = IBV_QPT_RAW_PACKET;
    attr.pd = pd;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS |
                     IBV_QP_INIT_ATTR_MAX_TSO_HEADER;
    attr.max_tso_header = 64;
    attr.send_ops_flags = IBV_QP_EX_WITH_SEND;
    return ibv_create_qp_ex(context, &attr);
  });
}

void Everything::MakeRss() {
  wq = MakeAtLast("ibv_create_wq", [this] {
    ibv_wq_init_attr attr{};
    attr.wq_type = IBV_WQT_RQ;
    attr.max_wr = 8;
    attr.max_sge = 2;
    attr.pd = pd;
    attr.cq = cq;
    return ibv_create_wq(context, &attr);
  });
  table = MakeAtLast("ibv_create_rwq_ind_table", [this] {
    std::array<ibv_wq*, 4> entries;
    entries.fill(wq);
    ibv_rwq_ind_table_init_attr attr{
        .log_ind_tbl_size = 2, .ind_tbl = entries.data(), .comp_mask = 0};
    return ibv_create_rwq_ind_table(context, &attr);
  });
  rss_qp = MakeAtLast("ibv_create_qp_ex", [this] {
    std::array<uint8_t, 40> key{1};
    ibv_qp_init_attr_ex attr{};
    attr.qp_type = IBV_QPT_RAW_PACKET;
    attr.pd = pd;
    attr.rwq_ind_tbl = table;
    attr.rx_hash_conf = {
        .rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
        .rx_hash_key_len = 40,
        .rx_hash_key = key.data(),
        .rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4};
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
                     IBV_QP_INIT_ATTR_RX_HASH;
    return ibv_create_qp_ex(context, &attr);
  });
}

void Everything::MakeCounters() {
  counters = MakeAtLast("ibv_create_counters", [this] {
    ibv_counters_init_attr attr{};
    return ibv_create_counters(context, &attr);
  });
  ibv_counter_attach_attr attach{
      .counter_desc = IBV_COUNTER_PACKETS, .index = 0, .comp_mask = 0};
  DoAtLast("ibv_attach_counters_point_flow", [this, &attach] {
    return ibv_attach_counters_point_flow(counters, &attach, nullptr);
  });
}

void Everything::Move(ibv_qp* qp, ibv_qp_state last) {
  for (const ibv_qp_state state :
       {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    ibv_qp_attr attr{};
    attr.qp_state = state;
    attr.port_num = 1;
    const int port = state == IBV_QPS_INIT ? IBV_QP_PORT : 0;
    DoWithoutMemory("ibv_modify_qp", [&] {
      return ibv_modify_qp(qp, &attr, IBV_QP_STATE | port);
    });
    if (state == last) return;
  }
}

void Everything::AddFlow(ibv_qp* to, uint8_t octet, uint8_t mask,
                         Counts counts) {
  ibv_flow_attr attr{};
  attr.type = IBV_FLOW_ATTR_NORMAL;
  attr.num_of_specs = counts == Counts::kYes ? 2 : 1;
  attr.port = 1;
  ibv_flow_spec_eth eth{};
  eth.type = IBV_FLOW_SPEC_ETH;
  eth.size = sizeof eth;
  eth.val.dst_mac[5] = octet;
  eth.mask.dst_mac[5] = mask;
  ibv_flow_spec_counter_action count{};
  count.type = IBV_FLOW_SPEC_ACTION_COUNT;
  count.size = sizeof count;
  count.counters = counters;
  // Without gaps.
  std::array<std::byte, sizeof attr + sizeof eth + sizeof count> rule;
  attr.size = sizeof attr + sizeof eth + sizeof count;
  std::memcpy(rule.data(), &attr, sizeof attr);
  std::memcpy(rule.data() + sizeof attr, &eth, sizeof eth);
  std::memcpy(rule.data() + sizeof attr + sizeof eth, &count, sizeof count);
  flows_.push_back(nullptr);
  flows_.back() = MakeAtLast("ibv_create_flow", [to, &rule] {
    return ibv_create_flow(to, reinterpret_cast<ibv_flow_attr*>(rule.data()));
  });
}

void Everything::ResizeCq() {
  DoAtLast("ibv_resize_cq", [this] { return ibv_resize_cq(cq, 200); });
}

void Everything::ReregisterMr() {
  constexpr int kMoves =
      IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD;
  for (ibv_pd* const to : {other_pd, pd}) {
    std::byte* const half = memory_.data() + (to == pd ? 0 : kHalf);
    DoAtLast("ibv_rereg_mr", [this, to, half] {
      return ibv_rereg_mr(mr, kMoves, to, half, kHalf, 0) == 0 ? 0 : errno;
    });
  }
}

int Everything::PostReceive(uint32_t lkey) {
  ibv_sge sge{.addr = std::bit_cast<uintptr_t>(memory_.data()),
              .length = 2048,
              .lkey = lkey};
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &wr, &bad);
}

ibv_device* AddDevice(const std::string& key) {
  std::array<char, 64> name{};
  std::array<char, 256> text{};
  DoAtLast("weir_hca_add_device", [&] {
    return weir_hca_add_device(key.c_str(), name.data(), text.data(),
                               text.size());
  });
  ibv_device* found = nullptr;
  ibv_device** const list = MakeAtLast(
      "ibv_get_device_list", [] { return ibv_get_device_list(nullptr); });
  for (ibv_device** at = list; *at != nullptr; ++at) {
    if (std::string(name.data()) == ibv_get_device_name(*at)) found = *at;
  }
  ibv_free_device_list(list);
  return found;
}

void ExpectNothingLeftBehind(const std::string& key) {
  ibv_device* const device = AddDevice(key);
  ASSERT_NE(device, nullptr);
  // What lasts as long as the process comes to be the first time.
  { const Everything warm(device); }
  const size_t before = LiveAllocations();
  {
    Everything all(device);
    all.ResizeCq();
    all.ReregisterMr();
    for (ibv_qp* const qp : {all.qp, all.rss_qp}) {
      all.AddFlow(qp, 0, 0);
      for (uint8_t octet = 1; octet < 9; ++octet) {
        all.AddFlow(qp, octet, 0xff,
                    static_cast<Everything::Counts>(octet % 3 == 0));
      }
      all.AddFlow(qp, 1, 0x0f, Everything::Counts::kYes);
      union ibv_gid gid {};
      gid.raw[10] = 1;
      DoAtLast("ibv_attach_mcast",
               [&] { return ibv_attach_mcast(qp, &gid, 0); });
      DoWithoutMemory("ibv_detach_mcast",
                      [&] { return ibv_detach_mcast(qp, &gid, 0); });
    }
  }
  EXPECT_EQ(LiveAllocations(), before);
}

}  // namespace weir::hca
