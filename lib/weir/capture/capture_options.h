// What a capture takes and when it ends, and how it went, as values.

#ifndef WEIR_CAPTURE_CAPTURE_OPTIONS_H_
#define WEIR_CAPTURE_CAPTURE_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace weir {

// Which way packets go that a capture takes. Of places within a pipeline all.
enum class CaptureDirection : uint8_t { kBoth, kReceived, kSent };

struct CaptureOptions {
  // A port, as the user wrote it, all its queues or one ("mlx5_0 rx1"); the
  // name of a Tap stage; "all".
  std::string place = {};
  // Created or emptied.
  std::string file = {};
  CaptureDirection direction = CaptureDirection::kBoth;
  // In place of packets on their way those that pipelines which begin at the
  // place drop, with the reason.
  bool only_drops = false;
  // Nothing: on all.
  std::optional<uint32_t> lcore = {};
  // Bytes of a packet that are kept, kMaxSnaplenBytes at most.
  uint32_t snaplen_bytes = kMaxSnaplenBytes;
  // When it ends at the latest, 0 for never: packets, bytes of the file, time.
  uint64_t max_packets = 0;
  uint64_t max_file_bytes = 0;
  std::chrono::nanoseconds max_time{0};

  // Frames of mbufs have no more.
  static constexpr uint32_t kMaxSnaplenBytes = 65535;
};

// A capture at one moment.
struct CaptureStatus {
  enum class State : uint8_t { kRunning, kEnding, kEnded };

  uint64_t id = 0;
  State state = State::kRunning;
  std::string place;
  std::string file;
  // In the file, or on the way to it.
  uint64_t packets = 0;
  uint64_t file_bytes = 0;
  // Packets it should have taken, which came faster than they were written.
  uint64_t lost = 0;
  // Why it ended before it should, empty if it did not.
  std::string error;
};

}  // namespace weir

#endif  // WEIR_CAPTURE_CAPTURE_OPTIONS_H_
