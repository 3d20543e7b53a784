// A frame of any bytes, parsed whole, cut short by a capture, by the quick way
// and, in segments, by the stage. The first byte of the input says how long the
// first two segments are, in steps of two bytes; the rest is the frame.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "test/fuzz/input.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/net/parse_frame.h"
#include "weir/net/parse_quickly.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/parse.h"

namespace weir::fuzz {
namespace {

using net::NetworkLayer;
using net::ParsedFrame;
using net::ParseError;

bool IsIp(const ParsedFrame& found) {
  return found.l3 == NetworkLayer::kIpv4 || found.l3 == NetworkLayer::kIpv6;
}

// A copy in memory of its own: the sanitizers see reads behind its end.
std::vector<std::byte> CopyOf(std::span<const uint8_t> bytes) {
  std::vector<std::byte> copy(bytes.size());
  std::ranges::transform(bytes, copy.begin(),
                         [](uint8_t byte) { return std::byte{byte}; });
  return copy;
}

ParsedFrame Whole(std::span<const uint8_t> bytes) {
  const auto frame = CopyOf(bytes);
  const ParsedFrame found = net::ParseFrame(frame, frame.size());
  Require(found.error != ParseError::kSplit, "a whole frame lacks nothing");
  Require(found.error != ParseError::kCapturedShort, "nothing was cut");
  if (found.error == ParseError::kNone) {
    Require(found.l3 != NetworkLayer::kNone, "a valid frame is something");
    Require(found.l3_offset + size_t{found.trailer_bytes} <= frame.size(),
            "the trailer is behind the packet");
    Require(!IsIp(found) ||
                (found.l4_offset >= found.l3_offset + 20 &&
                 found.l4_offset + size_t{found.trailer_bytes} <= frame.size()),
            "the transport header is in the packet");
  }
  ParsedFrame quick;
  if (net::ParseQuickly(frame, frame.size(), quick)) {
    Require(quick == found, "both ways find the same");
  }
  return found;
}

// The first half of the bytes, captured of all of them.
void CutShort(std::span<const uint8_t> bytes, const ParsedFrame& whole) {
  const auto half = CopyOf(bytes.first(bytes.size() / 2));
  const ParsedFrame found =
      net::ParseFrame(half, half.size(), {.wire_bytes = bytes.size()});
  Require(found.error != ParseError::kSplit, "all that was captured is there");
  Require(found.error == ParseError::kNone ||
              found.error == ParseError::kCapturedShort ||
              found.error == whole.error ||
              (found.l3 == NetworkLayer::kNone &&
               found.error == ParseError::kRunt) ||
              !IsIp(found),
          "what is cut off makes no other error");
}

// The stage, with frames in up to three segments.
class Rig {
 public:
  void Run(uint8_t cut, std::span<const uint8_t> bytes,
           const ParsedFrame& whole) {
    Mbuf& packet = MakePacket(cut, bytes);
    const Verdict verdict = parse_.OnPacket(packet, lcore_);
    Require(SameBytes(packet, bytes), "the frame stays what it is");
    if (verdict.is_pass()) {
      Require(whole.error == ParseError::kNone, "malformed frames are dropped");
      const PacketInfo& info = packet.info();
      Require(info.l3_offset == whole.l3_offset &&
                  info.l4_offset == whole.l4_offset &&
                  info.trailer_bytes == whole.trailer_bytes &&
                  info.protocol == whole.protocol && info.flags == whole.flags,
              "segments change nothing");
      Require(!info.is_ip() || info.l4_offset <= packet.data_bytes(),
              "headers are in the first segment");
    } else {
      const auto split = static_cast<size_t>(Parse::Drop::kSplit);
      Require(verdict.reason() == split ||
                  verdict.reason() == static_cast<size_t>(whole.error) - 1,
              "the reason is that of the whole frame");
      Require(verdict.reason() != split || bytes.size() > kRoom,
              "there is room for a short frame");
    }
    Mbuf* const one = &packet;
    lcore_.cache().FreePackets({&one, 1});
    Require(pool_->used_mbufs() == 0, "every segment is freed");
  }

 private:
  static constexpr uint32_t kRoom = 2048;

  Mbuf& MakeSegment(std::span<const uint8_t> bytes) {
    std::array<Mbuf*, 1> one{};
    Require(lcore_.cache().Alloc(one) == 1, "there is an mbuf");
    one[0]->Reset(0);
    one[0]->SetLength(static_cast<uint32_t>(bytes.size()));
    if (!bytes.empty()) {
      std::memcpy(one[0]->data(), bytes.data(), bytes.size());
    }
    return *one[0];
  }

  Mbuf& MakePacket(uint8_t cut, std::span<const uint8_t> bytes) {
    const size_t first = std::min<size_t>(2 * (cut & 15U), bytes.size());
    const size_t second =
        std::min<size_t>(2 * (cut >> 4U), bytes.size() - first);
    Mbuf& packet = MakeSegment(bytes.first(cut == 0 ? 0 : first));
    Mbuf* last = &packet;
    auto rest = bytes.subspan(packet.data_bytes());
    for (size_t size = second; !rest.empty(); size = kRoom) {
      size = std::min<size_t>(size, rest.size());
      Mbuf& next = MakeSegment(rest.first(size));
      packet.Append(*last, next);
      last = &next;
      rest = rest.subspan(size);
    }
    return packet;
  }

  static bool SameBytes(const Mbuf& packet, std::span<const uint8_t> bytes) {
    size_t at = 0;
    for (const Mbuf* part = &packet; part != nullptr; part = part->next()) {
      if (part->data_bytes() > bytes.size() - at) return false;
      if (std::memcmp(part->data(), bytes.data() + at, part->data_bytes()) !=
          0) {
        return false;
      }
      at += part->data_bytes();
    }
    return at == bytes.size() && packet.frame_bytes() == bytes.size();
  }

  std::unique_ptr<MbufPool> pool_ =
      *MbufPool::Create({.mbufs = 256, .best_rung = PageRung::k4KiB});
  Lcore lcore_{0, pool_->cache(0)};
  Parse parse_;
};

}  // namespace
}  // namespace weir::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const rig = new weir::fuzz::Rig;
  weir::fuzz::Input input(data, size);
  const uint8_t cut = input.Byte();
  // Longer frames than a device takes teach nothing new.
  const auto bytes = input.Take(16384);
  const auto whole = weir::fuzz::Whole(bytes);
  weir::fuzz::CutShort(bytes, whole);
  rig->Run(cut, bytes, whole);
  return 0;
}
