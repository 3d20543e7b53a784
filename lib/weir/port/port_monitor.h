// The view of a port for those who do not move its packets: the table an app
// prints, the loop that waits for the end of the input.

#ifndef WEIR_PORT_PORT_MONITOR_H_
#define WEIR_PORT_PORT_MONITOR_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/port/port_info.h"
#include "weir/port/queue_stats.h"
#include "weir/verbs/device.h"

namespace weir {

// Keeps the device open; knows nothing of the queues but their counters.
class PortMonitor {
 public:
  PortMonitor(PortInfo info, std::shared_ptr<const verbs::Device> device)
      : info_(std::move(info)), device_(std::move(device)) {}

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
  PortInfo info_;
  std::shared_ptr<const verbs::Device> device_;
  std::vector<std::shared_ptr<const RxCounters>> rx_;
  std::vector<std::shared_ptr<const TxCounters>> tx_;
};

}  // namespace weir

#endif  // WEIR_PORT_PORT_MONITOR_H_
