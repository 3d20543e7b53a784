// What the process may do with its own memory: a kernel that pins memory for a
// device asks the same.

#ifndef WEIR_HCA_PROCESS_MAPS_H_
#define WEIR_HCA_PROCESS_MAPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace weir::hca {

// A range of addresses, without the last one, and what may be done there.
struct Mapping {
  uint64_t first = 0;
  uint64_t last = 0;
  bool readable = false;
  bool writable = false;
};

// The mappings of the process, from the kernel; proc(5). Needs no memory. One
// thread at a time.
class ProcessMaps {
 public:
  // How to ask: for an address (PROCMAP_QUERY, since Linux 6.11) where the
  // kernel can say, or by reading the list of all.
  enum class Way : bool { kBest, kList };

  explicit ProcessMaps(Way way = Way::kBest) noexcept;
  ProcessMaps(const ProcessMaps&) = delete;
  ProcessMaps& operator=(const ProcessMaps&) = delete;
  ~ProcessMaps();

  // False where there is no /proc to ask.
  bool is_open() const noexcept { return fd_ >= 0; }

  // The mapping of `address`, nothing if there is none. Addresses have to be
  // asked for in ascending order.
  std::optional<Mapping> Find(uint64_t address) noexcept;

 private:
  std::optional<Mapping> Query(uint64_t address) noexcept;
  std::optional<Mapping> NextOfList() noexcept;
  uint64_t ReadHex(char& end) noexcept;
  char ReadChar() noexcept;

  int fd_;
  bool queries_;
  size_t used_ = 0;
  size_t size_ = 0;
  std::array<char, 4096> text_;
};

// Whether all of a range, of at least one byte, is mapped and may be read or,
// with `writes`, written by the process; where there is no /proc, whether it is
// mapped. Any thread.
enum class MemoryUse : bool { kReads, kWrites };
bool IsPermitted(const std::byte* address, size_t bytes,
                 MemoryUse use) noexcept;

}  // namespace weir::hca

#endif  // WEIR_HCA_PROCESS_MAPS_H_
