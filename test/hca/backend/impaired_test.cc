#include "weir/hca/backend/impair/impaired.h"

#include <poll.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/support/frame.h"
#include "weir/hca/backend/open_backend.h"

namespace weir::hca {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// A medium at rest that tests fill and look into.
class Shelf final : public Backend {
 public:
  const BackendInfo& info() const noexcept override { return info_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept override {
    const size_t taken = std::min(frames.size(), room);
    for (const TxFrame& frame : frames.first(taken)) {
      FrameBytes& bytes = sent->emplace_back();
      for (const iovec& segment : frame.segments) {
        const auto* from = static_cast<const std::byte*>(segment.iov_base);
        bytes.insert(bytes.end(), from, from + segment.iov_len);
      }
    }
    room = room - taken + room_later;
    return taken;
  }
  std::span<const RxFrame> Receive(size_t max) noexcept override {
    shown_.clear();
    for (const FrameBytes& frame : waiting) {
      if (shown_.size() == max) break;
      shown_.push_back({.data = frame.data(),
                        .length_bytes = static_cast<uint32_t>(frame.size()),
                        .flags = kFrameChecksumGood,
                        .timestamp_ns = 1000});
    }
    return shown_;
  }
  void Consume(size_t count) noexcept override {
    waiting.erase(waiting.begin(),
                  waiting.begin() + static_cast<ptrdiff_t>(count));
  }
  bool ArmReceive() noexcept override { return !waiting.empty(); }
  bool finished() const noexcept override { return waiting.empty(); }

  std::deque<FrameBytes> waiting;
  std::shared_ptr<std::vector<FrameBytes>> sent =
      std::make_shared<std::vector<FrameBytes>>();
  // For the next Transmit, and how much more for each after that.
  size_t room = SIZE_MAX;
  size_t room_later = 0;

 private:
  BackendInfo info_;
  std::vector<RxFrame> shown_;
};

class ImpairedTest : public testing::Test {
 protected:
  // A backend with `options` over a shelf with frames 0 to `frames` - 1.
  void Open(const std::string& options, size_t frames) {
    auto shelf = std::make_unique<Shelf>();
    shelf_ = shelf.get();
    sent_ = shelf->sent;
    for (size_t i = 0; i < frames; ++i) {
      shelf->waiting.push_back(PatternFrame(i, 60 + i % 1400));
    }
    const DeviceKey key = ParseDeviceKey("null:," + options).value();
    auto impaired = Impaired::Create(std::move(shelf),
                                     ParseImpairment(key).value(), key.text);
    ASSERT_TRUE(impaired.ok()) << impaired.status();
    backend_ = *std::move(impaired);
  }

  uint64_t Counted(absl::string_view name) {
    return CounterValue(*backend_, name);
  }

  // Sends frames 0 to `count` - 1 in bursts and closes the backend.
  std::vector<FrameBytes> SendAll(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(Send(*backend_, {PatternFrame(i, 60 + i % 1400)}), 1u);
    }
    backend_.reset();
    return *sent_;
  }

  Shelf* shelf_ = nullptr;
  std::shared_ptr<std::vector<FrameBytes>> sent_;
  std::unique_ptr<Impaired> backend_;
};

std::vector<FrameBytes> Numbered(size_t count) {
  std::vector<FrameBytes> frames;
  for (size_t i = 0; i < count; ++i) {
    frames.push_back(PatternFrame(i, 60 + i % 1400));
  }
  return frames;
}

TEST_F(ImpairedTest, LosesAndDuplicatesAndCountsEach) {
  Open("loss=10%,dup=10%", 2000);
  const size_t got = TakeFrames(*backend_, 5000).size();
  EXPECT_GT(Counted("rx_lost"), 100u);
  EXPECT_GT(Counted("rx_duplicated"), 100u);
  EXPECT_EQ(got, 2000 - Counted("rx_lost") + Counted("rx_duplicated"));
  EXPECT_EQ(Counted("tx_lost"), 0u);
  EXPECT_TRUE(backend_->finished());
}

TEST_F(ImpairedTest, DuplicatesOneAfterTheOther) {
  Open("dup=100%", 2);
  const std::vector<FrameBytes> in = Numbered(2);
  EXPECT_EQ(TakeFrames(*backend_, 9),
            (std::vector<FrameBytes>{in[0], in[0], in[1], in[1]}));
}

TEST_F(ImpairedTest, ReordersWithoutLossAndNotFar) {
  Open("reorder=30%", 2000);
  const std::vector<FrameBytes> in = Numbered(2000);
  const std::vector<FrameBytes> out = TakeFrames(*backend_, 5000);
  EXPECT_NE(out, in);
  EXPECT_GT(Counted("rx_reordered"), 500u);
  ASSERT_THAT(out, SizeIs(2000));
  std::map<FrameBytes, size_t> place;
  for (size_t i = 0; i < in.size(); ++i) place[in[i]] = i;
  std::vector<size_t> order;
  for (size_t i = 0; i < out.size(); ++i) {
    ASSERT_TRUE(place.contains(out[i]));
    order.push_back(place[out[i]]);
    EXPECT_LE(std::max(order[i], i) - std::min(order[i], i), 4u);
  }
  std::ranges::sort(order);
  std::vector<size_t> all(2000);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(order, all);
}

TEST_F(ImpairedTest, FlipsOneBitAnywhereInTheFrame) {
  Open("corrupt=100%", 1000);
  const std::vector<FrameBytes> in = Numbered(1000);
  const std::vector<FrameBytes> out = TakeFrames(*backend_, 5000);
  ASSERT_THAT(out, SizeIs(1000));
  size_t in_first_half = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    ASSERT_EQ(out[i].size(), in[i].size());
    int flipped = 0;
    for (size_t at = 0; at < in[i].size(); ++at) {
      const int bits =
          std::popcount(std::to_integer<unsigned>(in[i][at] ^ out[i][at]));
      flipped += bits;
      if (bits > 0 && at < in[i].size() / 2) ++in_first_half;
    }
    EXPECT_EQ(flipped, 1) << i;
  }
  EXPECT_NEAR(static_cast<double>(in_first_half), 500, 80);
  EXPECT_EQ(Counted("rx_corrupted"), 1000u);
}

TEST_F(ImpairedTest, VouchesForNoChecksumThatItMayHaveSpoilt) {
  Open("corrupt=50%", 0);
  const FrameBytes good = Frame()
                              .Eth(kTestMacA, kTestMacB)
                              .Ipv4("192.0.2.1", "192.0.2.2")
                              .Udp(1, 2)
                              .Payload(1000)
                              .Build();
  shelf_->waiting.assign(40, good);
  const std::span<const RxFrame> frames = backend_->Receive(40);
  ASSERT_THAT(frames, SizeIs(40));
  size_t spoilt = 0;
  for (const RxFrame& frame : frames) {
    const bool same = std::equal(good.begin(), good.end(), frame.data);
    // Nothing sums up the Ethernet header.
    const bool same_packet =
        std::equal(good.begin() + 14, good.end(), frame.data + 14);
    EXPECT_EQ((frame.flags & kFrameChecksumGood) != 0, same_packet);
    spoilt += !same;
  }
  EXPECT_EQ(spoilt, Counted("rx_corrupted"));
}

TEST_F(ImpairedTest, DoesTheSameToTheSameFramesAgain) {
  const std::string options = "loss=5%,dup=5%,reorder=5%,corrupt=5%,seed=42";
  Open(options, 3000);
  const std::vector<FrameBytes> received = TakeFrames(*backend_, 9000);
  const std::vector<FrameBytes> sent = SendAll(3000);
  EXPECT_NE(received, sent);
  // Whatever the bursts.
  Open(options, 3000);
  std::vector<FrameBytes> again;
  for (size_t burst = 1; !backend_->finished(); burst = burst % 37 + 1) {
    for (FrameBytes& frame : TakeFrames(*backend_, burst)) {
      again.push_back(std::move(frame));
    }
  }
  EXPECT_EQ(again, received);
  EXPECT_EQ(SendAll(3000), sent);
  Open("loss=5%,dup=5%,reorder=5%,corrupt=5%,seed=43", 3000);
  EXPECT_NE(TakeFrames(*backend_, 9000), received);
}

TEST_F(ImpairedTest, LeavesTheOtherDirectionAlone) {
  Open("loss=100%,impair=tx", 10);
  EXPECT_EQ(TakeFrames(*backend_, 20), Numbered(10));
  EXPECT_THAT(SendAll(10), IsEmpty());
  Open("loss=100%,impair=rx", 10);
  EXPECT_THAT(TakeFrames(*backend_, 20), IsEmpty());
  EXPECT_EQ(SendAll(10), Numbered(10));
}

TEST_F(ImpairedTest, DelaysEachFrameAndIsNotFinishedBefore) {
  Open("delay=20ms,impair=rx", 3);
  const auto start = steady_clock::now();
  EXPECT_THAT(TakeFrames(*backend_, 3), IsEmpty());
  EXPECT_TRUE(shelf_->finished());
  EXPECT_FALSE(backend_->finished());
  EXPECT_FALSE(backend_->ArmReceive());
  pollfd waiting = {.fd = backend_->wake_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&waiting, 1, 10'000), 1);
  backend_->ClearWake();
  EXPECT_GE(steady_clock::now() - start, milliseconds(20));
  EXPECT_EQ(poll(&waiting, 1, 0), 0) << "would spin";
  EXPECT_TRUE(backend_->ArmReceive());
  EXPECT_EQ(TakeFrames(*backend_, 3), Numbered(3));
  EXPECT_TRUE(backend_->finished());
  EXPECT_EQ(Counted("rx_delayed"), 3u);
}

TEST_F(ImpairedTest, DelaysWhatIsSentUntilFlushed) {
  Open("delay=20ms", 0);
  const auto start = steady_clock::now();
  Send(*backend_, Numbered(3));
  EXPECT_TRUE(backend_->Flush());
  EXPECT_THAT(*sent_, IsEmpty());
  pollfd waiting = {.fd = backend_->wake_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&waiting, 1, 10'000), 1);
  EXPECT_FALSE(backend_->Flush());
  EXPECT_EQ(*sent_, Numbered(3));
  EXPECT_GE(steady_clock::now() - start, milliseconds(20));
}

TEST_F(ImpairedTest, KeepsTheOrderWhenDelaysVary) {
  Open("delay=3ms,jitter=3ms", 300);
  std::vector<FrameBytes> got;
  const auto end = steady_clock::now() + std::chrono::seconds(10);
  while (!backend_->finished() && steady_clock::now() < end) {
    for (FrameBytes& frame : TakeFrames(*backend_, 300)) {
      got.push_back(std::move(frame));
    }
  }
  EXPECT_EQ(got, Numbered(300));
}

// 100 frames of 1000 bytes at 8 Mbit/s are 100 ms.
TEST_F(ImpairedTest, SendsNoFasterThanTheRate) {
  Open("rate=8Mbit", 0);
  const std::vector<FrameBytes> frames(100, PatternFrame(1, 1000));
  const auto start = steady_clock::now();
  size_t taken = Send(*backend_, frames);
  EXPECT_GE(taken, 10u);
  EXPECT_LE(taken, 13u) << "ten milliseconds and a credit of one";
  const auto end = start + std::chrono::seconds(20);
  while (sent_->size() < frames.size() && steady_clock::now() < end) {
    taken += Send(*backend_, {frames.begin() + static_cast<ptrdiff_t>(taken),
                              frames.end()});
    backend_->Flush();
  }
  EXPECT_EQ(*sent_, frames);
  EXPECT_GE(steady_clock::now() - start, milliseconds(99));
}

TEST_F(ImpairedTest, TakesNoMoreThanFitsWhileTheMediumIsFull) {
  Open("dup=10%", 0);
  shelf_->room = 0;
  size_t taken = 0;
  for (;;) {
    const size_t more = Send(*backend_, {PatternFrame(taken, 1514)});
    if (more == 0) break;
    taken += more;
  }
  EXPECT_GT(taken, 1000u);
  shelf_->room = SIZE_MAX;
  EXPECT_FALSE(backend_->Flush());
  EXPECT_EQ(sent_->size(), taken + Counted("tx_duplicated"));
}

TEST_F(ImpairedTest, SendsWhatIsOnItsWayWhenItCloses) {
  Open("delay=10s,reorder=50%", 0);
  EXPECT_THAT(SendAll(100), SizeIs(100));
}

TEST_F(ImpairedTest, WaitsForAMediumThatIsFullWhenItCloses) {
  Open("delay=10s", 0);
  Send(*backend_, Numbered(100));
  // Room for few frames at a time, whenever it is asked.
  shelf_->room = 3;
  shelf_->room_later = 3;
  backend_.reset();
  EXPECT_THAT(*sent_, SizeIs(100));
}

TEST_F(ImpairedTest, CountsWhatAFullMediumKeepsOnItsWay) {
  Open("reorder=100%,dup=100%,impair=tx", 4);
  shelf_->room = 1;
  Send(*backend_, Numbered(10));
  EXPECT_EQ(sent_->size() + Counted("tx_waiting"), 20u);
  EXPECT_EQ(sent_->size(), 1u);
  shelf_->room = SIZE_MAX;
  backend_->Flush();
  EXPECT_EQ(sent_->size() + Counted("tx_waiting"), 20u);
  EXPECT_GT(sent_->size(), 10u);
}

TEST_F(ImpairedTest, CountsWhatIsOnItsWayIn) {
  Open("delay=10s,impair=rx", 5);
  EXPECT_EQ(Counted("rx_waiting"), 0u);
  EXPECT_THAT(TakeFrames(*backend_, 9), IsEmpty());
  EXPECT_EQ(Counted("rx_waiting"), 5u);
}

// One frame at 1 kbit/s takes the line eight seconds.
TEST_F(ImpairedTest, AFasterLineIsFreeSooner) {
  Open("rate=1kbit", 0);
  EXPECT_EQ(Send(*backend_, {PatternFrame(1, 1000), PatternFrame(2, 60)}), 1u);
  backend_->Change(Impairment{.rate_bits_per_s = 1'000'000});
  EXPECT_EQ(Send(*backend_, {PatternFrame(2, 60)}), 1u);
  Open("rate=1kbit", 0);
  EXPECT_EQ(Send(*backend_, {PatternFrame(1, 1000), PatternFrame(2, 60)}), 1u);
  backend_->Change(Impairment{});
  EXPECT_EQ(Send(*backend_, {PatternFrame(2, 60)}), 1u);
  backend_.reset();
  EXPECT_EQ(*sent_, (std::vector<FrameBytes>{PatternFrame(1, 1000),
                                             PatternFrame(2, 60)}));
}

TEST_F(ImpairedTest, ReceivesWhatWaitedToBeOvertakenAtTheEnd) {
  Open("reorder=100%", 3);
  EXPECT_THAT(TakeFrames(*backend_, 9), SizeIs(3));
  EXPECT_TRUE(backend_->finished());
}

TEST_F(ImpairedTest, ChangesWhileItRuns) {
  Open("loss=100%", 20);
  EXPECT_THAT(TakeFrames(*backend_, 20), IsEmpty());
  backend_->Change(Impairment{});
  shelf_->waiting.push_back(PatternFrame(7, 60));
  EXPECT_THAT(TakeFrames(*backend_, 1),
              testing::ElementsAre(PatternFrame(7, 60)));
  EXPECT_EQ(Counted("rx_lost"), 20u);
}

TEST(OpenBackendTest, PutsNothingInFrontWhereNothingIsImpaired) {
  for (const std::string options : {"", ",seed=4,impair=tx", ",loss=0"}) {
    const auto backend =
        OpenBackend(ParseDeviceKey("null:" + options).value()).value();
    EXPECT_EQ(dynamic_cast<Impaired*>(backend.get()), nullptr) << options;
  }
}

TEST(OpenBackendTest, ImpairsEveryKind) {
  for (const std::string key : {"null:", "wire:a", "pcap:,out=/dev/null"}) {
    const auto backend = OpenBackend(ParseDeviceKey(key + ",loss=1%").value());
    ASSERT_TRUE(backend.ok()) << backend.status();
    EXPECT_NE(dynamic_cast<Impaired*>(backend->get()), nullptr) << key;
  }
}

TEST(OpenBackendTest, ListsAllOptionsOfAKind) {
  EXPECT_THAT(std::string(OpenBackend(ParseDeviceKey("null:,lost=1").value())
                              .status()
                              .message()),
              HasSubstr("null knows flows, mtu, size, fault, rss, rx_checksum, "
                        "corrupt, delay, "
                        "dup, impair, jitter, loss, rate, reorder, seed"));
}

}  // namespace
}  // namespace weir::hca
