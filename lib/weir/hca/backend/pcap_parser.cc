#include "weir/hca/backend/pcap_parser.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "weir/base/big_endian.h"
#include "weir/net/capture_format.h"

namespace weir::hca {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// draft-ietf-opsawg-pcap §4: "2.4" since 1998.
constexpr uint16_t kVersionMajor = 2;

bool IsMagic(uint32_t magic) noexcept {
  return magic == net::kPcapMagicMicroseconds ||
         magic == net::kPcapMagicNanoseconds;
}

}  // namespace

bool PcapParser::Recognises(std::span<const std::byte> file) noexcept {
  if (file.size() < sizeof(uint32_t)) return false;
  return IsMagic(net::LoadInteger<uint32_t>(file.data(), false)) ||
         IsMagic(net::LoadInteger<uint32_t>(file.data(), true));
}

absl::StatusOr<PcapParser> PcapParser::Create(std::span<const std::byte> file,
                                              absl::string_view path) {
  if (file.size() < sizeof(net::PcapFileHeader)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": a pcap file that ends inside its file header, after ",
        file.size(), " of ", sizeof(net::PcapFileHeader), " bytes"));
  }
  const bool swapped = !IsMagic(net::LoadInteger<uint32_t>(file.data(), false));
  const auto magic = net::LoadInteger<uint32_t>(file.data(), swapped);
  const auto version = net::LoadInteger<uint16_t>(
      file.data() + offsetof(net::PcapFileHeader, version_major), swapped);
  if (version != kVersionMajor) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": pcap version ", version, "; only version ",
                     kVersionMajor, " can be read"));
  }
  const uint32_t link_type =
      net::kPcapLinkTypeMask &
      net::LoadInteger<uint32_t>(
          file.data() + offsetof(net::PcapFileHeader, link_type), swapped);
  if (link_type != net::kLinkTypeEthernet) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": link type ", LinkTypeText(link_type),
                     "; only Ethernet captures can be read"));
  }
  return PcapParser(file, swapped,
                    magic == net::kPcapMagicNanoseconds ? 1 : 1000);
}

PcapParser::PcapParser(std::span<const std::byte> file, bool swapped,
                       uint32_t fraction_ns) noexcept
    : file_(file),
      position_(sizeof(net::PcapFileHeader)),
      swapped_(swapped),
      fraction_ns_(fraction_ns) {}

std::optional<CaptureRecord> PcapParser::Next() noexcept {
  const size_t left = file_.size() - position_;
  if (left == 0 || defect_.has_value()) return std::nullopt;
  if (left < sizeof(net::PcapRecordHeader)) {
    defect_ = {position_, "the file ends inside the record header"};
    return std::nullopt;
  }
  const std::byte* at = file_.data() + position_;
  const auto field = [&](size_t offset) {
    return net::LoadInteger<uint32_t>(at + offset, swapped_);
  };
  const uint32_t captured =
      field(offsetof(net::PcapRecordHeader, captured_bytes));
  if (captured > left - sizeof(net::PcapRecordHeader)) {
    defect_ = {position_, "the file ends inside the record"};
    return std::nullopt;
  }
  position_ += sizeof(net::PcapRecordHeader) + captured;
  return CaptureRecord{
      .bytes = {at + sizeof(net::PcapRecordHeader), captured},
      .wire_bytes = std::max(
          captured, field(offsetof(net::PcapRecordHeader, wire_bytes))),
      .timestamp_ns =
          field(offsetof(net::PcapRecordHeader, seconds)) * kNsPerSecond +
          uint64_t{field(offsetof(net::PcapRecordHeader, fraction))} *
              fraction_ns_};
}

void PcapParser::Rewind() noexcept {
  position_ = sizeof(net::PcapFileHeader);
  defect_.reset();
}

}  // namespace weir::hca
