// Walks the records of a pcap file in memory (draft-ietf-opsawg-pcap-05),
// micro- and nanosecond, of either byte order.

#ifndef WEIR_HCA_BACKEND_PCAP_PARSER_H_
#define WEIR_HCA_BACKEND_PCAP_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/hca/backend/capture_record.h"

namespace weir::hca {

class PcapParser {
 public:
  // True if `file` begins as a pcap file does. Any thread.
  static bool Recognises(std::span<const std::byte> file) noexcept;

  // A parser at the first record of `file`, whose bytes must outlive it.
  // InvalidArgument, beginning with `path`, if the file header is cut, of an
  // unknown version, or not of Ethernet. Any thread.
  static absl::StatusOr<PcapParser> Create(std::span<const std::byte> file,
                                           absl::string_view path);

  // The next record; nothing at the end and at a defect. Owner lcore only.
  std::optional<CaptureRecord> Next() noexcept;

  // Goes back to the first record. Owner lcore only.
  void Rewind() noexcept;

  // Set once Next has met a defect. Owner lcore only.
  const std::optional<CaptureDefect>& defect() const noexcept {
    return defect_;
  }

 private:
  PcapParser(std::span<const std::byte> file, bool swapped,
             uint32_t fraction_ns) noexcept;

  std::span<const std::byte> file_;
  size_t position_;
  bool swapped_;
  uint32_t fraction_ns_;
  std::optional<CaptureDefect> defect_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_PCAP_PARSER_H_
