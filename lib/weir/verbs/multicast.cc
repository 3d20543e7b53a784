#include "weir/verbs/multicast.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir::verbs {

absl::StatusOr<MulticastAttachment> MulticastAttachment::Create(
    ibv_qp* queue_pair, const std::string& device_name,
    const net::MacAddress& group) {
  // The convention of OFED for raw packets: the address in the last six bytes,
  // zeros in front of it, lid 0.
  ibv_gid gid{};
  std::ranges::copy(group.octets, std::end(gid.raw) - group.octets.size());
  const int error = ibv_attach_mcast(queue_pair, &gid, 0);
  if (error == 0) return MulticastAttachment(queue_pair, gid);
  return ErrnoStatus(error, {.object = absl::StrCat(device_name, ": group ",
                                                    net::ToString(group)),
                             .call = "ibv_attach_mcast"});
}

}  // namespace weir::verbs
