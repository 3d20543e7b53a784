// Taking the outer VLAN tag off received frames, through the verbs API.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "test/support/frame.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

constexpr uint64_t kWcFlags =
    uint64_t{IBV_WC_EX_WITH_BYTE_LEN} | IBV_WC_EX_WITH_CVLAN;

// The frame with the tags in `tci`, first tag with `tpid`.
Bytes Tagged(const std::vector<uint16_t>& tci, size_t payload,
             uint16_t tpid = 0x8100) {
  Frame frame;
  frame.Eth(kTestMacA, kTestMacB);
  for (size_t i = 0; i < tci.size(); ++i) {
    frame.Vlan(tci[i], i == 0 ? tpid : 0x8100);
  }
  return frame.Ipv4("192.0.2.1", "192.0.2.2")
      .Udp(1, 2)
      .Payload(payload)
      .Build();
}

// The two ends of a wire; the second strips.
struct Cable {
  explicit Cable(const std::string& key)
      : a({.key = key}),
        b({.key = key,
           .wc_flags = kWcFlags,
           .create_flags = IBV_QP_CREATE_CVLAN_STRIPPING}) {
    a.MoveTo(IBV_QPS_RTS);
    b.MoveTo(IBV_QPS_RTS);
    b.TakeEverything();
  }
  void Send(const Bytes& frame) {
    std::copy(frame.begin(), frame.end(), a.Buffer(0).begin());
    ASSERT_EQ(a.PostSend(0, static_cast<uint32_t>(frame.size()), 0), 0);
  }
  struct Received {
    Bytes frame;
    uint16_t tci;
    unsigned wc_flags;
  };
  Received Take() {
    EXPECT_EQ(b.PostReceive(0), 0);
    ibv_poll_cq_attr attr{};
    EXPECT_EQ(ibv_start_poll(b.cq_ex, &attr), 0);
    EXPECT_EQ(b.cq_ex->status, IBV_WC_SUCCESS);
    const auto got = b.Buffer(0).first(ibv_wc_read_byte_len(b.cq_ex));
    Received received = {.frame = Bytes(got.begin(), got.end()),
                         .tci = ibv_wc_read_cvlan(b.cq_ex),
                         .wc_flags = ibv_wc_read_wc_flags(b.cq_ex)};
    ibv_end_poll(b.cq_ex);
    return received;
  }
  VerbsRig a;
  VerbsRig b;
};

TEST(VlanStripTest, TakesOffTheOuterTagAndReportsIt) {
  Cable cable(OwnWire("strip1"));
  for (const size_t payload : {18u, 100u, 1400u}) {
    cable.Send(Tagged({0xa123}, payload));
    const auto received = cable.Take();
    EXPECT_EQ(Hex(received.frame), Hex(Tagged({}, payload)));
    EXPECT_EQ(received.tci, 0xa123);
    EXPECT_EQ(received.wc_flags, unsigned{IBV_WC_IP_CSUM_OK});
  }
}

TEST(VlanStripTest, LeavesInnerTagsServiceTagsAndUntaggedFrames) {
  Cable cable(OwnWire("strip2"));
  cable.Send(Tagged({5, 6}, 50));
  auto received = cable.Take();
  EXPECT_EQ(received.frame, Tagged({6}, 50));
  EXPECT_EQ(received.tci, 5);
  cable.Send(Tagged({5, 6}, 50, 0x88a8));
  received = cable.Take();
  EXPECT_EQ(received.frame, Tagged({5, 6}, 50, 0x88a8));
  EXPECT_EQ(received.tci, 0);
  cable.Send(Tagged({}, 50));
  received = cable.Take();
  EXPECT_EQ(received.frame, Tagged({}, 50));
  EXPECT_EQ(received.tci, 0);
}

TEST(VlanStripTest, TakesOffTheTagInAPlainPollAsWell) {
  Cable cable(OwnWire("strip3"));
  const Bytes want = Tagged({}, 100);
  cable.Send(Tagged({9}, 100));
  ASSERT_EQ(cable.b.PostReceive(0), 0);
  const auto done = cable.b.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  ASSERT_EQ(done[0].byte_len, want.size());
  const auto got = cable.b.Buffer(0).first(want.size());
  EXPECT_EQ(Bytes(got.begin(), got.end()), want);
}

TEST(VlanStripTest, ScattersWhatIsLeft) {
  Cable cable(OwnWire("strip4"));
  const Bytes want = Tagged({}, 58);
  ASSERT_EQ(want.size(), 100u);
  // It fits without the tag, and ends where the buffers do.
  std::array<ibv_sge, 4> to = {cable.b.Sge(0, 5), cable.b.Sge(1, 7),
                               cable.b.Sge(2, 1), cable.b.Sge(3, 87)};
  ibv_recv_wr wr{};
  wr.sg_list = to.data();
  wr.num_sge = static_cast<int>(to.size());
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_recv(cable.b.qp, &wr, &bad), 0);
  cable.Send(Tagged({9}, 58));
  const auto done = cable.b.Poll(1);
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].status, IBV_WC_SUCCESS);
  Bytes got;
  for (size_t i = 0; i < to.size(); ++i) {
    const auto part = cable.b.Buffer(i).first(to[i].length);
    got.insert(got.end(), part.begin(), part.end());
  }
  EXPECT_EQ(Hex(got), Hex(want));
}

// What a frame of 104 bytes is when it arrives at `wq`.
uint32_t LengthAt(VerbsRig& from, VerbsRig& at, ibv_wq* wq) {
  const Bytes frame = Tagged({9}, 58);
  std::copy(frame.begin(), frame.end(), from.Buffer(0).begin());
  EXPECT_EQ(frame.size(), 104u);
  ibv_sge sge = at.Sge(0);
  ibv_recv_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_wq_recv(wq, &wr, &bad), 0);
  EXPECT_EQ(from.PostSend(0, 104, 0), 0);
  const auto done = at.Poll(1);
  return done.empty() ? 0 : done[0].byte_len;
}

TEST(VlanStripTest, IsSwitchedOnAWorkQueueWhileItRuns) {
  VerbsRig a({.key = OwnWire("strip5")});
  VerbsRig b({.key = OwnWire("strip5")});
  a.MoveTo(IBV_QPS_RTS);
  ibv_wq_init_attr init{};
  init.wq_type = IBV_WQT_RQ;
  init.max_wr = 8;
  init.max_sge = 1;
  init.pd = b.pd;
  init.cq = b.cq;
  init.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
  init.create_flags = IBV_WQ_FLAGS_CVLAN_STRIPPING;
  ibv_wq* wq = ibv_create_wq(b.context, &init);
  ASSERT_NE(wq, nullptr);
  ibv_wq_attr change{};
  change.attr_mask = IBV_WQ_ATTR_STATE;
  change.wq_state = IBV_WQS_RDY;
  ASSERT_EQ(ibv_modify_wq(wq, &change), 0);
  ibv_rwq_ind_table_init_attr table_init{};
  table_init.ind_tbl = &wq;
  ibv_rwq_ind_table* const table =
      ibv_create_rwq_ind_table(b.context, &table_init);
  ASSERT_NE(table, nullptr);
  std::array<uint8_t, 40> key{};
  ibv_qp_init_attr_ex attr{};
  attr.qp_type = IBV_QPT_RAW_PACKET;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
                   IBV_QP_INIT_ATTR_RX_HASH;
  attr.pd = b.pd;
  attr.rwq_ind_tbl = table;
  attr.rx_hash_conf.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ;
  attr.rx_hash_conf.rx_hash_key_len = key.size();
  attr.rx_hash_conf.rx_hash_key = key.data();
  attr.rx_hash_conf.rx_hash_fields_mask = IBV_RX_HASH_SRC_IPV4;
  ibv_qp* const qp = ibv_create_qp_ex(b.context, &attr);
  ASSERT_NE(qp, nullptr);
  ibv_flow_attr rule{};
  rule.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  rule.size = sizeof(rule);
  rule.port = 1;
  ibv_flow* const flow = ibv_create_flow(qp, &rule);
  ASSERT_NE(flow, nullptr);

  EXPECT_EQ(LengthAt(a, b, wq), 100u);
  change.attr_mask = IBV_WQ_ATTR_FLAGS;
  change.flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING;
  change.flags = 0;
  EXPECT_EQ(ibv_modify_wq(wq, &change), 0);
  EXPECT_EQ(LengthAt(a, b, wq), 104u);
  change.flags = IBV_WQ_FLAGS_CVLAN_STRIPPING;
  EXPECT_EQ(ibv_modify_wq(wq, &change), 0);
  EXPECT_EQ(LengthAt(a, b, wq), 100u);
  change.flags_mask = IBV_WQ_FLAGS_SCATTER_FCS;
  EXPECT_EQ(ibv_modify_wq(wq, &change), EOPNOTSUPP);

  EXPECT_EQ(ibv_destroy_flow(flow), 0);
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
  EXPECT_EQ(ibv_destroy_wq(wq), 0);
}

TEST(VlanStripTest, IsACapabilityOfTheDevice) {
  VerbsRig rig;
  ibv_device_attr_ex attr{};
  ASSERT_EQ(ibv_query_device_ex(rig.context, nullptr, &attr), 0);
  EXPECT_NE(attr.raw_packet_caps & IBV_RAW_PACKET_CAP_CVLAN_STRIPPING, 0u);
}

}  // namespace
}  // namespace weir::hca
