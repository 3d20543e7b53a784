#include "weir/verbs/soft_hca.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "weir/verbs/device.h"

namespace weir::verbs {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(SoftHcaTest, IsPartOfThisProgram) { EXPECT_TRUE(IsSoftHcaLoaded()); }

TEST(SoftHcaTest, TellsTheFactsOfADevice) {
  const Device device = *Device::Open(*AddSoftDevice("null:,mtu=9000"));
  const auto info = QuerySoftDevice(device.context());
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->mtu_bytes, 9000u);
  EXPECT_EQ(info->netdev, "");
  EXPECT_EQ(info->numa_node, -1);
  // Locally administered, of one receiver.
  EXPECT_EQ(info->mac.octets[0] & 3, 2);
}

TEST(SoftHcaTest, GivesTwoDevicesOfOneKeyTwoNamesAndMacs) {
  const Device first = *Device::Open(*AddSoftDevice("null:"));
  const Device second = *Device::Open(*AddSoftDevice("null:"));
  EXPECT_NE(first.name(), second.name());
  EXPECT_NE(QuerySoftDevice(first.context())->mac,
            QuerySoftDevice(second.context())->mac);
}

TEST(SoftHcaTest, ListsTheKindsForAnUnknownOne) {
  const auto name = AddSoftDevice("nul:");
  EXPECT_EQ(name.status().code(), absl::StatusCode::kInvalidArgument);
  for (const char* kind : {"nul:", "null", "pcap", "wire"}) {
    EXPECT_THAT(std::string(name.status().message()), HasSubstr(kind));
  }
}

TEST(SoftHcaTest, ListsTheKeysForAnUnknownOne) {
  const auto name = AddSoftDevice("null:,sise=64");
  EXPECT_EQ(name.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(name.status().message()), HasSubstr("size"));
}

TEST(SoftHcaTest, ReadsTheCountersOfADevice) {
  const Device device = *Device::Open(*AddSoftDevice("null:"));
  EXPECT_THAT(SoftDeviceCounters(device.context()),
              Contains(Pair("rx_frames", 0u)));
}

TEST(SoftHcaTest, KnowsThatANullDeviceNeverFinishesAndHasNoWarnings) {
  const Device device = *Device::Open(*AddSoftDevice("null:"));
  EXPECT_FALSE(IsSoftDeviceFinished(device.context()));
  EXPECT_EQ(TakeSoftDeviceWarning(device.context()), "");
}

TEST(SoftHcaTest, KnowsThatAnOutputOnlyCaptureIsFinishedFromTheStart) {
  const std::string path =
      (std::filesystem::path(::testing::TempDir()) / "soft_hca_test.pcap")
          .string();
  const Device device = *Device::Open(*AddSoftDevice("pcap:,out=" + path));
  EXPECT_TRUE(IsSoftDeviceFinished(device.context()));
}

}  // namespace
}  // namespace weir::verbs
