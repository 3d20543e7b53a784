// Random IP datagrams in random frames: options, extension headers, tags and
// padding as they occur, and as they do not.

#ifndef WEIR_TEST_SUPPORT_RANDOM_DATAGRAM_H_
#define WEIR_TEST_SUPPORT_RANDOM_DATAGRAM_H_

#include <cstddef>
#include <cstdint>
#include <random>

#include "test/support/frame.h"

namespace weir::testing {

// What to make.
struct RandomDatagramOptions {
  bool ipv6 = false;
  // Of the IP packet: header and data, at least enough for the headers.
  size_t packet_bytes = 1500;
  // A fragment of a longer datagram, with an offset or more to come.
  bool fragment = false;
  // Up to this many bytes behind the packet.
  size_t max_padding_bytes = 46;
};

// The frame; the same for the same state of `random`.
Bytes RandomDatagram(const RandomDatagramOptions& options,
                     std::mt19937& random);

}  // namespace weir::testing

#endif  // WEIR_TEST_SUPPORT_RANDOM_DATAGRAM_H_
