#include "apps/mcast/send_payload.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/mcast/group_flags.h"
#include "weir/base/errno_status.h"
#include "weir/base/unique_fd.h"

ABSL_FLAG(uint32_t, size, 0,
          "bytes of payload of a datagram, at most, with its stamp; 1400, or, "
          "with --file, lines or lengths, as many as one can have, if 0");
ABSL_FLAG(std::string, file, "",
          "send the bytes of this file, once unless --count says more");
ABSL_FLAG(bool, stdin, false, "send what comes on standard input");
ABSL_FLAG(std::string, split, "read",
          "what of --stdin is a datagram: what one `read` gives, a `line`, or "
          "as much as a `length` in front of it says, 2 bytes in network "
          "order");

namespace weir::mcast {
namespace {

constexpr size_t kUsualBytes = 1400;

// A file is sent from memory.
constexpr size_t kMaxFileBytes = size_t{1} << 30;
constexpr size_t kReadBytes = size_t{1} << 20;

absl::StatusOr<std::vector<std::byte>> ReadFile(const std::string& path) {
  const std::string object = absl::StrCat("--file: ", path);
  const FailedCall failed = {.object = object,
                             .call = "read",
                             .remedy = "name a file that can be read"};
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.is_open()) return ErrnoStatus(errno, failed);
  std::vector<std::byte> bytes;
  for (;;) {
    const size_t before = bytes.size();
    if (before > kMaxFileBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("--file: want ", kMaxFileBytes, " bytes at most, and ",
                       path, " has more; send it by --stdin"));
    }
    bytes.resize(before + kReadBytes);
    const ssize_t got = read(fd.get(), bytes.data() + before, kReadBytes);
    bytes.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) return bytes;
    if (got < 0 && errno != EINTR) return ErrnoStatus(errno, failed);
  }
}

// Bytes that show where one is lost or moved.
std::vector<std::byte> Pattern(size_t bytes) {
  std::vector<std::byte> pattern(bytes);
  for (size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<std::byte>(i);
  return pattern;
}

std::optional<SplitBy> ReadSplit(const std::string& text) {
  if (text == "read") return SplitBy::kRead;
  if (text == "line") return SplitBy::kLine;
  if (text == "length") return SplitBy::kLength;
  return std::nullopt;
}

}  // namespace

absl::StatusOr<PayloadChoice> ReadPayloadChoice(size_t max_bytes,
                                                size_t stamp_bytes) {
  const bool is_stdin = absl::GetFlag(FLAGS_stdin);
  const bool is_file = !absl::GetFlag(FLAGS_file).empty();
  if (is_stdin && is_file) {
    return absl::InvalidArgumentError(
        "--stdin, --file: want one of them, got both");
  }
  const std::string text = absl::GetFlag(FLAGS_split);
  const auto split = ReadSplit(text);
  if (!split) {
    return absl::InvalidArgumentError(
        absl::StrCat("--split: want read, line or length, got ", text));
  }
  if (*split != SplitBy::kRead && !is_stdin) {
    return absl::InvalidArgumentError(
        absl::StrCat("--split=", text, ": want --stdin with it"));
  }
  size_t size = absl::GetFlag(FLAGS_size);
  if (size > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--size: a datagram has ", max_bytes, " bytes at most, got ", size));
  }
  if (size == 0) {
    size = is_file || *split != SplitBy::kRead ? max_bytes : kUsualBytes;
  }
  // A stamp alone is a datagram of the pattern, but carries nothing else.
  const size_t least = stamp_bytes + (is_file || is_stdin ? 1 : 0);
  if (size < least) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--size: want at least ", least, " with a stamp in front, got ", size));
  }
  return PayloadChoice{.piece_bytes = size - stamp_bytes,
                       .count = absl::GetFlag(FLAGS_count),
                       .split = *split};
}

absl::StatusOr<MemoryPayload> MakeMemoryPayload(const PayloadChoice& choice) {
  const std::string path = absl::GetFlag(FLAGS_file);
  const size_t piece = choice.piece_bytes;
  if (path.empty()) return MemoryPayload(Pattern(piece), piece, choice.count);
  auto bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  const uint64_t pieces = MemoryPayload::PiecesOf(bytes->size(), piece);
  return MemoryPayload(*std::move(bytes), piece,
                       choice.count == 0 ? pieces : choice.count);
}

}  // namespace weir::mcast
