#include "weir/app/queue_text.h"

#include <cstdint>

#include "absl/strings/str_cat.h"

namespace weir {
namespace {

std::string Counted(uint32_t count, absl::string_view what) {
  return absl::StrCat(count, " ", what, count == 1 ? "" : "s");
}

}  // namespace

absl::string_view NameOf(RxMethod method) {
  switch (method) {
    case RxMethod::kSingleQueue:
      return "single_queue";
    case RxMethod::kRss:
      return "rss";
    case RxMethod::kSoftwareDispatch:
      return "software_dispatch";
  }
  return "";
}

absl::string_view NameOf(RxHash hash) {
  switch (hash) {
    case RxHash::kNone:
      return "none";
    case RxHash::kAddresses:
      return "addresses";
    case RxHash::kAddressesAndPorts:
      return "addresses_and_ports";
  }
  return "";
}

absl::string_view NameOf(PortState state) {
  switch (state) {
    case PortState::kUp:
      return "up";
    case PortState::kDown:
      return "down";
    case PortState::kGone:
      return "gone";
  }
  return "";
}

std::string DescribeQueues(const PortQueues& queues) {
  if (queues.rx_wanted == 1 && queues.tx == 1) return "";
  std::string text = absl::StrCat(", ", Counted(queues.rx, "RX queue"));
  if (queues.rx_method == RxMethod::kRss) {
    absl::StrAppend(
        &text, " by RSS over addresses",
        queues.rx_hash == RxHash::kAddressesAndPorts ? " and ports" : "");
  } else if (queues.rx_method == RxMethod::kSoftwareDispatch) {
    absl::StrAppend(&text, " of the ", queues.rx_wanted,
                    " wanted (no RSS: spread in software)");
  }
  return absl::StrCat(text, ", ", Counted(queues.tx, "TX queue"));
}

}  // namespace weir
