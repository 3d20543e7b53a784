// What a burst brings at once makes no difference: fragments that come in
// bursts give what they give one by one, and are counted alike.

#include <algorithm>
#include <cstdint>
#include <random>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"

namespace weir::testing {
namespace {

using ::testing::ElementsAre;

// A stage on the clock of its lcore, to which frames come in bursts.
class BurstRig {
 public:
  explicit BurstRig(ReassemblyOptions options)
      : lab_(4096), stage_(*Reassemble::Create(options)) {}
  BurstRig(const BurstRig&) = delete;
  BurstRig& operator=(const BurstRig&) = delete;
  ~BurstRig() {
    stage_.Close(lab_.lcore);
    EXPECT_EQ(stage_.counts().held.value(), 0);
    EXPECT_EQ(stage_.bytes_held(), 0);
    EXPECT_EQ(lab_.pool->used_mbufs(), 0);
  }

  void Send(const std::vector<Bytes>& frames) {
    Burst burst(lab_.lcore.cache());
    for (const Bytes& frame : frames) {
      Mbuf& packet = MakePacket(lab_.lcore.cache(), frame);
      burst.Adopt(packet);
      // A fragment that says it is all may be malformed.
      if (parse_.OnPacket(packet, lab_.lcore).is_pass()) continue;
      burst.ReleaseBack(1);
      Mbuf* const dropped = &packet;
      lab_.lcore.cache().FreePackets({&dropped, 1});
    }
    stage_.OnBurst(burst, lab_.lcore);
    for (const Mbuf* packet : burst.mbufs()) {
      out_.push_back(BytesOf(*packet));
      infos_.push_back(packet->info());
      EXPECT_EQ(packet->frame_bytes(), out_.back().size());
    }
  }

  const std::vector<Bytes>& out() const { return out_; }
  const std::vector<PacketInfo>& infos() const { return infos_; }
  // All that is counted.
  std::vector<uint64_t> Counts() const {
    std::vector<uint64_t> all;
    const auto& packets = stage_.counts();
    const DatagramCounts& datagrams = stage_.datagrams();
    for (const Counter& drop : packets.drops) all.push_back(drop.value());
    for (const Counter& gone : datagrams.given_up) all.push_back(gone.value());
    for (const Counter* one :
         {&packets.taken, &packets.made, &packets.held, &datagrams.begun,
          &datagrams.completed, &datagrams.pending, &datagrams.remembered}) {
      all.push_back(one->value());
    }
    all.push_back(stage_.bytes_held());
    return all;
  }
  uint64_t begun() const { return stage_.datagrams().begun.value(); }

 private:
  Lab lab_;
  Parse parse_;
  Reassemble stage_;
  std::vector<Bytes> out_;
  std::vector<PacketInfo> infos_;
};

// Fragments of one datagram as they may come.
std::vector<Bytes> Arrival(bool is_ipv6, uint32_t id, std::mt19937& random) {
  const size_t unit = 8 * (1 + random() % 40);
  Datagram datagram = UdpDatagram(is_ipv6, id, 40 + random() % (unit * 20));
  std::vector<Bytes> frames = CutEvenly(datagram, unit);
  switch (random() % 8) {
    case 0:
      std::reverse(frames.begin(), frames.end());
      break;
    case 1:
      std::shuffle(frames.begin(), frames.end(), random);
      break;
    case 2:
      frames.erase(frames.begin() +
                   static_cast<long>(random() % frames.size()));
      break;
    case 3:
      frames.insert(
          frames.begin() + static_cast<long>(random() % frames.size()),
          frames[random() % frames.size()]);
      break;
    case 4:
      // An overlap, or another end.
      frames.insert(
          frames.begin() + static_cast<long>(random() % frames.size()),
          FragmentFrame(datagram, 0, 8 * (1 + random() % 4),
                        random() % 2 == 0));
      break;
    default:
      break;
  }
  return frames;
}

// The limits, and IPv6 or not.
class ReassembleBurstTest
    : public ::testing::TestWithParam<std::tuple<ReassemblyOptions, bool>> {};

TEST_P(ReassembleBurstTest, GivesWhatItsFramesGiveOneByOne) {
  auto [options, is_ipv6] = GetParam();
  std::mt19937 random(5);
  options.seed.emplace();
  for (uint64_t& number : *options.seed) number = random() * 0x100000001ULL;
  BurstRig together(options);
  BurstRig alone(options);
  std::vector<Bytes> waiting;
  for (uint32_t id = 1; id <= 3000; ++id) {
    // Some identifications come again.
    for (const Bytes& frame : Arrival(is_ipv6, 1 + id % 700, random)) {
      waiting.push_back(frame);
      if (random() % 30 == 0) waiting.push_back(MakeFrame(60, 0xee));
    }
    if (random() % 4 == 0 && waiting.size() > 1) {
      const size_t last = waiting.size() - 1;
      std::swap(waiting[random() % last], waiting[last]);
    }
    while (waiting.size() >= 64) {
      const auto end = waiting.begin() + 1 + static_cast<long>(random() % 64);
      const std::vector<Bytes> burst(waiting.begin(), end);
      waiting.erase(waiting.begin(), end);
      together.Send(burst);
      for (const Bytes& frame : burst) alone.Send({frame});
      ASSERT_EQ(together.Counts(), alone.Counts()) << "datagram " << id;
    }
  }
  EXPECT_EQ(together.out(), alone.out());
  EXPECT_EQ(together.infos(), alone.infos());
  EXPECT_GT(together.out().size(), 100);
}

INSTANTIATE_TEST_SUITE_P(
    Limits, ReassembleBurstTest,
    ::testing::Combine(
        ::testing::Values(ReassemblyOptions{},
                          ReassemblyOptions{.max_datagrams = 4},
                          ReassemblyOptions{.max_fragments_per_datagram = 9,
                                            .max_fragments = 70,
                                            .max_fragments_per_source = 60},
                          ReassemblyOptions{.max_fragments = 500,
                                            .max_bytes = 65535,
                                            .max_fragments_per_source = 500}),
        ::testing::Bool()));

TEST(ReassembleRunTest, ABurstInOrderIsADatagramAtOnce) {
  BurstRig rig({});
  const Datagram datagram = UdpDatagram(false, 1, 1000);
  rig.Send(CutEvenly(datagram, 56));
  EXPECT_THAT(rig.out(), ElementsAre(WholeFrame(datagram)));
}

TEST(ReassembleRunTest, ADatagramThatBeganBeforeGoesOnInARun) {
  BurstRig rig({});
  const Datagram datagram = UdpDatagram(true, 1, 1000);
  const auto frames = CutEvenly(datagram, 56);
  rig.Send({frames.begin(), frames.begin() + 5});
  rig.Send({frames.begin() + 5, frames.end()});
  EXPECT_THAT(rig.out(), ElementsAre(WholeFrame(datagram)));
  EXPECT_EQ(rig.begun(), 1);
}

// What is left of a datagram that began before is not made another one.
TEST(ReassembleRunTest, AWholeDatagramWhoseBeginIsThereIsACopyAndTheRest) {
  BurstRig rig({});
  const Datagram datagram = UdpDatagram(false, 1, 1000);
  const auto frames = CutEvenly(datagram, 56);
  rig.Send({frames[0]});
  rig.Send(frames);
  EXPECT_THAT(rig.out(), ElementsAre(WholeFrame(datagram)));
  EXPECT_EQ(rig.begun(), 1);
}

}  // namespace
}  // namespace weir::testing
