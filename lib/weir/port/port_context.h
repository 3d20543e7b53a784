// The verbs objects that all queues of a port share. Each queue keeps them
// alive; the data path never copies the pointer.

#ifndef WEIR_PORT_PORT_CONTEXT_H_
#define WEIR_PORT_PORT_CONTEXT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/port/port_health.h"
#include "weir/port/port_info.h"
#include "weir/port/port_steering.h"
#include "weir/verbs/device.h"
#include "weir/verbs/memory_region.h"
#include "weir/verbs/protection_domain.h"

namespace weir {

// In creation order, so that they go in the right one.
struct PortContext {
  std::shared_ptr<verbs::Device> device;
  verbs::ProtectionDomain domain;
  // The arena of the port's mbuf pool.
  verbs::MemoryRegion region;
  PortInfo info;
  std::shared_ptr<PortHealth> health = std::make_shared<PortHealth>();
  // Which frames come to the receive queues.
  std::shared_ptr<PortSteering> steering = std::make_shared<PortSteering>();
};

// The name of a queue for people: that of the port, as the user wrote it, and
// behind it `direction` ("rx") and `index` where the port has several.
inline std::string QueueName(const PortInfo& port, absl::string_view direction,
                             uint32_t index, uint32_t count) {
  return count == 1 ? port.name
                    : absl::StrCat(port.name, " ", direction, index);
}

}  // namespace weir

#endif  // WEIR_PORT_PORT_CONTEXT_H_
