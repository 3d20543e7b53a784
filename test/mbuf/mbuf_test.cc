#include "weir/mbuf/mbuf.h"

#include <array>
#include <cstdint>
#include <memory>

#include "gtest/gtest.h"
#include "weir/base/big_endian.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/mbuf/packet_info.h"

namespace weir {
namespace {

struct Header {
  std::array<uint8_t, 6> bytes;
  Be16 type;
};
static_assert(sizeof(Header) == 8);

class MbufTest : public testing::Test {
 protected:
  Mbuf& Fresh() {
    std::array<Mbuf*, 1> one{};
    EXPECT_EQ(pool_->cache(0).Alloc(one), 1);
    one[0]->Reset(pool_->headroom_bytes());
    return *one[0];
  }

  std::unique_ptr<MbufPool> pool_ = *MbufPool::Create(
      {.mbufs = 1, .chunk_bytes = 1024, .headroom_bytes = 100});
};

TEST_F(MbufTest, IsOneEmptySegmentAfterReset) {
  Mbuf& mbuf = Fresh();
  EXPECT_EQ(mbuf.data_bytes(), 0);
  EXPECT_EQ(mbuf.frame_bytes(), 0);
  EXPECT_EQ(mbuf.segments(), 1);
  EXPECT_EQ(mbuf.next(), nullptr);
  EXPECT_EQ(mbuf.headroom_bytes(), 100);
  EXPECT_EQ(mbuf.tailroom_bytes(), 924);
  EXPECT_EQ(mbuf.timestamp_ns(), 0);
  EXPECT_TRUE(mbuf.bytes().empty());
}

TEST_F(MbufTest, LengthMovesRoomFromTailToData) {
  Mbuf& mbuf = Fresh();
  mbuf.SetLength(60);
  EXPECT_EQ(mbuf.bytes().size(), 60);
  EXPECT_EQ(mbuf.frame_bytes(), 60);
  EXPECT_EQ(mbuf.tailroom_bytes(), 864);
  mbuf.Reset(1024);
  EXPECT_EQ(mbuf.tailroom_bytes(), 0);
}

TEST_F(MbufTest, ResetForgetsTheLastUse) {
  Mbuf& first = Fresh();
  Mbuf& second = Fresh();
  first.SetLength(10);
  second.SetLength(20);
  first.Append(first, second);
  first.set_timestamp_ns(7);
  first.set_hash(8);
  first.info() = {.l3_offset = 14, .protocol = 17, .l3 = L3::kIpv4};
  first.Reset(0);
  EXPECT_EQ(first.next(), nullptr);
  EXPECT_EQ(first.segments(), 1);
  EXPECT_EQ(first.frame_bytes(), 0);
  EXPECT_EQ(first.timestamp_ns(), 0);
  EXPECT_EQ(first.hash(), 0);
  EXPECT_EQ(first.info(), PacketInfo());
}

TEST(PacketInfoTest, KeepsTheStatesOfTwoChecksumsApart) {
  PacketInfo info;
  EXPECT_EQ(info.ip_checksum(), ChecksumState::kUnknown);
  EXPECT_EQ(info.l4_checksum(), ChecksumState::kUnknown);
  info.set_ip_checksum(ChecksumState::kBad);
  info.set_l4_checksum(ChecksumState::kUnverifiable);
  EXPECT_EQ(info.ip_checksum(), ChecksumState::kBad);
  EXPECT_EQ(info.l4_checksum(), ChecksumState::kUnverifiable);
  info.set_ip_checksum(ChecksumState::kGood);
  info.set_l4_checksum(ChecksumState::kAbsent);
  EXPECT_EQ(info.ip_checksum(), ChecksumState::kGood);
  EXPECT_EQ(info.l4_checksum(), ChecksumState::kAbsent);
}

TEST_F(MbufTest, AppendChainsSegmentsAndSumsTheFrame) {
  Mbuf& first = Fresh();
  Mbuf& second = Fresh();
  Mbuf& third = Fresh();
  first.SetLength(10);
  second.SetLength(20);
  third.SetLength(30);
  first.Append(first, second);
  first.Append(second, third);
  EXPECT_EQ(first.frame_bytes(), 60);
  EXPECT_EQ(first.segments(), 3);
  EXPECT_EQ(first.data_bytes(), 10);
  EXPECT_EQ(first.next(), &second);
  EXPECT_EQ(second.next(), &third);
  EXPECT_EQ(third.next(), nullptr);
}

TEST_F(MbufTest, TrimmingMovesBothEndsAndLeavesTheData) {
  Mbuf& first = Fresh();
  Mbuf& last = Fresh();
  first.SetLength(10);
  last.SetLength(20);
  first.bytes()[4] = std::byte{7};
  first.Append(first, last);
  first.TrimFront(4);
  first.TrimBack(last, 15);
  EXPECT_EQ(first.data()[0], std::byte{7});
  EXPECT_EQ(first.data_bytes(), 6);
  EXPECT_EQ(last.data_bytes(), 5);
  EXPECT_EQ(first.frame_bytes(), 11);
  first.Prepend(3);
  EXPECT_EQ(first.data()[3], std::byte{7});
  EXPECT_EQ(first.data_bytes(), 9);
  EXPECT_EQ(first.frame_bytes(), 14);
}

TEST_F(MbufTest, PullsBytesFromTheNextSegment) {
  Mbuf& first = Fresh();
  Mbuf& middle = Fresh();
  Mbuf& last = Fresh();
  first.SetLength(10);
  middle.SetLength(20);
  last.SetLength(5);
  middle.bytes()[0] = std::byte{7};
  middle.bytes()[19] = std::byte{9};
  first.Append(first, middle);
  first.Append(middle, last);
  first.PullFromNext(1);
  EXPECT_EQ(first.data_bytes(), 11u);
  EXPECT_EQ(first.data()[10], std::byte{7});
  EXPECT_EQ(middle.data_bytes(), 19u);
  first.PullFromNext(19);
  EXPECT_EQ(first.data()[29], std::byte{9});
  EXPECT_EQ(&first.UnlinkNext(), &middle);
  EXPECT_EQ(middle.next(), nullptr);
  EXPECT_EQ(first.next(), &last);
  EXPECT_EQ(first.segments(), 2u);
  EXPECT_EQ(first.frame_bytes(), 35u);
}

TEST_F(MbufTest, LinksSegmentsWithoutReadingThem) {
  Mbuf& first = Fresh();
  Mbuf& last = Fresh();
  first.SetLength(10);
  last.SetLength(20);
  EXPECT_TRUE(first.is_plain());
  first.SetNext(last);
  first.SetFrame(30, 2);
  EXPECT_EQ(first.next(), &last);
  EXPECT_EQ(first.frame_bytes(), 30);
  EXPECT_EQ(first.segments(), 2);
  EXPECT_FALSE(first.is_plain());
}

TEST_F(MbufTest, AHeaderIsThereOnlyWhenAllOfItIs) {
  Mbuf& mbuf = Fresh();
  EXPECT_EQ(mbuf.Header<Header>(0), nullptr);
  mbuf.SetLength(7);
  EXPECT_EQ(mbuf.Header<Header>(0), nullptr);
  mbuf.SetLength(8);
  ASSERT_NE(mbuf.Header<Header>(0), nullptr);
  EXPECT_EQ(mbuf.Header<Header>(1), nullptr);
  mbuf.SetLength(20);
  EXPECT_NE(mbuf.Header<Header>(12), nullptr);
  EXPECT_EQ(mbuf.Header<Header>(13), nullptr);
  EXPECT_EQ(mbuf.Header<Header>(UINT32_MAX), nullptr);
  EXPECT_EQ(mbuf.Header<Header>(UINT32_MAX - 7), nullptr);
}

TEST_F(MbufTest, AHeaderShowsTheBytesOfTheFrame) {
  Mbuf& mbuf = Fresh();
  mbuf.SetLength(16);
  mbuf.bytes()[4 + 6] = std::byte{0x08};
  mbuf.bytes()[4 + 7] = std::byte{0x06};
  Header* const header = mbuf.Header<Header>(4);
  ASSERT_NE(header, nullptr);
  EXPECT_EQ(header->type.host(), 0x0806);
  header->bytes[0] = 0xaa;
  EXPECT_EQ(mbuf.bytes()[4], std::byte{0xaa});
}

}  // namespace
}  // namespace weir
