#include "weir/capture/pcapng_blocks.h"

#include <cstring>

#include "weir/net/capture_format.h"

namespace weir::pcapng {
namespace {

// §3.5 and §4: options that are written here.
constexpr uint16_t kOptionComment = 1;
constexpr uint16_t kSectionApplication = 4;
constexpr uint16_t kInterfaceName = 2;
constexpr uint16_t kPacketFlags = 2;
constexpr uint16_t kStatisticsBegin = 2;
constexpr uint16_t kStatisticsEnd = 3;
constexpr uint16_t kStatisticsReceived = 4;
constexpr uint16_t kStatisticsOsDrop = 7;
constexpr uint16_t kStatisticsDelivered = 8;
// An option has at most so many bytes of text here; the format has room for
// 65535.
constexpr size_t kMaxText = 1024;
// §4.2: 10^-9 seconds.
constexpr uint8_t kNanoseconds = 9;
// §4.1: the length of the section is not known in advance.
constexpr uint64_t kUnknownLength = UINT64_MAX;

// Writes one block: its body between the two lengths.
class Block {
 public:
  Block(uint32_t type, std::vector<std::byte>& out)
      : out_(out), start_(out.size()) {
    Put(type);
    Put(uint32_t{0});
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    const auto length =
        static_cast<uint32_t>(out_.size() - start_ + sizeof(uint32_t));
    Put(length);
    std::memcpy(&out_[start_ + sizeof(uint32_t)], &length, sizeof length);
  }

  template <typename T>
  void Put(T value) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&value);
    out_.insert(out_.end(), bytes, bytes + sizeof value);
  }

  // Up to a multiple of four (§3.1).
  void PutPadded(std::span<const std::byte> bytes) {
    out_.insert(out_.end(), bytes.begin(), bytes.end());
    out_.resize(out_.size() + (0 - bytes.size()) % sizeof(uint32_t));
  }

  void Option(uint16_t code, std::span<const std::byte> bytes) {
    Put(code);
    Put(static_cast<uint16_t>(bytes.size()));
    PutPadded(bytes);
  }
  void Option(uint16_t code, absl::string_view text) {
    text = text.substr(0, kMaxText);
    Option(code, std::as_bytes(std::span(text.data(), text.size())));
  }
  template <typename T>
  void OptionOf(uint16_t code, T value) {
    Option(code, std::as_bytes(std::span(&value, 1)));
  }
  // The high half first, each half in the order of the file (§4.3).
  void PutTime(uint64_t unix_ns) {
    Put(static_cast<uint32_t>(unix_ns >> 32));
    Put(static_cast<uint32_t>(unix_ns));
  }
  void OptionTime(uint16_t code, uint64_t unix_ns) {
    Put(code);
    Put(static_cast<uint16_t>(sizeof unix_ns));
    PutTime(unix_ns);
  }
  void EndOptions() {
    Put(net::kOptionEnd);
    Put(uint16_t{0});
  }

 private:
  std::vector<std::byte>& out_;
  size_t start_;
};

}  // namespace

void AppendSection(absl::string_view application, std::vector<std::byte>& out) {
  Block block(net::kBlockSectionHeader, out);
  block.Put(net::kByteOrderMagic);
  block.Put(uint16_t{1});
  block.Put(uint16_t{0});
  block.Put(kUnknownLength);
  block.Option(kSectionApplication, application);
  block.EndOptions();
}

void AppendInterface(absl::string_view name, uint32_t snaplen_bytes,
                     std::vector<std::byte>& out) {
  Block block(net::kBlockInterface, out);
  block.Put(static_cast<uint16_t>(net::kLinkTypeEthernet));
  block.Put(uint16_t{0});
  block.Put(snaplen_bytes);
  block.Option(kInterfaceName, name);
  block.OptionOf(net::kOptionTimestampResolution, kNanoseconds);
  block.EndOptions();
}

void AppendPacket(const Packet& packet, std::vector<std::byte>& out) {
  Block block(net::kBlockEnhancedPacket, out);
  block.Put(packet.interface_id);
  block.PutTime(packet.unix_ns);
  block.Put(static_cast<uint32_t>(packet.bytes.size()));
  block.Put(packet.frame_bytes);
  block.PutPadded(packet.bytes);
  block.OptionOf(kPacketFlags, static_cast<uint32_t>(packet.direction));
  if (!packet.comment.empty()) block.Option(kOptionComment, packet.comment);
  block.EndOptions();
}

void AppendStatistics(const Statistics& counts, std::vector<std::byte>& out) {
  Block block(net::kBlockInterfaceStatistics, out);
  block.Put(counts.interface_id);
  block.PutTime(counts.end_unix_ns);
  block.OptionTime(kStatisticsBegin, counts.begin_unix_ns);
  block.OptionTime(kStatisticsEnd, counts.end_unix_ns);
  block.OptionOf(kStatisticsReceived, counts.seen);
  block.OptionOf(kStatisticsOsDrop, counts.lost);
  block.OptionOf(kStatisticsDelivered, counts.delivered);
  block.EndOptions();
}

}  // namespace weir::pcapng
