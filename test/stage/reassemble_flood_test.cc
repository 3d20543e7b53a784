// Good datagrams come through, whatever floods there are beside them.

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"

namespace weir::testing {
namespace {

// Makes the frame number `i` of a flood.
struct Flood {
  std::string name;
  std::function<Bytes(uint32_t i)> frame;
};

Datagram Forged(uint32_t id, const std::string& source) {
  Datagram datagram = UdpDatagram(false, id & 0xffff, 120);
  datagram.source = source;
  return datagram;
}

std::string Source(uint32_t i) {
  return "10." + std::to_string(i >> 16 & 255) + "." +
         std::to_string(i >> 8 & 255) + "." + std::to_string(i & 255);
}

std::vector<Flood> Floods() {
  const std::string one = "203.0.113.5";
  return {
      {"first fragments of one source",
       [=](uint32_t i) { return FragmentFrame(Forged(i, one), 0, 64, true); }},
      {"first fragments of many sources",
       [](uint32_t i) {
         return FragmentFrame(Forged(i, Source(i)), 0, 64, true);
       }},
      {"last fragments of many sources",
       [](uint32_t i) {
         return FragmentFrame(Forged(i, Source(i)), 64, 64, false);
       }},
      {"tiny fragments of one datagram",
       [=](uint32_t i) {
         return FragmentFrame(Forged(1, one), 8 * (i * 7 % 16), 8, true);
       }},
      {"overlaps",
       [=](uint32_t i) {
         return FragmentFrame(Forged(i / 2, one), i % 2 * 8, 64, true);
       }},
      // The source of the good ones, forged.
      {"first fragments of the same source",
       [](uint32_t i) {
         return FragmentFrame(Forged(i | 0x8000, "192.0.2.1"), 0, 64, true);
       }},
  };
}

TEST(ReassembleFloodTest, EveryGoodDatagramComesThrough) {
  for (const Flood& flood : Floods()) {
    ReassemblyRig rig({.max_datagrams = 256, .max_fragments = 1024});
    uint32_t sent = 0;
    for (uint32_t id = 1; id <= 300; ++id) {
      // Four times as many fragments of the flood as good ones.
      for (const Bytes& frame : CutEvenly(UdpDatagram(false, id, 500), 128)) {
        for (int i = 0; i < 4; ++i) rig.Send(flood.frame(sent++));
        rig.Send(frame);
      }
      ASSERT_EQ(rig.out().size(), id) << flood.name;
    }
    EXPECT_LE(rig.held(), 1024) << flood.name;
  }
}

}  // namespace
}  // namespace weir::testing
