// A host of multicast groups in a pipeline: lets packets of joined groups pass,
// hears the routers' queries and answers them. The device's filter goes by MAC
// address, which 32 groups share: here the addresses of IP decide.

#ifndef WEIR_STAGE_GROUP_MEMBERSHIP_HOST_H_
#define WEIR_STAGE_GROUP_MEMBERSHIP_HOST_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf.h"
#include "weir/membership/group_host.h"
#include "weir/membership/group_requests.h"
#include "weir/membership/igmp.h"
#include "weir/membership/mld.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/sleep.h"
#include "weir/pipeline/stage.h"
#include "weir/pipeline/stage_stats.h"
#include "weir/stage/group/group_frame.h"
#include "weir/stage/group/group_link.h"

namespace weir {

// Of a host on a link.
template <typename Protocol>
struct MembershipOptions {
  GroupSender<typename Protocol::Address> sender = {};
  // The longest packet of the link.
  uint32_t mtu_bytes = 1500;
  GroupHostOptions host = {};
};

// What was heard and said. Owner lcore writes.
struct MembershipCounts {
  Counter queries;
  // Of queries: those not meant for this host (RFC 3376 §4.1.12).
  Counter other_queries;
  // Of other hosts.
  Counter reports_heard;
  Counter reports_sent;
  // Reports that waited for an mbuf.
  Counter no_mbuf;
};

// A burst stage behind Parse, for packets of its own family: all others pass,
// as do those to single hosts and to all. Messages of its protocol end here;
// its reports are in the bursts, marked PacketInfo::kAnswer. Fragments are
// looked at like whole packets. Owner lcore only.
template <typename Protocol>
class MembershipHost {
 public:
  using Address = typename Protocol::Address;
  using Control = GroupControl<Protocol>;

  enum class Drop : uint8_t {
    kNotJoined,
    kSource,
    kOtherVlan,
    kMalformed,
    kChecksum,
    kNotOfLink,
  };
  static constexpr size_t kDrops = 6;
  static constexpr absl::string_view kName =
      Protocol::kProtocol == Igmp::kProtocol ? "igmp-host" : "mld-host";
  static constexpr std::array<absl::string_view, kDrops> kDropNames = {
      "group not joined",  "source not wanted",     "group on another VLAN",
      "malformed message", "checksum of a message", "message not of the link",
  };

  struct Ends;
  // Both ends. InvalidArgument for an MTU too small for a report, or a sender
  // that is none. Control thread, before Launch.
  static absl::StatusOr<Ends> Create(
      const MembershipOptions<Protocol>& options);

  void OnBurst(Burst& burst, Lcore& lcore) noexcept;
  void Tick(Lcore& lcore) noexcept;
  bool more() const noexcept { return has_more_; }
  // Asks to be called when something is to be said or is asked of it.
  void Arm(Sleep& sleep) const noexcept;

  // Any thread.
  const StageCounts<kDrops>& counts() const noexcept { return counts_; }
  const MembershipCounts& messages() const noexcept { return messages_; }

 private:
  MembershipHost(RequestedHost<Protocol> host,
                 const MembershipOptions<Protocol>& options);

  // What becomes of a packet: it goes on, ends here, or is dropped.
  struct Fate {
    bool passes;
    std::optional<Drop> drop;
  };
  Fate Look(const Mbuf& packet, uint64_t now_ns) noexcept;
  Fate LookAtMessage(const Mbuf& packet, uint64_t now_ns) noexcept;
  Fate LookAtAddresses(const Address& group, const Address& source) noexcept;
  void Hear(const GroupMessage<Address>& message, const Address& to,
            uint64_t now_ns) noexcept;
  void Say(Burst& burst, Lcore& lcore, uint64_t now_ns) noexcept;

  RequestedHost<Protocol> host_;
  bool has_more_ = false;
  // The pair that was let pass last: most packets are like it.
  bool has_last_ = false;
  Address last_group_{};
  Address last_source_{};
  GroupLink<Protocol> link_;
  // Of the last poll.
  uint64_t now_ns_ = 0;
  StageCounts<kDrops> counts_;
  MembershipCounts messages_;
};

template <typename Protocol>
struct MembershipHost<Protocol>::Ends {
  GroupControl<Protocol> control;
  MembershipHost stage;
};

extern template class MembershipHost<Igmp>;
extern template class MembershipHost<Mld>;

}  // namespace weir

#endif  // WEIR_STAGE_GROUP_MEMBERSHIP_HOST_H_
