#include "weir/hca/backend/wire/wire.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/support/own_wire.h"

namespace weir::hca {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<Backend> MustOpen(const std::string& text) {
  auto end = OpenWire(ParseDeviceKey(text).value());
  EXPECT_TRUE(end.ok()) << end.status();
  return end.ok() ? *std::move(end) : nullptr;
}

std::string OpenError(const std::string& text) {
  const auto end = OpenWire(ParseDeviceKey(text).value());
  return end.ok() ? "opened" : std::string(end.status().message());
}

TEST(WireTest, CarriesFramesBothWaysUnchanged) {
  const auto a = MustOpen(OwnWire("t"));
  const auto b = MustOpen(OwnWire("t"));
  const std::vector<FrameBytes> there = {PatternFrame(1, 14),
                                         PatternFrame(2, 1514)};
  const std::vector<FrameBytes> back = {PatternFrame(3, 61)};
  EXPECT_EQ(Send(*a, there), 2u);
  EXPECT_EQ(Send(*b, back), 1u);
  EXPECT_EQ(TakeFrames(*b, 10), there);
  EXPECT_EQ(TakeFrames(*a, 10), back);
}

TEST(WireTest, GathersTheSegmentsOfAFrame) {
  const auto a = MustOpen(OwnWire("t"));
  const auto b = MustOpen(OwnWire("t"));
  FrameBytes frame = PatternFrame(1, 100);
  const iovec segments[] = {
      {frame.data(), 14}, {nullptr, 0}, {frame.data() + 14, 86}};
  const TxFrame sent = {.segments = segments, .length_bytes = 100};
  EXPECT_EQ(a->Transmit({&sent, 1}), 1u);
  EXPECT_THAT(TakeFrames(*b, 1), testing::ElementsAre(frame));
}

TEST(WireTest, ShowsTheSameFramesUntilTheyAreConsumed) {
  const auto a = MustOpen(OwnWire("t"));
  const auto b = MustOpen(OwnWire("t"));
  Send(*a, {PatternFrame(1, 60), PatternFrame(2, 61)});
  EXPECT_EQ(b->Receive(8).size(), 2u);
  EXPECT_EQ(b->Receive(1).size(), 1u);
  b->Consume(1);
  ASSERT_EQ(b->Receive(8).size(), 1u);
  EXPECT_EQ(b->Receive(8)[0].length_bytes, 61u);
}

TEST(WireTest, TakesNothingWhileFullAndLosesNothing) {
  const auto a = MustOpen(OwnWire("t") + ",bytes=4096");
  const auto b = MustOpen(OwnWire("t"));
  const std::vector<FrameBytes> frames(10, PatternFrame(1, 1000));
  const size_t taken = Send(*a, frames);
  EXPECT_GT(taken, 1u);
  EXPECT_LT(taken, frames.size());
  EXPECT_EQ(Send(*a, frames), 0u);
  EXPECT_EQ(TakeFrames(*b, 16).size(), taken);
  EXPECT_GT(Send(*a, frames), 0u);
}

TEST(WireTest, DropsAndCountsWhileUnplugged) {
  const auto a = MustOpen(OwnWire("t"));
  EXPECT_EQ(Send(*a, {PatternFrame(1, 60)}), 1u);
  EXPECT_EQ(CounterValue(*a, "tx_no_peer"), 1u);
  auto b = MustOpen(OwnWire("t"));
  EXPECT_THAT(b->Receive(1), IsEmpty());
  Send(*a, {PatternFrame(2, 60)});
  b.reset();
  EXPECT_EQ(Send(*a, {PatternFrame(3, 60)}), 1u);
  EXPECT_EQ(CounterValue(*a, "tx_no_peer"), 2u);
  b = MustOpen(OwnWire("t"));
  EXPECT_THAT(b->Receive(1), IsEmpty());
  Send(*a, {PatternFrame(4, 60)});
  EXPECT_THAT(TakeFrames(*b, 8), testing::ElementsAre(PatternFrame(4, 60)));
}

TEST(WireTest, DropsFramesThatNeverFit) {
  const auto a = MustOpen(OwnWire("t") + ",bytes=4096");
  const auto b = MustOpen(OwnWire("t"));
  EXPECT_EQ(Send(*a, {PatternFrame(1, 3000), PatternFrame(2, 60)}), 2u);
  EXPECT_EQ(CounterValue(*a, "tx_too_long"), 1u);
  EXPECT_THAT(TakeFrames(*b, 8), testing::ElementsAre(PatternFrame(2, 60)));
}

TEST(WireTest, EndsHaveAddressesOfTheirOwnThatStayTheSame) {
  auto a = MustOpen(OwnWire("t") + ",end=a");
  const auto b = MustOpen(OwnWire("t") + ",end=b");
  const net::MacAddress mac = a->info().mac;
  EXPECT_NE(mac, b->info().mac);
  EXPECT_FALSE(mac.is_multicast());
  EXPECT_EQ(mac.octets[0] & 2, 2);
  a.reset();
  EXPECT_EQ(MustOpen(OwnWire("t"))->info().mac, mac);
}

TEST(WireTest, WiresOfDifferentNamesAreApart) {
  const auto a = MustOpen(OwnWire("t"));
  const auto other = MustOpen(OwnWire("u"));
  Send(*a, {PatternFrame(1, 60)});
  EXPECT_THAT(other->Receive(1), IsEmpty());
}

TEST(WireTest, TheSecondEndTakesTheOptionsOfTheFirst) {
  const auto a = MustOpen(OwnWire("t") + ",mtu=9000,flow_control=off");
  EXPECT_EQ(OpenError(OwnWire("t") + ",mtu=1500"),
            OwnWire("t") +
                ",mtu=1500: the other end has mtu=9000; "
                "give both the same or leave it out");
  EXPECT_EQ(OpenError(OwnWire("t") + ",bytes=65536"),
            OwnWire("t") +
                ",bytes=65536: the other end has bytes=262144; "
                "give both the same or leave it out");
  const auto b = MustOpen(OwnWire("t"));
  EXPECT_EQ(b->info().mtu_bytes, 9000u);
  EXPECT_FALSE(a->info().flow_control);
  EXPECT_TRUE(b->info().flow_control);
}

TEST(WireTest, RefusesBadKeys) {
  EXPECT_EQ(OpenError("wire:"), "wire:: want a name, as in wire:a");
  EXPECT_EQ(OpenError(OwnWire("t") + ",end=z"),
            OwnWire("t") + ",end=z: end=z: want a letter from \"a\" to \"p\"");
  EXPECT_THAT(OpenError(OwnWire("t") + ",color=red"), HasSubstr("unknown key"));
  EXPECT_EQ(OpenError(OwnWire("t") + ",mtu=9000,bytes=16384"),
            OwnWire("t") +
                ",mtu=9000,bytes=16384: bytes=16384 is too small for mtu "
                "9000; want at least 32768");
}

TEST(WireTest, RefusesAnEndThatIsOpen) {
  const auto a = MustOpen(OwnWire("t") + ",end=b");
  EXPECT_EQ(OpenError(OwnWire("t") + ",end=b"),
            OwnWire("t") + ",end=b: this end is open already");
  std::vector<std::unique_ptr<Backend>> others(15);
  for (auto& other : others) other = MustOpen(OwnWire("t"));
  EXPECT_EQ(OpenError(OwnWire("t")),
            OwnWire("t") + ": all 16 ends are open already");
}

TEST(WireTest, WakesTheReceiverOnlyWhenItIsArmed) {
  const auto a = MustOpen(OwnWire("t"));
  const auto b = MustOpen(OwnWire("t"));
  Send(*a, {PatternFrame(1, 60)});
  EXPECT_FALSE(IsReadable(*b));
  EXPECT_TRUE(b->ArmReceive());
  TakeFrames(*b, 8);
  EXPECT_FALSE(b->ArmReceive());
  EXPECT_FALSE(IsReadable(*b));
  Send(*a, {PatternFrame(2, 60)});
  EXPECT_TRUE(IsReadable(*b));
  b->ClearWake();
  EXPECT_FALSE(IsReadable(*b));
  b->ClearWake();
}

// The receiver sleeps without a timeout whenever it finds nothing, the sender
// whenever the ring is full: nothing may be lost, neither frame nor wake-up.
TEST(WireThreadsTest, LosesNeitherFramesNorWakeUps) {
  constexpr uint64_t kFrames = 50'000;
  const auto a = MustOpen(OwnWire("t") + ",bytes=4096");
  const auto b = MustOpen(OwnWire("t"));
  std::thread sender([&a] {
    for (uint64_t number = 0; number < kFrames;) {
      FrameBytes frame = PatternFrame(number, 60 + number % 500);
      std::memcpy(frame.data(), &number, sizeof number);
      if (Send(*a, {frame}) == 1) {
        ++number;
      } else {
        std::this_thread::yield();
      }
    }
  });
  uint64_t expected = 0;
  uint64_t wrong = 0;
  while (expected < kFrames) {
    const std::span<const RxFrame> frames = b->Receive(32);
    for (const RxFrame& frame : frames) {
      uint64_t number = 0;
      std::memcpy(&number, frame.data, sizeof number);
      if (number != expected || frame.length_bytes != 60 + number % 500) {
        ++wrong;
      }
      ++expected;
    }
    b->Consume(frames.size());
    if (!frames.empty() || b->ArmReceive()) continue;
    pollfd waiting = {.fd = b->wake_fd(), .events = POLLIN, .revents = 0};
    poll(&waiting, 1, -1);
    b->ClearWake();
  }
  sender.join();
  EXPECT_EQ(wrong, 0u);
}

// The end is closed and opened anew while a burst is on its way to it, for as
// long as it takes to look at all the empty segments: it is the new one that
// has to be woken.
TEST(WireTest, WakesAnEndThatWasOpenedAnew) {
  const auto a = MustOpen(OwnWire("t") + ",end=a,bytes=8192");
  FrameBytes bytes = PatternFrame(1, 60);
  std::vector<iovec> segments(100'000);
  segments.back() = {bytes.data(), bytes.size()};
  const std::vector<TxFrame> burst(40,
                                   {.segments = segments, .length_bytes = 60});
  for (int round = 0; round < 20; ++round) {
    auto b = MustOpen(OwnWire("t") + ",end=b");
    ASSERT_FALSE(b->ArmReceive());
    Send(*a, {PatternFrame(1, 60)});
    ASSERT_TRUE(IsReadable(*b));
    TakeFrames(*b, 1);
    std::atomic<bool> go = false;
    bool is_armed = false;
    std::thread opener([&] {
      while (!go) {
      }
      b.reset();
      b = MustOpen(OwnWire("t") + ",end=b");
      is_armed = !b->ArmReceive();
    });
    go = true;
    a->Transmit(burst);
    opener.join();
    const bool is_woken = IsReadable(*b);
    ASSERT_TRUE(is_woken || !is_armed || b->Receive(1).empty()) << round;
  }
}

// As is that of a process that was killed for as long as anybody reads about
// its memory.
TEST(WireTest, WaitsForAnEndThatIsBeingClosed) {
  for (int round = 0; round < 100; ++round) {
    auto before = MustOpen(OwnWire("t") + ",end=a");
    std::atomic<bool> go = false;
    std::thread opener([&] {
      go = true;
      MustOpen(OwnWire("t") + ",end=a");
    });
    while (!go) {
    }
    before.reset();
    opener.join();
  }
}

}  // namespace
}  // namespace weir::hca
