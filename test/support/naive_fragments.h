// What fragments of IP are, written down a second time and slowly: tests
// compare against it, and it shares nothing with lib/weir but PacketInfo.

#ifndef WEIR_TEST_SUPPORT_NAIVE_FRAGMENTS_H_
#define WEIR_TEST_SUPPORT_NAIVE_FRAGMENTS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "test/support/frame.h"
#include "weir/mbuf/packet_info.h"

namespace weir::testing {

// A frame with an IP packet, taken apart. All sizes in bytes.
struct NaivePacket {
  // Up to the IP header, with 0 in place of an IEEE 802.3 length.
  Bytes layer2;
  bool has_length = false;
  size_t length = 0;
  bool is_ipv6 = false;
  // IPv4: the header with options. IPv6: all that is in front of a Fragment
  // header, or would be.
  Bytes headers;
  bool has_fragment_header = false;
  // Of the Fragment header of IPv6.
  uint8_t next_header = 0;
  uint32_t id = 0;
  size_t offset = 0;
  bool more = false;
  bool dont_fragment = false;
  // Behind the headers, without padding.
  Bytes data;
  size_t padding = 0;
  // What is wrong with lengths or checksum of the header, empty if nothing is.
  std::string fault;

  // From the IP header to the end of data.
  size_t packet_bytes() const;
};

// Takes `frame` apart. It must be IP, behind Ethernet II with VLAN tags or
// behind IEEE 802.3 with LLC and SNAP.
NaivePacket TakeApart(const Bytes& frame);

// What Parse says of `frame`.
PacketInfo DescribeNaively(const Bytes& frame);

// The frame of which `frames` are all the fragments, in order; it has no
// padding. With `keep_fragment_header` an IPv6 packet has one. Adds a test
// failure for what does not fit together.
Bytes JoinFragments(const std::vector<Bytes>& frames,
                    bool keep_fragment_header);

// Expects that `fragments` are what RFC 791 §3.2 and RFC 8200 §4.5 make of
// `frame` for `mtu` bytes: as long as they may be, and together the frame
// without its padding.
void ExpectFragmentsOf(const Bytes& frame, const std::vector<Bytes>& fragments,
                       size_t mtu);

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_NAIVE_FRAGMENTS_H_
