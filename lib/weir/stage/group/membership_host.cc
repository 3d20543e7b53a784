#include "weir/stage/group/membership_host.h"

#include <algorithm>
#include <array>
#include <span>

#include "absl/status/status.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/group_address.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/load_store.h"

namespace weir {
template <typename P>
absl::StatusOr<typename MembershipHost<P>::Ends> MembershipHost<P>::Create(
    const MembershipOptions<P>& options) {
  const absl::Status checked = GroupLink<P>::Check(
      kName, options.sender, options.mtu_bytes, options.host.max_sources);
  if (!checked.ok()) return checked;
  auto [control, host] = MakeRequestedHost<P>(options.host);
  return Ends{std::move(control), MembershipHost(std::move(host), options)};
}

template <typename P>
MembershipHost<P>::MembershipHost(RequestedHost<P> host,
                                  const MembershipOptions<P>& options)
    : host_(std::move(host)),
      link_(options.sender, options.mtu_bytes, options.host.max_sources) {}

template <typename P>
void MembershipHost<P>::Tick(Lcore& lcore) noexcept {
  const uint64_t followed = host_.followed();
  now_ns_ = link_.NowNs(lcore);
  has_more_ = host_.Tick(now_ns_);
  has_last_ = has_last_ && followed == host_.followed();
}

template <typename P>
void MembershipHost<P>::Arm(Sleep& sleep) const noexcept {
  if (host_.Arm(sleep.wake_fd())) sleep.MustFence();
  const uint64_t next_ns = host_.host().next_ns();
  if (next_ns == GroupHost<P>::kNever) return;
  sleep.WakeWithin(next_ns - std::min(next_ns, now_ns_));
}

template <typename P>
void MembershipHost<P>::OnBurst(Burst& burst, Lcore& lcore) noexcept {
  const uint64_t now_ns = link_.NowNs(lcore);
  std::array<Mbuf*, kMaxBurst> packets;
  const uint32_t count = burst.size();
  std::copy_n(burst.mbufs().begin(), count, packets.begin());
  burst.ReleaseAll();
  for (Mbuf* const packet : std::span(packets).first(count)) {
    const Fate fate = Look(*packet, now_ns);
    if (fate.passes) [[likely]] {
      burst.Adopt(*packet);
      continue;
    }
    Counter& counter = fate.drop
                           ? counts_.drops[static_cast<size_t>(*fate.drop)]
                           : counts_.taken;
    counter.Add(1);
    link_.Discard(*packet, lcore);
  }
  Say(burst, lcore, now_ns);
}

template <typename P>
typename MembershipHost<P>::Fate MembershipHost<P>::Look(
    const Mbuf& packet, uint64_t now_ns) noexcept {
  const PacketInfo& info = packet.info();
  if (info.l3 != GroupLink<P>::kFamily) return {.passes = true, .drop = {}};
  if (GroupLink<P>::IsMessage(packet)) [[unlikely]]
    return LookAtMessage(packet, now_ns);
  const auto ip =
      net::LoadHeader<typename P::Header>(packet.bytes(), info.l3_offset);
  if (!net::IsGroup(ip.destination)) return {.passes = true, .drop = {}};
  // What else ICMPv6 says to groups of the link is none of ours.
  if (P::kProtocol == Mld::kProtocol && info.protocol == net::kProtocolIcmp6 &&
      net::IsLinkLocalGroup(ip.destination)) {
    return {.passes = true, .drop = {}};
  }
  if (!link_.IsOfLink(packet)) {
    return {.passes = false, .drop = Drop::kOtherVlan};
  }
  return LookAtAddresses(ip.destination, ip.source);
}

template <typename P>
typename MembershipHost<P>::Fate MembershipHost<P>::LookAtAddresses(
    const Address& group, const Address& source) noexcept {
  if (has_last_ && group == last_group_ && source == last_source_) [[likely]] {
    return {.passes = true, .drop = {}};
  }
  if (host_.host().Accepts(group, source)) {
    has_last_ = true;
    last_group_ = group;
    last_source_ = source;
    return {.passes = true, .drop = {}};
  }
  return {
      .passes = false,
      .drop = host_.host().IsMember(group) ? Drop::kSource : Drop::kNotJoined};
}

template <typename P>
typename MembershipHost<P>::Fate MembershipHost<P>::LookAtMessage(
    const Mbuf& packet, uint64_t now_ns) noexcept {
  typename GroupLink<P>::Room room;
  const HeardMessage<P> heard = link_.Hear(packet, room);
  if (heard.fault) {
    return {.passes = false, .drop = DropOf<Drop>(*heard.fault)};
  }
  Hear(heard.message, heard.ip.destination, now_ns);
  return {.passes = false, .drop = {}};
}

template <typename P>
void MembershipHost<P>::Hear(const GroupMessage<Address>& message,
                             const Address& to, uint64_t now_ns) noexcept {
  if (message.kind != GroupMessage<Address>::Kind::kQuery) {
    messages_.reports_heard.Add(1);
  } else if (to == P::kAllHosts || to == link_.sender().address ||
             (to == message.group && message.group != Address{})) {
    messages_.queries.Add(1);
  } else {
    messages_.other_queries.Add(1);
    return;
  }
  host_.host().OnMessage(message, now_ns);
}

template <typename P>
void MembershipHost<P>::Say(Burst& burst, Lcore& lcore,
                            uint64_t now_ns) noexcept {
  while (burst.room() != 0 && (has_more_ || host_.host().next_ns() <= now_ns)) {
    Mbuf* const frame = link_.NewFrame(lcore);
    if (frame == nullptr) {
      messages_.no_mbuf.Add(1);
      has_more_ = false;
      return;
    }
    const auto message = host_.Take(link_.MessageRoom(*frame), now_ns);
    if (!message) {
      link_.Discard(*frame, lcore);
      has_more_ = false;
      return;
    }
    link_.Finish(*frame, *message);
    counts_.made.Add(1);
    messages_.reports_sent.Add(1);
    burst.Adopt(*frame);
  }
}

template class MembershipHost<Igmp>;
template class MembershipHost<Mld>;

}  // namespace weir
