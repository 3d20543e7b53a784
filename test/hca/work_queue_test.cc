// Work queues: their states, their limits, and what happens when one fails.

#include <infiniband/verbs.h>

#include <cerrno>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/rss_rig.h"

namespace weir::hca {
namespace {

constexpr uint64_t kIpv4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;

std::string TestName() {
  return ::testing::UnitTest::GetInstance()->current_test_info()->name();
}

// Two frames that go to the first and the second of two queues: 0xd2d0a5de and
// 0x5d1809c5 of the published hashes.
Bytes ToFirst() {
  return Frame().Ipv4("24.19.198.95", "12.22.207.184").Payload(100).Build();
}
Bytes ToSecond() {
  return Frame().Ipv4("153.39.163.191", "202.188.127.2").Payload(100).Build();
}

TEST(WorkQueueTest, HasTheStatesOfAReceiveQueue) {
  RssRig rig(TestName(), 1, 0);
  ibv_wq* const wq = rig.CreateWq();
  ASSERT_NE(wq, nullptr);
  EXPECT_EQ(wq->state, IBV_WQS_RESET);
  EXPECT_EQ(RssRig::Modify(wq, IBV_WQS_ERR), EINVAL);
  EXPECT_EQ(RssRig::Modify(wq, IBV_WQS_UNKNOWN), EINVAL);
  EXPECT_EQ(RssRig::Modify(wq, IBV_WQS_RDY), 0);
  EXPECT_EQ(wq->state, IBV_WQS_RDY);
  EXPECT_EQ(RssRig::Modify(wq, IBV_WQS_RDY), 0);
  EXPECT_EQ(RssRig::Modify(wq, IBV_WQS_ERR), 0);
  EXPECT_EQ(RssRig::Modify(wq, IBV_WQS_RDY), EINVAL);
  EXPECT_EQ(RssRig::Modify(wq, IBV_WQS_RESET), 0);
  EXPECT_EQ(RssRig::Modify(wq, IBV_WQS_RDY), 0);
  EXPECT_EQ(ibv_destroy_wq(wq), 0);
}

TEST(WorkQueueTest, ComparesTheCurrentState) {
  RssRig rig(TestName(), 1, 0);
  ibv_wq_attr attr{};
  attr.attr_mask = IBV_WQ_ATTR_STATE | IBV_WQ_ATTR_CURR_STATE;
  attr.curr_wq_state = IBV_WQS_RESET;
  attr.wq_state = IBV_WQS_ERR;
  EXPECT_EQ(ibv_modify_wq(rig.wqs[0], &attr), EINVAL);
  attr.curr_wq_state = IBV_WQS_RDY;
  EXPECT_EQ(ibv_modify_wq(rig.wqs[0], &attr), 0);
  attr.attr_mask = 0;
  EXPECT_EQ(ibv_modify_wq(rig.wqs[0], &attr), EINVAL);
  attr.attr_mask = 1 << 5;
  EXPECT_EQ(ibv_modify_wq(rig.wqs[0], &attr), EINVAL);
}

TEST(WorkQueueTest, TakesReceivesInRdyOnly) {
  RssRig rig(TestName(), 1, 0);
  ibv_wq* const wq = rig.CreateWq();
  ASSERT_NE(wq, nullptr);
  EXPECT_EQ(rig.PostReceive(wq, 0), EINVAL);
  ASSERT_EQ(RssRig::Modify(wq, IBV_WQS_RDY), 0);
  EXPECT_EQ(rig.PostReceive(wq, 0), 0);
  EXPECT_EQ(ibv_destroy_wq(wq), 0);
}

TEST(WorkQueueTest, HoldsExactlyWhatItSays) {
  RssRig rig(TestName(), 1, 0);
  ibv_wq_init_attr attr{};
  attr.wq_type = IBV_WQT_RQ;
  attr.max_wr = 5;
  attr.max_sge = 2;
  attr.pd = rig.receiver.pd;
  attr.cq = rig.receiver.cq;
  ibv_wq* const wq = ibv_create_wq(rig.receiver.context, &attr);
  ASSERT_NE(wq, nullptr);
  ASSERT_GE(attr.max_wr, 5u);
  ASSERT_EQ(attr.max_sge, 2u);
  ASSERT_EQ(RssRig::Modify(wq, IBV_WQS_RDY), 0);
  for (size_t i = 0; i < attr.max_wr; ++i) EXPECT_EQ(rig.PostReceive(wq, i), 0);
  EXPECT_EQ(rig.PostReceive(wq, 0), ENOMEM);
  std::vector<ibv_sge> sges(3, rig.receiver.Sge(0));
  ibv_recv_wr wr{};
  wr.sg_list = sges.data();
  wr.num_sge = 3;
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_wq_recv(wq, &wr, &bad), EINVAL);
  EXPECT_EQ(bad, &wr);
  EXPECT_EQ(ibv_destroy_wq(wq), 0);
}

TEST(WorkQueueTest, FlushesInOrderWhenItMovesToErr) {
  RssRig rig(TestName(), 2, kIpv4);
  ASSERT_EQ(RssRig::Modify(rig.wqs[0], IBV_WQS_ERR), 0);
  const auto done = rig.receiver.Poll(8);
  ASSERT_EQ(done.size(), 8u);
  for (size_t i = 0; i < done.size(); ++i) {
    EXPECT_EQ(done[i].status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].qp_num, rig.wqs[0]->wq_num);
  }
  EXPECT_EQ(rig.PostReceive(rig.wqs[0], 9), 0);
  ASSERT_EQ(rig.receiver.Poll(1).size(), 1u);
  EXPECT_EQ(rig.QueueOf(ToFirst()), std::nullopt);
  EXPECT_EQ(rig.receiver.Counter("rx_not_ready"), 1u);
  EXPECT_EQ(rig.QueueOf(ToSecond()), 1u);
}

TEST(WorkQueueTest, ForgetsEverythingInReset) {
  RssRig rig(TestName(), 2, kIpv4);
  rig.Send(ToFirst());
  ASSERT_EQ(RssRig::Modify(rig.wqs[0], IBV_WQS_RESET), 0);
  EXPECT_TRUE(rig.receiver.Poll(1).empty());
  ASSERT_EQ(RssRig::Modify(rig.wqs[0], IBV_WQS_RDY), 0);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(rig.PostReceive(rig.wqs[0], i), 0);
  EXPECT_EQ(rig.PostReceive(rig.wqs[0], 8), ENOMEM);
  EXPECT_EQ(rig.QueueOf(ToFirst()), 0u);
}

TEST(WorkQueueTest, MakesFramesWaitUntilThereIsAReceive) {
  RssRig rig(TestName(), 2, kIpv4);
  for (size_t i = 0; i < 10; ++i) rig.Send(ToFirst());
  EXPECT_EQ(rig.receiver.Poll(10).size(), 8u);
  for (size_t i = 0; i < 2; ++i) ASSERT_EQ(rig.PostReceive(rig.wqs[0], i), 0);
  EXPECT_EQ(rig.receiver.Poll(2).size(), 2u);
}

TEST(WorkQueueTest, TellsOnceThatAReceiveFailedAndWorksAgainAfterReset) {
  RssRig rig(TestName(), 2, kIpv4);
  ASSERT_EQ(RssRig::Modify(rig.wqs[0], IBV_WQS_RESET), 0);
  ASSERT_EQ(RssRig::Modify(rig.wqs[0], IBV_WQS_RDY), 0);
  ASSERT_EQ(rig.PostReceive(rig.wqs[0], 0, 20), 0);
  ASSERT_EQ(rig.PostReceive(rig.wqs[0], 1), 0);
  rig.Send(ToFirst());
  const auto done = rig.receiver.Poll(2);
  ASSERT_EQ(done.size(), 2u);
  EXPECT_EQ(done[0].status, IBV_WC_LOC_LEN_ERR);
  EXPECT_EQ(done[1].status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(rig.wqs[0]->state, IBV_WQS_ERR);
  // The other queue does not mind.
  EXPECT_EQ(rig.QueueOf(ToSecond()), 1u);

  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(rig.receiver.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_WQ_FATAL);
  EXPECT_EQ(event.element.wq, rig.wqs[0]);
  ibv_ack_async_event(&event);

  ASSERT_EQ(RssRig::Modify(rig.wqs[0], IBV_WQS_RESET), 0);
  ASSERT_EQ(RssRig::Modify(rig.wqs[0], IBV_WQS_RDY), 0);
  ASSERT_EQ(rig.PostReceive(rig.wqs[0], 3), 0);
  EXPECT_EQ(rig.QueueOf(ToFirst()), 0u);
}

TEST(WorkQueueTest, ScattersOverSeveralSges) {
  RssRig rig(TestName(), 1, 0);
  ASSERT_EQ(RssRig::Modify(rig.wqs[0], IBV_WQS_RESET), 0);
  ASSERT_EQ(RssRig::Modify(rig.wqs[0], IBV_WQS_RDY), 0);
  std::vector<ibv_sge> sges = {rig.receiver.Sge(0, 14), rig.receiver.Sge(1)};
  ibv_recv_wr wr{};
  wr.sg_list = sges.data();
  wr.num_sge = 2;
  ibv_recv_wr* bad = nullptr;
  ASSERT_EQ(ibv_post_wq_recv(rig.wqs[0], &wr, &bad), 0);
  const Bytes frame = ToFirst();
  rig.Send(frame);
  ASSERT_EQ(rig.receiver.Poll(1).size(), 1u);
  const Bytes head(frame.begin(), frame.begin() + 14);
  const Bytes rest(frame.begin() + 14, frame.end());
  const auto first = rig.receiver.Buffer(0).first(head.size());
  const auto second = rig.receiver.Buffer(1).first(rest.size());
  EXPECT_EQ(Bytes(first.begin(), first.end()), head);
  EXPECT_EQ(Bytes(second.begin(), second.end()), rest);
}

TEST(WorkQueueTest, HasLimitsThatTheDeviceReports) {
  RssRig rig(TestName(), 1, 0);
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(rig.receiver.context, nullptr, &device), 0);
  const auto wr = static_cast<uint32_t>(device.orig_attr.max_qp_wr);
  const auto sge = static_cast<uint32_t>(device.orig_attr.max_sge);
  ibv_wq* const most = rig.CreateWq(wr, sge);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ(ibv_destroy_wq(most), 0);
  struct Capability {
    uint32_t wr;
    uint32_t sge;
  };
  for (const Capability& cap : {Capability{wr + 1, 1}, Capability{1, sge + 1},
                                Capability{0, 1}, Capability{1, 0}}) {
    errno = 0;
    EXPECT_EQ(rig.CreateWq(cap.wr, cap.sge), nullptr);
    EXPECT_EQ(errno, EINVAL);
  }
  std::vector<ibv_wq*> all;
  while (all.size() + 1 < device.max_wq_type_rq) {
    all.push_back(rig.CreateWq(1, 1));
    ASSERT_NE(all.back(), nullptr);
  }
  EXPECT_EQ(rig.CreateWq(1, 1), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  for (ibv_wq* wq : all) EXPECT_EQ(ibv_destroy_wq(wq), 0);
}

TEST(WorkQueueTest, HasTablesAsLargeAndAsManyAsTheDeviceReports) {
  RssRig rig(TestName(), 1, 0);
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(rig.receiver.context, nullptr, &device), 0);
  EXPECT_EQ(device.rss_caps.supported_qpts, 1u << IBV_QPT_RAW_PACKET);
  EXPECT_EQ(device.rss_caps.rx_hash_function, IBV_RX_HASH_FUNC_TOEPLITZ);
  const size_t size = device.rss_caps.max_rwq_indirection_table_size;
  ibv_rwq_ind_table* const largest =
      rig.CreateTable(std::vector<ibv_wq*>(size, rig.wqs[0]));
  ASSERT_NE(largest, nullptr);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(largest), 0);
  EXPECT_EQ(rig.CreateTable(std::vector<ibv_wq*>(2 * size, rig.wqs[0])),
            nullptr);
  EXPECT_EQ(errno, EINVAL);
  std::vector<ibv_rwq_ind_table*> all;
  while (all.size() + 1 < device.rss_caps.max_rwq_indirection_tables) {
    all.push_back(rig.CreateTable({rig.wqs[0]}));
    ASSERT_NE(all.back(), nullptr);
  }
  EXPECT_EQ(rig.CreateTable({rig.wqs[0]}), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  for (ibv_rwq_ind_table* table : all) {
    EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
  }
}

TEST(WorkQueueTest, IsNotThereWhereTheKeyOfTheDeviceSaysSo) {
  VerbsRig rig({.key = "null:,rss=off"});
  ibv_device_attr_ex device{};
  ASSERT_EQ(ibv_query_device_ex(rig.context, nullptr, &device), 0);
  EXPECT_EQ(device.rss_caps.supported_qpts, 0u);
  EXPECT_EQ(device.rss_caps.rx_hash_function, 0);
  EXPECT_EQ(device.max_wq_type_rq, 0u);
  ibv_wq_init_attr attr{};
  attr.wq_type = IBV_WQT_RQ;
  attr.max_wr = attr.max_sge = 1;
  attr.pd = rig.pd;
  attr.cq = rig.cq;
  errno = 0;
  EXPECT_EQ(ibv_create_wq(rig.context, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST(WorkQueueTest, RefusesWhatItCannotDo) {
  RssRig rig(TestName(), 1, 0);
  ibv_wq_init_attr attr{};
  attr.wq_type = IBV_WQT_RQ;
  attr.max_wr = attr.max_sge = 1;
  attr.pd = rig.receiver.pd;
  attr.cq = rig.receiver.cq;
  attr.comp_mask = IBV_WQ_INIT_ATTR_FLAGS;
  attr.create_flags = IBV_WQ_FLAGS_SCATTER_FCS;
  EXPECT_EQ(ibv_create_wq(rig.receiver.context, &attr), nullptr);
  EXPECT_EQ(errno, EOPNOTSUPP);
  attr.comp_mask = 0;
  attr.cq = rig.sender.cq;
  EXPECT_EQ(ibv_create_wq(rig.receiver.context, &attr), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(rig.CreateTable({nullptr}), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace weir::hca
