// The kernel's reassembly and ours, given the same fragments: datagrams that go
// in through a TAP device of a namespace of the test's own have to come out of
// a UDP socket as they come out of the stage.

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"
#include "test/support/tap_kernel.h"

namespace weir::testing {
namespace {

// Its last `bytes` bytes: the payload, if it has that many.
Bytes LastOf(const Bytes& frame, size_t bytes) {
  return {frame.end() - static_cast<std::ptrdiff_t>(bytes), frame.end()};
}

// Frames of one datagram in any order, some of them twice. A copy comes before
// the last fragment that is missing: behind it, it would begin a new datagram.
std::vector<Bytes> Scrambled(const Datagram& datagram,
                             std::mt19937_64& random) {
  // The kernel has room for 4 MiB, with all that is around the data.
  const size_t least = datagram.data.size() > 4100 ? 40 : 1;
  std::vector<Bytes> frames =
      CutAtRandom(datagram, least + random() % (181 - least), random());
  std::shuffle(frames.begin(), frames.end(), random);
  if (frames.size() < 2) return frames;
  for (size_t copies = random() % 3; copies > 0; --copies) {
    const size_t from = random() % (frames.size() - 1);
    frames.insert(frames.end() - 1, frames[from]);
  }
  return frames;
}

TEST(ReassembleKernelTest, TenThousandDatagramsComeOutAsTheKernelHasThem) {
  TapKernel kernel;
  if (HasFatalFailure()) return;
  ReassemblyRig rig({.max_fragments_per_datagram = 8191});
  std::mt19937_64 random(1);
  for (uint32_t id = 1; id <= 10'000; ++id) {
    const bool is_ipv6 = id % 2 == 0;
    const size_t bytes = 1 + random() % (id % 50 == 0 ? 40000 : 4000);
    const Datagram datagram = UdpDatagram(is_ipv6, id, bytes);
    const size_t before = rig.out().size();
    for (const Bytes& frame : Scrambled(datagram, random)) {
      kernel.Send(frame);
      rig.Send(frame, id);
      ASSERT_FALSE(HasFatalFailure());
    }
    ASSERT_EQ(rig.out().size(), before + 1) << "datagram " << id;
    ASSERT_EQ(LastOf(rig.out().back(), bytes), kernel.Receive(is_ipv6))
        << "datagram " << id;
  }
}

// Of a datagram that overlaps neither gives anything.
TEST(ReassembleKernelTest, NeitherTakesAnOverlap) {
  TapKernel kernel;
  if (HasFatalFailure()) return;
  ReassemblyRig rig;
  std::mt19937_64 random(2);
  for (uint32_t id = 1; id <= 200; ++id) {
    const bool is_ipv6 = id % 2 == 0;
    const Datagram datagram = UdpDatagram(is_ipv6, id, 16 * (2 + random() % 9));
    std::vector<Bytes> frames = CutEvenly(datagram, 16);
    frames.insert(frames.begin() + 1, FragmentFrame(datagram, 8, 16, true));
    for (const Bytes& frame : frames) {
      kernel.Send(frame);
      rig.Send(frame, id);
    }
    // One that is whole comes next from both, and nothing before it.
    const Datagram whole = UdpDatagram(is_ipv6, id + 10'000, 50);
    const size_t before = rig.out().size();
    kernel.Send(WholeFrame(whole));
    rig.Send(WholeFrame(whole), id);
    ASSERT_EQ(rig.out().size(), before + 1);
    ASSERT_EQ(kernel.Receive(is_ipv6), LastOf(rig.out().back(), 50));
  }
}

}  // namespace
}  // namespace weir::testing
