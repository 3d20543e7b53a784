// Reads the frames of a capture file, whichever of the two formats it has.

#ifndef WEIR_HCA_BACKEND_CAPTURE_READER_H_
#define WEIR_HCA_BACKEND_CAPTURE_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "weir/hca/backend/capture_file.h"
#include "weir/hca/backend/capture_record.h"
#include "weir/hca/backend/pcap_parser.h"
#include "weir/hca/backend/pcapng_parser.h"

namespace weir::hca {

class CaptureReader {
 public:
  // A reader at the first frame of the file at `path`. Errors of
  // CaptureFile::Open; InvalidArgument if the file is empty, not a capture, or
  // not of Ethernet. Control thread, before Launch.
  static absl::StatusOr<CaptureReader> Open(const std::string& path);

  // The next frame; nothing at the end of the file and at a defect. The bytes
  // are valid as long as the reader or what it was moved to. Owner lcore only.
  std::optional<CaptureRecord> Next() noexcept;

  // Goes back to the first frame. Owner lcore only.
  void Rewind() noexcept;

  // Why Next gave up before the end of the file, if it did. Owner lcore only.
  std::optional<CaptureDefect> defect() const noexcept;

  // Frames skipped because their interface is not Ethernet. Owner lcore only.
  uint64_t foreign_packets() const noexcept;

  // The file below. Any thread.
  const CaptureFile& file() const noexcept { return file_; }

 private:
  using Parser = std::variant<PcapParser, PcapngParser>;

  CaptureReader(CaptureFile file, Parser parser)
      : file_(std::move(file)), parser_(std::move(parser)) {}

  CaptureFile file_;
  Parser parser_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_CAPTURE_READER_H_
