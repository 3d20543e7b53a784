#include "apps/mcast/stream_sink.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/stage/chain_bytes.h"
#include "weir/stage/udp/udp_payload.h"

namespace weir::mcast {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
// Of the largest packet that fragments make, with its layer 2.
constexpr uint32_t kSnaplenBytes = 262144;

uint64_t NowNs() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<uint64_t>(now.tv_nsec);
}

net::PcapRecordHeader HeaderOf(const Mbuf& packet) noexcept {
  const uint64_t time_ns = packet.timestamp_ns();
  return {.seconds = static_cast<uint32_t>(time_ns / kNsPerSecond),
          .fraction = static_cast<uint32_t>(time_ns % kNsPerSecond),
          .captured_bytes = packet.frame_bytes(),
          .wire_bytes = packet.frame_bytes()};
}

// What is written of `packet`, without the header of its record.
UdpPayload PartOf(const Mbuf& packet, StreamSink::Format format) noexcept {
  if (format == StreamSink::Format::kPcap) return {0, packet.frame_bytes()};
  return FindUdpPayload(packet).value_or(UdpPayload{});
}

size_t HeaderBytes(StreamSink::Format format) noexcept {
  return format == StreamSink::Format::kPcap ? sizeof(net::PcapRecordHeader)
                                             : 0;
}

// Files never make a writer wait for a reader.
bool IsFile(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
}

bool IsFifo(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISFIFO(about.st_mode);
}

// What a capture begins with. False, with errno, if it was not written whole.
bool WriteFileHeader(int fd) noexcept {
  const net::PcapFileHeader header = {.magic = net::kPcapMagicNanoseconds,
                                      .version_major = 2,
                                      .version_minor = 4,
                                      .reserved = {},
                                      .snaplen_bytes = kSnaplenBytes,
                                      .link_type = net::kLinkTypeEthernet};
  errno = ENOSPC;
  return write(fd, &header, sizeof header) == sizeof header;
}

absl::Status OpenError(const std::string& name, const char* call) {
  return ErrnoStatus(errno, {.object = absl::StrCat("--to: ", name),
                             .call = call,
                             .remedy = "name a file that can be written"});
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sink>> StreamSink::Open(const std::string& path,
                                                       Format format) {
  if (IsFifo(path)) {
    std::unique_ptr<StreamSink> sink(
        new StreamSink(path, UniqueFd(), format, false));
    if (!sink->OpenFifo() && sink->failure_ != 0) {
      errno = sink->failure_;
      return OpenError(path, "open");
    }
    return sink;
  }
  const int mode = format == Format::kPcap ? O_TRUNC : O_APPEND;
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | mode, 0666));
  if (!fd.is_open()) return OpenError(path, "open");
  // The description is this process's own.
  if (!IsFile(fd.get())) {
    fcntl(fd.get(), F_SETFL, fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
  }
  if (format == Format::kPcap && !WriteFileHeader(fd.get())) {
    return OpenError(path, "write");
  }
  return std::unique_ptr<Sink>(
      new StreamSink(path, std::move(fd), format, false));
}

absl::StatusOr<std::unique_ptr<Sink>> StreamSink::TakeStandardOutput() {
  std::fflush(stdout);
  // A description of its own, where the system gives one: whether writes wait
  // is a matter of the description, and that of standard output others have
  // too. Files keep theirs, for its position.
  UniqueFd fd(IsFile(STDOUT_FILENO)
                  ? -1
                  : open("/proc/self/fd/1", O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  bool waits = false;
  if (!fd.is_open()) {
    fd = UniqueFd(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!fd.is_open()) return OpenError("stdout", "dup");
    waits = !IsFile(fd.get());
  }
  if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    return OpenError("stdout", "dup2");
  }
  return std::unique_ptr<Sink>(
      new StreamSink("stdout", std::move(fd), Format::kBytes, waits));
}

Sink::Outcome StreamSink::Deliver(std::span<Mbuf* const> packets) noexcept {
  if (failure_ != 0) return {.partial_bytes = front_done_};
  pieces_used_ = 0;
  size_t done = front_done_;
  for (size_t i = 0; i < packets.size() && pieces_used_ < kPieces; ++i) {
    if (packets[i]->timestamp_ns() == 0 && format_ == Format::kPcap) {
      packets[i]->set_timestamp_ns(NowNs());
    }
    Add(*packets[i], headers_[i], std::exchange(done, 0));
  }
  const ssize_t written = Write();
  if (written < 0) return {.partial_bytes = front_done_};
  // Which packets that was.
  size_t left = front_done_ + static_cast<size_t>(written);
  Outcome outcome;
  for (Mbuf* const packet : packets) {
    const size_t whole = HeaderBytes(format_) + PartOf(*packet, format_).bytes;
    if (left < whole) break;
    left -= whole;
    ++outcome.delivered;
  }
  // Payloads of no bytes behind the last that was written are there as well.
  front_done_ = left;
  outcome.partial_bytes = left;
  return outcome;
}

void StreamSink::Add(Mbuf& packet, net::PcapRecordHeader& header,
                     size_t done) noexcept {
  if (format_ == Format::kPcap) {
    header = HeaderOf(packet);
    AddPiece(reinterpret_cast<const std::byte*>(&header), sizeof header, done);
  }
  const UdpPayload part = PartOf(packet, format_);
  ForEachPiece(packet, part.offset, part.bytes,
               [&](std::span<std::byte> piece) noexcept {
                 AddPiece(piece.data(), piece.size(), done);
               });
}

void StreamSink::AddPiece(const std::byte* data, size_t bytes,
                          size_t& done) noexcept {
  const size_t skipped = std::min(done, bytes);
  done -= skipped;
  if (skipped == bytes || pieces_used_ == kPieces) return;
  pieces_[pieces_used_++] = {const_cast<std::byte*>(data) + skipped,
                             bytes - skipped};
}

// How many bytes went, 0 if there is no room now, -1 if that is final.
ssize_t StreamSink::Write() noexcept {
  if (pieces_used_ == 0) return 0;
  if (!fd_.is_open() && !OpenFifo()) return failure_ == 0 ? 0 : -1;
  size_t pieces = pieces_used_;
  if (waits_) {
    // With room for PIPE_BUF bytes a write of no more does not wait (pipe(7)).
    pollfd room = {.fd = fd_.get(), .events = POLLOUT, .revents = 0};
    if (poll(&room, 1, 0) == 0) return 0;
    pieces = 1;
    pieces_[0].iov_len = std::min<size_t>(pieces_[0].iov_len, PIPE_BUF);
  }
  const ssize_t written =
      writev(fd_.get(), pieces_.data(), static_cast<int>(pieces));
  if (written >= 0) return written;
  if (errno == EAGAIN || errno == EINTR) return 0;
  failure_ = errno;
  return -1;
}

bool StreamSink::OpenFifo() noexcept {
  UniqueFd fd(open(name_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.is_open()) {
    // Nobody reads it so far.
    if (errno != ENXIO) failure_ = errno;
    return false;
  }
  // There is room: it is empty.
  if (format_ == Format::kPcap && !WriteFileHeader(fd.get())) {
    failure_ = errno;
    return false;
  }
  fd_ = std::move(fd);
  return true;
}

absl::Status StreamSink::FailureStatus(int failure) const {
  absl::string_view remedy;
  if (failure == EPIPE) remedy = "keep its reader alive";
  if (failure == EFBIG) remedy = "raise the limit of file sizes (ulimit -f)";
  return ErrnoStatus(failure, {.object = absl::StrCat("--to: ", name_),
                               .call = "write",
                               .remedy = remedy});
}

}  // namespace weir::mcast
