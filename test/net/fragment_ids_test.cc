#include "weir/net/fragment_ids.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace weir::net {
namespace {

constexpr int kSample = 1 << 20;

// RFC 8200 §4.5: different from that of any other recent packet.
TEST(FragmentIdsTest, NoneComesTwice) {
  FragmentIds ids(1);
  std::vector<uint32_t> seen(kSample);
  for (uint32_t& id : seen) id = ids.Next();
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST(FragmentIdsTest, TheSeedDecides) {
  FragmentIds one(1);
  FragmentIds same(1);
  FragmentIds other(2);
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const uint32_t id = one.Next();
    EXPECT_EQ(id, same.Next());
    equal += id == other.Next() ? 1 : 0;
  }
  EXPECT_LE(equal, 1);
}

// Of numbers that look random every bit is set in half, and half of the bits
// change from one to the next: within six standard deviations, or 3 in 1024.
TEST(FragmentIdsTest, NeighboursHaveNothingInCommon) {
  FragmentIds ids(3);
  std::vector<int> set(32);
  std::vector<int> changed(32);
  uint32_t last = ids.Next();
  for (int i = 0; i < kSample; ++i) {
    const uint32_t id = ids.Next();
    for (uint32_t bit = 0; bit < 32; ++bit) {
      set[bit] += static_cast<int>(id >> bit & 1);
      changed[bit] += static_cast<int>((id ^ last) >> bit & 1);
    }
    last = id;
  }
  for (uint32_t bit = 0; bit < 32; ++bit) {
    EXPECT_NEAR(set[bit], kSample / 2, kSample * 3 / 1024) << bit;
    EXPECT_NEAR(changed[bit], kSample / 2, kSample * 3 / 1024) << bit;
  }
}

}  // namespace
}  // namespace weir::net
