#include "weir/hca/tso.h"

#include <algorithm>
#include <cassert>

#include "weir/net/checksum.h"
#include "weir/net/ipv4.h"

namespace weir::hca {

std::optional<TsoCutter> TsoCutter::Create(const TsoHeader& header,
                                           uint64_t payload_bytes) noexcept {
  const auto headers =
      net::SegmentHeaders::Create(header.bytes, net::kProtocolTcp);
  if (!headers.has_value() || headers->size_bytes() != header.bytes.size() ||
      header.mss == 0 || payload_bytes == 0 || payload_bytes > UINT32_MAX ||
      std::min<uint64_t>(header.mss, payload_bytes) >
          headers->max_payload_bytes()) {
    return std::nullopt;
  }
  return TsoCutter(*headers, header.mss, static_cast<uint32_t>(payload_bytes));
}

void TsoCutter::Start(std::span<const iovec> payload,
                      const TsoProgress& done) noexcept {
  done_ = done;
  payload_ = payload;
  offset_ = done.payload_bytes;
  while (!payload_.empty() && offset_ >= payload_.front().iov_len) {
    offset_ -= payload_.front().iov_len;
    payload_ = payload_.subspan(1);
  }
}

uint32_t TsoCutter::PayloadAt(const TsoProgress& done) const noexcept {
  return std::min(mss_, total_bytes_ - done.payload_bytes);
}

size_t TsoCutter::Next(std::span<std::byte> header,
                       std::span<iovec> segments) noexcept {
  assert(!finished());
  const uint32_t bytes = PayloadAt(done_);
  net::InternetSum sum;
  size_t count = 0;
  for (size_t left = bytes; left > 0;) {
    const iovec& from = payload_.front();
    const size_t part = std::min(left, from.iov_len - offset_);
    auto* const data = static_cast<std::byte*>(from.iov_base) + offset_;
    segments[count++] = {data, part};
    sum.Add({data, part});
    left -= part;
    offset_ += part;
    if (offset_ == from.iov_len) {
      payload_ = payload_.subspan(1);
      offset_ = 0;
    }
  }
  const bool is_last = done_.payload_bytes + bytes == total_bytes_;
  headers_.Write(header,
                 {.index = done_.segments,
                  .payload_offset = done_.payload_bytes,
                  .payload_bytes = bytes,
                  .is_last = is_last},
                 sum);
  ++done_.segments;
  done_.payload_bytes += bytes;
  return count;
}

}  // namespace weir::hca
