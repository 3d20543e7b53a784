#include "weir/stage/group/membership_router.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/ip_text.h"

namespace weir {
namespace {

absl::Status CheckSender(const net::Ipv4Address& address) {
  if (address != net::Ipv4Address{}) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(IgmpRouter::kName,
                   ": queries come from an address of the router: want one "
                   "such as 192.0.2.1, got ",
                   net::ToString(address)));
}
absl::Status CheckSender(const net::Ipv6Address& address) {
  if (net::IsLinkLocal(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(MldRouter::kName,
                   ": queries come from an address of the link: want one such "
                   "as fe80::1, got ",
                   net::ToString(address)));
}

}  // namespace

template <typename P>
absl::StatusOr<typename MembershipRouter<P>::Ends> MembershipRouter<P>::Create(
    const MembershipRouterOptions<P>& options) {
  absl::Status checked = CheckSender(options.sender.address);
  if (!checked.ok()) return checked;
  checked = GroupLink<P>::Check(kName, options.sender, options.mtu_bytes,
                                options.router.max_sources);
  if (!checked.ok()) return checked;
  auto changes = MakeGroupChanges<Address>(options.router.max_groups);
  if (!changes.ok()) return changes.status();
  auto counts = std::make_shared<MembershipRouterCounts>();
  return Ends{std::move(changes->first), counts,
              MembershipRouter(options, std::move(changes->second), counts)};
}

template <typename P>
MembershipRouter<P>::MembershipRouter(
    const MembershipRouterOptions<P>& options,
    GroupChangeSender<Address> changes,
    std::shared_ptr<MembershipRouterCounts> messages)
    : router_(options.router, options.sender.address),
      link_(options.sender, options.mtu_bytes, options.router.max_sources),
      changes_(std::move(changes)),
      messages_(std::move(messages)) {}

template <typename P>
void MembershipRouter<P>::Tick(Lcore& lcore) noexcept {
  now_ns_ = link_.NowNs(lcore);
  if (router_.next_ns() <= now_ns_ || is_untold_) Tell(now_ns_);
  // Without anything that could be said the next poll receives.
  has_more_ = router_.next_ns() <= now_ns_ && !is_stuck_;
  is_stuck_ = false;
  messages_->is_querier.Set(router_.is_querier(now_ns_) ? 1 : 0);
}

template <typename P>
void MembershipRouter<P>::Arm(Sleep& sleep) const noexcept {
  if (is_untold_) return sleep.WakeWithin(Sleep::kTickNs);
  const uint64_t next_ns = router_.next_ns();
  sleep.WakeWithin(next_ns - std::min(next_ns, now_ns_));
}

template <typename P>
void MembershipRouter<P>::OnBurst(Burst& burst, Lcore& lcore) noexcept {
  const uint64_t now_ns = link_.NowNs(lcore);
  std::array<Mbuf*, kMaxBurst> packets;
  const uint32_t count = burst.size();
  std::copy_n(burst.mbufs().begin(), count, packets.begin());
  burst.ReleaseAll();
  bool is_told = router_.next_ns() > now_ns;
  for (Mbuf* const packet : std::span(packets).first(count)) {
    if (packet->info().l3 != GroupLink<P>::kFamily ||
        !GroupLink<P>::IsMessage(*packet)) {
      burst.Adopt(*packet);
      continue;
    }
    Hear(*packet, now_ns);
    is_told = false;
    link_.Discard(*packet, lcore);
  }
  if (!is_told) Tell(now_ns);
  Say(burst, lcore, now_ns);
}

template <typename P>
void MembershipRouter<P>::Hear(const Mbuf& packet, uint64_t now_ns) noexcept {
  typename GroupLink<P>::Room room;
  const HeardMessage<P> heard = link_.Hear(packet, room);
  if (heard.fault) {
    counts_.drops[static_cast<size_t>(DropOf<Drop>(*heard.fault))].Add(1);
    return;
  }
  counts_.taken.Add(1);
  const bool is_query =
      heard.message.kind == GroupMessage<Address>::Kind::kQuery;
  (is_query ? messages_->queries_heard : messages_->reports).Add(1);
  router_.OnMessage(heard.message, heard.ip.source, now_ns);
  messages_->groups_refused.Set(router_.counts().groups_refused.value());
  messages_->sources_refused.Set(router_.counts().sources_refused.value());
}

template <typename P>
void MembershipRouter<P>::Tell(uint64_t now_ns) noexcept {
  is_untold_ = false;
  while (changes_.has_room()) {
    const auto change = router_.TakeChange(now_ns);
    if (!change) break;
    changes_.Send(*change);
  }
  is_untold_ = !changes_.has_room();
  messages_->groups.Set(router_.groups());
}

template <typename P>
void MembershipRouter<P>::Say(Burst& burst, Lcore& lcore,
                              uint64_t now_ns) noexcept {
  has_more_ = false;
  is_stuck_ = true;
  while (burst.room() != 0 && router_.next_ns() <= now_ns) {
    Mbuf* const frame = link_.NewFrame(lcore);
    if (frame == nullptr) {
      messages_->no_mbuf.Add(1);
      return;
    }
    const auto query = router_.Take(link_.MessageRoom(*frame), now_ns);
    if (!query) {
      link_.Discard(*frame, lcore);
      return;
    }
    link_.Finish(*frame, *query);
    counts_.made.Add(1);
    messages_->queries_sent.Add(1);
    is_stuck_ = false;
    burst.Adopt(*frame);
  }
}

template class MembershipRouter<Igmp>;
template class MembershipRouter<Mld>;

}  // namespace weir
