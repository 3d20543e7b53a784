// More than two ends of a wire, in one process.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/support/own_wire.h"
#include "weir/hca/backend/wire/wire.h"

namespace weir::hca {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Ends of the wire of this test, opened in the order of their letters.
class WireHubTest : public testing::Test {
 protected:
  Backend& Open(const std::string& options = "") {
    auto end = OpenWire(ParseDeviceKey(OwnWire("hub" + options)).value());
    EXPECT_TRUE(end.ok()) << end.status();
    ends_.push_back(*std::move(end));
    return *ends_.back();
  }
  void Close(const Backend& end) {
    std::erase_if(ends_, [&](const auto& each) { return each.get() == &end; });
  }

  // Sends `frame` until it is refused; how often it was taken.
  static size_t Fill(Backend& end, const FrameBytes& frame) {
    size_t taken = 0;
    while (Send(end, {frame}) == 1) ++taken;
    return taken;
  }

 private:
  std::vector<std::unique_ptr<Backend>> ends_;
};

TEST_F(WireHubTest, CarriesAFrameToAllOtherEnds) {
  Backend& a = Open();
  Backend& b = Open();
  Backend& c = Open();
  const std::vector<FrameBytes> sent = {PatternFrame(1, 60),
                                        PatternFrame(2, 1514)};
  EXPECT_EQ(Send(b, sent), 2u);
  EXPECT_EQ(TakeFrames(a, 8), sent);
  EXPECT_EQ(TakeFrames(c, 8), sent);
  EXPECT_THAT(TakeFrames(b, 8), IsEmpty());
}

TEST_F(WireHubTest, TakesAFrameOnlyWhenAllEndsHaveRoom) {
  Backend& a = Open(",bytes=4096");
  Backend& b = Open();
  Backend& c = Open();
  const FrameBytes frame = PatternFrame(1, 1000);
  const size_t taken = Fill(a, frame);
  EXPECT_GT(taken, 1u);
  EXPECT_EQ(TakeFrames(b, 16).size(), taken);
  EXPECT_EQ(Send(a, {frame}), 0u);
  EXPECT_THAT(TakeFrames(b, 16), IsEmpty());
  EXPECT_EQ(TakeFrames(c, 1).size(), 1u);
  EXPECT_EQ(Fill(a, frame), 1u);
  EXPECT_EQ(TakeFrames(b, 16).size(), 1u);
}

TEST_F(WireHubTest, WithoutFlowControlDropsOnlyForTheEndThatIsFull) {
  Backend& a = Open(",bytes=4096,flow_control=off");
  Backend& b = Open();
  Backend& c = Open();
  for (uint64_t number = 0; number < 10; ++number) {
    EXPECT_EQ(Send(a, {PatternFrame(number, 1000)}), 1u);
    EXPECT_THAT(TakeFrames(b, 16), ElementsAre(PatternFrame(number, 1000)));
  }
  const std::vector<FrameBytes> kept = TakeFrames(c, 16);
  EXPECT_LT(kept.size(), 10u);
  for (size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i], PatternFrame(i, 1000));
  }
  EXPECT_EQ(CounterValue(a, "tx_ring_full"), 10 - kept.size());
}

TEST_F(WireHubTest, KeepsTheOrderOfEachSender) {
  Backend& a = Open();
  Backend& b = Open();
  Backend& c = Open();
  for (uint64_t number = 0; number < 20; ++number) {
    Send(a, {PatternFrame(number, 60)});
    Send(b, {PatternFrame(number, 61)});
  }
  uint64_t from_a = 0;
  uint64_t from_b = 0;
  for (size_t step = 1; from_a + from_b < 40; ++step) {
    const std::vector<FrameBytes> frames = TakeFrames(c, step % 5 + 1);
    ASSERT_FALSE(frames.empty());
    for (const FrameBytes& frame : frames) {
      uint64_t& number = frame.size() == 60 ? from_a : from_b;
      EXPECT_EQ(frame, PatternFrame(number, frame.size()));
      ++number;
    }
  }
  EXPECT_EQ(from_a, 20u);
}

TEST_F(WireHubTest, ShowsTheSameFramesWhateverElseArrives) {
  Backend& a = Open();
  Backend& b = Open();
  Backend& c = Open();
  Send(a, {PatternFrame(1, 60)});
  Send(b, {PatternFrame(2, 61)});
  std::vector<uint32_t> first;
  for (const RxFrame& frame : c.Receive(8)) first.push_back(frame.length_bytes);
  ASSERT_EQ(first.size(), 2u);
  Send(a, {PatternFrame(3, 62)});
  const std::span<const RxFrame> again = c.Receive(8);
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(again[0].length_bytes, first[0]);
  EXPECT_EQ(again[1].length_bytes, first[1]);
  EXPECT_EQ(again[2].length_bytes, 62u);
  c.Consume(1);
  ASSERT_EQ(c.Receive(8).size(), 2u);
  EXPECT_EQ(c.Receive(8)[0].length_bytes, first[1]);
}

TEST_F(WireHubTest, GivesRoomBackHoweverFramesAreConsumed) {
  Backend& a = Open(",bytes=4096");
  Backend& b = Open();
  Backend& c = Open();
  for (int round = 0; round < 50; ++round) {
    // Each end's frames are also on the way to the other sender.
    const FrameBytes frame = PatternFrame(1, 500);
    const size_t sent = Fill(a, frame) + Fill(b, frame);
    ASSERT_GT(sent, 4u) << round;
    TakeFrames(a, 32);
    TakeFrames(b, 32);
    size_t taken = 0;
    while (taken < sent) {
      const size_t shown = c.Receive(5).size();
      ASSERT_GT(shown, 0u);
      c.Consume((shown + 1) / 2);
      taken += (shown + 1) / 2;
    }
    ASSERT_EQ(taken, sent);
  }
}

TEST_F(WireHubTest, DoesNotWaitForAnEndThatWasClosed) {
  Backend& a = Open(",bytes=4096");
  Backend& b = Open();
  Backend& c = Open();
  const FrameBytes frame = PatternFrame(1, 1000);
  const size_t taken = Fill(a, frame);
  TakeFrames(b, 16);
  TakeFrames(c, 1);
  Close(c);
  EXPECT_EQ(CounterValue(a, "tx_peer_gone"), taken - 1);
  EXPECT_EQ(Fill(a, frame), taken);
  EXPECT_EQ(TakeFrames(b, 16).size(), taken);
  EXPECT_EQ(CounterValue(a, "tx_peer_gone"), taken - 1);
  EXPECT_EQ(CounterValue(a, "tx_no_peer"), 0u);
}

TEST_F(WireHubTest, KeepsWhatAnEndSentBeforeItWasClosed) {
  Backend& a = Open();
  Backend& b = Open();
  Send(b, {PatternFrame(1, 60)});
  Close(b);
  EXPECT_THAT(TakeFrames(a, 8), ElementsAre(PatternFrame(1, 60)));
  Backend& again = Open();
  Send(again, {PatternFrame(2, 61)});
  EXPECT_THAT(TakeFrames(a, 8), ElementsAre(PatternFrame(2, 61)));
}

TEST_F(WireHubTest, CarriesWhatIsKnownOfChecksums) {
  Backend& a = Open();
  Backend& b = Open();
  FrameBytes bytes = PatternFrame(1, 60);
  const iovec segment = {bytes.data(), bytes.size()};
  const TxFrame known = {.segments = {&segment, 1},
                         .length_bytes = 60,
                         .flags = kFrameChecksumGood | kFrameSniffed};
  const TxFrame unknown = {.segments = {&segment, 1}, .length_bytes = 60};
  a.Transmit(std::vector{known, unknown});
  const std::span<const RxFrame> frames = b.Receive(8);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].flags, kFrameChecksumGood);
  EXPECT_EQ(frames[1].flags, 0u);
}

TEST_F(WireHubTest, JoinsSixteenEnds) {
  std::vector<Backend*> all(16);
  for (Backend*& end : all) end = &Open(",bytes=4096");
  for (size_t from = 0; from < all.size(); ++from) {
    EXPECT_EQ(Send(*all[from], {PatternFrame(from, 60)}), 1u);
  }
  for (size_t to = 0; to < all.size(); ++to) {
    std::vector<FrameBytes> expected;
    for (size_t from = 0; from < all.size(); ++from) {
      if (from != to) expected.push_back(PatternFrame(from, 60));
    }
    EXPECT_THAT(TakeFrames(*all[to], 32),
                testing::UnorderedElementsAreArray(expected));
  }
}

TEST_F(WireHubTest, WakesAllThatSleep) {
  Backend& a = Open();
  Backend& b = Open();
  Backend& c = Open();
  EXPECT_FALSE(b.ArmReceive());
  EXPECT_FALSE(c.ArmReceive());
  Send(a, {PatternFrame(1, 60)});
  for (Backend* end : {&b, &c}) {
    EXPECT_TRUE(IsReadable(*end));
    end->ClearWake();
    EXPECT_FALSE(IsReadable(*end));
  }
}

}  // namespace
}  // namespace weir::hca
