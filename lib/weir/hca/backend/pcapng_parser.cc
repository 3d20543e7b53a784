#include "weir/hca/backend/pcapng_parser.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "weir/base/big_endian.h"
#include "weir/net/capture_format.h"

namespace weir::hca {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr uint8_t kNanosecondDecimals = 9;
constexpr uint8_t kMicrosecondDecimals = 6;
constexpr uint8_t kBinaryResolution = 0x80;
// Interfaces of a section: memory for all is taken at the start.
constexpr size_t kMaxInterfaces = 1024;
constexpr uint16_t kVersionMajor = 1;

// Bodies before their variable parts, pcapng §4.1 to §4.4 and appendix A.
constexpr size_t kSectionBodyBytes = 16;
constexpr size_t kInterfaceBodyBytes = 8;
constexpr size_t kTimedPacketBodyBytes = 20;
constexpr size_t kSimplePacketBodyBytes = 4;
constexpr size_t kOptionHeaderBytes = 4;

constexpr size_t PaddedTo4(size_t bytes) noexcept {
  return (bytes + 3) & ~size_t{3};
}

// 10^exponent, 0 if it does not fit.
uint64_t PowerOf10(unsigned exponent) noexcept {
  if (exponent > 19) return 0;
  uint64_t power = 1;
  for (unsigned i = 0; i < exponent; ++i) power *= 10;
  return power;
}

// `ticks` of the resolution in nanoseconds (pcapng §4.2, if_tsresol).
uint64_t TicksToNs(uint64_t ticks, uint8_t resolution) noexcept {
  if ((resolution & kBinaryResolution) != 0) {
    const unsigned bits = resolution & ~unsigned{kBinaryResolution};
    return static_cast<uint64_t>(
        static_cast<unsigned __int128>(ticks) * kNsPerSecond >> bits);
  }
  if (resolution <= kNanosecondDecimals) {
    return ticks * PowerOf10(unsigned{kNanosecondDecimals} - resolution);
  }
  const uint64_t divisor =
      PowerOf10(unsigned{resolution} - kNanosecondDecimals);
  return divisor == 0 ? 0 : ticks / divisor;
}

}  // namespace

template <typename T>
T PcapngParser::Load(std::span<const std::byte> bytes,
                     size_t offset) const noexcept {
  return net::LoadInteger<T>(bytes.data() + offset, swapped_);
}

bool PcapngParser::Recognises(std::span<const std::byte> file) noexcept {
  return file.size() >= sizeof(uint32_t) &&
         net::LoadInteger<uint32_t>(file.data(), false) ==
             net::kBlockSectionHeader;
}

absl::StatusOr<PcapngParser> PcapngParser::Create(
    std::span<const std::byte> file, absl::string_view path) {
  PcapngParser parser(file);
  std::optional<Block> block = parser.NextBlock();
  if (!block.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": not a usable pcapng file: at byte 0 ", parser.defect_->what));
  }
  while (block.has_value() && parser.IsControlBlock(*block)) {
    block = parser.NextBlock();
  }
  for (const Interface& interface : parser.interfaces_) {
    if (interface.link_type != net::kLinkTypeEthernet) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": link type ", LinkTypeText(interface.link_type),
                       "; only Ethernet captures can be read"));
    }
  }
  parser.Rewind();
  return parser;
}

PcapngParser::PcapngParser(std::span<const std::byte> file) : file_(file) {
  interfaces_.reserve(kMaxInterfaces);
}

std::optional<CaptureRecord> PcapngParser::Next() noexcept {
  while (!defect_.has_value()) {
    const std::optional<Block> block = NextBlock();
    if (!block.has_value()) break;
    if (IsControlBlock(*block)) continue;
    const std::optional<CaptureRecord> record = ReadPacket(*block);
    if (record.has_value()) return record;
  }
  return std::nullopt;
}

void PcapngParser::Rewind() noexcept {
  position_ = 0;
  swapped_ = false;
  interfaces_.clear();
  defect_.reset();
}

// pcapng §3.1. Leaves position_ behind the block.
std::optional<PcapngParser::Block> PcapngParser::NextBlock() noexcept {
  block_position_ = position_;
  const std::span<const std::byte> rest = file_.subspan(position_);
  if (rest.empty()) return std::nullopt;
  if (rest.size() < net::kBlockFrameBytes) {
    SetDefect("the file ends inside the block");
    return std::nullopt;
  }
  const auto type = Load<uint32_t>(rest, 0);
  if (type == net::kBlockSectionHeader && !ReadByteOrder()) return std::nullopt;
  const auto length = Load<uint32_t>(rest, 4);
  if (length < net::kBlockFrameBytes || length % 4 != 0) {
    SetDefect("the block has an impossible length");
    return std::nullopt;
  }
  if (length > rest.size()) {
    SetDefect("the file ends inside the block");
    return std::nullopt;
  }
  if (Load<uint32_t>(rest, length - sizeof(uint32_t)) != length) {
    SetDefect("the two lengths of the block differ");
    return std::nullopt;
  }
  position_ += length;
  const Block block = {type, rest.subspan(net::kBlockHeaderBytes,
                                          length - net::kBlockFrameBytes)};
  if (type == net::kBlockSectionHeader &&
      (block.body.size() < kSectionBodyBytes ||
       Load<uint16_t>(block.body, 4) != kVersionMajor)) {
    SetDefect("the section is not of version 1");
    return std::nullopt;
  }
  return block;
}

// pcapng §4.1: the byte order of a section stands in front of its length.
bool PcapngParser::ReadByteOrder() noexcept {
  const std::byte* at = file_.data() + block_position_ + net::kBlockHeaderBytes;
  for (const bool swapped : {false, true}) {
    if (net::LoadInteger<uint32_t>(at, swapped) == net::kByteOrderMagic) {
      swapped_ = swapped;
      return true;
    }
  }
  SetDefect("the section has no byte order");
  return false;
}

// Takes in what a block says about those that follow; true unless it holds a
// packet.
bool PcapngParser::IsControlBlock(const Block& block) noexcept {
  switch (block.type) {
    case net::kBlockEnhancedPacket:
    case net::kBlockSimplePacket:
    case net::kBlockPacket:
      return false;
    case net::kBlockSectionHeader:
      interfaces_.clear();
      return true;
    case net::kBlockInterface:
      AddInterface(block.body);
      return true;
    default:
      return true;
  }
}

// pcapng §4.2.
void PcapngParser::AddInterface(std::span<const std::byte> body) noexcept {
  if (body.size() < kInterfaceBodyBytes) {
    SetDefect("the interface block is too short");
    return;
  }
  if (interfaces_.size() == kMaxInterfaces) {
    SetDefect("the section has more than 1024 interfaces");
    return;
  }
  Interface interface {
    .link_type = Load<uint16_t>(body, 0),
    .snaplen_bytes = Load<uint32_t>(body, 4),
    .resolution = kMicrosecondDecimals, .offset_seconds = 0
  };
  std::span<const std::byte> options = body.subspan(kInterfaceBodyBytes);
  while (options.size() >= kOptionHeaderBytes) {
    const auto code = Load<uint16_t>(options, 0);
    const size_t length = Load<uint16_t>(options, 2);
    if (code == net::kOptionEnd) break;
    if (length > options.size() - kOptionHeaderBytes) {
      SetDefect("an option is longer than its block");
      return;
    }
    if (code == net::kOptionTimestampResolution && length == 1) {
      interface.resolution = Load<uint8_t>(options, kOptionHeaderBytes);
    } else if (code == net::kOptionTimestampOffset && length == 8) {
      interface.offset_seconds = Load<uint64_t>(options, kOptionHeaderBytes);
    }
    options = options.subspan(
        std::min(options.size(), kOptionHeaderBytes + PaddedTo4(length)));
  }
  interfaces_.push_back(interface);
}

std::optional<CaptureRecord> PcapngParser::ReadPacket(
    const Block& block) noexcept {
  if (block.type == net::kBlockSimplePacket) return ReadSimplePacket(block);
  if (block.body.size() < kTimedPacketBodyBytes) {
    SetDefect("the packet block is too short");
    return std::nullopt;
  }
  // The obsolete block has a 16-bit interface and a drop count in its place.
  return ReadTimedPacket(block, block.type == net::kBlockEnhancedPacket
                                    ? Load<uint32_t>(block.body, 0)
                                    : Load<uint16_t>(block.body, 0));
}

// pcapng §4.3 and appendix A: alike but for the interface.
std::optional<CaptureRecord> PcapngParser::ReadTimedPacket(
    const Block& block, uint32_t interface_id) noexcept {
  const auto captured = Load<uint32_t>(block.body, 12);
  if (interface_id >= interfaces_.size()) {
    SetDefect("the packet is of an interface that is not declared");
    return std::nullopt;
  }
  if (captured > block.body.size() - kTimedPacketBodyBytes) {
    SetDefect("the packet is longer than its block");
    return std::nullopt;
  }
  const Interface& interface = interfaces_[interface_id];
  if (interface.link_type != net::kLinkTypeEthernet) {
    ++foreign_packets_;
    return std::nullopt;
  }
  const uint64_t ticks = uint64_t{Load<uint32_t>(block.body, 4)} << 32 |
                         Load<uint32_t>(block.body, 8);
  return CaptureRecord{
      .bytes = block.body.subspan(kTimedPacketBodyBytes, captured),
      .wire_bytes = std::max(captured, Load<uint32_t>(block.body, 16)),
      .timestamp_ns = TicksToNs(ticks, interface.resolution) +
                      interface.offset_seconds * kNsPerSecond};
}

// pcapng §4.4: of interface 0, without time; its length follows from snaplen.
std::optional<CaptureRecord> PcapngParser::ReadSimplePacket(
    const Block& block) noexcept {
  if (block.body.size() < kSimplePacketBodyBytes) {
    SetDefect("the packet block is too short");
    return std::nullopt;
  }
  if (interfaces_.empty()) {
    SetDefect("the packet is of an interface that is not declared");
    return std::nullopt;
  }
  const Interface& interface = interfaces_[0];
  if (interface.link_type != net::kLinkTypeEthernet) {
    ++foreign_packets_;
    return std::nullopt;
  }
  const auto wire_bytes = Load<uint32_t>(block.body, 0);
  const uint32_t captured = interface.snaplen_bytes == 0
                                ? wire_bytes
                                : std::min(wire_bytes, interface.snaplen_bytes);
  if (captured > block.body.size() - kSimplePacketBodyBytes) {
    SetDefect("the packet is longer than its block");
    return std::nullopt;
  }
  return CaptureRecord{
      .bytes = block.body.subspan(kSimplePacketBodyBytes, captured),
      .wire_bytes = wire_bytes,
      .timestamp_ns = 0};
}

void PcapngParser::SetDefect(absl::string_view what) noexcept {
  defect_ = {block_position_, what};
}

}  // namespace weir::hca
