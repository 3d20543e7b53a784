// Datagrams into a file, a pipe or whatever else takes bytes in order: payload
// after payload, or whole frames as a capture.

#ifndef APPS_MCAST_STREAM_SINK_H_
#define APPS_MCAST_STREAM_SINK_H_

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "apps/mcast/sink.h"
#include "weir/base/unique_fd.h"
#include "weir/mbuf/burst.h"
#include "weir/net/capture_format.h"

namespace weir::mcast {

class StreamSink final : public Sink {
 public:
  enum class Format : uint8_t {
    // Payloads, nothing between them.
    kBytes,
    // A pcap of frames, datagrams of fragments as one frame each.
    kPcap,
  };

  // Appends to the file at `path`, or, as kPcap, begins it anew. A FIFO may
  // have no reader yet: there is room in it once it has. Errors of open(2) and
  // write(2), beginning with --to.
  static absl::StatusOr<std::unique_ptr<Sink>> Open(const std::string& path,
                                                    Format format);
  // Takes over standard output; what is printed from now on goes to standard
  // error.
  static absl::StatusOr<std::unique_ptr<Sink>> TakeStandardOutput();

  Outcome Deliver(std::span<Mbuf* const> packets) noexcept override;
  int failure() const noexcept override { return failure_; }
  absl::Status FailureStatus(int failure) const override;

 private:
  // IOV_MAX of Linux.
  static constexpr size_t kPieces = 1024;

  StreamSink(std::string name, UniqueFd fd, Format format, bool waits)
      : name_(std::move(name)),
        fd_(std::move(fd)),
        format_(format),
        waits_(waits) {}

  // The pieces of a packet behind `done` bytes of what is written of it, and
  // how many bytes these are.
  void Add(Mbuf& packet, net::PcapRecordHeader& header, size_t done) noexcept;
  // Opens the FIFO, if it has a reader; otherwise, and where that fails, false.
  bool OpenFifo() noexcept;
  void AddPiece(const std::byte* data, size_t bytes, size_t& done) noexcept;
  ssize_t Write() noexcept;

  // Of files, the path.
  std::string name_;
  // Not open while a FIFO has no reader.
  UniqueFd fd_;
  Format format_;
  // Whether writes may wait for a reader, so that it has to be asked first.
  bool waits_;
  int failure_ = 0;
  // Of the first packet of the next call: bytes that are written.
  size_t front_done_ = 0;
  size_t pieces_used_ = 0;
  std::array<iovec, kPieces> pieces_;
  std::array<net::PcapRecordHeader, kMaxBurst> headers_;
};

}  // namespace weir::mcast

#endif  // APPS_MCAST_STREAM_SINK_H_
