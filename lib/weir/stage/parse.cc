#include "weir/stage/parse.h"

#include <algorithm>
#include <array>

#include "weir/mbuf/mbuf_pool.h"

namespace weir {
namespace {

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
  net::ParsedFrame found = walk();
  // Each turn gets a header further.
  while (found.error == net::ParseError::kSplit &&
         PullUp(mbuf, found.needed_bytes, lcore.cache())) {
    found = walk();
  }
  // Also of a malformed frame: whoever looks at what was dropped wants to know
  // how far it was right.
  Note(found, mbuf.info());
  if (found.error != net::ParseError::kNone) {
    if (options_.malformed == Malformed::kDrop) {
      return Verdict::Drop(DropFor(found.error));
    }
    Note({}, mbuf.info());
  }
  if (options_.not_ip == NotIp::kDrop && !mbuf.info().is_ip()) {
    return Verdict::Drop(Drop::kNotIp);
  }
  return Verdict::Pass();
}

}  // namespace weir
