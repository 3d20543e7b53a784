#include "apps/mcast/send_payload.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "apps/mcast/group_flags.h"
#include "weir/base/errno_status.h"

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

absl::StatusOr<std::vector<std::byte>> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> chars{std::istreambuf_iterator<char>(file),
                          std::istreambuf_iterator<char>()};
  if (!file.good() && !file.eof()) {
    return ErrnoStatus(errno == 0 ? EIO : errno,
                       {.object = absl::StrCat("--file: ", path),
                        .call = "read",
                        .remedy = "name a file that can be read"});
  }
  std::vector<std::byte> bytes(chars.size());
  for (size_t i = 0; i < chars.size(); ++i) {
    bytes[i] = static_cast<std::byte>(chars[i]);
  }
  return bytes;
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
