// The fixed header of RTP (RFC 3550 §5.1).

#ifndef WEIR_NET_RTP_H_
#define WEIR_NET_RTP_H_

#include <cstdint>

#include "weir/base/big_endian.h"

namespace weir::net {

struct RtpHeader {
  // Version, padding, extension, number of CSRCs; marker, payload type.
  uint8_t version_and_counts;
  uint8_t marker_and_type;
  Be16 sequence;
  Be32 timestamp;
  Be32 ssrc;

  // Of data: of version 2, and not of a type that RTCP on the same port would
  // have (RFC 5761 §4).
  bool is_data() const noexcept {
    const unsigned type = marker_and_type & 0x7f;
    return version_and_counts >> 6 == 2 && (type < 64 || type > 95);
  }
};
static_assert(sizeof(RtpHeader) == 12 && alignof(RtpHeader) == 1);

}  // namespace weir::net

#endif  // WEIR_NET_RTP_H_
