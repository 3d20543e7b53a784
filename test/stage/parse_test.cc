#include "weir/stage/parse.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "test/support/stage_rig.h"
#include "weir/mbuf/mbuf_ptr.h"

namespace weir {
namespace {

using testing::BytesOf;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Lab;
using ::testing::SizeIs;
using testing::StageRig;

Bytes Datagram() {
  return Frame().Ipv4("192.0.2.1", "192.0.2.2").Udp(1, 2).Payload(30).Build();
}
Bytes Arp() {
  return Frame()
      .Eth(kTestMacA, kTestMacB, 0x0806)
      .Raw({0, 1, 8, 0, 6, 4, 0, 1})
      .Payload(20)
      .PadTo(60)
      .Build();
}
Bytes Ipv6WithOptions() {
  return Frame()
      .Ipv6("2001:db8::1", "2001:db8::2",
            {.next_header = 60, .payload_length_bytes = 8 + 20 + 30})
      .Raw({6, 0, 1, 4, 0, 0, 0, 0})
      .Tcp(1, 2)
      .Payload(30)
      .PadTo(120)
      .Build();
}

// A packet of `frame` in segments of these sizes and the rest; its first
// segment has `tailroom` bytes of room, or all of its chunk.
MbufPtr Cut(Lab& lab, const Bytes& frame, const std::vector<size_t>& sizes,
            std::optional<uint32_t> tailroom = {}) {
  MbufCache& cache = lab.pool->cache(0);
  size_t at = 0;
  Mbuf* first = nullptr;
  Mbuf* last = nullptr;
  for (size_t i = 0; i <= sizes.size(); ++i) {
    const size_t size = i < sizes.size() ? sizes[i] : frame.size() - at;
    std::array<Mbuf*, 1> one{};
    EXPECT_EQ(cache.Alloc(one), 1u);
    one[0]->Reset(i == 0 && tailroom.has_value()
                      ? lab.pool->chunk_bytes() - static_cast<uint32_t>(size) -
                            *tailroom
                      : 0);
    one[0]->SetLength(static_cast<uint32_t>(size));
    std::copy_n(frame.begin() + static_cast<ptrdiff_t>(at), size,
                one[0]->data());
    at += size;
    if (first == nullptr) {
      first = one[0];
    } else {
      first->Append(*last, *one[0]);
    }
    last = one[0];
  }
  return MbufPtr(*first, cache);
}

TEST(ParseTest, NotesWhatItFound) {
  Lab lab;
  const MbufPtr packet = Cut(lab, Ipv6WithOptions(), {});
  Parse parse;
  ASSERT_TRUE(parse.OnPacket(*packet, lab.lcore).is_pass());
  const PacketInfo& info = packet->info();
  EXPECT_EQ(info.l3, L3::kIpv6);
  EXPECT_EQ(info.l3_offset, 14);
  EXPECT_EQ(info.l4_offset, 62);
  EXPECT_EQ(info.protocol, 6);
  EXPECT_EQ(info.trailer_bytes, 8);
  EXPECT_EQ(info.flags, 0);
}

TEST(ParseTest, KeepsWhatTheDeviceFound) {
  Lab lab;
  const MbufPtr packet = Cut(lab, Datagram(), {});
  packet->info().flags = PacketInfo::kDeviceChecked | PacketInfo::kFragment;
  packet->info().set_ip_checksum(ChecksumState::kGood);
  packet->set_hash(7);
  Parse parse;
  ASSERT_TRUE(parse.OnPacket(*packet, lab.lcore).is_pass());
  EXPECT_EQ(packet->info().flags, PacketInfo::kDeviceChecked);
  EXPECT_EQ(packet->info().ip_checksum(), ChecksumState::kGood);
  EXPECT_EQ(packet->hash(), 7u);
}

TEST(ParseTest, PassesFramesUnchanged) {
  StageRig rig{Parse()};
  EXPECT_THAT(rig.Run({Datagram(), Ipv6WithOptions(), Arp()}),
              ElementsAre(Datagram(), Ipv6WithOptions(), Arp()));
}

TEST(ParseTest, DropsWhatIsMalformedUnderItsName) {
  StageRig rig{Parse()};
  Bytes version = Datagram();
  version[14] = std::byte{0x55};
  Bytes udp = Datagram();
  udp[39] = std::byte{7};
  EXPECT_THAT(rig.Run({MakeBytes({1, 2}), version, udp, {}, Datagram()}),
              ElementsAre(Datagram()));
  EXPECT_EQ(rig.drops("runt"), 2u);
  EXPECT_EQ(rig.drops("ip-version"), 1u);
  EXPECT_EQ(rig.drops("udp-len"), 1u);
}

TEST(ParseTest, NamesEachDropOnce) {
  auto names = Parse::kDropNames;
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(std::string(Parse::kDropNames.back()), "not-ip");
}

TEST(ParseTest, DropsWhatIsNotIpWhenAsked) {
  StageRig rig{Parse({.not_ip = Parse::NotIp::kDrop})};
  EXPECT_THAT(rig.Run({Arp(), Datagram(), Arp()}), ElementsAre(Datagram()));
  EXPECT_EQ(rig.drops("not-ip"), 2u);
}

TEST(ParseTest, PassesMalformedFramesUnknownWhenAsked) {
  Bytes cut = Datagram();
  cut.resize(30);
  StageRig rig{Parse({.malformed = Parse::Malformed::kPass})};
  EXPECT_THAT(rig.Run({cut, Datagram()}), ElementsAre(cut, Datagram()));

  Lab lab;
  MbufPtr packet(testing::MakePacket(lab.lcore.cache(), cut),
                 lab.lcore.cache());
  Parse parse({.malformed = Parse::Malformed::kPass});
  EXPECT_TRUE(parse.OnPacket(*packet, lab.lcore).is_pass());
  EXPECT_FALSE(packet->info().is_ip());
  EXPECT_EQ(packet->info().l3_offset, 0);
}

TEST(ParseTest, RefusesTinyFragmentsWhenAsked) {
  const Bytes tiny = Frame()
                         .Ipv4("192.0.2.1", "192.0.2.2",
                               {.more_fragments = true, .protocol = 6})
                         .Payload(8)
                         .Build();
  StageRig accepting{Parse()};
  EXPECT_THAT(accepting.Run({tiny}), SizeIs(1));
  StageRig refusing{
      Parse({.tiny_fragments = net::ParseOptions::TinyFragments::kRefuse})};
  EXPECT_THAT(refusing.Run({tiny}), IsEmpty());
  EXPECT_EQ(refusing.drops("frag-tiny"), 1u);
}

TEST(ParseTest, GathersHeadersCutAnywhere) {
  Lab lab;
  const Bytes frame = Ipv6WithOptions();
  constexpr size_t kHeadersEnd = 14 + 40 + 8 + 20;
  for (size_t cut = 0; cut < frame.size(); ++cut) {
    const MbufPtr packet = Cut(lab, frame, {cut});
    Parse parse;
    ASSERT_TRUE(parse.OnPacket(*packet, lab.lcore).is_pass()) << cut;
    EXPECT_EQ(packet->info().l4_offset, 62);
    EXPECT_EQ(packet->data_bytes(), std::max(cut, kHeadersEnd));
    EXPECT_EQ(packet->segments(), 2u);
    EXPECT_EQ(packet->frame_bytes(), frame.size());
    EXPECT_EQ(BytesOf(*packet), frame);
  }
}

TEST(ParseTest, GivesBackSegmentsThatItEmptied) {
  Lab lab;
  const Bytes frame = Ipv6WithOptions();
  Parse parse;
  {
    // A byte a segment up to the middle of the payload, some of them empty.
    std::vector<size_t> sizes(90, 1);
    sizes[3] = sizes[20] = 0;
    const MbufPtr packet = Cut(lab, frame, sizes);
    ASSERT_TRUE(parse.OnPacket(*packet, lab.lcore).is_pass());
    EXPECT_EQ(BytesOf(*packet), frame);
    EXPECT_EQ(packet->data_bytes(), 82u);
    EXPECT_EQ(packet->segments(), 1u + (88 - 82) + 1);
    EXPECT_EQ(lab.pool->used_mbufs(), packet->segments());
  }
  EXPECT_EQ(lab.pool->used_mbufs(), 0u);
}

TEST(ParseTest, DropsHeadersThatFindNoRoom) {
  Lab lab;
  const Bytes frame = Ipv6WithOptions();
  Parse parse;
  for (uint32_t room = 42 - 1; room <= 42 + 1; ++room) {
    const MbufPtr packet = Cut(lab, frame, {40, 30}, room);
    const Verdict verdict = parse.OnPacket(*packet, lab.lcore);
    EXPECT_EQ(verdict.is_pass(), room >= 42) << room;
    if (!verdict.is_pass()) {
      EXPECT_EQ(std::string(Parse::kDropNames[verdict.reason()]),
                "headers-split");
    }
    EXPECT_EQ(BytesOf(*packet), frame);
  }
}

TEST(ParseTest, WritesToNoChunkThatOthersUse) {
  Lab lab;
  const Bytes frame = Ipv6WithOptions();
  MbufCache& cache = lab.pool->cache(0);
  const MbufPtr packet = Cut(lab, frame, {40});
  std::array<Mbuf*, 1> one{};
  ASSERT_EQ(cache.Alloc(one), 1u);
  cache.Refer(*one[0], *packet, *packet, 0, 40);
  const MbufPtr reference(*one[0], cache);
  Parse parse;
  const Verdict verdict = parse.OnPacket(*packet, lab.lcore);
  ASSERT_FALSE(verdict.is_pass());
  EXPECT_EQ(std::string(Parse::kDropNames[verdict.reason()]), "headers-split");
}

TEST(ParseTest, JudgesAFrameTheSameHoweverItIsCut) {
  Lab lab;
  Bytes bad = Datagram();
  bad[39] = std::byte{200};
  Parse parse;
  for (size_t cut = 0; cut < bad.size(); ++cut) {
    const MbufPtr packet = Cut(lab, bad, {cut / 2, cut - cut / 2});
    const Verdict verdict = parse.OnPacket(*packet, lab.lcore);
    ASSERT_FALSE(verdict.is_pass());
    EXPECT_EQ(std::string(Parse::kDropNames[verdict.reason()]), "udp-len");
  }
}

}  // namespace
}  // namespace weir
