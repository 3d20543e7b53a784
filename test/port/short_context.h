// A port whose receives are shorter than what its device may bring: its context
// has a smaller MTU than the device.

#ifndef WEIR_TEST_PORT_SHORT_CONTEXT_H_
#define WEIR_TEST_PORT_SHORT_CONTEXT_H_

#include <memory>
#include <utility>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/port/port_context.h"
#include "weir/port/port_device.h"

namespace weir::testing {

// Of the device `name`, with an MTU of 300 bytes.
inline std::shared_ptr<PortContext> MakeShortContext(absl::string_view name,
                                                     MbufPool& pool) {
  auto device = PortDevice::Open(name);
  EXPECT_TRUE(device.ok()) << device.status();
  auto domain = verbs::ProtectionDomain::Create(*device->device());
  EXPECT_TRUE(domain.ok()) << domain.status();
  auto region = verbs::MemoryRegion::Register(*domain, pool.arena().bytes());
  EXPECT_TRUE(region.ok()) << region.status();
  PortInfo info = device->info();
  info.mtu_bytes = 300;
  return std::make_shared<PortContext>(
      PortContext{device->device(), *std::move(domain), *std::move(region),
                  std::move(info)});
}

}  // namespace weir::testing

#endif  // WEIR_TEST_PORT_SHORT_CONTEXT_H_
