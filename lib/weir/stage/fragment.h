// Cuts IP packets that are longer than the MTU of the link they leave by into
// fragments (RFC 791 §3.2, RFC 8200 §4.5), without a copy of their payload.

#ifndef WEIR_STAGE_FRAGMENT_H_
#define WEIR_STAGE_FRAGMENT_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/token_bucket.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/net/fragment_headers.h"
#include "weir/net/fragment_ids.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/stage/fragment_cut.h"
#include "weir/stage/too_big.h"

namespace weir {

enum class FragmentRole : uint8_t {
  // The packets begin their way here: IPv6 may be cut (RFC 8200 §4.5). What may
  // not be is dropped, and whoever made it reads the counter.
  kHost,
  // They are passing through: IPv6 is never cut, and the sender of what may not
  // be is told the MTU (RFC 1191 §4, RFC 4443 §3.2).
  kRouter,
};

struct FragmentOptions {
  // The longest packet from its IP header on: 68 (RFC 791 §3.2) to 65535. An
  // IPv6 packet is never cut for a link below 1280 bytes: RFC 8200 §5 leaves
  // that to the link.
  uint32_t mtu_bytes = 1500;
  FragmentRole role = FragmentRole::kHost;
  // Segments of a frame that the outlet takes, 2 at least: max_segments() of a
  // TX queue, whose default is enough for an MTU up to 9600 bytes. Payload that
  // would need more is copied, if there is room behind the headers.
  uint32_t max_segments = 8;
  // What identifications of IPv6 fragments follow from: nobody else should know
  // it, and two lcores must not have the same. 0: chosen at random.
  uint64_t id_seed = 0;
  // Of a router: what it answers as, and how often.
  RouterAddresses router = {};
  uint32_t answers_per_second = 1000;
  uint32_t answers_at_once = 50;
};

// A burst stage; its packets were parsed and their L4 checksums are finished.
// What fits, and what is not IP, passes as it is. Fragments carry the packet's
// layer 2, with its VLAN tags, and none of its padding; a fragment that is cut
// again stays a part of its datagram. Answers to senders are in the bursts,
// marked PacketInfo::kAnswer: TransmitBothWays sends them back. Owner lcore
// only.
class Fragment {
 public:
  enum class Drop : uint8_t {
    kDontFragment,
    kRouterIpv6,
    kMtuBelowIpv6,
    kHeadersTooLong,
    kTooFar,
    kMalformed,
    kPartialChecksum,
    kTooManySegments,
    kNoMbufs,
    kStopped,
  };
  static constexpr size_t kDrops = 10;
  static constexpr absl::string_view kName = "fragment";
  static constexpr std::array<absl::string_view, kDrops> kDropNames = {
      "over the MTU, and DF set",       "over the MTU, and IPv6 at a router",
      "IPv6 over an MTU below 1280",    "headers too long to fragment",
      "data beyond 65535 bytes",        "malformed headers",
      "L4 checksum left to the device", "too many segments",
      "no mbufs for fragments",         "unfinished at stop",
  };

  // InvalidArgument for options out of range. Control thread, before Launch.
  static absl::StatusOr<Fragment> Create(const FragmentOptions& options);

  void OnBurst(Burst& burst, Lcore& lcore) noexcept;
  bool more() const noexcept { return next_ != count_; }
  void Close(Lcore& lcore) noexcept;
  const StageCounts<kDrops>& counts() const noexcept { return counts_; }

 private:
  explicit Fragment(const FragmentOptions& options);

  bool Fits(const Mbuf& packet) const noexcept;
  void TakeAll(Burst& burst) noexcept;
  bool Advance(Burst& burst, Lcore& lcore) noexcept;
  bool Begin(Mbuf& packet, Burst& burst, Lcore& lcore) noexcept;
  bool Continue(Burst& burst, Lcore& lcore) noexcept;
  void Answer(const Mbuf& packet, Burst& burst, Lcore& lcore) noexcept;
  void DropPacket(Mbuf& packet, Drop reason, Lcore& lcore) noexcept;
  void Count(Drop reason) noexcept {
    counts_.drops[static_cast<size_t>(reason)].Add(1);
  }

  uint32_t mtu_bytes_;
  FragmentRole role_;
  // Of pending_: those from next_ to count_ wait; the first of them may be in
  // cut_ already.
  uint32_t next_ = 0;
  uint32_t count_ = 0;
  FragmentCut cut_;
  net::FragmentIds ids_;
  TokenBucket answers_;
  StageCounts<kDrops> counts_;
  RouterAddresses router_;
  std::array<Mbuf*, kMaxBurst> pending_;
};

static_assert(BurstStage<Fragment>);

}  // namespace weir

#endif  // WEIR_STAGE_FRAGMENT_H_
