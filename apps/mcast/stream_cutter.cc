#include "apps/mcast/stream_cutter.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "weir/base/big_endian.h"
#include "weir/net/load_store.h"

namespace weir::mcast {

StreamCutter::StreamCutter(SplitBy by, size_t max_bytes)
    : by_(by),
      max_bytes_(max_bytes),
      // One datagram that is not whole, and a read of as much again.
      buffer_(2 * (max_bytes + sizeof(Be16))) {}

std::span<std::byte> StreamCutter::Room() {
  const size_t kept = end_ - begin_;
  if (begin_ != 0 && kept != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
  }
  begin_ = 0;
  end_ = kept;
  const std::span<std::byte> room = std::span(buffer_).subspan(end_);
  return by_ == SplitBy::kRead ? room.first(max_bytes_) : room;
}

std::optional<std::span<const std::byte>> StreamCutter::Next() {
  if (!status_.ok()) return std::nullopt;
  switch (by_) {
    case SplitBy::kRead:
      if (begin_ == end_) return std::nullopt;
      return Take(end_ - begin_);
    case SplitBy::kLine:
      return NextLine();
    case SplitBy::kLength:
      return NextOfLength();
  }
  return std::nullopt;
}

std::span<const std::byte> StreamCutter::Take(size_t bytes) {
  const std::span<const std::byte> taken(buffer_.data() + begin_, bytes);
  begin_ += bytes;
  searched_ = 0;
  return taken;
}

std::optional<std::span<const std::byte>> StreamCutter::NextLine() {
  const size_t size = std::min(end_ - begin_, max_bytes_);
  const std::byte* const from = buffer_.data() + begin_;
  const std::byte* const found =
      std::find(from + searched_, from + size, std::byte{'\n'});
  searched_ = size;
  if (found != from + size) {
    return Take(static_cast<size_t>(found - from) + 1);
  }
  if (size == max_bytes_ || (is_ended_ && size != 0)) return Take(size);
  return std::nullopt;
}

std::optional<std::span<const std::byte>> StreamCutter::NextOfLength() {
  const size_t size = end_ - begin_;
  const std::span<const std::byte> all(buffer_.data() + begin_, size);
  size_t wanted = sizeof(Be16);
  if (size >= sizeof(Be16)) {
    const size_t length = net::LoadHeader<Be16>(all, 0).host();
    if (length > max_bytes_) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("want lengths up to ", max_bytes_, ", got ", length));
      return std::nullopt;
    }
    wanted += length;
    if (size >= wanted) return Take(wanted).subspan(sizeof(Be16));
  }
  if (is_ended_ && size != 0) {
    status_ = absl::DataLossError(
        absl::StrCat("it ends within a datagram: ", size, " bytes of ", wanted,
                     " with its length"));
  }
  return std::nullopt;
}

}  // namespace weir::mcast
