// Packets in segments of any length through the stages that verify and fill
// checksums, against a slow reference that sees one flat piece.
//
// Input: flags (1: fill the checksums first), the number of segments whose
// length is said, modulo 8, those lengths, a byte each, and the frame.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "test/fuzz/input.h"
#include "test/support/fake_queues.h"
#include "test/support/naive_checksums.h"
#include "test/support/packet_chain.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/stage/fill_checksums.h"
#include "weir/stage/verify_checksums.h"

namespace weir {
namespace {

using fuzz::Require;
using testing::FrameBytes;
using testing::NaiveVerdict;

constexpr ChecksumRule kMark = ChecksumRule::kMark;
constexpr ChecksumRules kMarkAll = {.ipv4 = kMark,
                                    .tcp = kMark,
                                    .udp = kMark,
                                    .udp_lite = kMark,
                                    .sctp = kMark,
                                    .icmp = kMark,
                                    .icmp6 = kMark,
                                    .igmp = kMark};

struct Outcome {
  PacketInfo info;
  std::string drop;
  FrameBytes bytes;
};

class Bench {
 public:
  // The headers of IP are in the first segment, as Parse has it.
  Bench(FrameBytes frame, const PacketInfo& info, std::vector<size_t> sizes)
      : frame_(std::move(frame)), info_(info), sizes_(std::move(sizes)) {
    if (!sizes_.empty()) sizes_[0] += info.l4_offset;
  }

  template <typename Stage>
  Outcome Run(Stage stage) {
    // Made once: the pool is what takes long.
    static testing::Lab lab;
    Mbuf& packet = testing::MakeChain(lab.lcore.cache(), frame_, sizes_);
    packet.info() = info_;
    const Verdict verdict = stage.OnPacket(packet, lab.lcore);
    Outcome outcome = {packet.info(),
                       verdict.is_pass()
                           ? std::string()
                           : std::string(Stage::kDropNames[verdict.reason()]),
                       testing::BytesOf(packet)};
    const std::array<Mbuf*, 1> all = {&packet};
    lab.lcore.cache().FreePackets(all);
    return outcome;
  }

 private:
  FrameBytes frame_;
  PacketInfo info_;
  std::vector<size_t> sizes_;
};

void CheckVerify(Bench& bench, const FrameBytes& frame,
                 const NaiveVerdict& expected) {
  const Outcome marked = bench.Run(VerifyChecksums(kMarkAll));
  Require(marked.drop.empty(), "who marks drops nothing");
  Require(marked.info.ip_checksum() == expected.ip, "the state of IPv4");
  Require(marked.info.l4_checksum() == expected.l4, "the state of what it has");
  Require(marked.bytes == frame, "who verifies writes nothing");
  const Outcome strict = bench.Run(VerifyChecksums());
  Require(strict.drop == expected.drop, "the reason of the drop");
}

void CheckFill(Bench& bench, const FrameBytes& frame, const PacketInfo& info,
               const NaiveVerdict& before) {
  const Outcome filled = bench.Run(FillChecksums());
  Require(filled.bytes == testing::NaiveFill(frame, info), "what is filled in");
  const bool hopeless = before.l4 == ChecksumState::kUnverifiable;
  Require(filled.drop.empty() != hopeless, "what cannot be filled is dropped");
}

}  // namespace
}  // namespace weir

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  weir::fuzz::Input input(data, size);
  const bool fill = (input.Byte() & 1) != 0;
  std::vector<size_t> sizes(input.Byte() % 8);
  for (size_t& one : sizes) one = input.Byte();
  const auto rest = std::as_bytes(input.Take(size));
  weir::testing::FrameBytes frame(rest.begin(), rest.end());
  const weir::PacketInfo info = weir::testing::NaiveParse(frame);
  // MakeChain has no longer segments for the headers of IP.
  if (!info.is_ip() || info.l4_offset > 1000) return 0;
  if (fill) frame = weir::testing::NaiveFill(frame, info);
  const auto expected = weir::testing::NaiveVerify(frame, info);
  weir::Bench bench(frame, info, sizes);
  weir::CheckVerify(bench, frame, expected);
  weir::CheckFill(bench, frame, info, expected);
  return 0;
}
