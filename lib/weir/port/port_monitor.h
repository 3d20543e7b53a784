// The view of a port for those who do not move its packets: the table an app
// prints, the loop that waits for the end of the input.

#ifndef WEIR_PORT_PORT_MONITOR_H_
#define WEIR_PORT_PORT_MONITOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/base/counter.h"
#include "weir/port/port_health.h"
#include "weir/port/port_info.h"
#include "weir/port/queue_stats.h"
#include "weir/verbs/async_events.h"
#include "weir/verbs/device.h"

namespace weir {

// Keeps the device open; knows nothing of the queues but their counters.
class PortMonitor {
 public:
  // `health` is what the queues of the port see; its state becomes what the
  // device says now. Control thread, before Launch.
  PortMonitor(PortInfo info, std::shared_ptr<const verbs::Device> device,
              std::shared_ptr<PortHealth> health, verbs::AsyncEvents events);

  // Any thread.
  const PortInfo& info() const noexcept { return info_; }

  // True once no frame will ever arrive again; a real device never says so.
  // Any thread.
  bool finished() const;

  // One snapshot a queue, RX queues first. Any thread.
  std::vector<QueueStats> queues() const;

  // The counters that the device keeps; none for a real device. Any thread.
  std::vector<NamedCount> device_counters() const;

  // The next warning of the device, empty if there is none. Any thread.
  std::string TakeWarning() const;

  // Whether the port carries frames, as of the last TakeEvents, and how often
  // that has changed. Any thread.
  PortState state() const noexcept { return health_->state(); }
  uint64_t state_changes() const noexcept { return state_changes_.value(); }

  // Readable when TakeEvents has something to find; -1 when that is over. Any
  // thread.
  int event_fd() const noexcept {
    return state() == PortState::kGone ? -1 : events_.fd();
  }
  // Takes note of what the device has said since the last call. Control thread.
  void TakeEvents();
  // Asks the device for the state: not every change is an event, as where a
  // netdev was moved to another namespace. Control thread.
  void CheckState();

  // Mbufs that the device holds now: receives posted, frames being sent. Any
  // thread; exact only while no lcore uses the queues.
  uint64_t held_mbufs() const;

  // Adds a queue. Control thread, before Launch.
  void AddRx(std::shared_ptr<const RxCounters> counters) {
    rx_.push_back(std::move(counters));
  }
  void AddTx(std::shared_ptr<const TxCounters> counters) {
    tx_.push_back(std::move(counters));
  }

 private:
  // A state, and how often it has changed. What was read before its event came
  // counts once.
  struct LinkChanges {
    PortState now;
    uint64_t count = 0;

    void Become(PortState next) noexcept {
      count += next != now ? 1 : 0;
      now = next;
    }
  };

  PortState ReadState() const;
  void Note(const LinkChanges& link);

  PortInfo info_;
  std::shared_ptr<const verbs::Device> device_;
  std::shared_ptr<PortHealth> health_;
  verbs::AsyncEvents events_;
  Counter state_changes_;
  std::vector<std::shared_ptr<const RxCounters>> rx_;
  std::vector<std::shared_ptr<const TxCounters>> tx_;
};

}  // namespace weir

#endif  // WEIR_PORT_PORT_MONITOR_H_
