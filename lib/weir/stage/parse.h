// The stage that looks at every frame once, so that those behind it need not:
// it drops what is malformed and notes in each mbuf what is where.

#ifndef WEIR_STAGE_PARSE_H_
#define WEIR_STAGE_PARSE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/parse_frame.h"
#include "weir/net/parse_quickly.h"
#include "weir/net/plain_transport.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"

namespace weir {

// A packet stage. Writes Mbuf::info(), also of what it drops, but for the state
// of checksums and kDeviceChecked, which stay as they are. Headers of such a
// frame are in its first segment: those that are not are moved there. It may
// stand a second time behind a stage that makes packets of fragments. Owner
// lcore only.
class Parse {
 public:
  // Of frames without an IP packet, malformed ones apart.
  enum class NotIp : uint8_t { kPass, kDrop };

  // Of malformed ones. What passes is a frame of which nothing is known, as for
  // those who forward all and only want to know flows.
  enum class Malformed : uint8_t { kDrop, kPass };

  struct Options {
    NotIp not_ip = NotIp::kPass;
    Malformed malformed = Malformed::kDrop;
    net::ParseOptions::TinyFragments tiny_fragments =
        net::ParseOptions::TinyFragments::kAccept;
  };

  // One for each net::ParseError, in that order, and what follows.
  enum class Drop : uint8_t {
    // No room in the first segment for headers that are in others.
    kSplit = static_cast<uint8_t>(net::ParseError::kSplit) - 1,
    kNotIp,
  };
  static constexpr absl::string_view kName = "parse";
  static constexpr auto kDropNames = [] {
    std::array<absl::string_view, net::kParseErrorNames.size() + 1> names;
    for (size_t i = 0; i < net::kParseErrorNames.size(); ++i) {
      names[i] = net::kParseErrorNames[i];
    }
    names.back() = "not-ip";
    return names;
  }();

  Parse() = default;
  explicit Parse(const Options& options) noexcept : options_(options) {}

  Verdict OnPacket(Mbuf& mbuf, Lcore& lcore) noexcept {
    net::ParsedFrame found;
    if (!net::ParseQuickly(mbuf.bytes(), mbuf.frame_bytes(), found))
        [[unlikely]] {
      return WalkPacket(mbuf, lcore);
    }
    Note(found, mbuf.info());
    return Verdict::Pass();
  }

  // The same of a packet that was found before, as info() says, since when
  // only the end of its data has changed and has become the end of the frame:
  // what is left to look at is what the data begins with.
  Verdict OnReassembled(Mbuf& mbuf, Lcore& lcore) noexcept {
    const PacketInfo& info = mbuf.info();
    if (!net::HasPlainTransport(mbuf.bytes(), mbuf.frame_bytes(),
                                info.l4_offset, info.protocol)) [[unlikely]] {
      return WalkPacket(mbuf, lcore);
    }
    return Verdict::Pass();
  }

 private:
  // Any frame, also one whose headers go beyond its first segment: they are
  // moved there as far as there is room.
  Verdict WalkPacket(Mbuf& mbuf, Lcore& lcore) const noexcept;

  static constexpr Drop DropFor(net::ParseError error) noexcept {
    return static_cast<Drop>(static_cast<uint8_t>(error) - 1);
  }

  static void Note(const net::ParsedFrame& found, PacketInfo& info) noexcept {
    info.l3_offset = found.l3_offset;
    info.l4_offset = found.l4_offset;
    info.trailer_bytes = found.trailer_bytes;
    info.protocol = found.protocol;
    info.l3 = found.l3;
    info.flags = static_cast<uint8_t>(
        (info.flags & PacketInfo::kDeviceChecked) | found.flags);
  }

  Options options_;
};

}  // namespace weir

#endif  // WEIR_STAGE_PARSE_H_
