// Indirection tables, RSS queue pairs and the flows that lead to them: where a
// frame ends.

#include "weir/verbs/rss_queue_pair.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "test/support/own_wire.h"
#include "weir/verbs/flow.h"
#include "weir/verbs/memory_region.h"
#include "weir/verbs/queue_pair.h"
#include "weir/verbs/soft_hca.h"

namespace weir::verbs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint8_t kPort = 1;
constexpr uint64_t kIpv4 = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4;
constexpr uint64_t kUdp = IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;
constexpr size_t kReceives = 32;

// Work queues that are ready and have receives, each with a completion queue of
// its own. In creation order.
struct Receiver {
  Receiver(const std::string& key, size_t count)
      : device(*Device::Open(*AddSoftDevice(key))),
        domain(*ProtectionDomain::Create(device)),
        memory(2048),
        region(*MemoryRegion::Register(domain, memory)) {
    for (size_t i = 0; i < count; ++i) {
      cqs.push_back(*CompletionQueue::Create(device, 64));
    }
    ibv_sge sge{reinterpret_cast<uintptr_t>(memory.data()), 2048,
                region.lkey()};
    ibv_recv_wr receive{0, nullptr, &sge, 1};
    ibv_recv_wr* bad = nullptr;
    for (const CompletionQueue& cq : cqs) {
      queues.push_back(*WorkQueue::Create(domain, cq, {.depth = 32}));
      EXPECT_EQ(queues.back().Modify(IBV_WQS_RDY), 0);
      for (size_t i = 0; i < kReceives; ++i) {
        EXPECT_EQ(queues.back().PostReceive(receive, &bad), 0);
      }
    }
  }

  // The queue that got a frame, nothing if none did.
  std::optional<size_t> Took() {
    std::array<ibv_wc, 4> completions{};
    // The first round may bring frames to queues that it has polled already.
    for (int round = 0; round < 2; ++round) {
      for (size_t i = 0; i < cqs.size(); ++i) {
        if (cqs[i].Poll(completions) == 1) return i;
      }
    }
    return std::nullopt;
  }

  Device device;
  ProtectionDomain domain;
  std::vector<std::byte> memory;
  MemoryRegion region;
  std::vector<CompletionQueue> cqs;
  std::vector<WorkQueue> queues;
};

// In creation order.
struct Sender {
  explicit Sender(const std::string& key)
      : device(*Device::Open(*AddSoftDevice(key))),
        domain(*ProtectionDomain::Create(device)),
        memory(2048),
        region(*MemoryRegion::Register(domain, memory)),
        cq(*CompletionQueue::Create(device, 64)),
        qp(*QueuePair::Create(domain, cq, cq, {.send_depth = 32})) {
    for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
      EXPECT_EQ(qp.Modify(state, kPort), 0);
    }
  }

  void Send(const Bytes& frame) {
    std::ranges::copy(frame, memory.begin());
    ibv_sge sge{reinterpret_cast<uintptr_t>(memory.data()),
                static_cast<uint32_t>(frame.size()), region.lkey()};
    ibv_send_wr send{};
    send.sg_list = &sge;
    send.num_sge = 1;
    send.opcode = IBV_WR_SEND;
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(qp.PostSend(send, &bad), 0);
  }

  Device device;
  ProtectionDomain domain;
  std::vector<std::byte> memory;
  MemoryRegion region;
  CompletionQueue cq;
  QueuePair qp;
};

Bytes UdpFrame(const std::string& source, const std::string& destination,
               uint16_t from, uint16_t to) {
  return Frame().Ipv4(source, destination).Udp(from, to).Payload(20).Build();
}

TEST(RssQueuePairTest, SpreadsFramesAndGivesBothDirectionsOneQueue) {
  Sender sender(OwnWire("rss_spread"));
  Receiver receiver(OwnWire("rss_spread"), 4);
  ASSERT_TRUE(receiver.device.rss().can_spread());
  const auto table =
      IndirectionTable::Create(receiver.device, receiver.queues, 4);
  ASSERT_TRUE(table.ok()) << table.status();
  auto qp = RssQueuePair::Create(receiver.domain, *table,
                                 net::kSymmetricToeplitzKey, kIpv4 | kUdp);
  ASSERT_TRUE(qp.ok()) << qp.status();
  ASSERT_TRUE(qp->Start(kPort).ok());
  const auto flow =
      Flow::Create(TargetOf(*qp, FrameKind::kIpv4Udp, 0, kPort), {});
  ASSERT_TRUE(flow.ok()) << flow.status();
  std::set<size_t> queues;
  for (uint16_t port = 1; port <= 16; ++port) {
    // Not the number of the port: under this key they would cancel out.
    const std::string a = "192.0.2." + std::to_string(3 * port);
    sender.Send(UdpFrame(a, "198.51.100.7", port, 53));
    const auto one = receiver.Took();
    sender.Send(UdpFrame("198.51.100.7", a, 53, port));
    const auto other = receiver.Took();
    ASSERT_TRUE(one.has_value());
    EXPECT_EQ(one, other) << port;
    queues.insert(*one);
  }
  EXPECT_EQ(queues.size(), 4u);
}

TEST(RssQueuePairTest, GivesEachQueueItsShareOfATable) {
  Receiver receiver("null:", 3);
  const auto table =
      IndirectionTable::Create(receiver.device, receiver.queues, 64);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->entries(), 64u);
}

TEST(RssQueuePairTest, NamesTheTableItCannotCreate) {
  Receiver receiver("null:", 3);
  const size_t max = receiver.device.rss().table_entries;
  const auto table =
      IndirectionTable::Create(receiver.device, receiver.queues, 2 * max);
  EXPECT_EQ(table.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(table.status().message()),
      AllOf(HasSubstr(receiver.device.name() +
                      ": cannot create an indirection table of " +
                      std::to_string(2 * max) + " entries over 3 work queues"),
            HasSubstr("a number of queues that is a power of 2")));
}

TEST(RssQueuePairTest, NamesTheHashItCannotHave) {
  Receiver receiver("null:", 2);
  const auto table =
      IndirectionTable::Create(receiver.device, receiver.queues, 2);
  ASSERT_TRUE(table.ok()) << table.status();
  const auto qp =
      RssQueuePair::Create(receiver.domain, *table, net::kSymmetricToeplitzKey,
                           kIpv4 | IBV_RX_HASH_SRC_IPV6);
  EXPECT_EQ(qp.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(qp.status().message()),
              HasSubstr("cannot create an RSS queue pair (2 entries, hash "
                        "fields 0x7)"));
}

// The rules for each kind of frame, each to a queue of its own; the last takes
// what is left.
TEST(RssQueuePairTest, FlowsTellKindsOfFramesApart) {
  constexpr FrameKind kKinds[] = {FrameKind::kIpv4Tcp, FrameKind::kIpv4Udp,
                                  FrameKind::kIpv6Tcp, FrameKind::kIpv6Udp,
                                  FrameKind::kIpv4,    FrameKind::kIpv6,
                                  FrameKind::kAll};
  constexpr size_t kCount = std::size(kKinds);
  Sender sender(OwnWire("rss_kinds"));
  Receiver receiver(OwnWire("rss_kinds"), kCount);
  std::vector<IndirectionTable> tables;
  std::vector<RssQueuePair> qps;
  std::vector<Flow> flows;
  for (size_t i = 0; i < kCount; ++i) {
    tables.push_back(*IndirectionTable::Create(
        receiver.device, std::span(receiver.queues).subspan(i, 1), 1));
    qps.push_back(*RssQueuePair::Create(receiver.domain, tables.back(),
                                        net::kSymmetricToeplitzKey, 0));
    ASSERT_TRUE(qps.back().Start(kPort).ok());
    const uint16_t priority = i < 4 ? 0 : i < 6 ? 1 : 2;
    auto flow =
        Flow::Create(TargetOf(qps.back(), kKinds[i], priority, kPort), {});
    ASSERT_TRUE(flow.ok()) << flow.status();
    flows.push_back(*std::move(flow));
  }
  const auto queue_of = [&](const Bytes& frame) {
    sender.Send(frame);
    return receiver.Took();
  };
  constexpr const char* kA = "192.0.2.1";
  constexpr const char* kB = "192.0.2.2";
  constexpr const char* kA6 = "2001:db8::1";
  constexpr const char* kB6 = "2001:db8::2";
  EXPECT_EQ(queue_of(Frame().Ipv4(kA, kB).Tcp(1, 2).Build()), 0u);
  EXPECT_EQ(queue_of(Frame().Ipv4(kA, kB).Udp(1, 2).Build()), 1u);
  EXPECT_EQ(queue_of(Frame().Ipv6(kA6, kB6).Tcp(1, 2).Build()), 2u);
  EXPECT_EQ(queue_of(Frame().Ipv6(kA6, kB6).Udp(1, 2).Build()), 3u);
  EXPECT_EQ(
      queue_of(Frame().Ipv4(kA, kB).Echo({.id = 1, .sequence = 2}).Build()),
      4u);
  EXPECT_EQ(queue_of(Frame()
                         .Eth(kTestMacA, kTestMacB)
                         .Vlan(7)
                         .Ipv4(kA, kB)
                         .Udp(1, 2)
                         .Build()),
            1u);
  EXPECT_EQ(
      queue_of(Frame().Eth(kTestMacA, kTestMacB, 0x0806).Payload(46).Build()),
      6u);
}

TEST(RssQueuePairTest, NamesThePortItCannotSteerFrom) {
  Receiver receiver("null:", 1);
  const auto table =
      IndirectionTable::Create(receiver.device, receiver.queues, 1);
  ASSERT_TRUE(table.ok()) << table.status();
  auto qp = RssQueuePair::Create(receiver.domain, *table,
                                 net::kSymmetricToeplitzKey, 0);
  ASSERT_TRUE(qp.ok()) << qp.status();
  EXPECT_THAT(
      std::string(qp->Start(9).message()),
      HasSubstr(receiver.device.name() + ": ibv_modify_qp of an RSS queue"));
  const auto flow = Flow::Create(TargetOf(*qp, FrameKind::kIpv4, 0, 9), {});
  EXPECT_THAT(std::string(flow.status().message()),
              HasSubstr(receiver.device.name() + ":9: cannot steer frames"));
}

}  // namespace
}  // namespace weir::verbs
