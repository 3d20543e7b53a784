#include "weir/verbs/device.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/capability.h"
#include "weir/verbs/soft_hca.h"

namespace weir::verbs {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

TEST(DeviceTest, ListsAndOpensAnAddedDevice) {
  const auto name = AddSoftDevice("null:");
  ASSERT_TRUE(name.ok()) << name.status();
  EXPECT_THAT(DeviceNames(), Contains(*name));
  const auto device = Device::Open(*name);
  ASSERT_TRUE(device.ok()) << device.status();
  EXPECT_EQ(device->name(), *name);
  EXPECT_GT(device->attributes().max_raw_ethy_qp, 0);
}

TEST(DeviceTest, NamesTheDevicesThereAreForOneThatIsNot) {
  const auto name = AddSoftDevice("null:");
  ASSERT_TRUE(name.ok()) << name.status();
  const auto device = Device::Open("mlx5_7");
  EXPECT_EQ(device.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(device.status().message()),
              HasSubstr("mlx5_7: no such verbs device; found "));
  EXPECT_THAT(std::string(device.status().message()), HasSubstr(*name));
}

TEST(DeviceTest, HasOneEthernetPort) {
  const auto device = Device::Open(*AddSoftDevice("null:"));
  ASSERT_TRUE(device.ok()) << device.status();
  const auto port = device->QueryPort(1);
  ASSERT_TRUE(port.ok()) << port.status();
  EXPECT_EQ(port->link_layer, IBV_LINK_LAYER_ETHERNET);
  for (const uint8_t number : {0, 2, 255}) {
    const auto none = device->QueryPort(number);
    EXPECT_EQ(none.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(none.status().message()),
                HasSubstr("no such port; the device has ports 1 to 1"));
  }
}

TEST(DeviceTest, SaysWhatASoftDeviceSaysWhenItCannotOpen) {
  const auto name = AddSoftDevice("pcap:no/such/file.pcap");
  ASSERT_TRUE(name.ok()) << name.status();
  const auto device = Device::Open(*name);
  EXPECT_FALSE(device.ok());
  EXPECT_THAT(std::string(device.status().message()),
              HasSubstr("no/such/file.pcap"));
}

}  // namespace
}  // namespace weir::verbs
