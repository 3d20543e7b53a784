// What hosts and routers of groups have alike: which packets are messages of
// their link and what those say, and the frames around what they say
// themselves.

#ifndef WEIR_STAGE_GROUP_GROUP_LINK_H_
#define WEIR_STAGE_GROUP_GROUP_LINK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/membership/group_host.h"
#include "weir/membership/group_message.h"
#include "weir/membership/igmp.h"
#include "weir/membership/mld.h"
#include "weir/pipeline/lcore.h"
#include "weir/stage/group/group_frame.h"

namespace weir {

// Why a message is not listened to.
enum class GroupFault : uint8_t {
  kOtherVlan,
  kMalformed,
  kChecksum,
  kNotOfLink,
};

// The same as a reason to drop, of a stage that has all of them by these names.
template <typename Drop>
constexpr Drop DropOf(GroupFault fault) noexcept {
  switch (fault) {
    case GroupFault::kOtherVlan:
      return Drop::kOtherVlan;
    case GroupFault::kChecksum:
      return Drop::kChecksum;
    case GroupFault::kNotOfLink:
      return Drop::kNotOfLink;
    case GroupFault::kMalformed:
      break;
  }
  return Drop::kMalformed;
}

// A message, or why it is none that counts. Refers to the packet it was in, or
// to the room for a copy.
template <typename Protocol>
struct HeardMessage {
  std::optional<GroupFault> fault = {};
  GroupMessage<typename Protocol::Address> message = {};
  typename Protocol::Header ip = {};
};

// Owner lcore only.
template <typename Protocol>
class GroupLink {
 public:
  using Address = typename Protocol::Address;
  static constexpr L3 kFamily =
      Protocol::kProtocol == Igmp::kProtocol ? L3::kIpv4 : L3::kIpv6;

  // Messages are a packet at most, and packets of a link rarely longer; what is
  // does not hold up a queue.
  static constexpr size_t kMaxMessageBytes = 9216;
  using Room = std::array<std::byte, kMaxMessageBytes>;

  // Of packets up to `mtu_bytes`, for messages of groups with `max_sources`.
  GroupLink(const GroupSender<Address>& sender, uint32_t mtu_bytes,
            uint32_t max_sources);

  // InvalidArgument, beginning with `name`, for arguments of the constructor
  // that cannot be. Any thread.
  static absl::Status Check(absl::string_view name,
                            const GroupSender<Address>& sender,
                            uint32_t mtu_bytes, uint32_t max_sources);

  const GroupSender<Address>& sender() const noexcept { return sender_; }
  uint64_t NowNs(const Lcore& lcore) const noexcept;

  // Whether a packet of kFamily is a message of the protocol.
  static bool IsMessage(const Mbuf& packet) noexcept;
  // Whether a packet is on the link's VLAN.
  bool IsOfLink(const Mbuf& packet) const noexcept;
  // What a packet that is a message says. `room` is for one in pieces.
  HeardMessage<Protocol> Hear(const Mbuf& packet, Room& room) const noexcept;

  // A frame with as much room for a message as the link allows: MessageRoom;
  // null if there is no mbuf with room for any message.
  Mbuf* NewFrame(Lcore& lcore) const noexcept;
  std::span<std::byte> MessageRoom(Mbuf& frame) const noexcept;
  // Makes it whole, an answer, with the message that was written there.
  void Finish(Mbuf& frame,
              const GroupOutgoing<Address>& message) const noexcept;
  // Gives it back.
  static void Discard(Mbuf& frame, Lcore& lcore) noexcept;

 private:
  GroupSender<Address> sender_;
  // Nanoseconds of a TSC tick, as a fraction of 2^32.
  uint64_t ns_per_tick_;
  uint32_t mtu_bytes_;
  uint32_t header_bytes_;
  uint32_t least_bytes_;
};

extern template class GroupLink<Igmp>;
extern template class GroupLink<Mld>;

}  // namespace weir

#endif  // WEIR_STAGE_GROUP_GROUP_LINK_H_
