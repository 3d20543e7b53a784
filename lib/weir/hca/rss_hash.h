// The hash by which an RSS queue pair spreads frames over work queues.

#ifndef WEIR_HCA_RSS_HASH_H_
#define WEIR_HCA_RSS_HASH_H_

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/net/toeplitz.h"

namespace weir::hca {

// What ibv_rx_hash_fields may be asked for, and reported.
inline constexpr uint64_t kRssFields =
    IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_IPV6 |
    IBV_RX_HASH_DST_IPV6 | IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP |
    IBV_RX_HASH_SRC_PORT_UDP | IBV_RX_HASH_DST_PORT_UDP;

class RssHash {
 public:
  // 0 if `conf` can be the hash over a table of `entries`, as NICs have it:
  // EINVAL for a key that is not of 40 bytes, fields of both IP versions or of
  // both transports, no fields but more than one entry; EOPNOTSUPP for another
  // function, other fields, ports without an address. Any thread.
  static int Check(const ibv_rx_hash_conf& conf, size_t entries);

  // `conf` has passed Check.
  explicit RssHash(const ibv_rx_hash_conf& conf);

  // The hash of a frame of any content: over the chosen addresses, and over the
  // chosen ports if it has them and is no fragment, so that all fragments of a
  // datagram have one hash. 0 for frames of the other IP version or of none.
  // Any thread.
  uint32_t Of(std::span<const std::byte> frame) const noexcept;

 private:
  net::Toeplitz toeplitz_;
  uint32_t fields_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_RSS_HASH_H_
