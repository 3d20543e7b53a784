// The router's side of groups in a pipeline: asks who on a link is a member of
// what, hears the answers, and tells a control thread what has to be forwarded
// there. With a MembershipHost on another port it is a proxy (RFC 4605).

#ifndef WEIR_STAGE_GROUP_MEMBERSHIP_ROUTER_H_
#define WEIR_STAGE_GROUP_MEMBERSHIP_ROUTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/membership/group_changes.h"
#include "weir/membership/group_router.h"
#include "weir/membership/igmp.h"
#include "weir/membership/mld.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/stage/group/group_frame.h"
#include "weir/stage/group/group_link.h"

namespace weir {

// Of a router on a link.
template <typename Protocol>
struct MembershipRouterOptions {
  // What queries come from: of several routers the one with the lowest address
  // asks (RFC 3376 §6.6.2). Of IPv6 it is an address of the link (RFC 3810
  // §5.1.14).
  GroupSender<typename Protocol::Address> sender = {};
  // The longest packet of the link.
  uint32_t mtu_bytes = 1500;
  GroupRouterOptions router = {};
};

// What was heard and said, and how things are. Owner lcore writes.
struct MembershipRouterCounts {
  Counter reports;
  // Of other routers.
  Counter queries_heard;
  Counter queries_sent;
  // Queries that waited for an mbuf.
  Counter no_mbuf;
  // Groups with members now, and 1 if it is this router that asks.
  Counter groups;
  Counter is_querier;
  // Records of groups, and sources, for which there was no room.
  Counter groups_refused;
  Counter sources_refused;
};

// A burst stage behind Parse. Messages of its protocol end here, all other
// packets pass; its queries are in the bursts, marked PacketInfo::kAnswer.
// Owner lcore only.
template <typename Protocol>
class MembershipRouter {
 public:
  using Address = typename Protocol::Address;
  using Changes = GroupChangeReceiver<Address>;

  enum class Drop : uint8_t { kOtherVlan, kMalformed, kChecksum, kNotOfLink };
  static constexpr size_t kDrops = 4;
  static constexpr absl::string_view kName =
      Protocol::kProtocol == Igmp::kProtocol ? "igmp-router" : "mld-router";
  static constexpr std::array<absl::string_view, kDrops> kDropNames = {
      "message on another VLAN", "malformed message", "checksum of a message",
      "message not of the link"};

  struct Ends;
  // Both ends. InvalidArgument for an MTU too small for messages, or a sender
  // that may not ask; ResourceExhausted if there is no descriptor left. Control
  // thread, before Launch.
  static absl::StatusOr<Ends> Create(
      const MembershipRouterOptions<Protocol>& options);

  void OnBurst(Burst& burst, Lcore& lcore) noexcept;
  void Tick(Lcore& lcore) noexcept;
  bool more() const noexcept { return has_more_; }
  void Arm(Sleep& sleep) const noexcept;

  // Any thread.
  const StageCounts<kDrops>& counts() const noexcept { return counts_; }

 private:
  MembershipRouter(const MembershipRouterOptions<Protocol>& options,
                   GroupChangeSender<Address> changes,
                   std::shared_ptr<MembershipRouterCounts> messages);

  void Hear(const Mbuf& packet, uint64_t now_ns) noexcept;
  void Say(Burst& burst, Lcore& lcore, uint64_t now_ns) noexcept;
  void Tell(uint64_t now_ns) noexcept;

  GroupRouter<Protocol> router_;
  GroupLink<Protocol> link_;
  GroupChangeSender<Address> changes_;
  bool has_more_ = false;
  // Whether nothing could be said last time.
  bool is_stuck_ = false;
  // Whether changes wait for the control thread.
  bool is_untold_ = false;
  // Of the last poll.
  uint64_t now_ns_ = 0;
  StageCounts<kDrops> counts_;
  std::shared_ptr<MembershipRouterCounts> messages_;
};

template <typename Protocol>
struct MembershipRouter<Protocol>::Ends {
  Changes changes;
  // Stays when the stage is moved away.
  std::shared_ptr<const MembershipRouterCounts> counts;
  MembershipRouter stage;
};

extern template class MembershipRouter<Igmp>;
extern template class MembershipRouter<Mld>;

using IgmpRouter = MembershipRouter<Igmp>;
using MldRouter = MembershipRouter<Mld>;

static_assert(BurstStage<IgmpRouter> && CountingStage<IgmpRouter>);
static_assert(BurstStage<MldRouter> && CountingStage<MldRouter>);

}  // namespace weir

#endif  // WEIR_STAGE_GROUP_MEMBERSHIP_ROUTER_H_
