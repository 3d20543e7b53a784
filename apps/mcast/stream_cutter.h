// Where one datagram ends and the next begins in a stream of bytes.

#ifndef APPS_MCAST_STREAM_CUTTER_H_
#define APPS_MCAST_STREAM_CUTTER_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"

namespace weir::mcast {

// What makes a datagram.
enum class SplitBy {
  // What one read gave.
  kRead,
  // A line with its newline; one that is longer is several.
  kLine,
  // As many bytes as a number of 16 bits in network order in front of them says
  // (as RFC 4571 §2).
  kLength,
};

// Bytes go in at Room and Filled, datagrams come out of Next. One thread.
class StreamCutter {
 public:
  // Of datagrams of `max_bytes` at most, which is not 0.
  StreamCutter(SplitBy by, size_t max_bytes);

  // Where the next bytes of the stream belong, never none; all that Next gave
  // is invalid then. Next has given nothing since the last bytes.
  std::span<std::byte> Room();
  // `bytes` of it were filled.
  void Filled(size_t bytes) { end_ += bytes; }
  // The stream is over.
  void End() { is_ended_ = true; }

  // The next datagram, up to the next Room; nothing if it is not whole yet or
  // status() is not OK.
  std::optional<std::span<const std::byte>> Next();

  // InvalidArgument for a length above `max_bytes`, DataLoss for a stream that
  // ended within a datagram.
  const absl::Status& status() const { return status_; }

 private:
  std::span<const std::byte> Take(size_t bytes);
  std::optional<std::span<const std::byte>> NextLine();
  std::optional<std::span<const std::byte>> NextOfLength();

  SplitBy by_;
  size_t max_bytes_;
  std::vector<std::byte> buffer_;
  // What is in it, and how much of that was searched for a newline.
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t searched_ = 0;
  bool is_ended_ = false;
  absl::Status status_;
};

}  // namespace weir::mcast

#endif  // APPS_MCAST_STREAM_CUTTER_H_
