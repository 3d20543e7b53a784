#include "weir/hca/process_maps.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"

namespace weir::hca {
namespace {

// Pages in a row: free, read-write, read-only, no access, read-write, free.
class ProcessMapsTest : public ::testing::Test {
 protected:
  enum Page : size_t { kFree, kFirst, kReadOnly, kNone, kLast, kFreeToo };

  ProcessMapsTest() {
    EXPECT_EQ(mprotect(At(kReadOnly), page_, PROT_READ), 0);
    EXPECT_EQ(mprotect(At(kNone), page_, PROT_NONE), 0);
    EXPECT_EQ(munmap(At(kFree), page_), 0);
    EXPECT_EQ(munmap(At(kFreeToo), page_), 0);
  }
  ~ProcessMapsTest() override { munmap(At(kFirst), 4 * page_); }

  std::byte* At(Page page) const { return memory_ + page * page_; }
  uint64_t AddressOf(Page page) const {
    return std::bit_cast<uintptr_t>(At(page));
  }

  const size_t page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::byte* const memory_ =
      static_cast<std::byte*>(mmap(nullptr, 6 * page_, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

TEST_F(ProcessMapsTest, FindsMappingsWhicheverWayItAsks) {
  for (const auto way : {ProcessMaps::Way::kBest, ProcessMaps::Way::kList}) {
    ProcessMaps maps(way);
    ASSERT_TRUE(maps.is_open());
    EXPECT_FALSE(maps.Find(AddressOf(kFree)).has_value());
  }
  for (const auto way : {ProcessMaps::Way::kBest, ProcessMaps::Way::kList}) {
    ProcessMaps maps(way);
    const auto first = maps.Find(AddressOf(kFirst) + page_ - 1);
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->first, AddressOf(kFirst));
    EXPECT_EQ(first->last, AddressOf(kReadOnly));
    EXPECT_TRUE(first->readable);
    EXPECT_TRUE(first->writable);
    const auto read_only = maps.Find(AddressOf(kReadOnly));
    ASSERT_TRUE(read_only.has_value());
    EXPECT_TRUE(read_only->readable);
    EXPECT_FALSE(read_only->writable);
    const auto none = maps.Find(AddressOf(kNone));
    ASSERT_TRUE(none.has_value());
    EXPECT_FALSE(none->readable);
    EXPECT_FALSE(none->writable);
    const auto last = maps.Find(AddressOf(kLast));
    ASSERT_TRUE(last.has_value());
    EXPECT_EQ(last->last, AddressOf(kFreeToo));
    EXPECT_FALSE(maps.Find(AddressOf(kFreeToo)).has_value());
  }
}

TEST_F(ProcessMapsTest, PermitsWhatAllPagesOfARangePermit) {
  const auto reads = [this](Page from, size_t pages) {
    return IsPermitted(At(from), pages * page_, MemoryUse::kReads);
  };
  const auto writes = [this](Page from, size_t pages) {
    return IsPermitted(At(from), pages * page_, MemoryUse::kWrites);
  };
  EXPECT_TRUE(writes(kFirst, 1));
  EXPECT_FALSE(writes(kFirst, 2));
  EXPECT_TRUE(reads(kFirst, 2));
  EXPECT_FALSE(reads(kFirst, 3));
  EXPECT_FALSE(reads(kNone, 1));
  EXPECT_TRUE(writes(kLast, 1));
  EXPECT_FALSE(reads(kLast, 2));
  EXPECT_FALSE(reads(kFree, 2));
}

TEST_F(ProcessMapsTest, LooksAtBytesAndNotAtPages) {
  EXPECT_TRUE(IsPermitted(At(kReadOnly) - 1, 1, MemoryUse::kWrites));
  EXPECT_FALSE(IsPermitted(At(kReadOnly) - 1, 2, MemoryUse::kWrites));
  EXPECT_TRUE(IsPermitted(At(kLast) + 1, page_ - 1, MemoryUse::kWrites));
}

}  // namespace
}  // namespace weir::hca
