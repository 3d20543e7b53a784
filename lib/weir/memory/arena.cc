#include "weir/memory/arena.h"

#include <linux/mempolicy.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "weir/base/errno_status.h"
#include "weir/memory/memory_info.h"

namespace weir {
namespace {

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * kKiB;
constexpr size_t kGiB = 1024 * kMiB;
constexpr size_t kPageBytes = 4 * kKiB;
constexpr size_t kHugePageBytes = 2 * kMiB;
// User space of x86-64 with four levels of page tables.
constexpr size_t kAddressSpaceBytes = size_t{1} << 47;
// The kernel takes more (CONFIG_NODES_SHIFT is 10 at most); no machine has.
constexpr int kMaxNodes = 1024;

constexpr size_t RoundUp(size_t value, size_t unit) {
  return (value + unit - 1) / unit * unit;
}

std::string MiB(size_t bytes) {
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / double{kMiB});
}

absl::Status Shortage(const Arena::Options& options,
                      std::optional<size_t> available) {
  std::string message = absl::StrCat("arena: want ", MiB(options.bytes));
  if (available) {
    absl::StrAppend(&message, ", ", MiB(*available), " available");
  }
  if (options.numa_node >= 0) {
    absl::StrAppend(&message, " on NUMA node ", options.numa_node);
  }
  absl::StrAppend(&message, "; use fewer or smaller buffers");
  return absl::ResourceExhaustedError(message);
}

// Makes pages of `range` come from `node` only. The node then bound to: -1 if
// none was asked for or the kernel does not let this process choose (seccomp,
// no NUMA). InvalidArgument if there is no such node.
absl::StatusOr<int> Bind(std::span<std::byte> range, int node) {
  if (node == -1) return -1;
  constexpr int kBits = CHAR_BIT * sizeof(unsigned long);
  std::array<unsigned long, kMaxNodes / kBits> mask{};
  if (node >= 0 && node < kMaxNodes) {
    mask[static_cast<size_t>(node / kBits)] = 1UL << (node % kBits);
    // The kernel reads one bit less than it is told.
    if (syscall(SYS_mbind, range.data(), range.size(), MPOL_BIND, mask.data(),
                kMaxNodes + 1, 0) == 0) {
      return node;
    }
    if (errno == EPERM || errno == ENOSYS) return -1;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("arena: no memory on NUMA node ", node,
                   "; nodes with memory: ", internal::NodesWithMemory()));
}

// Makes the kernel find every page now. False if it has too few.
bool Populate(std::span<std::byte> range) {
  if (madvise(range.data(), range.size(), MADV_POPULATE_WRITE) == 0) {
    return true;
  }
  // Linux before 5.14 does not know the advice.
  if (errno != EINVAL) return false;
  for (size_t at = 0; at < range.size(); at += kPageBytes) {
    range[at] = std::byte{0};
  }
  return true;
}

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
  if (options.bytes > kAddressSpaceBytes) {
    return Shortage(options, internal::AvailableBytes(options.numa_node));
  }
  constexpr std::array<std::pair<PageRung, size_t>, 2> kHugeRungs = {{
      {PageRung::kHuge1GiB, kGiB},
      {PageRung::kHuge2MiB, kHugePageBytes},
  }};
  for (const auto& [rung, page_bytes] : kHugeRungs) {
    if (rung >= options.best_rung && options.bytes >= page_bytes / 2) {
      absl::StatusOr<Arena> arena = CreateHuge(options, rung, page_bytes);
      if (arena.ok()) return arena;
    }
  }
  return CreateOrdinary(options);
}

absl::StatusOr<Arena> Arena::CreateHuge(const Options& options, PageRung rung,
                                        size_t page_bytes) {
  const int size_flag = page_bytes == kGiB ? MAP_HUGE_1GB : MAP_HUGE_2MB;
  const size_t bytes = RoundUp(options.bytes, page_bytes);
  // The mapping reserves its pages, or fails.
  void* base =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | size_flag, -1, 0);
  if (base == MAP_FAILED) {
    return ErrnoStatus(errno, {.object = "arena", .call = "mmap"});
  }
  const std::span<std::byte> range(static_cast<std::byte*>(base), bytes);
  Arena arena(range, range, rung, -1);
  const absl::StatusOr<int> node = Bind(range, options.numa_node);
  if (!node.ok()) return node.status();
  arena.numa_node_ = *node;
  // The reservation counts the pages of all nodes; the one bound to may have
  // too few.
  if (!Populate(range)) return Shortage(options, std::nullopt);
  return arena;
}

absl::StatusOr<Arena> Arena::CreateOrdinary(const Options& options) {
  const bool want_huge = options.best_rung < PageRung::k4KiB &&
                         options.bytes >= kHugePageBytes / 2;
  const size_t bytes =
      RoundUp(options.bytes, want_huge ? kHugePageBytes : kPageBytes);
  const std::optional<size_t> available =
      internal::AvailableBytes(options.numa_node);
  // Asked before anything is touched: the kernel would answer by killing.
  if (available && bytes > *available) return Shortage(options, available);

  // Room to align, and a page in front and behind that stays inaccessible.
  const size_t reserved = bytes + kHugePageBytes + 2 * kPageBytes;
  void* base =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return Shortage(options, available);
  const std::span<std::byte> mapping(static_cast<std::byte*>(base), reserved);
  const uintptr_t begin = reinterpret_cast<uintptr_t>(base);
  const std::span<std::byte> range = mapping.subspan(
      RoundUp(begin + kPageBytes, kHugePageBytes) - begin, bytes);
  Arena arena(mapping, range, PageRung::k4KiB, -1);

  if (mprotect(range.data(), bytes, PROT_READ | PROT_WRITE) != 0) {
    return Shortage(options, available);
  }
  const absl::StatusOr<int> node = Bind(range, options.numa_node);
  if (!node.ok()) return node.status();
  arena.numa_node_ = *node;
  // A kernel without transparent huge pages refuses the advice, which is no
  // reason to fail.
  madvise(range.data(), bytes, want_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  if (!Populate(range)) return Shortage(options, available);
  if (want_huge && internal::HugeBackedBytes(range) >= bytes / 2) {
    arena.rung_ = PageRung::kTransparent;
  }
  return arena;
}

Arena::Arena(Arena&& other) noexcept
    : mapping_(std::exchange(other.mapping_, {})),
      bytes_(std::exchange(other.bytes_, {})),
      rung_(other.rung_),
      numa_node_(other.numa_node_) {}

Arena& Arena::operator=(Arena&& other) noexcept {
  std::swap(mapping_, other.mapping_);
  std::swap(bytes_, other.bytes_);
  std::swap(rung_, other.rung_);
  std::swap(numa_node_, other.numa_node_);
  return *this;
}

Arena::~Arena() {
  if (!mapping_.empty()) munmap(mapping_.data(), mapping_.size());
}

}  // namespace weir
