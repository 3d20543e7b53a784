// RSS queue pairs: which work queue a frame goes to. The expected hashes are
// those that Microsoft publishes in "Verifying the RSS Hash Calculation"; the
// table has 16 entries, so a queue is the last digit of a hash.

#include <infiniband/verbs.h>

#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/hca/rss_rig.h"

namespace weir::hca {
namespace {

constexpr uint64_t kIpv4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
constexpr uint64_t kIpv6 = IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6;
constexpr uint64_t kTcp = IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP;
constexpr uint64_t kUdp = IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;

std::string TestName() {
  return ::testing::UnitTest::GetInstance()->current_test_info()->name();
}

TEST(RssTest, SpreadsIpv4OverAddressesAndTcpPorts) {
  RssRig rig(TestName(), 16, kIpv4 | kTcp);
  EXPECT_EQ(rig.QueueOf(Frame()
                            .Ipv4("66.9.149.187", "161.142.100.80")
                            .Tcp(2794, 1766)
                            .Build()),
            0x8u);
  EXPECT_EQ(rig.QueueOf(Frame()
                            .Ipv4("38.27.205.30", "209.142.163.6")
                            .Tcp(48228, 2217)
                            .Build()),
            0xfu);
  EXPECT_EQ(rig.QueueOf(Frame()
                            .Ipv4("153.39.163.191", "202.188.127.2")
                            .Tcp(44251, 1303)
                            .Build()),
            0x2u);
}

TEST(RssTest, SpreadsIpv6OverAddressesAndUdpPorts) {
  RssRig rig(TestName(), 16, kIpv6 | kUdp);
  EXPECT_EQ(rig.QueueOf(Frame()
                            .Ipv6("3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1")
                            .Udp(2794, 1766)
                            .Build()),
            0xdu);
  EXPECT_EQ(rig.QueueOf(Frame()
                            .Ipv6("3ffe:501:8::260:97ff:fe40:efab", "ff02::1")
                            .Udp(14230, 4739)
                            .Build()),
            0xfu);
}

TEST(RssTest, LeavesOutPortsOfOtherProtocolsAndFields) {
  RssRig rig(TestName(), 16, kIpv4 | kTcp);
  EXPECT_EQ(rig.QueueOf(Frame()
                            .Ipv4("66.9.149.187", "161.142.100.80")
                            .Udp(2794, 1766)
                            .Build()),
            0x2u);
  EXPECT_EQ(rig.QueueOf(Frame()
                            .Ipv4("24.19.198.95", "12.22.207.184")
                            .Echo({.id = 1, .sequence = 2})
                            .Build()),
            0xeu);
}

TEST(RssTest, LeavesOutPortsThatWereNotChosen) {
  RssRig rig(TestName(), 16, kIpv6);
  EXPECT_EQ(rig.QueueOf(Frame()
                            .Ipv6("3ffe:501:8::260:97ff:fe40:efab", "ff02::1")
                            .Tcp(14230, 4739)
                            .Build()),
            0xcu);
}

TEST(RssTest, KeepsTheFragmentsOfADatagramTogether) {
  RssRig rig(TestName(), 16, kIpv4 | kUdp);
  const auto queue_of = [&](const Ipv4Fields& fields) {
    return rig.QueueOf(Frame()
                           .Ipv4("66.9.149.187", "161.142.100.80", fields)
                           .Udp(2794, 1766)
                           .Payload(64)
                           .Build());
  };
  EXPECT_EQ(queue_of({.more_fragments = true}), 0x2u);
  EXPECT_EQ(queue_of({.more_fragments = true, .fragment_offset_bytes = 72}),
            0x2u);
  EXPECT_EQ(queue_of({.fragment_offset_bytes = 144}), 0x2u);
  EXPECT_EQ(queue_of({}), 0x8u);
}

TEST(RssTest, KeepsFragmentsOfIpv6Together) {
  RssRig rig(TestName(), 16, kIpv6 | kUdp);
  for (const bool more : {true, false}) {
    EXPECT_EQ(
        rig.QueueOf(Frame()
                        .Ipv6("3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1")
                        .Ipv6Fragment({.id = 7, .more_fragments = more})
                        .Udp(2794, 1766)
                        .Build()),
        0x5u);
  }
}

TEST(RssTest, LooksThroughVlanTagsAndOptions) {
  RssRig rig(TestName(), 16, kIpv4 | kTcp);
  const Bytes options = MakeBytes({1, 1, 1, 0});
  EXPECT_EQ(rig.QueueOf(Frame()
                            .Eth(kTestMacA, kTestMacB)
                            .Vlan(7)
                            .Ipv4("66.9.149.187", "161.142.100.80",
                                  {.options = options})
                            .Tcp(2794, 1766)
                            .Build()),
            0x8u);
}

TEST(RssTest, GivesWhatItCannotHashToTheFirstEntry) {
  RssRig rig(TestName(), 16, kIpv4 | kTcp);
  EXPECT_EQ(rig.QueueOf(
                Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(46).Build()),
            0u);
  EXPECT_EQ(rig.QueueOf(Frame()
                            .Ipv6("3ffe:501:8::260:97ff:fe40:efab", "ff02::1")
                            .Tcp(14230, 4739)
                            .Build()),
            0u);
}

TEST(RssTest, HashesOverOneFieldAlone) {
  RssRig rig(TestName(), 16, IBV_RX_HASH_DST_IPV4);
  std::set<size_t> queues;
  for (int i = 1; i <= 6; ++i) {
    const std::string destination = "10.0.0." + std::to_string(i);
    const auto one =
        rig.QueueOf(Frame().Ipv4("10.1.0.1", destination).Udp(1, 2).Build());
    const auto other =
        rig.QueueOf(Frame().Ipv4("172.16.3.4", destination).Udp(3, 4).Build());
    ASSERT_TRUE(one.has_value());
    EXPECT_EQ(one, other);
    queues.insert(*one);
  }
  EXPECT_GT(queues.size(), 1u);
}

TEST(RssTest, GoesByTheTableWhereAQueueHasSeveralEntries) {
  RssRig rig(TestName(), 2, kIpv4);
  // Entries 2 and 14 are the second queue, all others the first.
  std::vector<ibv_wq*> entries(16, rig.wqs[0]);
  entries[2] = entries[14] = rig.wqs[1];
  ibv_rwq_ind_table* const table = rig.CreateTable(entries);
  ASSERT_NE(table, nullptr);
  ibv_qp* const qp = rig.CreateRssQp(table, kIpv4);
  ASSERT_NE(qp, nullptr);
  ASSERT_EQ(ibv_destroy_flow(rig.flow), 0);
  ibv_flow_attr all{};
  all.type = IBV_FLOW_ATTR_ALL_DEFAULT;
  all.port = 1;
  rig.flow = ibv_create_flow(qp, &all);
  ASSERT_NE(rig.flow, nullptr);
  // 0x323e8fc2, 0xd2d0a5de, 0x5d1809c5.
  EXPECT_EQ(rig.QueueOf(Frame().Ipv4("66.9.149.187", "161.142.100.80").Build()),
            1u);
  EXPECT_EQ(rig.QueueOf(Frame().Ipv4("24.19.198.95", "12.22.207.184").Build()),
            1u);
  EXPECT_EQ(
      rig.QueueOf(Frame().Ipv4("153.39.163.191", "202.188.127.2").Build()), 0u);
  EXPECT_EQ(ibv_destroy_flow(rig.flow), 0);
  rig.flow = nullptr;
  EXPECT_EQ(ibv_destroy_qp(qp), 0);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(table), 0);
}

TEST(RssTest, RefusesHashesThatNicsDoNotHave) {
  RssRig rig(TestName(), 2, kIpv4);
  const auto refusal = [&](uint64_t fields, uint8_t key_bytes) {
    errno = 0;
    EXPECT_EQ(rig.CreateRssQp(rig.table, fields, key_bytes), nullptr);
    return errno;
  };
  EXPECT_EQ(refusal(kIpv4, 39), EINVAL);
  EXPECT_EQ(refusal(kIpv4, 41), EINVAL);
  EXPECT_EQ(refusal(kIpv4, 0), EINVAL);
  EXPECT_EQ(refusal(IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV6, 40), EINVAL);
  EXPECT_EQ(
      refusal(kIpv4 | IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_UDP, 40),
      EINVAL);
  EXPECT_EQ(refusal(0, 40), EINVAL);
  EXPECT_EQ(refusal(kTcp, 40), EOPNOTSUPP);
  EXPECT_EQ(refusal(kIpv4 | IBV_RX_HASH_INNER, 40), EOPNOTSUPP);
  EXPECT_EQ(refusal(kIpv4 | IBV_RX_HASH_IPSEC_SPI, 40), EOPNOTSUPP);
}

TEST(RssTest, TakesATableOfOneWithoutAHash) {
  RssRig rig(TestName(), 1, 0);
  EXPECT_EQ(rig.QueueOf(Frame().Ipv4("10.0.0.1", "10.0.0.2").Build()), 0u);
}

TEST(RssTest, RefusesQueuePairsWithMoreThanATable) {
  RssRig rig(TestName(), 1, kIpv4);
  std::array<uint8_t, 40> key = kPublishedKey;
  ibv_qp_init_attr_ex good{};
  good.qp_type = IBV_QPT_RAW_PACKET;
  good.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE |
                   IBV_QP_INIT_ATTR_RX_HASH;
  good.pd = rig.receiver.pd;
  good.rwq_ind_tbl = rig.table;
  good.rx_hash_conf = {.rx_hash_function = IBV_RX_HASH_FUNC_TOEPLITZ,
                       .rx_hash_key_len = 40,
                       .rx_hash_key = key.data(),
                       .rx_hash_fields_mask = kIpv4};
  const auto refusal = [&](ibv_qp_init_attr_ex attr) {
    errno = 0;
    EXPECT_EQ(ibv_create_qp_ex(rig.receiver.context, &attr), nullptr);
    return errno;
  };
  ibv_qp_init_attr_ex attr = good;
  attr.cap.max_send_wr = 1;
  EXPECT_EQ(refusal(attr), EINVAL);
  attr = good;
  attr.cap.max_recv_wr = 1;
  EXPECT_EQ(refusal(attr), EINVAL);
  attr = good;
  attr.rwq_ind_tbl = nullptr;
  EXPECT_EQ(refusal(attr), EINVAL);
  attr = good;
  attr.rx_hash_conf.rx_hash_key = nullptr;
  EXPECT_EQ(refusal(attr), EINVAL);
  attr = good;
  attr.rx_hash_conf.rx_hash_function = 2;
  EXPECT_EQ(refusal(attr), EOPNOTSUPP);
  attr = good;
  attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_IND_TABLE;
  EXPECT_EQ(refusal(attr), EINVAL);
  attr = good;
  attr.comp_mask &= ~static_cast<uint32_t>(IBV_QP_INIT_ATTR_PD);
  EXPECT_EQ(refusal(attr), EINVAL);
}

// mlx5 needs no state for an RSS queue pair, mlx4 wants INIT and RTR.
TEST(RssTest, ReceivesWithOrWithoutStatesOfTheQueuePair) {
  RssRig rig(TestName(), 2, kIpv4);
  const Bytes frame = Frame().Ipv4("10.0.0.1", "10.0.0.2").Build();
  EXPECT_TRUE(rig.QueueOf(frame).has_value());
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = 1;
  EXPECT_EQ(ibv_modify_qp(rig.qp, &attr, IBV_QP_STATE | IBV_QP_PORT), 0);
  EXPECT_TRUE(rig.QueueOf(frame).has_value());
  attr.qp_state = IBV_QPS_RTR;
  EXPECT_EQ(ibv_modify_qp(rig.qp, &attr, IBV_QP_STATE), 0);
  EXPECT_TRUE(rig.QueueOf(frame).has_value());
  attr.qp_state = IBV_QPS_RTS;
  EXPECT_EQ(ibv_modify_qp(rig.qp, &attr, IBV_QP_STATE), EINVAL);
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(rig.qp, &attr, IBV_QP_STATE, &init), 0);
  EXPECT_EQ(attr.qp_state, IBV_QPS_RTR);
  EXPECT_EQ(init.cap.max_recv_wr, 0u);
}

TEST(RssTest, RefusesWorkRequestsAtTheQueuePair) {
  RssRig rig(TestName(), 1, kIpv4);
  ibv_qp* const plain = rig.receiver.qp;
  rig.receiver.qp = rig.qp;
  EXPECT_EQ(rig.receiver.PostReceive(0), EINVAL);
  EXPECT_EQ(rig.receiver.PostSend(0, 60, 0), EINVAL);
  rig.receiver.qp = plain;
}

TEST(RssTest, HoldsTheTableAndTheTableItsQueues) {
  RssRig rig(TestName(), 2, kIpv4);
  EXPECT_EQ(ibv_destroy_rwq_ind_table(rig.table), EBUSY);
  EXPECT_EQ(ibv_destroy_wq(rig.wqs[1]), EBUSY);
  EXPECT_EQ(ibv_destroy_qp(rig.qp), EBUSY);
  EXPECT_EQ(ibv_destroy_cq(rig.receiver.cq), EBUSY);
  EXPECT_EQ(ibv_dealloc_pd(rig.receiver.pd), EBUSY);
  ASSERT_EQ(ibv_destroy_flow(rig.flow), 0);
  rig.flow = nullptr;
  ASSERT_EQ(ibv_destroy_qp(rig.qp), 0);
  rig.qp = nullptr;
  EXPECT_EQ(ibv_destroy_wq(rig.wqs[1]), EBUSY);
  ASSERT_EQ(ibv_destroy_rwq_ind_table(rig.table), 0);
  rig.table = nullptr;
  EXPECT_EQ(ibv_destroy_wq(rig.wqs[1]), 0);
  rig.wqs.pop_back();
}

}  // namespace
}  // namespace weir::hca
