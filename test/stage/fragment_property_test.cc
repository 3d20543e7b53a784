// Fragments of random packets obey the rules and are, put together by a second
// implementation, the packet byte for byte.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "test/stage/fragment_rig.h"
#include "test/support/naive_fragments.h"
#include "test/support/random_datagram.h"
#include "weir/stage/fragment.h"

namespace weir {
namespace {

using testing::ExpectFragmentsOf;
using testing::FragmentRig;
using testing::MakeSegments;
using testing::RandomDatagram;

// Sizes that matter, and any.
size_t RandomPacketBytes(size_t least, std::mt19937& random) {
  size_t bytes;
  switch (random() % 4) {
    case 0:
      bytes = random() % 65536;
      break;
    case 1:
      bytes = 65535 - random() % 16;
      break;
    default:
      bytes = random() % 10000;
  }
  return std::clamp<size_t>(bytes, least, 65535);
}

size_t RandomMtu(bool ipv6, std::mt19937& random) {
  const size_t least = ipv6 ? 1280 : 68;
  switch (random() % 4) {
    case 0:
      return least + random() % 16;
    case 1:
      return 1492 + random() % 16;
    default:
      return least + random() % 9000;
  }
}

// Sizes of segments, of which the first holds all headers.
std::vector<uint32_t> RandomSegments(std::mt19937& random) {
  std::vector<uint32_t> sizes;
  const auto add = [&sizes](size_t size) {
    sizes.push_back(static_cast<uint32_t>(size));
  };
  add(128 + random() % 1700);
  for (size_t count = random() % 6; count > 0; --count) {
    add(random() % 5 == 0 ? 1 + random() % 8 : 100 + random() % 1800);
  }
  add(1000 + random() % 900);
  return sizes;
}

class FragmentPropertyTest : public ::testing::TestWithParam<uint32_t> {};

TEST_P(FragmentPropertyTest, FragmentsObeyTheRulesAndAreThePacket) {
  std::mt19937 random(GetParam());
  for (int round = 0; round < 40; ++round) {
    const bool ipv6 = random() % 2 == 0;
    const bool fragment = random() % 3 == 0;
    const auto mtu = static_cast<uint32_t>(RandomMtu(ipv6, random));
    size_t bytes = RandomPacketBytes(ipv6 ? 256 : 68, random);
    // Data of a part that is not the last comes in units of 8 bytes.
    if (fragment) bytes = std::min<size_t>(bytes, 40000);
    const Bytes frame = RandomDatagram(
        {.ipv6 = ipv6, .packet_bytes = bytes, .fragment = fragment}, random);
    FragmentRig rig({.mtu_bytes = mtu, .max_segments = 4096, .id_seed = 1});
    const std::vector<Bytes> out =
        rig.Run({&MakeSegments(rig.cache(), frame, RandomSegments(random))});
    SCOPED_TRACE(::testing::Message()
                 << "round " << round << ": " << bytes << " bytes, MTU " << mtu
                 << (ipv6 ? ", IPv6" : ", IPv4"));
    ASSERT_EQ(rig.all_drops(), 0u);
    if (bytes <= mtu) {
      ASSERT_EQ(out, (std::vector<Bytes>{frame}));
    } else {
      ExpectFragmentsOf(frame, out, mtu);
      for (size_t i = 0; i < out.size(); ++i) {
        ASSERT_EQ(rig.infos()[i], testing::DescribeNaively(out[i]));
      }
    }
    if (HasFatalFailure()) return;
  }
}

TEST_P(FragmentPropertyTest, FewSegmentsMakeTheSameFragmentsByCopies) {
  std::mt19937 random(GetParam());
  for (int round = 0; round < 25; ++round) {
    const bool ipv6 = random() % 2 == 0;
    const auto mtu = static_cast<uint32_t>(ipv6 ? 1280 + random() % 500
                                                : 68 + random() % 1700);
    const size_t bytes = mtu + 1 + random() % 6000;
    const Bytes frame =
        RandomDatagram({.ipv6 = ipv6, .packet_bytes = bytes}, random);
    const auto most = static_cast<uint32_t>(2 + random() % 3);
    FragmentRig rig({.mtu_bytes = mtu, .max_segments = most, .id_seed = 1});
    const auto size = static_cast<uint32_t>(20 + random() % 200);
    const std::vector<Bytes> out =
        rig.Run({&MakeSegments(rig.cache(), frame, {400, size})});
    ASSERT_EQ(rig.all_drops(), 0u);
    ASSERT_LE(rig.most_segments(), most);
    ExpectFragmentsOf(frame, out, mtu);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, FragmentPropertyTest, ::testing::Range(1u, 5u));

}  // namespace
}  // namespace weir
