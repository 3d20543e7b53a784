// Limits hold exactly: what the device reports can be had, one more cannot.

#include <infiniband/verbs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <functional>
#include <new>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/verbs_rig.h"
#include "weir/hca/refuse.h"

namespace weir::hca {
namespace {

class LimitsTest : public ::testing::Test {
 protected:
  LimitsTest() { EXPECT_EQ(ibv_query_device(rig_.context, &device_), 0); }

  ibv_qp* CreateQp(const ibv_qp_cap& cap) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = rig_.cq;
    attr.cap = cap;
    attr.qp_type = IBV_QPT_RAW_PACKET;
    return ibv_create_qp(rig_.pd, &attr);
  }

  // `count` objects can be made and the next one not, for want of memory.
  template <typename T>
  static void ExpectExactly(size_t count, const std::function<T*()>& make,
                            int (*destroy)(T*)) {
    std::vector<T*> all;
    for (size_t i = 0; i < count; ++i) {
      T* const one = make();
      ASSERT_NE(one, nullptr) << i;
      all.push_back(one);
    }
    errno = 0;
    EXPECT_EQ(make(), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    EXPECT_EQ(destroy(all.back()), 0);
    all.back() = make();
    EXPECT_NE(all.back(), nullptr);
    for (T* one : all) EXPECT_EQ(destroy(one), 0);
  }

  // Puts the rig's queue pair aside for one of its own.
  void UseQp(const ibv_qp_cap& cap) {
    ASSERT_EQ(ibv_destroy_qp(rig_.qp), 0);
    rig_.qp = CreateQp(cap);
    ASSERT_NE(rig_.qp, nullptr);
    rig_.MoveTo(IBV_QPS_RTS);
  }

  // The rig has one of each.
  VerbsRig rig_;
  ibv_device_attr device_{};
};

TEST_F(LimitsTest, OfQueuePairs) {
  ExpectExactly<ibv_qp>(
      static_cast<size_t>(device_.max_qp) - 1,
      [this] {
        return CreateQp({1, 1, 1, 1, 0});
      },
      ibv_destroy_qp);
}

TEST_F(LimitsTest, OfCompletionQueues) {
  ExpectExactly<ibv_cq>(
      static_cast<size_t>(device_.max_cq) - 1,
      [this] { return ibv_create_cq(rig_.context, 1, nullptr, nullptr, 0); },
      ibv_destroy_cq);
}

TEST_F(LimitsTest, OfProtectionDomains) {
  ExpectExactly<ibv_pd>(
      static_cast<size_t>(device_.max_pd) - 1,
      [this] { return ibv_alloc_pd(rig_.context); }, ibv_dealloc_pd);
}

TEST_F(LimitsTest, OfMemoryRegions) {
  // Static memory comes first in /proc/self/maps, which every registration
  // reads as far as it has to.
  static std::array<std::byte, 64> memory{};
  ExpectExactly<ibv_mr>(
      static_cast<size_t>(device_.max_mr) - 1,
      [this] { return (ibv_reg_mr)(rig_.pd, memory.data(), memory.size(), 0); },
      ibv_dereg_mr);
}

TEST_F(LimitsTest, OfCompletions) {
  ibv_cq* const largest =
      ibv_create_cq(rig_.context, device_.max_cqe, nullptr, nullptr, 0);
  ASSERT_NE(largest, nullptr);
  EXPECT_EQ(largest->cqe, device_.max_cqe);
  EXPECT_EQ(ibv_resize_cq(largest, device_.max_cqe + 1), EINVAL);
  EXPECT_EQ(ibv_resize_cq(largest, 1), 0);
  EXPECT_EQ(ibv_resize_cq(largest, device_.max_cqe), 0);
  EXPECT_EQ(ibv_destroy_cq(largest), 0);
}

TEST_F(LimitsTest, OfInlineData) {
  ibv_qp* const most = CreateQp({1, 1, 1, 1, 512});
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(ibv_destroy_qp(most), 0);
  EXPECT_EQ(CreateQp({1, 1, 1, 1, 513}), nullptr);
  EXPECT_EQ(errno, EINVAL);
  UseQp({8, 8, 1, 1, 100});
  EXPECT_EQ(rig_.PostSend(0, 100, IBV_SEND_INLINE), 0);
  EXPECT_EQ(rig_.PostSend(0, 101, IBV_SEND_INLINE), EINVAL);
}

TEST_F(LimitsTest, OfSges) {
  const auto most = static_cast<uint32_t>(device_.max_sge);
  UseQp({8, 8, most, most, 0});
  std::vector<ibv_sge> sges(most + 1, rig_.Sge(0, 2));
  ibv_send_wr send{};
  send.sg_list = sges.data();
  send.opcode = IBV_WR_SEND;
  ibv_send_wr* bad_send = nullptr;
  send.num_sge = static_cast<int>(most);
  EXPECT_EQ(ibv_post_send(rig_.qp, &send, &bad_send), 0);
  send.num_sge = static_cast<int>(most) + 1;
  EXPECT_EQ(ibv_post_send(rig_.qp, &send, &bad_send), EINVAL);
  EXPECT_EQ(bad_send, &send);
  ibv_recv_wr receive{};
  receive.sg_list = sges.data();
  ibv_recv_wr* bad_receive = nullptr;
  receive.num_sge = static_cast<int>(most);
  EXPECT_EQ(ibv_post_recv(rig_.qp, &receive, &bad_receive), 0);
  receive.num_sge = static_cast<int>(most) + 1;
  EXPECT_EQ(ibv_post_recv(rig_.qp, &receive, &bad_receive), EINVAL);
  EXPECT_EQ(bad_receive, &receive);
}

TEST_F(LimitsTest, OfWorkRequests) {
  UseQp({16, 32, 1, 1, 0});
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(rig_.PostReceive(i), 0);
  EXPECT_EQ(rig_.PostReceive(0), ENOMEM);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(rig_.PostSend(i, 60, 0), 0);
  EXPECT_EQ(rig_.PostSend(0, 60, 0), ENOMEM);
}

TEST_F(LimitsTest, LeaveOutTheHalfThatIsNotThere) {
  UseQp({16, 0, 1, 0, 0});
  EXPECT_EQ(rig_.PostReceive(0), EINVAL);
  EXPECT_EQ(rig_.PostSend(0, 60, IBV_SEND_SIGNALED), 0);
  EXPECT_EQ(rig_.Poll(1).size(), 1u);
  ibv_flow_attr all{};
  all.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  all.port = 1;
  EXPECT_EQ(ibv_create_flow(rig_.qp, &all), nullptr);
  EXPECT_EQ(errno, EINVAL);
  UseQp({0, 16, 0, 1, 0});
  EXPECT_EQ(rig_.PostSend(0, 60, 0), EINVAL);
  rig_.TakeEverything();
  EXPECT_EQ(rig_.PostReceive(0), 0);
  EXPECT_EQ(rig_.Poll(1).size(), 1u);
}

TEST_F(LimitsTest, HaveNoRateLimit) {
  rig_.MoveTo(IBV_QPS_RTR);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.rate_limit = 1000;
  EXPECT_EQ(ibv_modify_qp(rig_.qp, &attr, IBV_QP_STATE | IBV_QP_RATE_LIMIT),
            EINVAL);
  EXPECT_EQ(rig_.state(), IBV_QPS_RTR);
  attr.cur_qp_state = IBV_QPS_INIT;
  EXPECT_EQ(ibv_modify_qp(rig_.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE),
            EINVAL);
  attr.cur_qp_state = IBV_QPS_RTR;
  EXPECT_EQ(ibv_modify_qp(rig_.qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE), 0);
}

struct TooLarge {
  TooLarge() { throw std::bad_alloc(); }
};

TEST(RefuseTest, SaysThatThereIsNoMemoryInsteadOfThrowing) {
  errno = 0;
  EXPECT_EQ(TryNew<TooLarge>(), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(IfMemory<int>([]() -> int { throw std::bad_alloc(); }, 12), 12);
  EXPECT_EQ(IfMemory<int>([] { return 7; }, 12), 7);
}

}  // namespace
}  // namespace weir::hca
