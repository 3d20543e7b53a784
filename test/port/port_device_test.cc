#include "weir/port/port_device.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/capability.h"
#include "test/support/own_wire.h"
#include "weir/topo/sysfs.h"

namespace weir {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

TEST(PortDeviceTest, OpensASoftDeviceAndThenTheVerbsDeviceItMade) {
  const auto soft = PortDevice::Open("null:,mtu=2000");
  ASSERT_TRUE(soft.ok()) << soft.status();
  const std::string device = soft->info().device;
  for (const std::string& name : {device, device + ":1"}) {
    const auto again = PortDevice::Open(name);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->info().name, name);
    EXPECT_EQ(again->info().device, device);
    EXPECT_EQ(again->info().mtu_bytes, 2000u);
    EXPECT_EQ(again->info().chosen,
              name + ": port 1 of verbs device " + device);
  }
}

TEST(PortDeviceTest, ListsWhatThereIsForAnUnknownName) {
  const auto known = PortDevice::Open("null:");
  ASSERT_TRUE(known.ok()) << known.status();
  const auto device = PortDevice::Open("mlx5_7");
  EXPECT_EQ(device.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(MessageOf(device.status()),
              AllOf(HasSubstr("mlx5_7: no such verbs device or netdev; found "),
                    HasSubstr(known->info().device)));
  for (const std::string& netdev : Sysfs().EthernetNetdevs()) {
    EXPECT_THAT(MessageOf(device.status()), HasSubstr(netdev));
  }
}

TEST(PortDeviceTest, ListsTheKindsAndKeysForUnknownOnes) {
  EXPECT_THAT(MessageOf(PortDevice::Open("nil:").status()),
              AllOf(HasSubstr("nil:"), HasSubstr("null, ")));
  EXPECT_THAT(MessageOf(PortDevice::Open("null:,speed=9").status()),
              AllOf(HasSubstr("null:,speed=9"), HasSubstr("size")));
}

TEST(PortDeviceTest, NamesTheFileThatIsMissing) {
  const auto device = PortDevice::Open("pcap:no/such/file.pcap");
  EXPECT_THAT(MessageOf(device.status()), HasSubstr("no/such/file.pcap"));
}

// Opens a packet device without the right to and prints the error.
[[noreturn]] void OpenWithoutRawPackets(const std::string& name) {
  if (!testing::DropCapability(CAP_NET_RAW)) {
    std::cerr << "cannot give up rights\n";
    std::exit(2);
  }
  const auto device = PortDevice::Open(name);
  std::cerr << device.status().message() << "\n";
  std::exit(device.ok() ? 3 : 1);
}

TEST(PortDeviceDeathTest, NamesTheRightThatRawPacketsNeed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::vector<std::string> netdevs = Sysfs().EthernetNetdevs();
  // Without an interface there is no device to be refused.
  const std::string name = "packet:" + (netdevs.empty() ? "none" : netdevs[0]);
  EXPECT_EXIT(OpenWithoutRawPackets(name), ::testing::ExitedWithCode(1),
              name + (netdevs.empty() ? "" : ".*CAP_NET_RAW"));
}

// Moves devices into one vector.
template <typename... Names>
std::vector<PortDevice> OpenAll(const Names&... names) {
  std::vector<PortDevice> devices;
  for (const std::string& name : {std::string(names)...}) {
    auto device = PortDevice::Open(name);
    EXPECT_TRUE(device.ok()) << device.status();
    devices.push_back(*std::move(device));
  }
  return devices;
}

TEST(CheckDistinctTest, LetsSoftDevicesShareAKey) {
  const std::vector<PortDevice> devices =
      OpenAll("null:", "null:", OwnWire("distinct"), OwnWire("distinct"));
  const absl::Status distinct = CheckDistinct(devices);
  EXPECT_TRUE(distinct.ok()) << distinct;
}

TEST(CheckDistinctTest, RefusesTwoCapturesIntoOneFile) {
  const std::string file =
      (std::filesystem::path(::testing::TempDir()) / "distinct.pcap").string();
  std::vector<PortDevice> devices = OpenAll("pcap:,out=" + file);
  EXPECT_EQ(devices[0].identity(),
            "file " + std::filesystem::weakly_canonical(file).string());
  EXPECT_TRUE(CheckDistinct(devices).ok());
  devices.push_back(devices[0]);
  const absl::Status distinct = CheckDistinct(devices);
  EXPECT_EQ(distinct.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(MessageOf(distinct),
              HasSubstr("distinct.pcap is given twice, first by port pcap:,"));
}

TEST(CheckDistinctTest, TellsFromNamesWhatIsGivenTwice) {
  const std::vector<std::string> files = {
      "pcap:in,out=x", "null:", "pcap:,mtu=100,out=./x,loop=on"};
  EXPECT_THAT(MessageOf(CheckDistinctNames(files)),
              AllOf(HasSubstr("pcap:,mtu=100,out=./x,loop=on: file "),
                    HasSubstr("/x is given twice, first by port pcap:in,out=x;"
                              " give each port once")));
  const std::vector<std::string> netdevs = {"packet:eth0", "packet:eth0"};
  EXPECT_EQ(MessageOf(CheckDistinctNames(netdevs)),
            "packet:eth0: netdev eth0 is given twice, first by port "
            "packet:eth0; give each port once");
}

TEST(CheckDistinctTest, LetsNamesDifferOrShareWhatMayBeShared) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"null:", "null:"},
        {OwnWire("a"), OwnWire("a")},
        {"pcap:x", "pcap:x"},
        {"pcap:,out=x", "pcap:,out=y"},
        {"pcap:,out=/dev/null", "pcap:,out=/dev/null"}}) {
    const absl::Status distinct = CheckDistinctNames(names);
    EXPECT_TRUE(distinct.ok()) << distinct;
  }
}

}  // namespace
}  // namespace weir
