#include "weir/hca/environment.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::hca {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

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

std::vector<std::string> ProblemsOf(const std::string& devices,
                                    const std::string& faults) {
  std::vector<NamedKey> named = SplitDeviceList(devices);
  return AddFaults(faults, named);
}

TEST(EnvironmentTest, SaysWhichFaultsNoDeviceHasToDoWith) {
  EXPECT_THAT(ProblemsOf("a=null:;b=null:;null:", "a=remove@1;;b=remove@2;"),
              IsEmpty());
  EXPECT_THAT(
      ProblemsOf("a=null:;b=null:;null:", "c=remove@1; a=remove@1;remove@2"),
      ElementsAre("WEIR_HCA_FAULTS: \"c=remove@1\": no device is called \"c\"; "
                  "want NAME=FAULTS with one of a, b",
                  "WEIR_HCA_FAULTS: \"remove@2\": no device is called "
                  "\"remove@2\"; want NAME=FAULTS with one of a, b"));
  EXPECT_THAT(ProblemsOf("null:", "=remove@1"),
              ElementsAre("WEIR_HCA_FAULTS: \"=remove@1\": no device is called "
                          "\"\"; want NAME=FAULTS with one of the names that "
                          "WEIR_HCA_DEVICES gives"));
}

TEST(EnvironmentTest, TakesNoSpacesForAPartOfNameOrKey) {
  const auto devices = SplitDeviceList(" a = null: ; wire:x ");
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].name, "a");
  EXPECT_EQ(devices[0].key, "null:");
  EXPECT_EQ(devices[1].key, "wire:x");
}

TEST(EnvironmentTest, CutsNamesToTheirRoomBetweenCharacters) {
  const std::string a(61, 'a');
  const auto devices = SplitDeviceList(
      a + "bcd=null:;" + a + "\xe2\x82\xac=null:;" + a + "\xc3\xa4=null:");
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0].name, a + "bc");
  EXPECT_EQ(devices[1].name, a);
  EXPECT_EQ(devices[2].name, a + "\xc3\xa4");
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
