// A port: one network interface, real or soft, with its queues. Setting it up
// is all that this file does; the queues are moved into pipelines and work
// without it.

#ifndef WEIR_PORT_PORT_H_
#define WEIR_PORT_PORT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/net/mac_address.h"
#include "weir/port/port_device.h"
#include "weir/port/port_info.h"
#include "weir/port/port_monitor.h"
#include "weir/port/port_steering.h"
#include "weir/port/queue_choice.h"
#include "weir/port/rx_queue.h"
#include "weir/port/tx_queue.h"

namespace weir {

struct PortOptions {
  // Up to kMaxQueues. A device that cannot spread frames gives one RX queue in
  // place of several (RxMethod::kSoftwareDispatch), or, if all are needed, an
  // error.
  uint32_t rx_queues = 1;
  uint32_t tx_queues = 1;
  bool needs_all_rx_queues = false;
  // Frames a queue has room for, rounded up to a power of two. The device may
  // give less: QueueStats and the queue tell.
  uint32_t rx_depth = 1024;
  uint32_t tx_depth = 1024;
  // As TxQueue::Options; in hardware, pause frames may hold up a queue for
  // long.
  uint64_t tx_watchdog_ms = 5000;
  // Whether received frames carry the time when the device got them
  // (Mbuf::timestamp_ns), where it has a clock.
  bool timestamps = false;
};

// Movable. Control thread, before Launch.
class Port {
 public:
  // Opens the device `name` (see PortDevice::Open), registers the memory of
  // `pool` with it and creates the queues. `pool` must outlive the port, its
  // queues and its monitor. InvalidArgument for options that cannot work,
  // PermissionDenied without CAP_NET_RAW, Unimplemented for a device without
  // raw packets, FailedPrecondition for one that cannot spread frames over the
  // RX queues that are needed, ResourceExhausted for limits (locked memory);
  // the message names object, value and remedy.
  static absl::StatusOr<Port> Open(absl::string_view name, MbufPool& pool,
                                   const PortOptions& options = {});
  // The same for a device that is open already.
  static absl::StatusOr<Port> Open(PortDevice device, MbufPool& pool,
                                   const PortOptions& options = {});

  // The queues that Open would give, or why it would give none: for an app that
  // asks before it makes a pool. InvalidArgument or FailedPrecondition. Any
  // thread.
  static absl::StatusOr<PortQueues> QueuesOf(const PortDevice& device,
                                             const PortOptions& options);

  // Mbufs that the queues of a port on `device` hold at most, for an app that
  // sizes its pool: receives posted and frames being sent. Any thread.
  static uint64_t MbufsHeld(const PortInfo& device, const PortOptions& options,
                            uint32_t chunk_bytes, uint32_t headroom_bytes);

  const PortInfo& info() const noexcept { return monitor_->info(); }
  // As the user wrote it.
  const std::string& name() const noexcept { return info().name; }
  // Which device was chosen for the name, and why, in one line.
  const std::string& chosen() const noexcept { return info().chosen; }
  net::MacAddress mac() const noexcept { return info().mac; }
  uint32_t mtu_bytes() const noexcept { return info().mtu_bytes; }
  // What was asked for and what there is: rx and tx have as many.
  const PortQueues& queues() const noexcept { return info().queues; }
  RxMethod rx_method() const noexcept { return queues().rx_method; }
  // -1 if unknown.
  int numa_node() const noexcept { return info().numa_node; }

  // What can be asked of the port when its queues have been moved away.
  const std::shared_ptr<PortMonitor>& monitor() const noexcept {
    return monitor_;
  }

  // Which frames come: every one, until it is told otherwise. Also when the
  // queues have been moved away, and while lcores poll them. Control thread.
  const std::shared_ptr<PortSteering>& steering() const noexcept {
    return steering_;
  }

 private:
  Port(std::shared_ptr<PortMonitor> monitor,
       std::shared_ptr<PortSteering> steering)
      : monitor_(std::move(monitor)), steering_(std::move(steering)) {}

  std::shared_ptr<PortMonitor> monitor_;
  std::shared_ptr<PortSteering> steering_;

 public:
  // For pipelines to take: `std::move(port.rx[0])`. Each is one lcore's. One
  // that no lcore polls holds up the others where the device makes frames wait
  // for receives; one that is gone drops its share of the frames.
  std::vector<RxQueue> rx;
  std::vector<TxQueue> tx;
};

}  // namespace weir

#endif  // WEIR_PORT_PORT_H_
