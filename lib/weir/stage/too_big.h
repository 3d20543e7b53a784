// What a router tells the sender of a packet that it may not cut:
// "fragmentation needed" (RFC 1191 §4) and "packet too big" (RFC 4443 §3.2),
// which path MTU discovery lives on.

#ifndef WEIR_STAGE_TOO_BIG_H_
#define WEIR_STAGE_TOO_BIG_H_

#include <cstdint>

#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/stage/icmp_error.h"

namespace weir {

// Whether the sender of `packet`, which was parsed, may be told: if nothing
// bars it (BarTo), but for IPv6 also about packets to groups (RFC 4443 §2.4
// (e.3)), if `router` has what to answer as. Any thread.
bool MayAnswerTooBig(const Mbuf& packet,
                     const RouterAddresses& router) noexcept;

// The answer about `packet`, of which MayAnswerTooBig is true, as
// MakeIcmpError. Owner lcore only.
Mbuf* MakeTooBig(const Mbuf& packet, uint32_t mtu_bytes,
                 const RouterAddresses& router, MbufCache& cache) noexcept;

}  // namespace weir

#endif  // WEIR_STAGE_TOO_BIG_H_
