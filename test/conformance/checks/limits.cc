// Limits that the device reports: at each it works, one beyond it refuses.

#include <infiniband/verbs.h>

#include <cerrno>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

// Limits above this are not tried: a NIC has millions.
constexpr int kTooMany = 100'000;

// errno of a QP with these capabilities, 0 (and gone) if it can be had.
int TryQp(Rig& rig, ibv_cq* cq, const ibv_qp_cap& cap) {
  ibv_qp_init_attr attr = InitAttributes(cq, cq);
  attr.cap = cap;
  errno = 0;
  ibv_qp* const qp = ibv_create_qp(rig.pd, &attr);
  if (qp == nullptr) return errno;
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  return 0;
}

ibv_qp_cap Cap(uint32_t send_wr, uint32_t recv_wr, uint32_t send_sge = 1,
               uint32_t recv_sge = 1) {
  return {.max_send_wr = send_wr,
          .max_recv_wr = recv_wr,
          .max_send_sge = send_sge,
          .max_recv_sge = recv_sge,
          .max_inline_data = 0};
}

void SendRequests(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  const auto most = static_cast<uint32_t>(rig.Attributes().max_qp_wr);
  EXPECT_EQ(TryQp(rig, cq.cq, Cap(most, 1)), 0);
  EXPECT_NE(TryQp(rig, cq.cq, Cap(most + 1, 1)), 0);
}

void ReceiveRequests(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  const auto most = static_cast<uint32_t>(rig.Attributes().max_qp_wr);
  EXPECT_EQ(TryQp(rig, cq.cq, Cap(1, most)), 0);
  EXPECT_NE(TryQp(rig, cq.cq, Cap(1, most + 1)), 0);
}

void Sges(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  const auto most = static_cast<uint32_t>(rig.Attributes().max_sge);
  EXPECT_EQ(TryQp(rig, cq.cq, Cap(1, 1, most, most)), 0);
  EXPECT_EQ(TryQp(rig, cq.cq, Cap(1, 1, most + 1, 1)), EINVAL);
  EXPECT_EQ(TryQp(rig, cq.cq, Cap(1, 1, 1, most + 1)), EINVAL);
}

void InlineBytes(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  ibv_qp_cap cap = Cap(1, 1);
  cap.max_inline_data = 1u << 20;
  EXPECT_NE(TryQp(rig, cq.cq, cap), 0);
}

void CqEntries(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  const int most = rig.Attributes().max_cqe;
  ibv_cq* cq = ibv_create_cq(rig.context, most, nullptr, nullptr, 0);
  ASSERT_NE(cq, nullptr);
  EXPECT_GE(cq->cqe, most);
  EXPECT_EQ(ibv_destroy_cq(cq), 0);
  errno = 0;
  EXPECT_EQ(ibv_create_cq(rig.context, most + 1, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

// Makes objects until one is refused, which must be number `most` + 1, and
// gives all of them back; then one is to be had again.
template <typename Make, typename Destroy>
void ExpectAtMost(int most, Make make, Destroy destroy) {
  ASSERT_LE(most, kTooMany);
  std::vector<decltype(make())> made;
  while (made.size() <= static_cast<size_t>(most)) {
    errno = 0;
    auto* const one = make();
    if (one == nullptr) break;
    made.push_back(one);
  }
  EXPECT_EQ(made.size(), static_cast<size_t>(most));
  EXPECT_EQ(errno, ENOMEM);
  for (auto* one : made) EXPECT_EQ(destroy(one), 0);
  auto* const again = make();
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(destroy(again), 0);
}

void Pds(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  // One is the rig's.
  ExpectAtMost(
      rig.Attributes().max_pd - 1, [&] { return ibv_alloc_pd(rig.context); },
      ibv_dealloc_pd);
}

void Cqs(Lab& lab) {
  Rig rig(lab);
  ASSERT_TRUE(rig.ok());
  ExpectAtMost(
      rig.Attributes().max_cq,
      [&] { return ibv_create_cq(rig.context, 1, nullptr, nullptr, 0); },
      ibv_destroy_cq);
}

void Qps(Lab& lab) {
  Rig rig(lab);
  TestCq cq(rig);
  ASSERT_TRUE(rig.ok());
  ibv_qp_init_attr attr = InitAttributes(cq.cq, cq.cq);
  attr.cap = Cap(1, 1);
  ExpectAtMost(
      rig.Attributes().max_qp, [&] { return ibv_create_qp(rig.pd, &attr); },
      ibv_destroy_qp);
}

}  // namespace

CheckList LimitChecks() {
  static constexpr Check kChecks[] = {
      {"limits.send_requests", kNothing, SendRequests},
      {"limits.receive_requests", kNothing, ReceiveRequests},
      {"limits.sges", kNothing, Sges},
      {"limits.inline_bytes", kNothing, InlineBytes},
      {"limits.cq_entries", kNothing, CqEntries},
      {"limits.pds", kStrict, Pds},
      {"limits.cqs", kStrict, Cqs},
      {"limits.qps", kStrict, Qps},
  };
  return kChecks;
}

}  // namespace weir::conformance
