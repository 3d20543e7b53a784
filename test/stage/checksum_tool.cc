// Parse, VerifyChecksums and FillChecksums for scripts: what they say and write
// about frames on the standard input, each behind its length as two bytes, low
// byte first. A line a frame: the state of IPv4's checksum, of that behind it,
// the reason of the drop with - for blanks (- alone if there is none), and the
// frame with its checksums filled in, in hexadecimal digits (- alone if that
// was dropped).

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "test/support/fake_queues.h"
#include "test/support/packet_chain.h"
#include "weir/mbuf/mbuf_ptr.h"
#include "weir/mbuf/packet_info.h"
#include "weir/stage/fill_checksums.h"
#include "weir/stage/parse.h"
#include "weir/stage/verify_checksums.h"

namespace weir {
namespace {

using testing::FrameBytes;

constexpr std::array<const char*, 6> kStates = {
    "unknown", "good", "bad", "absent", "partial", "unverifiable"};

const char* NameOf(ChecksumState state) {
  return kStates[static_cast<size_t>(state)];
}

// Why `stage` drops `packet`, empty if it does not.
template <typename Stage>
std::string Apply(Stage stage, Mbuf& packet, Lcore& lcore) {
  const Verdict verdict = stage.OnPacket(packet, lcore);
  if (verdict.is_pass()) return {};
  std::string reason(Stage::kDropNames[verdict.reason()]);
  for (char& each : reason) {
    if (each == ' ') each = '-';
  }
  return reason;
}

// A packet of a few segments, where they are cut depends on its length.
MbufPtr Make(const FrameBytes& frame, Lcore& lcore) {
  const size_t size = frame.size();
  return {testing::MakeChain(lcore.cache(), frame,
                             {40 + size % 61, 1 + size % 5, size % 3, 7}),
          lcore.cache()};
}

void Report(const FrameBytes& frame, Lcore& lcore) {
  MbufPtr verified = Make(frame, lcore);
  std::string drop = Apply(Parse(), *verified, lcore);
  if (drop.empty()) drop = Apply(VerifyChecksums(), *verified, lcore);
  std::printf("%s %s %s ", NameOf(verified->info().ip_checksum()),
              NameOf(verified->info().l4_checksum()),
              drop.empty() ? "-" : drop.c_str());
  MbufPtr filled = Make(frame, lcore);
  if (!Apply(Parse(), *filled, lcore).empty() ||
      !Apply(FillChecksums(), *filled, lcore).empty()) {
    std::puts("-");
    return;
  }
  for (const std::byte byte : testing::BytesOf(*filled)) {
    std::printf("%02x", std::to_integer<unsigned>(byte));
  }
  std::puts("");
}

int Run() {
  testing::Lab lab;
  std::array<uint8_t, 2> length;
  while (std::fread(length.data(), 1, length.size(), stdin) == length.size()) {
    FrameBytes frame(static_cast<size_t>(length[0] | length[1] << 8));
    if (std::fread(frame.data(), 1, frame.size(), stdin) != frame.size()) {
      std::fputs("checksum_tool: the input ends in a frame\n", stderr);
      return 1;
    }
    Report(frame, lab.lcore);
  }
  return 0;
}

}  // namespace
}  // namespace weir

int main() { return weir::Run(); }
