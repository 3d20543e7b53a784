// No bound is exceeded, whatever comes: what is held at one less than it, at it
// and beyond it.

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Reason = ReassemblyDrop;

Bytes First(uint32_t id) {
  return FragmentFrame(UdpDatagram(false, id, 100), 0, 56, true);
}
Bytes Second(uint32_t id) {
  return FragmentFrame(UdpDatagram(false, id, 100), 56, 52, false);
}
Bytes Whole(uint32_t id) { return WholeFrame(UdpDatagram(false, id, 100)); }

// A datagram from source number `source`, and its fragments.
Datagram From(uint32_t source, uint32_t id, size_t bytes = 100) {
  Datagram datagram = UdpDatagram(false, id, bytes);
  datagram.source = "10.0.0." + std::to_string(source);
  return datagram;
}
Bytes FirstFrom(uint32_t source, uint32_t id) {
  return FragmentFrame(From(source, id), 0, 56, true);
}
Bytes SecondFrom(uint32_t source, uint32_t id) {
  return FragmentFrame(From(source, id), 56, 52, false);
}

ReassemblySeed RandomSeed(std::mt19937_64& random) {
  ReassemblySeed seed;
  for (uint64_t& number : seed) number = random();
  return seed;
}

TEST(ReassembleBoundsTest, HoldsAsManyDatagramsAsAreAllowedAndNoMore) {
  ReassemblyRig rig({.max_datagrams = 16});
  for (uint32_t id = 1; id <= 15; ++id) rig.Send(First(id));
  EXPECT_EQ(rig.datagrams().pending.value(), 15);
  rig.Send(First(16));
  EXPECT_EQ(rig.datagrams().pending.value(), 16);
  EXPECT_EQ(rig.given_up(Reason::kNoDatagrams), 0);
  rig.Send(First(17));
  EXPECT_EQ(rig.datagrams().pending.value(), 16);
  EXPECT_EQ(rig.drops(Reason::kNoDatagrams), 1);
}

// The oldest makes room, so that a table full of pieces takes new datagrams.
TEST(ReassembleBoundsTest, TheOldestDatagramMakesRoom) {
  ReassemblyRig rig({.max_datagrams = 16});
  for (uint32_t id = 1; id <= 17; ++id) rig.Send(First(id));
  for (uint32_t id = 2; id <= 17; ++id) rig.Send(Second(id));
  EXPECT_EQ(rig.out().size(), 16);
  rig.Send(Second(1));
  EXPECT_EQ(rig.out().size(), 16);
}

TEST(ReassembleBoundsTest, AFullTableIsEmptyWhenTheTimeIsUp) {
  ReassemblyRig rig({.max_datagrams = 16});
  for (uint32_t id = 1; id <= 64; ++id) rig.Send(First(id), id);
  rig.Send(First(2000), 31 * kSecond);
  rig.Send(Second(2000), 31 * kSecond);
  EXPECT_THAT(rig.out(), ElementsAre(Whole(2000)));
  EXPECT_EQ(rig.given_up(Reason::kNoDatagrams), 48);
  EXPECT_EQ(rig.given_up(Reason::kTimeout), 16);
}

TEST(ReassembleBoundsTest, HoldsOneDatagramIfOneIsAllowed) {
  ReassemblyRig rig({.max_datagrams = 1});
  rig.SendAll({First(1), First(2), Second(2), First(3), Second(3)});
  EXPECT_THAT(rig.out(), ElementsAre(Whole(2), Whole(3)));
}

TEST(ReassembleBoundsTest, ADatagramHasAsManyFragmentsAsAreAllowed) {
  for (const uint32_t limit : {2, 6, 7, 8, 63, 64, 65, 200}) {
    ReassemblyRig rig({.max_fragments_per_datagram = limit});
    for (const uint32_t count : {limit - 1, limit, limit + 1}) {
      const Datagram datagram = UdpDatagram(false, count, 8 * (count - 1));
      const auto frames = CutEvenly(datagram, 8);
      ASSERT_EQ(frames.size(), count);
      for (size_t i = frames.size(); i-- > 0;) rig.Send(frames[i]);
    }
    EXPECT_EQ(rig.out().size(), 2U);
    EXPECT_EQ(rig.given_up(Reason::kTooManyFragments), 1);
    EXPECT_EQ(rig.drops(Reason::kTooManyFragments), limit + 1);
  }
}

TEST(ReassembleBoundsTest, ACopyIsNoFragmentTooMany) {
  ReassemblyRig rig({.max_fragments_per_datagram = 8});
  const Datagram datagram = UdpDatagram(false, 1, 56);
  const auto frames = CutEvenly(datagram, 8);
  ASSERT_EQ(frames.size(), 8);
  for (size_t i = 1; i < 8; ++i) rig.Send(frames[i]);
  rig.SendAll({frames[3], frames[7], frames[3], frames[0]});
  EXPECT_THAT(rig.out(), ElementsAre(WholeFrame(datagram)));
}

TEST(ReassembleBoundsTest, TakesThe8191FragmentsThatADatagramCanHave) {
  ReassemblyRig rig({.max_fragments_per_datagram = 8191, .max_fragments = 8191},
                    9000);
  // RFC 8200: 65,528 bytes of data are 8191 units.
  Datagram datagram = UdpDatagram(true, 1, 65520);
  const auto frames = CutEvenly(datagram, 8);
  ASSERT_EQ(frames.size(), 8191);
  // Every 17th, then every 17th from the next on: no neighbours for long.
  for (size_t from = 0; from < 17; ++from) {
    for (size_t i = from; i < frames.size(); i += 17) rig.Send(frames[i]);
  }
  EXPECT_THAT(rig.out(), ElementsAre(WholeFrame(datagram)));
}

TEST(ReassembleBoundsTest, HoldsAsManyFragmentsAsAreAllowedAndNoMore) {
  ReassemblyRig rig({.max_fragments_per_datagram = 2,
                     .max_fragments = 20,
                     .max_fragments_per_source = 20});
  for (uint32_t id = 1; id <= 19; ++id) rig.Send(First(id));
  EXPECT_EQ(rig.held(), 19);
  rig.Send(First(20));
  EXPECT_EQ(rig.held(), 20);
  EXPECT_EQ(rig.drops(Reason::kSourceShare), 0);
  rig.Send(First(21));
  EXPECT_EQ(rig.held(), 20);
  EXPECT_EQ(rig.drops(Reason::kSourceShare), 1);
}

TEST(ReassembleBoundsTest, FragmentsOfManySourcesShareTheRoomForAll) {
  ReassemblyRig rig({.max_fragments_per_datagram = 2,
                     .max_fragments = 20,
                     .max_fragments_per_source = 20});
  for (uint32_t i = 1; i <= 40; ++i) rig.Send(FirstFrom(i, 1));
  EXPECT_EQ(rig.held(), 20);
  EXPECT_EQ(rig.drops(Reason::kNoFragments), 20);
}

TEST(ReassembleBoundsTest, HoldsAsManyBytesAsAreAllowedAndNoMore) {
  // Room for 65,536 bytes: 1170 fragments of 56 bytes are 65,520.
  ReassemblyRig rig({.max_bytes = 65536});
  for (uint32_t id = 1; id <= 1170; ++id) rig.Send(First(id));
  EXPECT_EQ(rig.bytes_held(), 65520);
  EXPECT_EQ(rig.drops(Reason::kNoBytes), 0);
  rig.Send(FragmentFrame(UdpDatagram(false, 2000, 100), 0, 16, true));
  EXPECT_EQ(rig.bytes_held(), 65536);
  EXPECT_EQ(rig.drops(Reason::kNoBytes), 0);
  rig.Send(FragmentFrame(UdpDatagram(false, 2001, 100), 0, 8, true));
  EXPECT_EQ(rig.bytes_held(), 65536 - 56 + 8);
  EXPECT_EQ(rig.drops(Reason::kNoBytes), 1);
}

TEST(ReassembleBoundsTest, ASourceHasNoMoreThanItsShare) {
  ReassemblyRig rig({.max_fragments_per_datagram = 8,
                     .max_fragments = 100,
                     .max_fragments_per_source = 10});
  rig.Send(FirstFrom(99, 7));
  for (uint32_t id = 1; id <= 9; ++id) rig.Send(FirstFrom(1, id));
  EXPECT_EQ(rig.held(), 10);
  rig.Send(FirstFrom(1, 10));
  EXPECT_EQ(rig.held(), 11);
  EXPECT_EQ(rig.drops(Reason::kSourceShare), 0);
  // Its own oldest makes room, nobody else's.
  for (uint32_t id = 11; id <= 1000; ++id) rig.Send(FirstFrom(1, id));
  EXPECT_EQ(rig.held(), 11);
  EXPECT_EQ(rig.drops(Reason::kSourceShare), 990);
  rig.Send(SecondFrom(99, 7));
  EXPECT_THAT(rig.out(), ElementsAre(WholeFrame(From(99, 7))));
}

TEST(ReassembleBoundsTest, AFloodCostsNobodyElse) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    ReassemblyRig rig({.max_datagrams = 16,
                       .max_fragments_per_datagram = 2,
                       .max_fragments = 40,
                       .max_fragments_per_source = 8,
                       .seed = RandomSeed(random)});
    for (uint32_t source = 1; source <= 6; ++source) {
      rig.Send(FirstFrom(source, 7));
    }
    for (uint32_t id = 1; id <= 100; ++id) rig.Send(FirstFrom(99, id));
    EXPECT_GE(rig.drops(Reason::kSourceShare), 92);
    for (uint32_t source = 1; source <= 6; ++source) {
      rig.Send(SecondFrom(source, 7));
    }
    EXPECT_EQ(rig.out().size(), 6) << "round " << round;
  }
}

// The same where what floods are fragments of datagrams that were begun before:
// a few large ones, or many.
TEST(ReassembleBoundsTest, AFloodOfOldDatagramsCostsNobodyElseEither) {
  struct Flood {
    uint32_t datagrams;
    uint32_t fragments;
  };
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const Flood flood = round % 2 == 0 ? Flood{4, 14} : Flood{19, 3};
    SCOPED_TRACE(round);
    ReassemblyRig rig({.max_datagrams = 32,
                       .max_fragments_per_datagram = 64,
                       .max_fragments = 400,
                       .max_fragments_per_source = 64,
                       .seed = RandomSeed(random)});
    std::vector<std::vector<Bytes>> large;
    for (uint32_t id = 1; id <= flood.datagrams; ++id) {
      large.push_back(CutEvenly(From(99, id, 8 * 63), 8));
      for (uint32_t i = 0; i < flood.fragments; ++i) rig.Send(large.back()[i]);
    }
    for (uint32_t source = 1; source <= 6; ++source) {
      rig.Send(FirstFrom(source, 7));
    }
    for (uint32_t i = 0; i < 40; ++i) {
      rig.Send(large[i % large.size()][flood.fragments + i / large.size()]);
    }
    EXPECT_GT(rig.drops(Reason::kSourceShare), 0);
    for (uint32_t source = 1; source <= 6; ++source) {
      rig.Send(SecondFrom(source, 7));
    }
    EXPECT_EQ(rig.out().size(), 6);
  }
}

// One that holds less than its share leaves others all of theirs.
TEST(ReassembleBoundsTest, ASourceThatHoldsLittleTakesNothingFromOthers) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 100; ++round) {
    SCOPED_TRACE(round);
    ReassemblyRig rig({.max_datagrams = 16,
                       .max_fragments_per_datagram = 64,
                       .max_fragments = 400,
                       .max_fragments_per_source = 64,
                       .seed = RandomSeed(random)});
    const std::vector<Bytes> frames = CutEvenly(From(99, 1, 8 * 63), 8);
    for (uint32_t i = 0; i < 31; ++i) rig.Send(frames[i]);
    for (uint32_t source = 1; source <= 5; ++source) {
      for (const Bytes& frame : CutEvenly(From(source, 7, 8 * 60), 8)) {
        rig.Send(frame);
      }
    }
    EXPECT_EQ(rig.out().size(), 5);
    EXPECT_EQ(rig.drops(Reason::kSourceShare), 0);
  }
}

TEST(ReassembleBoundsTest, WhatIsRememberedCountsForItsSource) {
  ReassemblyRig rig({.max_fragments_per_datagram = 2,
                     .max_fragments = 100,
                     .max_fragments_per_source = 5});
  for (uint32_t id = 1; id <= 50; ++id) {
    rig.Send(First(id));
    rig.Send(FragmentFrame(UdpDatagram(false, id, 100), 8, 8, true));
  }
  // The fifth made room for the fragment that overlapped.
  EXPECT_EQ(rig.datagrams().remembered.value(), 4);
  EXPECT_EQ(rig.held(), 0);
}

TEST(ReassembleBoundsTest, AWholeDatagramFitsIntoTheSmallestBounds) {
  ReassemblyRig rig({.max_datagrams = 1,
                     .max_fragments_per_datagram = 45,
                     .max_fragments = 45,
                     .max_bytes = 65535});
  const Datagram datagram = UdpDatagram(true, 1, 65527);
  rig.Send(First(1));
  const auto frames = CutEvenly(datagram, 1480);
  for (size_t i = frames.size(); i-- > 0;) rig.Send(frames[i]);
  EXPECT_THAT(rig.out(), ElementsAre(WholeFrame(datagram)));
}

TEST(ReassemblyOptionsTest, SaysWhichOptionIsOutOfRange) {
  const auto message = [](const ReassemblyOptions& options) {
    return std::string(Reassemble::Create(options).status().message());
  };
  EXPECT_EQ(message({.max_datagrams = 0}),
            "reassembly: max_datagrams is 0, has to be from 1 to 1048576");
  EXPECT_EQ(message({.max_fragments_per_datagram = 8192}),
            "reassembly: max_fragments_per_datagram is 8192, has to be from 2 "
            "to 8191");
  EXPECT_EQ(message({.max_fragments = 63}),
            "reassembly: max_fragments is 63, has to be from 64 to 16777216");
  EXPECT_EQ(message({.max_bytes = 65534}),
            "reassembly: max_bytes is 65534, has to be from 65535 to "
            "1099511627776");
  EXPECT_EQ(message({.max_fragments_per_source = 63}),
            "reassembly: max_fragments_per_source is 63, has to be from 64 to "
            "8192");
  EXPECT_EQ(message({.ipv4_timeout_ns = 0}),
            "reassembly: ipv4_timeout_ns is 0, has to be from 1 to "
            "3600000000000");
}

}  // namespace
}  // namespace weir::testing
