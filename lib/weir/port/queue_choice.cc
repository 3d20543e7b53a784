#include "weir/port/queue_choice.h"

#include <algorithm>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace weir {
namespace {

// That devices keep the fragments of a datagram together under a hash over
// ports is documented of the software HCA alone.
RxHash HashOf(const PortInfo& device) {
  return device.is_soft ? RxHash::kAddressesAndPorts : RxHash::kAddresses;
}

absl::Status CannotSpread(const PortInfo& device, uint32_t wanted) {
  return absl::FailedPreconditionError(absl::StrCat(
      device.name, ": ", wanted, " RX queues are wanted, and ", device.device,
      " cannot spread frames over several (RSS of raw packet "
      "queue pairs); use 1"));
}

}  // namespace

absl::StatusOr<PortQueues> ChooseQueues(const PortInfo& device,
                                        const verbs::RssLimits& rss,
                                        const QueueWishes& wishes) {
  for (const uint32_t count : {wishes.rx, wishes.tx}) {
    if (count < 1 || count > kMaxQueues) {
      return absl::InvalidArgumentError(
          absl::StrCat(device.name, ": want from 1 to ", kMaxQueues,
                       " queues a direction, got ", count));
    }
  }
  PortQueues queues = {.rx_wanted = wishes.rx, .tx = wishes.tx};
  if (wishes.rx == 1) return queues;
  if (!rss.can_spread()) {
    if (wishes.needs_all_rx) return CannotSpread(device, wishes.rx);
    queues.rx_method = RxMethod::kSoftwareDispatch;
    return queues;
  }
  const uint32_t max =
      std::min(rss.work_queues, std::bit_floor(rss.table_entries));
  if (wishes.rx > max) {
    return absl::InvalidArgumentError(
        absl::StrCat(device.name, ": ", wishes.rx, " RX queues are wanted, ",
                     device.device, " has ", max, " at most"));
  }
  queues.rx_method = RxMethod::kRss;
  queues.rx_hash = HashOf(device);
  queues.rx = wishes.rx;
  return queues;
}

}  // namespace weir
