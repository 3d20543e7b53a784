// Payload that lies in memory: cut into datagrams, from the front and again.

#ifndef WEIR_STAGE_UDP_MEMORY_PAYLOAD_H_
#define WEIR_STAGE_UDP_MEMORY_PAYLOAD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weir {

// A PayloadSource. Owner lcore only.
class MemoryPayload {
 public:
  // Without an end.
  static constexpr uint64_t kEndless = 0;

  // `datagrams` datagrams of `piece_bytes` each, the last of a round as much as
  // is left; without bytes they are empty. `piece_bytes` is not 0 then.
  MemoryPayload(std::vector<std::byte> bytes, size_t piece_bytes,
                uint64_t datagrams)
      : bytes_(std::move(bytes)),
        piece_bytes_(std::min(piece_bytes, bytes_.size())),
        is_endless_(datagrams == kEndless),
        left_(datagrams) {}

  // How many datagrams of `piece_bytes` a round of `bytes` is.
  static uint64_t PiecesOf(size_t bytes, size_t piece_bytes) noexcept {
    return bytes == 0 ? 1 : (bytes + piece_bytes - 1) / piece_bytes;
  }

  std::optional<std::span<const std::byte>> Front() const noexcept {
    if (finished()) return std::nullopt;
    return std::span(bytes_).subspan(
        at_, std::min(piece_bytes_, bytes_.size() - at_));
  }
  void Pop() noexcept {
    at_ += piece_bytes_;
    if (at_ >= bytes_.size()) at_ = 0;
    if (!is_endless_) --left_;
  }
  bool finished() const noexcept { return !is_endless_ && left_ == 0; }
  size_t max_bytes() const noexcept { return piece_bytes_; }

 private:
  std::vector<std::byte> bytes_;
  size_t piece_bytes_;
  size_t at_ = 0;
  bool is_endless_;
  uint64_t left_;
};

}  // namespace weir

#endif  // WEIR_STAGE_UDP_MEMORY_PAYLOAD_H_
