// What the parsers of the two capture formats hand to the reader.

#ifndef WEIR_HCA_BACKEND_CAPTURE_RECORD_H_
#define WEIR_HCA_BACKEND_CAPTURE_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/strings/string_view.h"

namespace weir::hca {

// One captured frame.
struct CaptureRecord {
  // The captured bytes, in the memory of the file.
  std::span<const std::byte> bytes;
  // The length on the wire, never less than what was captured.
  uint32_t wire_bytes;
  // Nanoseconds since the Unix epoch, 0 if the record has no time.
  uint64_t timestamp_ns;
};

// Why a file cannot be read to its end.
struct CaptureDefect {
  // Of the record or block that is defective, in bytes from the file's start.
  uint64_t offset_bytes;
  // A literal: "ends inside a record".
  absl::string_view what;
};

// "113 (Linux cooked capture)", for messages. Any thread.
std::string LinkTypeText(uint32_t link_type);

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_CAPTURE_RECORD_H_
