#include "weir/port/port_monitor.h"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/str_cat.h"
#include "weir/verbs/soft_hca.h"

namespace weir {
namespace {

// Events that one call takes at most: who makes more of them in a row is not
// waited for.
constexpr int kMaxEvents = 256;

// The state that an event tells of, if it does.
std::optional<PortState> StateOf(verbs::AsyncEvent event) {
  switch (event) {
    case verbs::AsyncEvent::kLinkUp:
      return PortState::kUp;
    case verbs::AsyncEvent::kLinkDown:
      return PortState::kDown;
    case verbs::AsyncEvent::kDeviceGone:
      return PortState::kGone;
    default:
      return std::nullopt;
  }
}

}  // namespace

PortMonitor::PortMonitor(PortInfo info,
                         std::shared_ptr<const verbs::Device> device,
                         std::shared_ptr<PortHealth> health,
                         verbs::AsyncEvents events)
    : info_(std::move(info)),
      device_(std::move(device)),
      health_(std::move(health)),
      events_(std::move(events)) {
  health_->set_state(ReadState());
}

// What the device says of the link. One that does not answer is gone.
PortState PortMonitor::ReadState() const {
  const auto port = device_->QueryPort(info_.device_port);
  if (!port.ok()) return PortState::kGone;
  return port->state == IBV_PORT_ACTIVE ? PortState::kUp : PortState::kDown;
}

void PortMonitor::TakeEvents() {
  if (state() == PortState::kGone) return;
  LinkChanges link{state()};
  bool has_news = false;
  bool is_all = false;
  for (int i = 0; i < kMaxEvents && link.now != PortState::kGone; ++i) {
    const std::optional<verbs::AsyncEvent> event =
        events_.Take(info_.device_port);
    is_all = !event;
    if (is_all) break;
    const std::optional<PortState> said = StateOf(*event);
    if (!said) continue;
    link.Become(*said);
    has_news = true;
  }
  // More may have happened than there were events.
  if (has_news && is_all) link.Become(ReadState());
  Note(link);
}

void PortMonitor::CheckState() {
  TakeEvents();
  if (state() == PortState::kGone) return;
  LinkChanges link{state()};
  link.Become(ReadState());
  Note(link);
}

void PortMonitor::Note(const LinkChanges& link) {
  if (link.count == 0) return;
  state_changes_.Add(link.count);
  health_->set_state(link.now);
}

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
