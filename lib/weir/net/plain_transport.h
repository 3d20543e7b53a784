// The transport header of a packet whose other headers were parsed before, as
// reassembly puts them together.

#ifndef WEIR_NET_PLAIN_TRANSPORT_H_
#define WEIR_NET_PLAIN_TRANSPORT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/net/geneve.h"
#include "weir/net/parse_quickly.h"
#include "weir/net/transport_shape.h"
#include "weir/net/vxlan.h"

namespace weir::net {

// Whether ParseFrame, having come to data of `protocol` at `at`, which goes on
// to the end of the frame, would find nothing wrong and nothing more: false
// also if this does not say, as of protocols with more to look at, or if some
// header might not be in `first`. Any thread.
inline bool HasPlainTransport(std::span<const std::byte> first,
                              size_t frame_bytes, size_t at,
                              uint8_t protocol) noexcept {
  using internal::LoadRaw;
  using internal::Raw;
  const size_t at_hand = first.size() - at;
  if (first.size() < at + internal::kTransportBytes) return false;
  const std::byte* const header = first.data() + at;
  const internal::TransportShape& shape = internal::kTransportShapes[protocol];
  const uint32_t claimed =
      (internal::LoadHost(header + shape.at) >> shape.shift & shape.mask) +
      shape.add;
  // UDP says the length of its data, too, which need not be at hand.
  const uint32_t needed =
      shape.mask == UINT16_MAX ? uint32_t{shape.least} : claimed;
  const uint16_t port = LoadRaw(header + 2);
  return claimed >= shape.least && claimed <= frame_bytes - at &&
         needed <= at_hand && port != Raw(kVxlanPort) &&
         port != Raw(kGenevePort);
}

}  // namespace weir::net

#endif  // WEIR_NET_PLAIN_TRANSPORT_H_
