#include "weir/port/port_monitor.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "weir/verbs/soft_hca.h"

namespace weir {

bool PortMonitor::finished() const {
  return verbs::IsSoftDeviceFinished(device_->context());
}

std::vector<QueueStats> PortMonitor::queues() const {
  std::vector<QueueStats> stats;
  for (size_t i = 0; i < rx_.size(); ++i) {
    stats.push_back(Snapshot(absl::StrCat("rx", i), *rx_[i]));
  }
  for (size_t i = 0; i < tx_.size(); ++i) {
    stats.push_back(Snapshot(absl::StrCat("tx", i), *tx_[i]));
  }
  return stats;
}

std::vector<NamedCount> PortMonitor::device_counters() const {
  std::vector<NamedCount> counts;
  for (auto& [name, value] : verbs::SoftDeviceCounters(device_->context())) {
    counts.push_back({std::move(name), value});
  }
  return counts;
}

std::string PortMonitor::TakeWarning() const {
  return verbs::TakeSoftDeviceWarning(device_->context());
}

uint64_t PortMonitor::held_mbufs() const {
  uint64_t held = 0;
  for (const auto& counters : rx_) held += counters->held_mbufs.value();
  for (const auto& counters : tx_) held += counters->held_mbufs.value();
  return held;
}

}  // namespace weir
