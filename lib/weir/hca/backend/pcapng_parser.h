// Walks the packets of a pcapng file in memory (draft-ietf-opsawg-pcapng-03):
// any number of sections and interfaces, of either byte order. Blocks and
// options that say nothing about frames are skipped.

#ifndef WEIR_HCA_BACKEND_PCAPNG_PARSER_H_
#define WEIR_HCA_BACKEND_PCAPNG_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/hca/backend/capture_record.h"

namespace weir::hca {

class PcapngParser {
 public:
  // True if `file` begins as a pcapng file does. Any thread.
  static bool Recognises(std::span<const std::byte> file) noexcept;

  // A parser at the first packet of `file`, whose bytes must outlive it.
  // InvalidArgument, beginning with `path`, if the first section header is cut
  // or defective, or an interface before the first packet is not Ethernet. Any
  // thread.
  static absl::StatusOr<PcapngParser> Create(std::span<const std::byte> file,
                                             absl::string_view path);

  // The next packet of an Ethernet interface; nothing at the end and at a
  // defect. Owner lcore only.
  std::optional<CaptureRecord> Next() noexcept;

  // Goes back to the first packet. Owner lcore only.
  void Rewind() noexcept;

  // Set once Next has met a defect. Owner lcore only.
  const std::optional<CaptureDefect>& defect() const noexcept {
    return defect_;
  }

  // Packets that Next skipped because their interface is not Ethernet. Owner
  // lcore only.
  uint64_t foreign_packets() const noexcept { return foreign_packets_; }

 private:
  struct Interface {
    uint32_t link_type;
    uint32_t snaplen_bytes;
    // pcapng §4.2 if_tsresol: the top bit chooses powers of 2.
    uint8_t resolution;
    uint64_t offset_seconds;
  };
  struct Block {
    uint32_t type;
    // What is between the two lengths.
    std::span<const std::byte> body;
  };

  explicit PcapngParser(std::span<const std::byte> file);

  std::optional<Block> NextBlock() noexcept;
  bool ReadByteOrder() noexcept;
  bool IsControlBlock(const Block& block) noexcept;
  void AddInterface(std::span<const std::byte> body) noexcept;
  std::optional<CaptureRecord> ReadPacket(const Block& block) noexcept;
  std::optional<CaptureRecord> ReadTimedPacket(const Block& block,
                                               uint32_t interface_id) noexcept;
  std::optional<CaptureRecord> ReadSimplePacket(const Block& block) noexcept;
  void SetDefect(absl::string_view what) noexcept;

  template <typename T>
  T Load(std::span<const std::byte> bytes, size_t offset) const noexcept;

  std::span<const std::byte> file_;
  size_t position_ = 0;
  // Of the block read last, for defects.
  size_t block_position_ = 0;
  bool swapped_ = false;
  std::vector<Interface> interfaces_;
  uint64_t foreign_packets_ = 0;
  std::optional<CaptureDefect> defect_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_PCAPNG_PARSER_H_
