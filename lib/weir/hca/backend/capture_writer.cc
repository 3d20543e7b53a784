#include "weir/hca/backend/capture_writer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"
#include "weir/hca/backend/capture_file.h"
#include "weir/net/capture_format.h"

namespace weir::hca {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr mode_t kFileMode = 0666;
constexpr size_t kBufferBytes =
    (size_t{1} << 20) + sizeof(net::PcapRecordHeader);

// The snaplen of tcpdump; readers take it for an upper bound of any record.
constexpr uint32_t kSnaplenBytes = 262144;

// Keeps the SIGPIPE of a pipe without reader from the program: for the thread,
// as long as it lives. The write still says EPIPE.
class NoSigpipe {
 public:
  NoSigpipe() noexcept {
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  ~NoSigpipe() {
    const timespec at_once{};
    while (!was_pending_ && sigtimedwait(&sigpipe_, nullptr, &at_once) < 0 &&
           errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t sigpipe_;
  sigset_t before_;
  bool was_pending_;
};

// Writes all of `bytes`, or as many as the system takes; `error` tells why not
// all.
size_t WriteAll(int fd, std::span<const std::byte> bytes, int& error) noexcept {
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t taken =
        write(fd, bytes.data() + written, bytes.size() - written);
    if (taken < 0 && errno == EINTR) continue;
    if (taken < 0) {
      error = errno;
      break;
    }
    written += static_cast<size_t>(taken);
  }
  return written;
}

// How many records of `bytes`, gathered by this file, are whole within the
// first `limit` bytes, and where the last of them ends.
std::pair<uint64_t, size_t> WholeRecords(std::span<const std::byte> bytes,
                                         size_t limit) noexcept {
  uint64_t frames = 0;
  size_t end = 0;
  while (end < bytes.size()) {
    net::PcapRecordHeader header;
    std::memcpy(&header, bytes.data() + end, sizeof header);
    const size_t next = end + sizeof header + header.captured_bytes;
    if (next > limit) break;
    end = next;
    ++frames;
  }
  return {frames, end};
}

}  // namespace

absl::StatusOr<CaptureWriter> CaptureWriter::Create(const std::string& path,
                                                    const CaptureFile* input) {
  // Not emptied yet: it may be the input.
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode));
  if (!fd.is_open()) {
    return ErrnoStatus(errno, {.object = path,
                               .call = "open for writing",
                               .remedy = "name a file that may be written"});
  }
  if (input != nullptr && input->IsSameFileAs(fd.get())) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is the input and the output; name another file"));
  }
  // Devices such as /dev/null may be shared.
  struct stat facts {};
  const bool is_regular =
      fstat(fd.get(), &facts) == 0 && S_ISREG(facts.st_mode);
  if (is_regular && flock(fd.get(), LOCK_EX | LOCK_NB) != 0 &&
      errno == EWOULDBLOCK) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, ": another device has this file open; name another file"));
  }
  // Pipes and terminals cannot be emptied and need not be.
  if (ftruncate(fd.get(), 0) != 0 && errno != EINVAL) {
    return ErrnoStatus(errno, {.object = path, .call = "ftruncate"});
  }
  const net::PcapFileHeader header = {.magic = net::kPcapMagicNanoseconds,
                                      .version_major = 2,
                                      .version_minor = 4,
                                      .reserved = {0, 0},
                                      .snaplen_bytes = kSnaplenBytes,
                                      .link_type = net::kLinkTypeEthernet};
  int error = 0;
  const NoSigpipe hold;
  if (WriteAll(fd.get(), std::as_bytes(std::span(&header, 1)), error) !=
      sizeof header) {
    return ErrnoStatus(error, {.object = path, .call = "write"});
  }
  return CaptureWriter(std::move(fd), is_regular, sizeof header);
}

CaptureWriter::CaptureWriter(UniqueFd fd, bool is_regular, off_t size_bytes)
    : fd_(std::move(fd)),
      is_regular_(is_regular),
      size_bytes_(size_bytes),
      buffer_(kBufferBytes) {}

bool CaptureWriter::Append(std::span<const iovec> segments,
                           uint32_t length_bytes,
                           uint64_t timestamp_ns) noexcept {
  const net::PcapRecordHeader header = {
      .seconds = static_cast<uint32_t>(timestamp_ns / kNsPerSecond),
      .fraction = static_cast<uint32_t>(timestamp_ns % kNsPerSecond),
      .captured_bytes = length_bytes,
      .wire_bytes = length_bytes};
  if (sizeof header + length_bytes > buffer_.size() - filled_bytes_) {
    return false;
  }
  std::byte* to = buffer_.data() + filled_bytes_;
  std::memcpy(to, &header, sizeof header);
  to += sizeof header;
  for (const iovec& segment : segments) {
    if (segment.iov_len == 0) continue;
    std::memcpy(to, segment.iov_base, segment.iov_len);
    to += segment.iov_len;
  }
  filled_bytes_ += sizeof header + length_bytes;
  ++gathered_frames_;
  return true;
}

CaptureWriter::FlushResult CaptureWriter::Flush() noexcept {
  FlushResult result;
  std::optional<NoSigpipe> hold;
  if (!is_regular_) hold.emplace();
  const std::span<const std::byte> all(buffer_.data(), filled_bytes_);
  const size_t written = WriteAll(fd_.get(), all, result.error);
  if (written == all.size()) {
    result.written_frames = gathered_frames_;
    size_bytes_ += static_cast<off_t>(written);
  } else {
    const auto [frames, end] = WholeRecords(all, written);
    result.written_frames = frames;
    result.lost_frames = gathered_frames_ - frames;
    size_bytes_ += static_cast<off_t>(end);
    // Where this fails the next frames would follow half a record: a pipe,
    // whose reader is gone anyhow.
    if (ftruncate(fd_.get(), size_bytes_) == 0) {
      lseek(fd_.get(), size_bytes_, SEEK_SET);
    }
  }
  filled_bytes_ = 0;
  gathered_frames_ = 0;
  return result;
}

}  // namespace weir::hca
