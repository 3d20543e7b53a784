// What holds of any fragments in any order.

#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"

namespace weir::testing {
namespace {

class ReassemblePropertyTest : public ::testing::TestWithParam<bool> {};

TEST_P(ReassemblePropertyTest, AnyOrderWithAnyCopiesGivesTheOriginal) {
  ReassemblyRig rig({.max_fragments_per_datagram = 8191}, 9000);
  std::mt19937_64 random(1);
  for (uint32_t id = 1; id <= 150; ++id) {
    const Datagram datagram = UdpDatagram(
        GetParam(), id, 9 + random() % (id % 10 == 0 ? 60000 : 3000));
    const size_t most = id % 3 == 0 ? 2 : 1 + random() % 180;
    std::vector<Bytes> frames = CutAtRandom(datagram, most, id);
    if (frames.size() < 2) continue;
    const size_t fragments = frames.size();
    for (size_t copies = random() % 4; copies > 0; --copies) {
      frames.push_back(frames[random() % fragments]);
    }
    std::shuffle(frames.begin(), frames.end(), random);
    const size_t before = rig.out().size();
    rig.SendAll(frames, id);
    ASSERT_GT(rig.out().size(), before) << "datagram " << id;
    ASSERT_EQ(rig.out()[before], WholeFrame(datagram)) << "datagram " << id;
  }
}

// A forger's pieces under the same identification, each across a bound of two
// of the original's: what comes out is the original, if it was complete before.
TEST_P(ReassemblePropertyTest, NoOverlapGivesAMixture) {
  ReassemblyRig rig;
  std::mt19937_64 random(2);
  uint64_t completed = 0;
  for (uint32_t id = 1; id <= 1000; ++id) {
    const size_t pieces = 2 + random() % 6;
    const Datagram genuine = UdpDatagram(GetParam(), id, 16 * pieces - 8);
    Datagram forged = UdpDatagram(GetParam(), id + 10'000, 16 * pieces - 8);
    forged.id = id;
    std::vector<Bytes> frames = CutEvenly(genuine, 16);
    for (size_t i = 1 + random() % (pieces - 1); i < pieces; i += 3) {
      const size_t begin = 16 * i - 8;
      const size_t bytes = 16 * (1 + random() % (pieces - i));
      frames.push_back(FragmentFrame(forged, begin,
                                     std::min(bytes, 16 * pieces - begin),
                                     random() % 2 == 0));
    }
    std::shuffle(frames.begin(), frames.end(), random);
    const size_t before = rig.out().size();
    rig.SendAll(frames, id * 100 * kSecond);
    for (size_t i = before; i < rig.out().size(); ++i) {
      ASSERT_EQ(rig.out()[i], WholeFrame(genuine)) << "datagram " << id;
      ++completed;
    }
  }
  // Some come through: the property is not kept by dropping everything.
  EXPECT_GT(completed, 100);
  EXPECT_GT(rig.drops(ReassemblyDrop::kOverlap), 1000);
}

TEST_P(ReassemblePropertyTest, PiecesOfManyDatagramsKeepApart) {
  ReassemblyRig rig({.max_fragments_per_source = 8192}, 8192);
  std::mt19937_64 random(3);
  std::vector<Bytes> frames;
  std::multiset<Bytes> expected;
  for (uint32_t id = 1; id <= 500; ++id) {
    const Datagram datagram =
        UdpDatagram(GetParam(), id, 500 + random() % 1000);
    const auto pieces = CutAtRandom(datagram, 40, id);
    frames.insert(frames.end(), pieces.begin(), pieces.end());
    expected.insert(WholeFrame(datagram));
  }
  std::shuffle(frames.begin(), frames.end(), random);
  rig.SendAll(frames);
  const std::multiset<Bytes> got(rig.out().begin(), rig.out().end());
  EXPECT_TRUE(got == expected) << got.size() << " came out";
}

// Bounds as in the options, whatever comes; the rig sees that all of it is
// released in the end.
TEST_P(ReassemblePropertyTest, HoldsNoMoreThanItMayOfAnything) {
  const ReassemblyOptions options{.max_datagrams = 20,
                                  .max_fragments_per_datagram = 10,
                                  .max_fragments = 60,
                                  .max_bytes = 70'000,
                                  .max_fragments_per_source = 30};
  ReassemblyRig rig(options);
  std::mt19937_64 random(4);
  Datagram datagram = UdpDatagram(GetParam(), 1, 65000);
  uint64_t now = 0;
  for (int i = 0; i < 20'000; ++i) {
    datagram.id = random() % 40;
    datagram.source = (GetParam() ? "2001:db8::" : "192.0.2.") +
                      std::to_string(10 + datagram.id % 7);
    const size_t begin = 8 * (random() % 200) * (random() % 20 == 0 ? 30 : 1);
    const size_t bytes = 8 * (1 + random() % (random() % 10 == 0 ? 180 : 9));
    now += random() % kSecond;
    rig.Send(FragmentFrame(datagram, begin, bytes, random() % 6 != 0), now);
    const auto& datagrams = rig.datagrams();
    ASSERT_LE(rig.held(), options.max_fragments);
    ASSERT_LE(rig.bytes_held(), options.max_bytes);
    ASSERT_LE(datagrams.pending.value() + datagrams.remembered.value(),
              options.max_datagrams);
  }
  // It came to the bounds.
  EXPECT_GT(rig.drops(ReassemblyDrop::kNoDatagrams) +
                rig.drops(ReassemblyDrop::kNoFragments),
            0);
}

INSTANTIATE_TEST_SUITE_P(Ip, ReassemblePropertyTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& version) {
                           return std::string(version.param ? "v6" : "v4");
                         });

}  // namespace
}  // namespace weir::testing
