// What Fragment takes apart, Reassemble puts together: the packet byte for
// byte, from fragments in any order, on mbufs that share its payload.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "test/stage/fragment_rig.h"
#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "test/support/naive_fragments.h"
#include "test/support/random_datagram.h"
#include "weir/stage/fragment.h"
#include "weir/stage/parse.h"
#include "weir/stage/reassemble.h"

namespace weir {
namespace {

using testing::BytesOf;
using testing::MakeSegments;

class FragmentReassembleTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  // The fragments of `packet`, in order.
  std::vector<Mbuf*> Cut(Mbuf& packet, uint32_t mtu) {
    Fragment stage = *Fragment::Create(
        {.mtu_bytes = mtu, .max_segments = 256, .id_seed = random_() | 1});
    std::vector<Mbuf*> fragments;
    Burst burst(lab_.lcore.cache());
    burst.Adopt(packet);
    do {
      stage.OnBurst(burst, lab_.lcore);
      fragments.insert(fragments.end(), burst.mbufs().begin(),
                       burst.mbufs().end());
      burst.ReleaseAll();
    } while (stage.more());
    return fragments;
  }

  // What comes of `fragments`, one at a time, as bytes.
  std::vector<Bytes> Join(const std::vector<Mbuf*>& fragments) {
    std::vector<Bytes> out;
    for (Mbuf* fragment : fragments) {
      Burst burst(lab_.lcore.cache());
      burst.Adopt(*fragment);
      EXPECT_TRUE(parse_.OnPacket(*fragment, lab_.lcore).is_pass());
      reassemble_.OnBurst(burst, lab_.lcore);
      for (const Mbuf* packet : burst.mbufs()) out.push_back(BytesOf(*packet));
    }
    return out;
  }

  testing::Lab lab_{8192};
  std::mt19937 random_{GetParam()};
  Parse parse_;
  Reassemble reassemble_ =
      *Reassemble::Create({.clock = ReassemblyClock::kFrames,
                           .max_fragments_per_datagram = 8191,
                           .max_fragments = 8192,
                           .max_fragments_per_source = 8192});
};

TEST_P(FragmentReassembleTest, GivesThePacketBack) {
  for (int round = 0; round < 40; ++round) {
    const bool ipv6 = random_() % 2 == 0;
    const auto mtu = static_cast<uint32_t>(ipv6 ? 1280 + random_() % 3000
                                                : 68 + random_() % 4000);
    const size_t bytes = std::min<size_t>(
        mtu + 1 + (random_() % 3 == 0 ? random_() % 65000 : random_() % 9000),
        65535);
    const Bytes frame =
        testing::RandomDatagram({.ipv6 = ipv6, .packet_bytes = bytes}, random_);
    SCOPED_TRACE(::testing::Message()
                 << "round " << round << ": " << bytes << " bytes, MTU " << mtu
                 << (ipv6 ? ", IPv6" : ", IPv4"));
    Mbuf& packet =
        MakeSegments(lab_.lcore.cache(), frame,
                     {256, static_cast<uint32_t>(500 + random_() % 1300)});
    ASSERT_TRUE(parse_.OnPacket(packet, lab_.lcore).is_pass());
    std::vector<Mbuf*> fragments = Cut(packet, mtu);
    ASSERT_GE(fragments.size(), 2u);
    if (random_() % 2 == 0) {
      std::shuffle(fragments.begin(), fragments.end(), random_);
    }
    const std::vector<Bytes> out = Join(fragments);
    Bytes expected = frame;
    expected.resize(frame.size() - testing::TakeApart(frame).padding);
    ASSERT_EQ(out.size(), 1u);
    ASSERT_EQ(out[0], expected);
    ASSERT_EQ(lab_.pool->used_mbufs(), 0u);
  }
}

// Two Fragment headers that say that the packet is whole (RFC 6946), the first
// of which stays what it was: the reserved byte is ignored, not a length.
TEST_P(FragmentReassembleTest, CutsAtTheLastOfTwoFragmentHeaders) {
  const auto atomic = [](int next) {
    return MakeBytes({next, 9, 0, 0, 0, 0, 0, 1});
  };
  const auto packet_of = [&](int next, const Bytes& second) {
    return Frame()
        .Ipv6("2001:db8::1", "2001:db8::2", {.next_header = 44})
        .Raw(atomic(next))
        .Raw(second)
        .Raw(RandomBytes(3000, 1))
        .Build();
  };
  const Bytes frame = packet_of(44, MakeBytes({253, 0, 0, 0, 0, 0, 0, 2}));
  Mbuf& packet = MakeSegments(lab_.lcore.cache(), frame, {1500});
  ASSERT_TRUE(parse_.OnPacket(packet, lab_.lcore).is_pass());
  const std::vector<Mbuf*> fragments = Cut(packet, 1280);
  ASSERT_EQ(fragments.size(), 3u);
  const std::vector<Bytes> out = Join(fragments);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0], packet_of(253, {}));
  EXPECT_EQ(lab_.pool->used_mbufs(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, FragmentReassembleTest,
                         ::testing::Range(1u, 5u));

}  // namespace
}  // namespace weir
