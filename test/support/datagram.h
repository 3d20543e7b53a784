// Datagrams for tests of fragments: the frame that carries all of one, and
// frames that carry parts, made by code that shares nothing with lib/weir.

#ifndef WEIR_TEST_SUPPORT_DATAGRAM_H_
#define WEIR_TEST_SUPPORT_DATAGRAM_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "test/support/frame.h"

namespace weir {

// What is not said is the same for all.
struct Datagram {
  bool is_ipv6 = false;
  uint32_t id = 1;
  std::string source = {};
  std::string destination = {};
  uint8_t protocol = 17;
  // From the transport header on.
  Bytes data = {};
  // VLAN tags, the outer first.
  std::vector<uint16_t> vlans = {};
  uint8_t ecn = 0;
};

// UDP with `payload_bytes` pseudo-random bytes that follow from `id`, which
// also is the datagram's.
Datagram UdpDatagram(bool is_ipv6, uint32_t id, size_t payload_bytes);

// The frame of a datagram that was never cut.
Bytes WholeFrame(const Datagram& datagram);

// The frame of a fragment: `bytes` bytes of the data from `begin` on, which is
// a multiple of eight.
Bytes FragmentFrame(const Datagram& datagram, size_t begin, size_t bytes,
                    bool more);

// Frames of fragments with `bytes` bytes each (a multiple of eight) but for the
// last, in order.
std::vector<Bytes> CutEvenly(const Datagram& datagram, size_t bytes);

// The same with lengths that follow from `seed`, of `most` units of eight bytes
// at most.
std::vector<Bytes> CutAtRandom(const Datagram& datagram, size_t most,
                               uint64_t seed);

}  // namespace weir

#endif  // WEIR_TEST_SUPPORT_DATAGRAM_H_
