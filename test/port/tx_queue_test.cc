#include "weir/port/tx_queue.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "test/port/port_lab.h"
#include "test/support/own_wire.h"
#include "weir/net/ethernet.h"
#include "weir/port/port_context.h"

namespace weir {
namespace {

using testing::DropOf;
using testing::FrameBytes;
using testing::Lab;
using testing::MakeChain;
using testing::MakeFrame;
using testing::MakePacket;
using testing::NumberedFrame;
using testing::OpenOrDie;
using testing::ReceiveInto;

constexpr PortOptions kSmall = {.rx_depth = 64, .tx_depth = 64};
// Of the queues of a monitor: RX queues come first.
constexpr size_t kTx = 1;

// A frame is somewhere: confirmed, lost, or with the device.
void ExpectPostsAddUp(const TxCounters& counters) {
  EXPECT_EQ(counters.posts.value(), counters.completions.value() +
                                        counters.lost_in_recovery.value() +
                                        counters.held_packets.value());
}

TEST(TxQueueTest, TakesBurstsWholeAndFreesThemWhenReaped) {
  Lab lab(1024);
  Port port = OpenOrDie("null:", *lab.pool, kSmall);
  TxQueue& queue = port.tx[0];
  for (uint32_t size = 1; size <= kMaxBurst; ++size) {
    Burst burst(lab.lcore.cache());
    for (uint32_t i = 0; i < size; ++i) {
      burst.Adopt(MakePacket(lab.lcore.cache(), MakeFrame(64, 1)));
    }
    queue.Send(burst, lab.lcore);
    EXPECT_TRUE(burst.empty());
    EXPECT_TRUE(queue.Flush(lab.lcore));
    EXPECT_EQ(lab.pool->used_mbufs(), 0u);
  }
  const TxCounters& counters = *queue.counters();
  EXPECT_EQ(counters.posts.value(), 64u * 65 / 2);
  EXPECT_EQ(counters.completions.value(), counters.posts.value());
  EXPECT_EQ(counters.bytes.value(), 64 * counters.posts.value());
}

// A frame of `frame_bytes` as stage/fragment makes it of a packet whose
// segments leave their headroom free: headers, then pieces that begin with the
// last byte of a segment.
Mbuf* MakeFragment(MbufCache& cache, uint32_t frame_bytes) {
  const uint32_t headroom_bytes = cache.pool().headroom_bytes();
  const uint32_t piece_bytes = cache.pool().chunk_bytes() - headroom_bytes;
  Mbuf* first = nullptr;
  Mbuf* last = nullptr;
  for (uint32_t done = 0; done < frame_bytes;) {
    std::array<Mbuf*, 1> one{};
    EXPECT_EQ(cache.Alloc(one), 1u);
    one[0]->Reset(headroom_bytes);
    const uint32_t wanted = first == nullptr ? 34
                            : done == 34     ? 1
                                             : piece_bytes;
    const uint32_t part = std::min(wanted, frame_bytes - done);
    one[0]->SetLength(part);
    done += part;
    if (first == nullptr) {
      first = one[0];
    } else {
      first->Append(*last, *one[0]);
    }
    last = one[0];
  }
  return first;
}

TEST(TxQueueTest, TakesFragmentsOfEveryMtu) {
  for (const uint32_t mtu_bytes :
       {1500U, 9000U, 12000U, 14000U, 30000U, 65535U}) {
    Lab lab(8192);
    Port port =
        OpenOrDie(absl::StrCat("null:,mtu=", mtu_bytes), *lab.pool, kSmall);
    TxQueue& queue = port.tx[0];
    Burst burst(lab.lcore.cache());
    burst.Adopt(*MakeFragment(lab.lcore.cache(),
                              mtu_bytes + uint32_t{net::kL2OverheadBytes}));
    EXPECT_LE(burst[0].segments(), queue.max_segments()) << mtu_bytes;
    queue.Send(burst, lab.lcore);
    EXPECT_TRUE(queue.Flush(lab.lcore));
    EXPECT_EQ(queue.counters()->completions.value(), 1u) << mtu_bytes;
  }
}

TEST(TxQueueTest, LeavesWhatThereIsNoRoomForAndGoesOnWhenThereIs) {
  Lab lab(4096);
  Lab receiver;
  {
    // 64 KiB of wire hold fewer frames than are sent.
    Port from = OpenOrDie(OwnWire("tx_queue_test_full") + ",bytes=65536",
                          *lab.pool, kSmall);
    Port to = OpenOrDie(OwnWire("tx_queue_test_full") + ",bytes=65536",
                        *receiver.pool, kSmall);
    TxQueue& queue = from.tx[0];
    std::vector<FrameBytes> sent;
    std::vector<FrameBytes> received;
    Burst burst(lab.lcore.cache());
    for (uint32_t i = 0; burst.empty(); ++i) {
      ASSERT_LT(i, 1000u);
      sent.push_back(NumberedFrame(1000, i));
      burst.Adopt(*MakeChain(lab.lcore.cache(), sent.back()));
      queue.Send(burst, lab.lcore);
      queue.Reap(lab.lcore);
    }
    EXPECT_EQ(burst.size(), 1u);
    EXPECT_EQ(queue.in_flight(), 64u);
    EXPECT_FALSE(queue.Flush(lab.lcore));
    EXPECT_EQ(lab.pool->used_mbufs(), 65u);
    EXPECT_EQ(queue.counters()->held_packets.value(), 64u);

    while (received.size() < sent.size()) {
      ReceiveInto(to.rx[0], receiver.lcore, received);
      queue.Reap(lab.lcore);
      queue.Send(burst, lab.lcore);
    }
    EXPECT_EQ(received, sent);
    EXPECT_TRUE(queue.Flush(lab.lcore));
    ExpectPostsAddUp(*queue.counters());
    EXPECT_EQ(queue.counters()->completions.value(), sent.size());
  }
  EXPECT_EQ(lab.pool->used_mbufs(), 0u);
}

TEST(TxQueueTest, ReturnsWhatIsInFlightWhenItGoes) {
  Lab lab(4096);
  {
    Port from = OpenOrDie(OwnWire("tx_queue_test_gone") + ",bytes=16384",
                          *lab.pool, kSmall);
    Port to = OpenOrDie(OwnWire("tx_queue_test_gone") + ",bytes=16384",
                        *lab.pool, kSmall);
    TxQueue queue = std::move(from.tx[0]);
    for (uint32_t i = 0; i < 50; ++i) {
      testing::SendOne(queue, lab.lcore, NumberedFrame(1000, i));
    }
    EXPECT_GT(queue.in_flight(), 0u);
    EXPECT_EQ(lab.pool->used_mbufs(), queue.in_flight());
  }
  EXPECT_EQ(lab.pool->used_mbufs(), 0u);
}

TEST(TxQueueTest, SendsPiecesOfAPacketThatIsFreedWithTheLastOfThem) {
  Lab lab(1024);
  Lab receiver;
  Port from = OpenOrDie(OwnWire("tx_queue_test_shared"), *lab.pool, kSmall);
  Port to = OpenOrDie(OwnWire("tx_queue_test_shared"), *receiver.pool, kSmall);
  MbufCache& cache = lab.lcore.cache();
  const FrameBytes payload = NumberedFrame(1000, 1);
  for (uint32_t round = 0; round < 100; ++round) {
    Burst burst(cache);
    Mbuf& packet = MakePacket(cache, payload);
    std::vector<FrameBytes> sent;
    for (uint32_t i = 0; i < 10; ++i) {
      Mbuf& frame = MakePacket(cache, MakeFrame(60, static_cast<uint8_t>(i)));
      std::array<Mbuf*, 1> one{};
      ASSERT_EQ(cache.Alloc(one), 1u);
      cache.Refer(*one[0], packet, packet, 100 * i, 100);
      frame.Append(frame, *one[0]);
      burst.Adopt(frame);
      sent.push_back(testing::BytesOf(frame));
    }
    cache.FreePackets(std::array<Mbuf*, 1>{&packet});
    from.tx[0].Send(burst, lab.lcore);
    EXPECT_TRUE(burst.empty());
    EXPECT_TRUE(from.tx[0].Flush(lab.lcore));
    EXPECT_EQ(lab.pool->used_mbufs(), 0u);
    std::vector<FrameBytes> received;
    ReceiveInto(to.rx[0], receiver.lcore, received);
    ASSERT_EQ(received, sent);
  }
}

TEST(TxQueueTest, DropsByNameWhatCanNeverBeSent) {
  Lab lab(1024);
  Lab receiver;
  Port from = OpenOrDie(OwnWire("tx_queue_test_drop"), *lab.pool, kSmall);
  Port to = OpenOrDie(OwnWire("tx_queue_test_drop"), *receiver.pool, kSmall);
  std::vector<FrameBytes> received;
  Burst burst(lab.lcore.cache());
  MbufCache& cache = lab.lcore.cache();
  burst.Adopt(MakePacket(cache, MakeFrame(1522, 1)));
  burst.Adopt(MakePacket(cache, MakeFrame(1523, 2)));
  burst.Adopt(MakePacket(cache, {}));
  Mbuf& chain = MakePacket(cache, MakeFrame(20, 3));
  Mbuf* last = &chain;
  for (int i = 0; i < 64; ++i) {
    Mbuf& segment = MakePacket(cache, MakeFrame(1, 3));
    chain.Append(*last, segment);
    last = &segment;
  }
  burst.Adopt(chain);
  burst.Adopt(MakePacket(cache, MakeFrame(60, 4)));
  from.tx[0].Send(burst, lab.lcore);
  EXPECT_TRUE(burst.empty());
  EXPECT_TRUE(from.tx[0].Flush(lab.lcore));
  ReceiveInto(to.rx[0], receiver.lcore, received);
  EXPECT_EQ(received, (std::vector{MakeFrame(1522, 1), MakeFrame(60, 4)}));
  const PortMonitor& monitor = *from.monitor();
  EXPECT_EQ(DropOf(monitor, kTx, "too-long"), 1u);
  EXPECT_EQ(DropOf(monitor, kTx, "empty"), 1u);
  EXPECT_EQ(DropOf(monitor, kTx, "too-many-segments"), 1u);
  EXPECT_EQ(lab.pool->used_mbufs(), 0u);
}

// A queue that may send from the first half of its pool's memory only: what
// lies beyond fails with a protection error.
TxQueue MakeHalfBlindQueue(absl::string_view name, MbufPool& pool) {
  auto device = PortDevice::Open(name);
  EXPECT_TRUE(device.ok()) << device.status();
  auto domain = verbs::ProtectionDomain::Create(*device->device());
  EXPECT_TRUE(domain.ok()) << domain.status();
  const std::span<std::byte> memory = pool.arena().bytes();
  auto region =
      verbs::MemoryRegion::Register(*domain, memory.first(memory.size() / 2));
  EXPECT_TRUE(region.ok()) << region.status();
  const PortInfo info = device->info();
  auto queue = TxQueue::Create(
      std::make_shared<PortContext>(PortContext{
          device->device(), *std::move(domain), *std::move(region), info}),
      pool, {.depth = 64});
  EXPECT_TRUE(queue.ok()) << queue.status();
  return *std::move(queue);
}

TEST(TxQueueTest, RecoversFromAnErrorAndLosesOnlyWhatWasInFlight) {
  Lab lab(128);
  Lab receiver(1024);
  {
    Port to = OpenOrDie(OwnWire("tx_queue_test_error"), *receiver.pool, kSmall);
    TxQueue queue =
        MakeHalfBlindQueue(OwnWire("tx_queue_test_error"), *lab.pool);
    MbufCache& cache = lab.lcore.cache();
    const std::span<std::byte> memory = lab.pool->arena().bytes();
    const std::byte* half = memory.data() + memory.size() / 2;
    // All mbufs at once: 64 good ones and 64 bad ones, sent in turn.
    std::vector<Mbuf*> good;
    std::vector<Mbuf*> bad;
    for (uint32_t i = 0; i < 128; ++i) {
      Mbuf& packet = MakePacket(cache, MakeFrame(60, 1));
      (packet.data() < half ? good : bad).push_back(&packet);
    }
    ASSERT_EQ(good.size(), 64u);
    std::vector<FrameBytes> received;
    const TxCounters& counters = *queue.counters();
    for (uint32_t i = 0; i < 64; i += 2) {
      Burst burst(cache);
      lab.lcore.UpdateClock();
      // A good one alone; it is confirmed, so the next fault is a first one.
      burst.Adopt(*good[i]);
      queue.Send(burst, lab.lcore);
      ASSERT_TRUE(burst.empty());
      ASSERT_TRUE(queue.Flush(lab.lcore));
      // One that goes out before the error but was to be confirmed with it, the
      // error, and one that was posted in vain.
      burst.Adopt(*good[i + 1]);
      burst.Adopt(*bad[i]);
      burst.Adopt(*bad[i + 1]);
      queue.Send(burst, lab.lcore);
      ASSERT_TRUE(burst.empty());
      ASSERT_TRUE(queue.Flush(lab.lcore));
      ReceiveInto(to.rx[0], receiver.lcore, received);
      ASSERT_EQ(received.size(), i + 2);
      ASSERT_EQ(counters.errors.value(), i / 2 + 1);
      ASSERT_EQ(counters.recoveries.value(), i / 2);
    }
    EXPECT_EQ(counters.posts.value(), 128u);
    EXPECT_EQ(counters.lost_in_recovery.value(), 96u);
    ExpectPostsAddUp(counters);
    EXPECT_EQ(queue.in_flight(), 0u);
    EXPECT_EQ(lab.pool->used_mbufs(), 0u);
  }
  EXPECT_EQ(receiver.pool->used_mbufs(), 0u);
}

}  // namespace
}  // namespace weir
