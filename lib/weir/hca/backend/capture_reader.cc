#include "weir/hca/backend/capture_reader.h"

#include <cstddef>
#include <span>

#include "absl/strings/str_cat.h"

namespace weir::hca {

absl::StatusOr<CaptureReader> CaptureReader::Open(const std::string& path) {
  absl::StatusOr<CaptureFile> file = CaptureFile::Open(path);
  if (!file.ok()) return file.status();
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is empty; want a pcap or pcapng capture"));
  }
  if (PcapParser::Recognises(bytes)) {
    absl::StatusOr<PcapParser> parser = PcapParser::Create(bytes, path);
    if (!parser.ok()) return parser.status();
    return CaptureReader(*std::move(file), *std::move(parser));
  }
  if (PcapngParser::Recognises(bytes)) {
    absl::StatusOr<PcapngParser> parser = PcapngParser::Create(bytes, path);
    if (!parser.ok()) return parser.status();
    return CaptureReader(*std::move(file), *std::move(parser));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is not a capture; want a pcap or pcapng file"));
}

std::optional<CaptureRecord> CaptureReader::Next() noexcept {
  auto* pcap = std::get_if<PcapParser>(&parser_);
  return pcap != nullptr ? pcap->Next()
                         : std::get_if<PcapngParser>(&parser_)->Next();
}

void CaptureReader::Rewind() noexcept {
  std::visit([](auto& parser) { parser.Rewind(); }, parser_);
}

std::optional<CaptureDefect> CaptureReader::defect() const noexcept {
  return std::visit([](const auto& parser) { return parser.defect(); },
                    parser_);
}

uint64_t CaptureReader::foreign_packets() const noexcept {
  const auto* pcapng = std::get_if<PcapngParser>(&parser_);
  return pcapng == nullptr ? 0 : pcapng->foreign_packets();
}

}  // namespace weir::hca
