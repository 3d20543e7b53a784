#include "apps/mcast/sequence_flags.h"

#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

ABSL_FLAG(std::string, sequence, "none",
          "what numbers datagrams have. weir: send puts a number and the time "
          "in front of each payload, recv follows them; rtp: recv follows "
          "those of RTP");
ABSL_FLAG(uint32_t, rtp_clock, 90000,
          "ticks a second of the timestamps of RTP, for jitter");

namespace weir::mcast {

absl::StatusOr<bool> ReadSendSequence() {
  const std::string text = absl::GetFlag(FLAGS_sequence);
  if (text == "none" || text == "weir") return text == "weir";
  return absl::InvalidArgumentError(
      absl::StrCat("--sequence: want none or weir, got ", text));
}

absl::StatusOr<std::optional<SequenceOptions>> ReadRecvSequence() {
  const std::string text = absl::GetFlag(FLAGS_sequence);
  if (text == "none") return std::optional<SequenceOptions>();
  if (text != "weir" && text != "rtp") {
    return absl::InvalidArgumentError(
        absl::StrCat("--sequence: want none, weir or rtp, got ", text));
  }
  const uint32_t clock = absl::GetFlag(FLAGS_rtp_clock);
  if (clock == 0) {
    return absl::InvalidArgumentError("--rtp_clock: want 1 or more, got 0");
  }
  return std::optional(SequenceOptions{
      .kind = text == "rtp" ? SequenceKind::kRtp : SequenceKind::kWeir,
      .rtp_clock_hz = clock});
}

}  // namespace weir::mcast
