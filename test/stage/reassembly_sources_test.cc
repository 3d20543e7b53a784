#include "weir/stage/reassembly_sources.h"

#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace weir {
namespace {

class ReassemblySourcesTest : public ::testing::Test {
 protected:
  // As if a datagram of the source was added, or its only one went.
  uint32_t Open(uint32_t hash) {
    const uint32_t number = sources_.Take(hash);
    sources_[number].datagrams.oldest = 0;
    return number;
  }
  void Close(uint32_t number) {
    sources_[number].datagrams.oldest = ContextList::kNone;
    sources_.Release(number);
  }
  // Hash number `i` of those that are of one bucket.
  static uint32_t OfOneBucket(uint32_t i) { return 11 + 32 * i; }

  std::vector<ReassemblySources::Bucket> buckets_{
      ReassemblySources::BucketsFor(16)};
  ReassemblySources sources_{buckets_};
};

TEST_F(ReassemblySourcesTest, HasAsManyPlacesAsDatagramsAndAFewMore) {
  EXPECT_EQ(ReassemblySources::BucketsFor(1), 16u);
  EXPECT_EQ(ReassemblySources::BucketsFor(64), 16u);
  EXPECT_EQ(ReassemblySources::BucketsFor(65), 32u);
  EXPECT_EQ(ReassemblySources::BucketsFor(uint64_t{1} << 20),
            (uint64_t{1} << 20) / 4);
}

TEST_F(ReassemblySourcesTest, GivesEachSourceANumberOfItsOwn) {
  std::set<uint32_t> numbers;
  for (uint32_t i = 0; i < 4; ++i) numbers.insert(Open(OfOneBucket(i)));
  EXPECT_EQ(numbers.size(), 4u);
  for (uint32_t i = 0; i < 4; ++i) {
    const uint32_t number = Open(OfOneBucket(i));
    EXPECT_TRUE(numbers.contains(number));
    EXPECT_EQ(sources_[number].hash, OfOneBucket(i));
    // It has another datagram.
    sources_.Release(number);
  }
}

TEST_F(ReassemblySourcesTest, SharesWhereABucketIsFull) {
  for (uint32_t i = 0; i < 4; ++i) Open(OfOneBucket(i));
  const uint32_t number = Open(OfOneBucket(4));
  EXPECT_EQ(number / ReassemblySources::kWays, 5u);
  EXPECT_NE(sources_[number].hash, OfOneBucket(4));
}

TEST_F(ReassemblySourcesTest, GivesWhatIsFreeToTheNext) {
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < 4; ++i) numbers.push_back(Open(OfOneBucket(i)));
  Close(numbers[2]);
  EXPECT_EQ(Open(OfOneBucket(3)), numbers[3]);
  EXPECT_EQ(Open(OfOneBucket(7)), numbers[2]);
  EXPECT_EQ(sources_[numbers[2]].hash, OfOneBucket(7));
  Close(numbers[2]);
  // It was the one of 7, and is nobody's now.
  EXPECT_EQ(Open(OfOneBucket(2)), numbers[2]);
}

}  // namespace
}  // namespace weir
