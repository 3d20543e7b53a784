// Makes a packet of a chain of fragments: headers that say so.

#ifndef WEIR_STAGE_REASSEMBLED_H_
#define WEIR_STAGE_REASSEMBLED_H_

#include <cstdint>
#include <optional>

#include "weir/mbuf/mbuf.h"
#include "weir/stage/reassembly_options.h"

namespace weir {

// What its fragments said of a datagram.
struct Reassembled {
  // Of the data of all fragments.
  uint32_t bytes;
  // A bit for each value of the ECN field.
  uint8_t ecn_seen;
  bool is_ipv6;
};

// Finishes `frame`, the first fragment of a datagram as Parse left it, behind
// which the data of the others hangs, and of whose headers no byte is shared.
// IPv4: the header is that of the first fragment with new length, fragment
// field and checksum (RFC 791 §3.2, RFC 1624). IPv6: the fragment header goes,
// and what stands in front of it is that of the first fragment with new length
// and next header (RFC 8200 §4.5). A congestion mark of any fragment is kept
// (RFC 3168 §5.3). 802.2 headers, for whose length field the datagram may be
// too long, give way to Ethernet II.
//
// info() says then that this is a packet which came whole; what its data
// begins with has to be parsed. Returns why the datagram has to be dropped, if
// it has to: kTooLarge, kEcn, kNotParsed. Owner lcore only.
std::optional<ReassemblyDrop> Finish(Mbuf& frame,
                                     const Reassembled& whole) noexcept;

}  // namespace weir

#endif  // WEIR_STAGE_REASSEMBLED_H_
