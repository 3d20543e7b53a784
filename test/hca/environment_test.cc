#include "weir/hca/environment.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::hca {
namespace {

using testing::ElementsAre;

std::vector<std::string> KeysAfter(const std::string& devices,
                                   const std::string& faults) {
  std::vector<NamedKey> named = SplitDeviceList(devices);
  AddFaults(faults, named);
  std::vector<std::string> keys;
  for (const NamedKey& each : named) keys.push_back(each.key);
  return keys;
}

TEST(EnvironmentTest, GivesFaultsToDevicesByTheirNames) {
  EXPECT_THAT(KeysAfter("a=null:;b=wire:x,mtu=1500;null:",
                        "b=port_down@100:50ms+remove@200; a=qp_error@1"),
              ElementsAre("null:,fault=qp_error@1",
                          "wire:x,mtu=1500,fault=port_down@100:50ms+remove@200",
                          "null:"));
}

TEST(EnvironmentTest, LeavesDevicesAloneThatNoFaultNames) {
  for (const std::string faults : {"", ";", "c=remove@1", "=remove@1"}) {
    EXPECT_THAT(KeysAfter("a=null:;null:", faults),
                ElementsAre("null:", "null:"))
        << faults;
  }
}

}  // namespace
}  // namespace weir::hca
