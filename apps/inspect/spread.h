// Which queue a NIC would choose for each flow.

#ifndef APPS_INSPECT_SPREAD_H_
#define APPS_INSPECT_SPREAD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "apps/inspect/recorder.h"
#include "weir/base/counter.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/net/ip_protocol.h"
#include "weir/pipeline/lcore.h"
#include "weir/pipeline/stage.h"

namespace weir::inspect {

// Frames by queue.
using QueueCounts = std::shared_ptr<std::vector<Counter>>;

// A packet stage behind FlowHash: entry i of a table of `table` entries, a
// power of two, leads to queue i modulo the number of `counts`. What is not IP
// goes to queue 0. Owner lcore only.
class Spread {
 public:
  static constexpr absl::string_view kName = "spread";

  Spread(Recorder* recorder, uint32_t table, QueueCounts counts)
      : recorder_(recorder), counts_(std::move(counts)) {
    const auto queues = static_cast<uint32_t>(counts_->size());
    queue_of_.reserve(table);
    for (uint32_t i = 0; i < table; ++i) queue_of_.push_back(i % queues);
  }

  Verdict OnPacket(Mbuf& frame, Lcore&) noexcept {
    const uint32_t queue = queue_of_[frame.hash() & (queue_of_.size() - 1)];
    (*counts_)[queue].Add(1);
    if (recorder_ != nullptr) {
      recorder_->Hashed(frame, queue, InputOf(frame.info()));
    }
    return Verdict::Pass();
  }

 private:
  static absl::string_view InputOf(const PacketInfo& info) noexcept {
    if (!info.is_ip()) return "none";
    const bool has_ports = info.protocol == net::kProtocolTcp ||
                           info.protocol == net::kProtocolUdp;
    return has_ports && !info.is_fragment() ? "4-tuple" : "2-tuple";
  }

  Recorder* recorder_;
  QueueCounts counts_;
  std::vector<uint32_t> queue_of_;
};

}  // namespace weir::inspect

#endif  // APPS_INSPECT_SPREAD_H_
