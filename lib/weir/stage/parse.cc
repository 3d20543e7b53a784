#include "weir/stage/parse.h"

#include <algorithm>
#include <array>

#include "weir/mbuf/mbuf_pool.h"

namespace weir {
namespace {

// net and mbuf, which know nothing of each other, name the same things.
template <typename A, typename B>
constexpr bool Same(A a, B b) noexcept {
  return static_cast<unsigned>(a) == static_cast<unsigned>(b);
}
using net::NetworkLayer;
using net::ParsedFrame;
static_assert(Same(NetworkLayer::kNone, L3::kNone) &&
              Same(NetworkLayer::kIpv4, L3::kIpv4) &&
              Same(NetworkLayer::kIpv6, L3::kIpv6) &&
              Same(NetworkLayer::kArp, L3::kArp) &&
              Same(NetworkLayer::kMpls, L3::kMpls) &&
              Same(NetworkLayer::kLlc, L3::kLlc) &&
              Same(NetworkLayer::kOther, L3::kOther));
static_assert(ParsedFrame::kFragment == PacketInfo::kFragment &&
              ParsedFrame::kFirstFragment == PacketInfo::kFirstFragment &&
              ParsedFrame::kLastFragment == PacketInfo::kLastFragment &&
              ParsedFrame::kTunnel == PacketInfo::kTunnel);

// Brings the first segment of `mbuf` to `needed` bytes, which the frame has;
// false if it lacks the room. Segments that are then empty go back to the pool.
bool PullUp(Mbuf& mbuf, uint32_t needed, MbufCache& cache) noexcept {
  if (needed - mbuf.data_bytes() > mbuf.tailroom_bytes()) return false;
  while (mbuf.data_bytes() < needed) {
    const uint32_t missing = needed - mbuf.data_bytes();
    mbuf.PullFromNext(std::min(missing, mbuf.next()->data_bytes()));
    if (mbuf.next()->data_bytes() == 0) {
      const std::array<Mbuf*, 1> empty = {&mbuf.UnlinkNext()};
      cache.FreePackets(empty);
    }
  }
  return true;
}

}  // namespace

Verdict Parse::WalkPacket(Mbuf& mbuf, Lcore& lcore) const noexcept {
  const auto walk = [&] {
    return net::ParseFrame(mbuf.bytes(), mbuf.frame_bytes(),
                           {.tiny_fragments = options_.tiny_fragments});
  };
  ParsedFrame found = walk();
  // Each turn gets a header further.
  while (found.error == net::ParseError::kSplit &&
         PullUp(mbuf, found.needed_bytes, lcore.cache())) {
    found = walk();
  }
  // Also of a malformed frame: whoever looks at what was dropped wants to know
  // how far it was right.
  Note(found, mbuf.info());
  if (found.error != net::ParseError::kNone) {
    return Verdict::Drop(DropFor(found.error));
  }
  if (options_.not_ip == NotIp::kDrop && !mbuf.info().is_ip()) {
    return Verdict::Drop(Drop::kNotIp);
  }
  return Verdict::Pass();
}

}  // namespace weir
