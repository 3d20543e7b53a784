// Identifications for IPv6 fragments (RFC 8200 §4.5). One that others can guess
// lets them mix their fragments into a datagram (RFC 7739 §3), one that comes
// again too soon mixes datagrams of the same hosts. A counter sent through a
// secret permutation of all 2^32 numbers avoids both.

#ifndef WEIR_NET_FRAGMENT_IDS_H_
#define WEIR_NET_FRAGMENT_IDS_H_

#include <array>
#include <cstdint>

namespace weir::net {

// Gives every number once before any comes again, in an order that does not
// show without the seed. Two with the same seed give the same. Owner lcore
// only.
class FragmentIds {
 public:
  explicit FragmentIds(uint64_t seed) noexcept;

  uint32_t Next() noexcept {
    // Made one ahead, so that nothing waits for it.
    const uint32_t id = next_;
    next_ = Permute(count_++);
    return id;
  }

 private:
  // What a Feistel network needs to look random even to someone who may ask
  // for any value (Luby and Rackoff 1988).
  static constexpr int kRounds = 4;

  struct Key {
    uint64_t a;
    uint64_t b;
  };

  uint32_t Permute(uint32_t number) const noexcept;

  std::array<Key, kRounds> keys_;
  // Odd; spreads neighbours over both halves of the network.
  uint32_t factor_;
  uint32_t count_;
  uint32_t next_;
};

}  // namespace weir::net

#endif  // WEIR_NET_FRAGMENT_IDS_H_
