// What the control thread knows of a port and the queues of the port act upon.
// Written rarely, read where a queue cannot go on: never a packet.

#ifndef WEIR_PORT_PORT_HEALTH_H_
#define WEIR_PORT_PORT_HEALTH_H_

#include "weir/base/cache_line.h"
#include "weir/base/counter.h"
#include "weir/port/port_info.h"

namespace weir {

class alignas(kCacheLine) PortHealth {
 public:
  // Any thread.
  PortState state() const noexcept {
    return static_cast<PortState>(state_.value());
  }
  // Control thread.
  void set_state(PortState state) noexcept {
    state_.Set(static_cast<uint64_t>(state));
  }

 private:
  Counter state_;
};

}  // namespace weir

#endif  // WEIR_PORT_PORT_HEALTH_H_
