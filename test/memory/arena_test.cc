#include "weir/memory/arena.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "weir/memory/memory_info.h"

namespace weir {
namespace {

constexpr size_t kMiB = 1024 * 1024;
constexpr size_t kGiB = 1024 * kMiB;
constexpr const char* kTransparentEnabled =
    "/sys/kernel/mm/transparent_hugepage/enabled";

std::string ReadLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void WriteLine(const std::string& path, const std::string& text) {
  std::ofstream(path) << text << std::endl;
}

// Huge pages of one size, reserved while this lives, if the machine lets us.
class ReservedPages {
 public:
  ReservedPages(size_t page_kib, int count)
      : folder_(absl::StrCat("/sys/kernel/mm/hugepages/hugepages-", page_kib,
                             "kB/")),
        before_(ReadLine(folder_ + "nr_hugepages")) {
    WriteLine(folder_ + "nr_hugepages",
              absl::StrCat(std::atoi(before_.c_str()) + count));
  }
  ReservedPages(const ReservedPages&) = delete;
  ReservedPages& operator=(const ReservedPages&) = delete;
  ~ReservedPages() {
    if (!before_.empty()) WriteLine(folder_ + "nr_hugepages", before_);
  }

  int free() const {
    return std::atoi(ReadLine(folder_ + "free_hugepages").c_str());
  }

 private:
  std::string folder_;
  std::string before_;
};

bool AllZero(const Arena& arena) {
  return std::ranges::all_of(arena.bytes(),
                             [](std::byte b) { return b == std::byte{0}; });
}

bool AlignedTo(const Arena& arena, size_t bytes) {
  return reinterpret_cast<uintptr_t>(arena.bytes().data()) % bytes == 0;
}

TEST(ArenaTest, GivesZeroedWritableMemoryOfAtLeastTheSizeAskedFor) {
  auto arena = Arena::Create({.bytes = 3 * kMiB + 1});
  ASSERT_TRUE(arena.ok()) << arena.status();
  ASSERT_GE(arena->bytes().size(), 3 * kMiB + 1);
  EXPECT_TRUE(AllZero(*arena));
  std::ranges::fill(arena->bytes(), std::byte{0x5a});
  EXPECT_EQ(arena->bytes().back(), std::byte{0x5a});
}

TEST(ArenaTest, FourKiBIsNotPromotedWhenItIsAskedFor) {
  auto arena =
      Arena::Create({.bytes = 8 * kMiB + 1, .best_rung = PageRung::k4KiB});
  ASSERT_TRUE(arena.ok()) << arena.status();
  EXPECT_EQ(arena->rung(), PageRung::k4KiB);
  EXPECT_EQ(arena->bytes().size(), 8 * kMiB + 4096);
  EXPECT_EQ(internal::HugeBackedBytes(arena->bytes()), 0);
}

TEST(ArenaTest, TransparentIsReportedOnlyWhenTheKernelGaveHugePages) {
  auto arena =
      Arena::Create({.bytes = 16 * kMiB, .best_rung = PageRung::kTransparent});
  ASSERT_TRUE(arena.ok()) << arena.status();
  const bool huge =
      internal::HugeBackedBytes(arena->bytes()) >= arena->bytes().size() / 2;
  EXPECT_EQ(arena->rung(), huge ? PageRung::kTransparent : PageRung::k4KiB);
  EXPECT_TRUE(AlignedTo(*arena, 2 * kMiB));
  if (absl::StrContains(ReadLine(kTransparentEnabled), "[never]")) {
    EXPECT_FALSE(huge);
  }
}

TEST(ArenaTest, TakesReservedTwoMegabytePagesAndGivesThemBack) {
  ReservedPages pages(2048, 8);
  const int free_before = pages.free();
  auto arena =
      Arena::Create({.bytes = 15 * kMiB, .best_rung = PageRung::kHuge2MiB});
  ASSERT_TRUE(arena.ok()) << arena.status();
  if (free_before < 8) {
    EXPECT_GT(arena->rung(), PageRung::kHuge2MiB);
    return;
  }
  EXPECT_EQ(arena->rung(), PageRung::kHuge2MiB);
  EXPECT_EQ(arena->bytes().size(), 16 * kMiB);
  EXPECT_EQ(pages.free(), free_before - 8);
  EXPECT_TRUE(AllZero(*arena));
  *arena = *Arena::Create({.bytes = 1, .best_rung = PageRung::k4KiB});
  EXPECT_EQ(pages.free(), free_before);
}

TEST(ArenaTest, GoesDownARungWhenTooFewHugePagesAreFree) {
  ReservedPages pages(2048, 2);
  const size_t too_many = (static_cast<size_t>(pages.free()) + 1) * 2 * kMiB;
  auto arena =
      Arena::Create({.bytes = too_many, .best_rung = PageRung::kHuge2MiB});
  ASSERT_TRUE(arena.ok()) << arena.status();
  EXPECT_GT(arena->rung(), PageRung::kHuge2MiB);
  EXPECT_TRUE(AllZero(*arena));
}

TEST(ArenaTest, TakesAOneGigabytePageWhenOneIsFree) {
  ReservedPages pages(1048576, 1);
  if (pages.free() < 1) {
    // No contiguous GiB on this machine now: the next rungs must still do.
    auto arena = Arena::Create({.bytes = 4 * kMiB});
    ASSERT_TRUE(arena.ok()) << arena.status();
    EXPECT_NE(arena->rung(), PageRung::kHuge1GiB);
    return;
  }
  auto arena = Arena::Create({.bytes = kGiB / 2});
  ASSERT_TRUE(arena.ok()) << arena.status();
  EXPECT_EQ(arena->rung(), PageRung::kHuge1GiB);
  EXPECT_EQ(arena->bytes().size(), kGiB);
  EXPECT_TRUE(AlignedTo(*arena, kGiB));
}

TEST(ArenaTest, LeavesHugePagesToArenasThatFillHalfOfOne) {
  ReservedPages pages(2048, 1);
  auto arena = Arena::Create({.bytes = 64 * 1024});
  ASSERT_TRUE(arena.ok()) << arena.status();
  EXPECT_EQ(arena->rung(), PageRung::k4KiB);
  EXPECT_EQ(arena->bytes().size(), 64 * 1024);
}

TEST(ArenaTest, BindsToTheNodeOnEveryRung) {
  ReservedPages pages(2048, 2);
  for (const PageRung rung : {PageRung::kHuge1GiB, PageRung::kHuge2MiB,
                              PageRung::kTransparent, PageRung::k4KiB}) {
    auto arena =
        Arena::Create({.bytes = 4 * kMiB, .numa_node = 0, .best_rung = rung});
    ASSERT_TRUE(arena.ok()) << arena.status();
    // -1 where seccomp or the kernel's configuration forbids mbind.
    EXPECT_LE(arena->numa_node(), 0);
    EXPECT_GE(arena->rung(), rung);
  }
  auto unbound = Arena::Create({.bytes = 1});
  ASSERT_TRUE(unbound.ok());
  EXPECT_EQ(unbound->numa_node(), -1);
}

TEST(ArenaTest, RefusesANodeThatTheMachineDoesNotHave) {
  for (const int node : {-2, 1000, 1024, 1 << 20}) {
    const auto arena = Arena::Create({.bytes = 4096, .numa_node = node});
    ASSERT_FALSE(arena.ok());
    EXPECT_EQ(arena.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(absl::StrContains(arena.status().message(),
                                  absl::StrCat("NUMA node ", node)))
        << arena.status();
  }
}

TEST(ArenaTest, RefusesZeroBytes) {
  EXPECT_EQ(Arena::Create({}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ArenaTest, AShortageIsAnErrorWithTheSizes) {
  for (const size_t bytes : {size_t{1} << 45, SIZE_MAX}) {
    const auto arena = Arena::Create({.bytes = bytes});
    ASSERT_FALSE(arena.ok());
    EXPECT_EQ(arena.status().code(), absl::StatusCode::kResourceExhausted);
    EXPECT_TRUE(absl::StrContains(arena.status().message(), "MiB available"))
        << arena.status();
  }
}

TEST(ArenaTest, AMovedArenaKeepsItsMemory) {
  auto first = Arena::Create({.bytes = 4096});
  ASSERT_TRUE(first.ok());
  first->bytes()[7] = std::byte{7};
  const std::byte* address = first->bytes().data();
  Arena second = *std::move(first);
  EXPECT_EQ(second.bytes().data(), address);
  EXPECT_EQ(second.bytes()[7], std::byte{7});
}

TEST(ArenaDeathTest, AStrayAccessInFrontOfOrBehindItIsSeen) {
  auto arena = Arena::Create({.bytes = 4096, .best_rung = PageRung::k4KiB});
  ASSERT_TRUE(arena.ok());
  volatile std::byte* begin = arena->bytes().data();
  EXPECT_DEATH(begin[-1] = std::byte{1}, "");
  EXPECT_DEATH(begin[4096] = std::byte{1}, "");
}

TEST(PageRungTest, HasANameForEveryRung) {
  EXPECT_EQ(ToString(PageRung::kHuge1GiB), "1 GiB pages");
  EXPECT_EQ(ToString(PageRung::kHuge2MiB), "2 MiB pages");
  EXPECT_EQ(ToString(PageRung::kTransparent), "transparent huge pages");
  EXPECT_EQ(ToString(PageRung::k4KiB), "4 KiB pages");
}

TEST(MemoryInfoTest, KnowsWhatIsAvailable) {
  const std::optional<size_t> machine = internal::AvailableBytes(-1);
  ASSERT_TRUE(machine.has_value());
  EXPECT_GT(*machine, kMiB);
  EXPECT_LT(*machine, size_t{1} << 47);
  EXPECT_FALSE(internal::AvailableBytes(1000).has_value());
  EXPECT_FALSE(internal::NodesWithMemory().empty());
}

}  // namespace
}  // namespace weir
