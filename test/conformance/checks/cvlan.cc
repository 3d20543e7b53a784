// VLAN stripping: the tag out of the frame and into the completion.

#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

constexpr uint16_t kTci = 0xa007;

Bytes Udp(Frame frame) {
  return frame.Ipv4("10.0.0.1", "10.0.0.2").Udp(1, 2).Payload(40).Build();
}
Bytes Untagged() { return Udp(Frame().Eth(kTestMacB, kTestMacA)); }
Bytes Tagged() { return Udp(Frame().Eth(kTestMacB, kTestMacA).Vlan(kTci)); }

// A QP that strips, its CQ with the tags, and a receive in buffer 0.
class StrippingQp {
 public:
  explicit StrippingQp(Rig& rig) : ex(CreateCq(rig)), cq(rig, Plain(ex)) {
    ibv_qp_init_attr_ex attr{};
    attr.send_cq = attr.recv_cq = cq.cq;
    attr.cap = InitAttributes(cq.cq, cq.cq).cap;
    attr.qp_type = IBV_QPT_RAW_PACKET;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
    attr.pd = rig.pd;
    attr.create_flags = IBV_QP_CREATE_CVLAN_STRIPPING;
    qp = ibv_create_qp_ex(rig.context, &attr);
    EXPECT_NE(qp, nullptr) << std::strerror(errno);
    if (qp == nullptr) return;
    for (const auto state : {IBV_QPS_INIT, IBV_QPS_RTR}) {
      EXPECT_EQ(ModifyQp(qp, state), 0);
    }
    flow = TakeTo(kTestMacB).Create(qp);
    EXPECT_NE(flow, nullptr);
    ibv_sge sge = rig.Sge(0);
    ibv_recv_wr wr = RecvRequest(0, std::span(&sge, 1));
    ibv_recv_wr* bad = nullptr;
    EXPECT_EQ(ibv_post_recv(qp, &wr, &bad), 0);
  }
  StrippingQp(const StrippingQp&) = delete;
  StrippingQp& operator=(const StrippingQp&) = delete;
  ~StrippingQp() {
    if (flow != nullptr) {
      EXPECT_EQ(ibv_destroy_flow(flow), 0);
    }
    if (qp != nullptr) {
      EXPECT_EQ(ibv_destroy_qp(qp), 0);
    }
  }

  ibv_cq_ex* ex;
  TestCq cq;
  ibv_qp* qp = nullptr;
  ibv_flow* flow = nullptr;

 private:
  static ibv_cq_ex* CreateCq(Rig& rig) {
    ibv_cq_init_attr_ex attr{};
    attr.cqe = 16;
    attr.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_CVLAN;
    return ibv_create_cq_ex(rig.context, &attr);
  }
  static ibv_cq* Plain(ibv_cq_ex* ex) {
    EXPECT_NE(ex, nullptr) << std::strerror(errno);
    return ex == nullptr ? nullptr : ibv_cq_ex_to_cq(ex);
  }
};

// `sent` arrives as `received`, with `tci` beside it.
void ExpectStripped(Lab& lab, const Bytes& sent, const Bytes& received,
                    uint16_t tci) {
  Rig rig(lab, {sent});
  StrippingQp qp(rig);
  ASSERT_NE(qp.qp, nullptr);
  rig.Deliver();
  ibv_poll_cq_attr attr{};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  int result = ENOENT;
  while (result == ENOENT && std::chrono::steady_clock::now() < deadline) {
    result = ibv_start_poll(qp.ex, &attr);
  }
  ASSERT_EQ(result, 0);
  EXPECT_EQ(qp.ex->status, IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_wc_read_cvlan(qp.ex), tci);
  const auto buffer = rig.Buffer(0).first(ibv_wc_read_byte_len(qp.ex));
  EXPECT_EQ(Bytes(buffer.begin(), buffer.end()), received);
  ibv_end_poll(qp.ex);
}

void TakesTheTagOut(Lab& lab) {
  ExpectStripped(lab, Tagged(), Untagged(), kTci);
}

void LeavesUntaggedFramesAlone(Lab& lab) {
  ExpectStripped(lab, Untagged(), Untagged(), 0);
}

void TakesOneTagOnly(Lab& lab) {
  ExpectStripped(lab, Udp(Frame().Eth(kTestMacB, kTestMacA).Vlan(5).Vlan(kTci)),
                 Tagged(), 5);
}

}  // namespace

CheckList CvlanChecks() {
  static constexpr uint32_t kNeeds = kCvlanCap | kExtendedCqCap | kInject;
  static constexpr Check kChecks[] = {
      {"cvlan.takes_the_tag_out", kNeeds, TakesTheTagOut},
      {"cvlan.leaves_untagged_frames_alone", kNeeds, LeavesUntaggedFramesAlone},
      {"cvlan.takes_one_tag_only", kNeeds, TakesOneTagOnly},
  };
  return kChecks;
}

}  // namespace weir::conformance
