// What the command line says of `mcast recv`.

#ifndef APPS_MCAST_RECV_FLAGS_H_
#define APPS_MCAST_RECV_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "weir/app/port_groups.h"
#include "weir/net/ip_text.h"
#include "weir/stage/packet_ring.h"
#include "weir/stage/stream/sequence.h"

namespace weir::mcast {

struct RecvFlags {
  // A group and from whom its datagrams are wanted.
  struct Wanted {
    net::IpAddress group;
    GroupInterest interest;
  };

  std::vector<Wanted> groups;
  // What is known of numbers, with the pairs of --group=A+B.
  std::optional<SequenceOptions> sequence;
  uint16_t udp_port = 0;
  std::optional<uint16_t> vlan;
  // As it was given.
  std::string ip;
  // 0 for no end.
  uint64_t count = 0;
  std::string to;
  WhenFull when_full = WhenFull::kBlock;
  // The newest that is spoken, 0 for the newest there is.
  uint8_t igmp_version = 0;
  uint8_t mld_version = 0;
};

// InvalidArgument, with flag, value and what is wanted, for the first that is
// wrong.
absl::StatusOr<RecvFlags> ReadRecvFlags();

}  // namespace weir::mcast

#endif  // APPS_MCAST_RECV_FLAGS_H_
