#include "weir/verbs/queue_pair.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/own_wire.h"
#include "test/verbs/side.h"
#include "weir/verbs/flow.h"
#include "weir/verbs/memory_region.h"
#include "weir/verbs/soft_hca.h"

namespace weir::verbs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint8_t kPort = 1;

TEST(QueuePairTest, GivesAtLeastWhatWasAskedFor) {
  const Side side("null:");
  const auto qp = QueuePair::Create(
      side.domain, side.cq, side.cq,
      {.send_depth = 50, .send_segments = 3, .inline_bytes = 64});
  ASSERT_TRUE(qp.ok()) << qp.status();
  EXPECT_GE(qp->obtained().send_depth, 50u);
  EXPECT_GE(qp->obtained().send_segments, 3u);
  EXPECT_GE(qp->obtained().inline_bytes, 64u);
  EXPECT_EQ(qp->obtained().receive_depth, 0u);
}

TEST(QueuePairTest, AsksForLessInlineDataThenForLessDepth) {
  const Side side("null:");
  const auto max = static_cast<uint32_t>(side.device.attributes().max_qp_wr);
  const auto qp =
      QueuePair::Create(side.domain, side.cq, side.cq,
                        {.receive_depth = 2 * max, .inline_bytes = 1 << 20});
  ASSERT_TRUE(qp.ok()) << qp.status();
  EXPECT_EQ(qp->obtained().receive_depth, max);
  EXPECT_LT(qp->obtained().inline_bytes, 1u << 20);
}

TEST(QueuePairTest, SaysWhatItAskedForInTheEnd) {
  const Side side("null:");
  const auto max = static_cast<uint32_t>(side.device.attributes().max_sge);
  const auto qp =
      QueuePair::Create(side.domain, side.cq, side.cq,
                        {.receive_depth = 64, .receive_segments = max + 1});
  EXPECT_EQ(qp.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(qp.status().message()),
      AllOf(HasSubstr(side.device.name() +
                      ": cannot create a raw packet queue pair"),
            HasSubstr("receives of " + std::to_string(max + 1) + " segments"),
            HasSubstr("ibv_create_qp: Invalid argument")));
}

TEST(QueuePairTest, RefusesAStateOutOfOrder) {
  const Side side("null:");
  auto qp = QueuePair::Create(side.domain, side.cq, side.cq,
                              {.send_depth = 32, .receive_depth = 32});
  ASSERT_TRUE(qp.ok()) << qp.status();
  EXPECT_EQ(qp->Modify(IBV_QPS_RTS, kPort), EINVAL);
  const absl::Status status = qp->ModifyOrStatus(IBV_QPS_RTR, kPort);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(side.device.name() + ": ibv_modify_qp to RTR: "));
}

TEST(QueuePairTest, WalksThroughAllStatesAndBack) {
  const Side side("null:");
  auto qp = QueuePair::Create(side.domain, side.cq, side.cq,
                              {.send_depth = 32, .receive_depth = 32});
  ASSERT_TRUE(qp.ok()) << qp.status();
  for (int round = 0; round < 2; ++round) {
    for (const ibv_qp_state state :
         {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET}) {
      const absl::Status status = qp->ModifyOrStatus(state, kPort);
      ASSERT_TRUE(status.ok()) << status;
    }
  }
}

TEST(FlowTest, BringsEveryFrameThatArrives) {
  const Side from(OwnWire("flow_test"));
  const Side to(OwnWire("flow_test"));
  auto sender =
      QueuePair::Create(from.domain, from.cq, from.cq, {.send_depth = 32});
  ASSERT_TRUE(sender.ok()) << sender.status();
  auto receiver =
      QueuePair::Create(to.domain, to.cq, to.cq, {.receive_depth = 32});
  ASSERT_TRUE(receiver.ok()) << receiver.status();
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    ASSERT_EQ(sender->Modify(state, kPort), 0);
    ASSERT_EQ(receiver->Modify(state, kPort), 0);
  }
  const auto flow =
      Flow::Create(TargetOf(*receiver, FrameKind::kAll, 0, kPort), {});
  ASSERT_TRUE(flow.ok()) << flow.status();

  std::vector<std::byte> frame(60, std::byte{0x5a});
  std::vector<std::byte> room(2048);
  const auto frame_region = MemoryRegion::Register(from.domain, frame);
  const auto room_region = MemoryRegion::Register(to.domain, room);
  ibv_sge to_sge{reinterpret_cast<uintptr_t>(room.data()), 2048,
                 room_region->lkey()};
  ibv_recv_wr receive{7, nullptr, &to_sge, 1};
  ibv_recv_wr* bad_receive = nullptr;
  ASSERT_EQ(receiver->PostReceive(receive, &bad_receive), 0);
  ibv_sge from_sge{reinterpret_cast<uintptr_t>(frame.data()), 60,
                   frame_region->lkey()};
  ibv_send_wr send{};
  send.sg_list = &from_sge;
  send.num_sge = 1;
  send.opcode = IBV_WR_SEND;
  ibv_send_wr* bad_send = nullptr;
  ASSERT_EQ(sender->PostSend(send, &bad_send), 0);

  std::array<ibv_wc, 4> completions{};
  ASSERT_EQ(to.cq.Poll(completions), 1);
  EXPECT_EQ(completions[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(completions[0].wr_id, 7u);
  EXPECT_EQ(completions[0].byte_len, 60u);
  room.resize(60);
  EXPECT_EQ(room, frame);
}

TEST(FlowTest, NamesTheQueueItCannotSteerTo) {
  const Side side("null:");
  const auto qp =
      QueuePair::Create(side.domain, side.cq, side.cq, {.receive_depth = 32});
  ASSERT_TRUE(qp.ok()) << qp.status();
  const auto flow = Flow::Create(TargetOf(*qp, FrameKind::kAll, 0, 9), {});
  EXPECT_FALSE(flow.ok());
  EXPECT_THAT(std::string(flow.status().message()),
              AllOf(HasSubstr(side.device.name() + ":9: cannot steer frames"),
                    HasSubstr("ibv_create_flow")));
}

}  // namespace
}  // namespace weir::verbs
