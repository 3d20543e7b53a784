// The verbs objects that all queues of a port share. Each queue keeps them
// alive; the data path never copies the pointer.

#ifndef WEIR_PORT_PORT_CONTEXT_H_
#define WEIR_PORT_PORT_CONTEXT_H_

#include <cstdint>
#include <memory>

#include "weir/port/port_info.h"
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
};

}  // namespace weir

#endif  // WEIR_PORT_PORT_CONTEXT_H_
