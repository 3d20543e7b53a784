// A number and a time in front of payload, by which a receiver sees what was
// lost, what came twice or late, and how long it took.

#ifndef WEIR_STAGE_UDP_SEQUENCE_STAMP_H_
#define WEIR_STAGE_UDP_SEQUENCE_STAMP_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/net/load_store.h"

namespace weir {

// In network order: "weir", a version, the number of the datagram from 0, and
// when it was made, in nanoseconds since the Unix epoch.
struct SequenceStamp {
  Be32 magic;
  Be32 version;
  Be64 number;
  Be64 sent_ns;
};
static_assert(sizeof(SequenceStamp) == 24 && alignof(SequenceStamp) == 1);

inline constexpr uint32_t kSequenceMagic = 0x77656972;
inline constexpr uint32_t kSequenceVersion = 1;

// Writes the stamp over the front of `payload`, if it has room. Any thread.
inline void WriteSequenceStamp(std::span<std::byte> payload, uint64_t number,
                               uint64_t sent_ns) noexcept {
  if (payload.size() < sizeof(SequenceStamp)) return;
  net::StoreHeader(payload, 0,
                   SequenceStamp{Be32(kSequenceMagic), Be32(kSequenceVersion),
                                 Be64(number), Be64(sent_ns)});
}

// The stamp in front of `payload`, if there is one. Any thread.
inline std::optional<SequenceStamp> ReadSequenceStamp(
    std::span<const std::byte> payload) noexcept {
  if (payload.size() < sizeof(SequenceStamp)) return std::nullopt;
  const auto stamp = net::LoadHeader<SequenceStamp>(payload, 0);
  if (stamp.magic != Be32(kSequenceMagic) ||
      stamp.version != Be32(kSequenceVersion)) {
    return std::nullopt;
  }
  return stamp;
}

}  // namespace weir

#endif  // WEIR_STAGE_UDP_SEQUENCE_STAMP_H_
