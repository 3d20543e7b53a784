// Identifications for IPv6 fragments (RFC 8200 §4.5). One that others can guess
// lets them mix their fragments into a datagram (RFC 7739 §3), one that comes
// again too soon mixes datagrams of the same hosts. A counter sent through a
// secret permutation of all 2^32 numbers avoids both.

#ifndef WEIR_NET_FRAGMENT_IDS_H_
#define WEIR_NET_FRAGMENT_IDS_H_

#include <cstddef>
#include <cstdint>

#include "weir/net/speck32.h"

namespace weir::net {

// Gives every number once before any comes again, in an order that does not
// show without the seed. Two with the same seed give the same. Owner lcore
// only.
class FragmentIds {
 public:
  explicit FragmentIds(uint64_t seed) noexcept;

  uint32_t Next() noexcept {
    if (given_ == Speck32::kBlocks) [[unlikely]]
      Refill();
    return ids_[given_++];
  }

 private:
  // Makes those that come next, many at once, which is cheaper than one by one.
  void Refill() noexcept;

  size_t given_ = Speck32::kBlocks;
  Speck32::Blocks ids_;
  uint32_t count_;
  Speck32 cipher_;
};

}  // namespace weir::net

#endif  // WEIR_NET_FRAGMENT_IDS_H_
