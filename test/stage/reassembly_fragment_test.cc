// The hash of a fragment's datagram: keys with a pattern find their places
// under every seed.

#include "weir/stage/reassembly_fragment.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"
#include "weir/stage/datagram_index.h"
#include "weir/stage/read_fragment.h"

namespace weir::testing {
namespace {

constexpr uint32_t kDatagrams = 512;

class ReassemblyFragmentHash : public ::testing::TestWithParam<bool> {
 protected:
  ReassemblyFragmentHash()
      : frame_(FragmentFrame(UdpDatagram(GetParam(), 0, 64), 0, 64, true)),
        packet_(MakePacket(lab_.lcore.cache(), frame_)) {
    EXPECT_TRUE(parse_.OnPacket(packet_, lab_.lcore).is_pass());
    // What is written into the header is not wrong for its checksum.
    packet_.info().set_ip_checksum(ChecksumState::kGood);
  }
  ~ReassemblyFragmentHash() override {
    Mbuf* const packet = &packet_;
    lab_.lcore.cache().FreePackets({&packet, 1});
  }

  // The four bytes that end at `end`, in network byte order.
  void Put32(size_t end, uint32_t value) {
    for (size_t i = 1; i <= 4; ++i, value >>= 8) {
      packet_.data()[end - i] = static_cast<std::byte>(value);
    }
  }
  size_t l3() const { return packet_.info().l3_offset; }
  // Of the source address, and of the identification.
  size_t end_of_source() const { return l3() + (GetParam() ? 24 : 16); }
  void PutId(uint32_t id) {
    if (GetParam()) {
      Put32(packet_.info().l4_offset, id);
    } else {
      packet_.data()[l3() + 4] = static_cast<std::byte>(id >> 8);
      packet_.data()[l3() + 5] = static_cast<std::byte>(id);
    }
  }

  // Gives an index the datagrams that `write` makes, with many seeds; the
  // number of seeds under which one found no place.
  uint32_t SeedsWithoutPlace(const std::function<void(uint32_t i)>& write) {
    std::mt19937_64 random(1);
    std::vector<DatagramIndex::Bucket> buckets(
        DatagramIndex::BucketsFor(kDatagrams));
    uint32_t without = 0;
    for (int round = 0; round < 3000; ++round) {
      ReassemblySeed seed;
      for (uint64_t& number : seed) number = random();
      std::memset(static_cast<void*>(buckets.data()), 0,
                  buckets.size() * sizeof buckets[0]);
      DatagramIndex index(buckets);
      bool all = true;
      for (uint32_t i = 0; i < kDatagrams; ++i) {
        write(i);
        ReassemblyFragment read;
        ReadFragment(packet_, seed, read);
        all = index.Insert(DatagramHash(read.key, seed), i) !=
                  DatagramIndex::kNone &&
              all;
      }
      without += all ? 0 : 1;
    }
    return without;
  }

  Lab lab_;
  Parse parse_;
  Bytes frame_;
  Mbuf& packet_;
};

TEST_P(ReassemblyFragmentHash, SpreadsIdsThatAreCountedUp) {
  EXPECT_EQ(SeedsWithoutPlace([this](uint32_t i) { PutId(i); }), 0);
}

TEST_P(ReassemblyFragmentHash, SpreadsIdsOfTheOtherByteOrder) {
  EXPECT_EQ(SeedsWithoutPlace([this](uint32_t i) { PutId(i << 7); }), 0);
}

TEST_P(ReassemblyFragmentHash, SpreadsSourcesInARow) {
  EXPECT_EQ(SeedsWithoutPlace(
                [this](uint32_t i) { Put32(end_of_source(), 0x0a000000 + i); }),
            0);
}

TEST_P(ReassemblyFragmentHash, SpreadsIdsOfSeveralSources) {
  EXPECT_EQ(SeedsWithoutPlace([this](uint32_t i) {
              Put32(end_of_source(), 0x0a000000 + i % 8);
              PutId(i / 8);
            }),
            0);
}

// Sources that share a place share what one may hold.
TEST_P(ReassemblyFragmentHash, SpreadsTheSharesOfSources) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 3000; ++round) {
    ReassemblySeed seed;
    for (uint64_t& number : seed) number = random();
    std::vector<uint32_t> sources(kDatagrams, 0);
    uint32_t most = 0;
    for (uint32_t i = 0; i < kDatagrams; ++i) {
      Put32(end_of_source(), 0x0a000000 + i);
      ReassemblyFragment read;
      ReadFragment(packet_, seed, read);
      uint32_t& count = sources[SourceHash(read, seed) % kDatagrams];
      most = std::max(most, ++count);
    }
    // By chance alone 13 in one place are met once in 10^10 places.
    ASSERT_LE(most, 13) << "seed " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(BothVersions, ReassemblyFragmentHash,
                         ::testing::Bool());

}  // namespace
}  // namespace weir::testing
