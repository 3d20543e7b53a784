// Who is told of the datagrams that reassembly gives up, and what becomes of
// their first fragments.

#include "weir/stage/reassemble_and.h"

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"
#include "weir/mbuf/mbuf_ptr.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Reason = ReassemblyDrop;

// What a handler was told, and whether it sends the fragments on.
struct Told {
  std::vector<Bytes> frames = {};
  std::vector<Reason> reasons = {};
  std::vector<MbufPtr> kept = {};
  enum class Then { kFree, kPassOn, kKeep } then = Then::kFree;
};

class Listener {
 public:
  explicit Listener(Told* told) : told_(told) {}

  MbufPtr OnAbandoned(MbufPtr first, Reason reason, Lcore&) noexcept {
    told_->frames.push_back(BytesOf(*first));
    told_->reasons.push_back(reason);
    if (told_->then == Told::Then::kPassOn) return first;
    if (told_->then == Told::Then::kKeep) {
      told_->kept.push_back(std::move(first));
    }
    return {};
  }

 private:
  Told* told_;
};

using ListeningStage = ReassembleAnd<Listener>;

struct Rig : BasicReassemblyRig<ListeningStage> {
  Rig(Told& told, const ReassemblyOptions& options = {})
      : BasicReassemblyRig(options, 2048, Listener(&told)) {}

  // Later than any timeout.
  void LetTimePass() { Send(MakeFrame(60, 0xee), 100 * kSecond); }
};

Bytes First(uint32_t id, bool is_ipv6 = false) {
  return FragmentFrame(UdpDatagram(is_ipv6, id, 100), 0, 56, true);
}
Bytes Second(uint32_t id, bool is_ipv6 = false) {
  return FragmentFrame(UdpDatagram(is_ipv6, id, 100), 56, 52, false);
}

TEST(ReassembleAndTest, TellsOfATimeout) {
  Told told;
  Rig rig(told);
  rig.Send(First(1));
  rig.Send(First(2, true));
  EXPECT_THAT(told.frames, IsEmpty());
  rig.LetTimePass();
  EXPECT_THAT(told.frames, ElementsAre(First(1), First(2, true)));
  EXPECT_THAT(told.reasons, ElementsAre(Reason::kTimeout, Reason::kTimeout));
  EXPECT_EQ(rig.drops(Reason::kTimeout), 2);
}

TEST(ReassembleAndTest, TellsOfATimeoutWithoutAPacketToTellItBy) {
  Told told;
  Lab lab;
  auto stage = *ListeningStage::Create({.ipv4_timeout_ns = 1}, Listener(&told));
  lab.lcore.UpdateClock();
  stage.Tick(lab.lcore);
  Burst burst(lab.lcore.cache());
  Mbuf& first = MakePacket(lab.lcore.cache(), First(1));
  Parse().OnPacket(first, lab.lcore);
  burst.Adopt(first);
  stage.OnBurst(burst, lab.lcore);
  EXPECT_FALSE(stage.more());
  lab.lcore.UpdateClock();
  stage.Tick(lab.lcore);
  EXPECT_TRUE(stage.more());
  stage.OnBurst(burst, lab.lcore);
  EXPECT_FALSE(stage.more());
  EXPECT_THAT(told.frames, ElementsAre(First(1)));
}

TEST(ReassembleAndTest, SaysNothingIfTheFirstFragmentDidNotCome) {
  Told told;
  Rig rig(told);
  rig.Send(Second(1));
  rig.LetTimePass();
  EXPECT_THAT(told.frames, IsEmpty());
  EXPECT_EQ(rig.given_up(Reason::kTimeout), 1);
}

TEST(ReassembleAndTest, SaysNothingOfWhatBecomesWhole) {
  Told told;
  Rig rig(told);
  rig.SendAll({First(1), Second(1), Second(2), First(2)});
  rig.LetTimePass();
  EXPECT_THAT(told.frames, IsEmpty());
  EXPECT_THAT(rig.out(), SizeIs(3));
}

// Padding is no part of the packet.
TEST(ReassembleAndTest, GivesTheFragmentWithoutWhatWasBehindIt) {
  Told told;
  Rig rig(told);
  Bytes padded = First(1);
  const Bytes bare = padded;
  padded.resize(padded.size() + 9);
  rig.Send(padded);
  rig.LetTimePass();
  EXPECT_THAT(told.frames, ElementsAre(bare));
}

TEST(ReassembleAndTest, TellsOfOverlapsAndEndsThatDisagree) {
  Told told;
  Rig rig(told);
  const Datagram datagram = UdpDatagram(false, 1, 100);
  rig.Send(First(1));
  rig.Send(FragmentFrame(datagram, 8, 16, true));
  EXPECT_THAT(told.reasons, ElementsAre(Reason::kOverlap));
  rig.Send(First(2));
  rig.Send(FragmentFrame(UdpDatagram(false, 2, 100), 64, 44, false));
  rig.Send(FragmentFrame(UdpDatagram(false, 2, 200), 112, 16, true));
  EXPECT_THAT(told.reasons,
              ElementsAre(Reason::kOverlap, Reason::kEndsDisagree));
  EXPECT_THAT(told.frames, ElementsAre(First(1), First(2)));
  rig.LetTimePass();
  // Once.
  EXPECT_THAT(told.frames, SizeIs(2));
}

TEST(ReassembleAndTest, TellsOfTooManyFragments) {
  Told told;
  Rig rig(told, {.max_fragments_per_datagram = 8});
  const auto frames = CutEvenly(UdpDatagram(false, 1, 100), 8);
  for (const Bytes& frame : frames) rig.Send(frame);
  EXPECT_THAT(told.frames, ElementsAre(frames[0]));
  EXPECT_THAT(told.reasons, ElementsAre(Reason::kTooManyFragments));
}

TEST(ReassembleAndTest, TellsOfWhatMadeRoom) {
  Told told;
  {
    Rig rig(told, {.max_datagrams = 2});
    rig.SendAll({First(1), First(2), First(3)});
    EXPECT_THAT(told.frames, ElementsAre(First(1)));
    rig.LetTimePass();
  }
  {
    Rig rig(told,
            {.max_fragments_per_datagram = 2, .max_fragments_per_source = 2});
    rig.SendAll({First(4), First(5), First(6)});
    rig.LetTimePass();
  }
  {
    Rig rig(told, {.max_fragments_per_datagram = 2,
                   .max_fragments = 2,
                   .max_fragments_per_source = 2});
    Datagram other = UdpDatagram(false, 8, 100);
    other.source = "192.0.2.99";
    rig.SendAll({First(7), FragmentFrame(other, 0, 56, true), First(9)});
  }
  EXPECT_THAT(
      told.reasons,
      ElementsAre(Reason::kNoDatagrams, Reason::kTimeout, Reason::kTimeout,
                  Reason::kSourceShare, Reason::kTimeout, Reason::kTimeout,
                  Reason::kNoFragments, Reason::kTimeout, Reason::kTimeout));
}

// A fragment may push out many datagrams at once.
TEST(ReassembleAndTest, TellsOfAllThatMadeRoomForOneFragment) {
  Told told;
  Rig rig(told, {.max_bytes = 65535, .max_fragments_per_source = 8192});
  for (uint32_t id = 1; id <= 1000; ++id) {
    rig.Send(FragmentFrame(UdpDatagram(false, id, 100), 0, 64, true));
  }
  EXPECT_THAT(told.frames, IsEmpty());
  Datagram large = UdpDatagram(false, 2000, 65000);
  const auto frames = CutEvenly(large, 1400);
  for (const Bytes& frame : frames) rig.Send(frame);
  // 65,535 bytes have room for its 65,008 and for eight times 64.
  EXPECT_THAT(told.frames, SizeIs(992));
  EXPECT_EQ(rig.given_up(Reason::kNoBytes), 992);
}

TEST(ReassembleAndTest, AFragmentThatIsPassedOnGoesDownThePipeline) {
  Told told{.then = Told::Then::kPassOn};
  Rig rig(told);
  rig.Send(First(1));
  rig.LetTimePass();
  EXPECT_THAT(rig.out(), ElementsAre(MakeFrame(60, 0xee), First(1)));
  EXPECT_EQ(rig.stage().counts().made.value(), 1);
}

TEST(ReassembleAndTest, AFragmentMayBeKeptByTheHandler) {
  Told told{.then = Told::Then::kKeep};
  Rig rig(told);
  rig.Send(First(1));
  rig.LetTimePass();
  ASSERT_THAT(told.kept, SizeIs(1));
  EXPECT_EQ(BytesOf(*told.kept[0]), First(1));
  EXPECT_EQ(rig.held(), 0);
  EXPECT_EQ(rig.lab().pool->used_mbufs(), 1);
  told.kept.clear();
}

// More than a burst of them, and none is lost.
TEST(ReassembleAndTest, WhatDoesNotFitInABurstComesInTheNext) {
  Told told{.then = Told::Then::kPassOn};
  Rig rig(told, {.max_fragments_per_source = 8192});
  for (uint32_t id = 1; id <= 300; ++id) rig.Send(First(id));
  rig.LetTimePass();
  for (int i = 0; i < 10; ++i) rig.Send(MakeFrame(60, 0xee), 101 * kSecond + i);
  EXPECT_EQ(told.frames.size(), 300);
  EXPECT_EQ(rig.out().size(), 311);
}

// Nobody takes them: what finds no room is freed.
TEST(ReassembleAndTest, WhatWaitsIsBounded) {
  Lab lab;
  auto stage =
      *Reassemble::Create({.max_datagrams = 16, .keeps_abandoned = true});
  for (uint32_t id = 1; id <= 500; ++id) {
    Burst burst(lab.lcore.cache());
    Mbuf& first = MakePacket(lab.lcore.cache(), First(id));
    Parse().OnPacket(first, lab.lcore);
    burst.Adopt(first);
    stage.OnBurst(burst, lab.lcore);
  }
  EXPECT_EQ(lab.pool->used_mbufs(), 16 + 16 + 64);
  uint32_t waited = 0;
  for (; stage.has_abandoned(); ++waited) {
    const Reassemble::Abandoned gone = stage.TakeAbandoned(lab.lcore);
    // The oldest came first.
    EXPECT_EQ(BytesOf(*gone.first), First(waited + 1));
    EXPECT_EQ(gone.reason, Reason::kNoDatagrams);
    MbufPtr(*gone.first, lab.lcore.cache());
  }
  EXPECT_EQ(waited, 16 + 64);
  stage.Close(lab.lcore);
  while (stage.has_abandoned()) {
    MbufPtr(*stage.TakeAbandoned(lab.lcore).first, lab.lcore.cache());
  }
  EXPECT_EQ(lab.pool->used_mbufs(), 0);
}

TEST(ReassembleAndTest, TellsAtTheEndAndDropsWhatCannotGoOn) {
  Told told{.then = Told::Then::kPassOn};
  Lab lab;
  auto stage = *ListeningStage::Create({}, Listener(&told));
  Burst burst(lab.lcore.cache());
  Mbuf& first = MakePacket(lab.lcore.cache(), First(1));
  Parse().OnPacket(first, lab.lcore);
  burst.Adopt(first);
  stage.OnBurst(burst, lab.lcore);
  stage.Close(lab.lcore);
  EXPECT_THAT(told.reasons, ElementsAre(Reason::kClosed));
  EXPECT_EQ(lab.pool->used_mbufs(), 0);
  const auto& counts = stage.counts();
  // The fragment, and what was made of it.
  EXPECT_EQ(counts.drops[static_cast<size_t>(Reason::kClosed)].value(), 2);
  EXPECT_EQ(counts.made.value(), 1);
  EXPECT_EQ(counts.held.value(), 0);
}

// The rig sees to it that all is free and accounted for in the end.
TEST(ReassembleAndTest, EveryDatagramBecomesWholeOrIsToldOfOnceWhateverComes) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Told told;
    std::mt19937_64 random(seed);
    told.then = static_cast<Told::Then>(random() % 2);
    Rig rig(told, {.max_datagrams = 8,
                   .max_fragments_per_datagram = 9,
                   .max_fragments = 40});
    for (int i = 0; i < 2000; ++i) {
      const auto id = static_cast<uint32_t>(random() % 30);
      const size_t begin = random() % 4 * 24;
      const Datagram datagram = UdpDatagram(id % 2 == 0, id, 100);
      const bool is_last = begin == 72;
      rig.Send(FragmentFrame(datagram, begin,
                             is_last ? 36 : 24 + random() % 2 * 8, !is_last),
               static_cast<uint64_t>(i) * kSecond / 10);
    }
    rig.Send(MakeFrame(60, 0xee), 10'000 * kSecond);
    uint64_t given_up = 0;
    for (const Counter& count : rig.datagrams().given_up) {
      given_up += count.value();
    }
    EXPECT_GT(told.frames.size(), 100U);
    EXPECT_LE(told.frames.size(), given_up);
    EXPECT_EQ(rig.stage().counts().made.value(),
              rig.datagrams().completed.value() +
                  (told.then == Told::Then::kPassOn ? told.frames.size() : 0));
  }
}

}  // namespace
}  // namespace weir::testing
