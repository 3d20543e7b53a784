// One packet through a stage that reads and writes checksums.

#ifndef WEIR_TEST_STAGE_CHECKSUM_RIG_H_
#define WEIR_TEST_STAGE_CHECKSUM_RIG_H_

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "test/support/fake_queues.h"
#include "test/support/frame.h"
#include "test/support/naive_checksums.h"
#include "test/support/packet_chain.h"
#include "weir/mbuf/mbuf.h"
#include "weir/mbuf/packet_info.h"
#include "weir/pipeline/stage.h"

namespace weir::testing {

// What became of it.
struct Outcome {
  ChecksumState ip;
  ChecksumState l4;
  // Empty if it passed.
  std::string drop;
  Bytes bytes;
};

template <typename Stage>
class ChecksumRig {
 public:
  explicit ChecksumRig(Stage stage = Stage()) : stage_(stage) {}

  // `frame`, in segments of `sizes` and the rest, parsed as `info` says.
  Outcome Run(const Bytes& frame, const PacketInfo& info,
              const std::vector<size_t>& sizes = {}) {
    Mbuf& packet = MakeChain(lab_.lcore.cache(), frame, sizes);
    packet.info() = info;
    const Verdict verdict = stage_.OnPacket(packet, lab_.lcore);
    Outcome outcome = {packet.info().ip_checksum(), packet.info().l4_checksum(),
                       verdict.is_pass()
                           ? std::string()
                           : std::string(Stage::kDropNames[verdict.reason()]),
                       BytesOf(packet)};
    const std::array<Mbuf*, 1> all = {&packet};
    lab_.lcore.cache().FreePackets(all);
    return outcome;
  }

  Outcome RunCut(const Bytes& frame, const std::vector<size_t>& sizes) {
    return Run(frame, NaiveParse(frame), sizes);
  }
  Outcome Run(const Bytes& frame) { return RunCut(frame, {}); }

 private:
  Lab lab_;
  Stage stage_;
};

}  // namespace weir::testing

#endif  // WEIR_TEST_STAGE_CHECKSUM_RIG_H_
