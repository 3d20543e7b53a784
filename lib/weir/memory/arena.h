// One mapping of memory that devices can reach: as large pages as the machine
// gives, on one NUMA node, touched at start so that a shortage is an error with
// numbers and not a signal in mid-traffic.

#ifndef WEIR_MEMORY_ARENA_H_
#define WEIR_MEMORY_ARENA_H_

#include <cstddef>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weir {

// The rungs of the ladder, best first.
enum class PageRung : unsigned char {
  kHuge1GiB,
  kHuge2MiB,
  kTransparent,
  k4KiB,
};

// "1 GiB pages", "2 MiB pages", "transparent huge pages", "4 KiB pages".
absl::string_view ToString(PageRung rung);

// Owns the mapping; unmaps it when destroyed. Movable. Inaccessible pages in
// front of and behind it (on the last two rungs) make a stray access visible.
class Arena {
 public:
  struct Options {
    // Rounded up to the page size of the rung taken.
    size_t bytes = 0;
    // The node to bind to, -1 for wherever the first touch happens.
    int numa_node = -1;
    // The best rung to try; lower ones follow.
    PageRung best_rung = PageRung::kHuge1GiB;
  };

  // Maps, binds and touches. Pages of 1 GiB and 2 MiB are tried only for arenas
  // of at least half of one. kTransparent is taken when the kernel backs at
  // least half of the arena with huge pages right away (smaps says so); else
  // the rung is k4KiB, whatever khugepaged may do later. InvalidArgument for no
  // bytes or for a node that the machine does not have, ResourceExhausted, with
  // the sizes, if even 4 KiB pages cannot be had. Control thread, before
  // Launch.
  static absl::StatusOr<Arena> Create(const Options& options);

  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  // All of it, zeroed at creation. Any thread.
  std::span<std::byte> bytes() const noexcept { return bytes_; }
  // The rung that was taken. Any thread.
  PageRung rung() const noexcept { return rung_; }
  // The node it is bound to, -1 if it is not bound (asked not to be, or the
  // kernel does not let this process choose). Any thread.
  int numa_node() const noexcept { return numa_node_; }

 private:
  // `mapping` is what to unmap; `bytes` lies in it.
  Arena(std::span<std::byte> mapping, std::span<std::byte> bytes, PageRung rung,
        int numa_node) noexcept
      : mapping_(mapping), bytes_(bytes), rung_(rung), numa_node_(numa_node) {}

  // An arena of reserved huge pages of `page_bytes`; an error is a reason to
  // try the next rung.
  static absl::StatusOr<Arena> CreateHuge(const Options& options, PageRung rung,
                                          size_t page_bytes);
  // An arena on one of the last two rungs.
  static absl::StatusOr<Arena> CreateOrdinary(const Options& options);

  std::span<std::byte> mapping_;
  std::span<std::byte> bytes_;
  PageRung rung_ = PageRung::k4KiB;
  int numa_node_ = -1;
};

}  // namespace weir

#endif  // WEIR_MEMORY_ARENA_H_
