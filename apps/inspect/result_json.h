// What a Recorder has, as JSON: a list of frames, of datagrams, of the records
// of the capture, and what reassembly counted.

#ifndef APPS_INSPECT_RESULT_JSON_H_
#define APPS_INSPECT_RESULT_JSON_H_

#include <cstdint>
#include <string>

#include "apps/inspect/recorder.h"

namespace weir::inspect {

// Datagrams, not fragments.
struct ReassemblyCounts {
  uint64_t completed = 0;
  uint64_t timed_out = 0;
  uint64_t overlap_abandoned = 0;
  uint64_t pending_at_end = 0;
};

// What the list of frames is about: what became of each, or where it goes.
enum class FrameView : uint8_t { kFates, kQueues };

// One line a frame, a datagram and a record. README.md says what stands there.
std::string FormatResult(const Recorder& recorder,
                         const ReassemblyCounts& reassembly, FrameView view);

}  // namespace weir::inspect

#endif  // APPS_INSPECT_RESULT_JSON_H_
