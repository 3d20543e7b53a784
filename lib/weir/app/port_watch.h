// What the control thread sees of ports that is news: a link that is down, goes
// or comes, a device that is gone, a queue that failed. Each is said once, in
// one line.

#ifndef WEIR_APP_PORT_WATCH_H_
#define WEIR_APP_PORT_WATCH_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weir/app/flood_gate.h"
#include "weir/port/port_monitor.h"

namespace weir {

// Control thread.
class PortWatch {
 public:
  using Clock = FloodGate::Clock;

  // What is said of links (down, up, down, up) and of each queue before the
  // rest is summed up, and how long that takes.
  static constexpr uint32_t kLinkBurst = 4;
  static constexpr uint32_t kQueueBurst = 1;
  static constexpr std::chrono::seconds kWindow{10};
  // How often ports are asked for what they do not say by themselves.
  static constexpr std::chrono::seconds kAskEvery{1};

  explicit PortWatch(std::vector<std::shared_ptr<PortMonitor>> ports);

  // What is new at `now`, each in a line without an end.
  std::vector<std::string> Look(Clock::time_point now);

  // Of frames that queues gave to devices and that these did not send, a line
  // a port and reason. When the run is over.
  std::vector<std::string> Unsent() const;
  // The same of frames that queues did not get, or not whole.
  std::vector<std::string> Missed() const;

  // Ports whose device is gone, as of the last Look.
  size_t gone() const;
  // Whether there are ports, and all of them are gone.
  bool all_gone() const { return !ports_.empty() && gone() == ports_.size(); }

 private:
  struct Queue {
    uint64_t errors = 0;
    FloodGate gate{kQueueBurst, kWindow};
  };
  struct Watched {
    std::shared_ptr<PortMonitor> monitor;
    bool was_looked_at = false;
    bool was_gone = false;
    uint64_t changes = 0;
    FloodGate gate{kLinkBurst, kWindow};
    std::vector<Queue> queues;
  };

  static void LookAtLink(Watched& port, Clock::time_point now,
                         std::vector<std::string>& news);
  static void LookAtQueues(Watched& port, Clock::time_point now,
                           std::vector<std::string>& news);

  std::vector<Watched> ports_;
  Clock::time_point ask_at_{};
};

}  // namespace weir

#endif  // WEIR_APP_PORT_WATCH_H_
