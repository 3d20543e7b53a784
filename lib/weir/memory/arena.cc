#include "weir/memory/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;
constexpr size_t kGiB = 1024 * kMiB;

struct Rung {
  PageRung rung;
  size_t page_bytes;
  int map_flags;
};

constexpr int PageSizeFlag(int log2_bytes) {
  return static_cast<int>(static_cast<unsigned>(log2_bytes) << MAP_HUGE_SHIFT);
}

constexpr std::array<Rung, 4> kLadder = {{
    {PageRung::kHuge1GiB, kGiB, MAP_HUGETLB | PageSizeFlag(30)},
    {PageRung::kHuge2MiB, 2 * kMiB, MAP_HUGETLB | PageSizeFlag(21)},
    {PageRung::kTransparent, 2 * kMiB, 0},
    {PageRung::k4KiB, 4 * kKiB, 0},
}};

}  // namespace

absl::string_view ToString(PageRung rung) {
  switch (rung) {
    case PageRung::kHuge1GiB:
      return "1 GiB pages";
    case PageRung::kHuge2MiB:
      return "2 MiB pages";
    case PageRung::kTransparent:
      return "transparent huge pages";
    case PageRung::k4KiB:
      break;
  }
  return "4 KiB pages";
}

absl::StatusOr<Arena> Arena::Create(const Options& options) {
  if (options.bytes == 0) {
    return absl::InvalidArgumentError("arena: want at least 1 byte, got 0");
  }
  const Rung& last = kLadder.back();
  const size_t bytes =
      (options.bytes + last.page_bytes - 1) / last.page_bytes * last.page_bytes;
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) {
    return ErrnoStatus(errno, {.object = "arena", .call = "mmap"});
  }
  std::memset(base, 0, bytes);
  return Arena({static_cast<std::byte*>(base), bytes}, last.rung, -1);
}

Arena::Arena(Arena&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})),
      rung_(other.rung_),
      numa_node_(other.numa_node_) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(rung_, other.rung_);
  std::swap(numa_node_, other.numa_node_);
  return *this;
}

Arena::~Arena() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace weir
