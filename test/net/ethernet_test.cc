#include "weir/net/ethernet.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "gtest/gtest.h"

namespace weir::net {
namespace {

// An ARP request to all, tagged for VLAN 5 with priority 3.
constexpr std::array<unsigned char, 18> kFrame = {
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, 0x00, 0x00,
    0x00, 0x00, 0x01, 0x81, 0x00, 0x60, 0x05, 0x08, 0x06};

TEST(EthernetTest, TheHeaderLiesOnTheBytesOfAFrame) {
  EthernetHeader header;
  std::memcpy(&header, kFrame.data(), sizeof header);
  EXPECT_EQ(header.destination, kBroadcast);
  EXPECT_EQ(ToString(header.source), "02:00:00:00:00:01");
  EXPECT_EQ(header.type.host(), kEtherTypeVlan);
}

TEST(EthernetTest, ATagStandsBehindTheAddresses) {
  VlanTag tag;
  std::memcpy(&tag, kFrame.data() + offsetof(EthernetHeader, type), sizeof tag);
  EXPECT_EQ(tag.tpid.host(), kEtherTypeVlan);
  EXPECT_EQ(tag.tci.host() & 0x0fff, 5);
  EXPECT_EQ(tag.tci.host() >> 13, 3);
}

TEST(EthernetTest, TheOverheadIsHeaderAndTwoTags) {
  EXPECT_EQ(kL2OverheadBytes, 22);
  EXPECT_EQ(kMinFrameBytes, 60);
}

}  // namespace
}  // namespace weir::net
