#include "weir/net/fragment_headers.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "weir/net/checksum.h"
#include "weir/net/frame_length.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/ipv6_extension.h"
#include "weir/net/ipv6_fragment_part.h"
#include "weir/net/load_store.h"

namespace weir::net {
namespace {

// Bits of the word with the offset of IPv4 (RFC 791 §3.1).
constexpr uint16_t kMoreFragments = 0x2000;
constexpr uint16_t kOffsetMask = 0x1fff;
// The same of IPv6 (RFC 8200 §4.5).
constexpr uint16_t kIpv6MoreFragments = 1;
// An option goes into all fragments (RFC 791 §3.1, "copied flag").
constexpr uint8_t kOptionCopied = 0x80;

// What no end of data may lie beyond: the longest datagram.
constexpr size_t kMaxDatagramBytes = 65535;

// Moves the options that all fragments carry to the front of `options`, fills
// what is left of their last word with the end of the list, and returns how
// many bytes that are. What is behind an option with a wrong length is lost.
size_t MoveCopiedOptions(std::span<std::byte> options) noexcept {
  size_t kept = 0;
  size_t at = 0;
  while (at < options.size()) {
    const auto type = static_cast<uint8_t>(options[at]);
    if (type == kIpv4OptionEnd) break;
    if (type == kIpv4OptionNop) {
      ++at;
      continue;
    }
    if (options.size() - at < 2) break;
    const auto bytes = static_cast<size_t>(options[at + 1]);
    if (bytes < 2 || bytes > options.size() - at) break;
    if ((type & kOptionCopied) != 0) {
      std::memmove(&options[kept], &options[at], bytes);
      kept += bytes;
    }
    at += bytes;
  }
  while (kept % 4 != 0) options[kept++] = std::byte{kIpv4OptionEnd};
  return kept;
}

}  // namespace

FragmentHeaders::Outcome FragmentHeaders::StartIpv4(
    std::span<const std::byte> head, size_t l3_offset, size_t packet_bytes,
    size_t mtu_bytes) noexcept {
  if (head.size() < l3_offset + sizeof(Ipv4Header)) return Outcome::kMalformed;
  auto ip = LoadHeader<Ipv4Header>(head, l3_offset);
  const size_t ip_bytes = ip.header_bytes();
  const size_t end = l3_offset + ip_bytes;
  if (ip_bytes < sizeof ip || end > head.size() || ip_bytes > packet_bytes) {
    return Outcome::kMalformed;
  }
  if (end > kMaxHeaderBytes) return Outcome::kHeadersTooLong;
  const uint16_t word = ip.fragment.host();
  is_ipv6_ = false;
  left_ = static_cast<uint32_t>(packet_bytes - ip_bytes);
  offset_ = uint32_t{8} * (word & kOffsetMask);
  if (offset_ + left_ > kMaxDatagramBytes) return Outcome::kTooFar;
  more_ = (word & kMoreFragments) != 0;
  more_word_ = static_cast<uint16_t>((word & ~kOffsetMask) | kMoreFragments);
  protocol_ = ip.protocol;
  SetLayer2(head, l3_offset);
  data_offset_ = static_cast<uint32_t>(end);
  has_first_options_ = ip_bytes > sizeof ip;
  std::memcpy(template_.data(), head.data(), end);
  offset_at_ =
      static_cast<uint32_t>(l3_offset + offsetof(Ipv4Header, fragment));
  offset_shift_ = 3;
  // What WriteNext puts in is not a part of the sum.
  ip.fragment = Be16(0);
  ip.checksum = Be16(0);
  StoreHeader(template_, l3_offset, ip);
  const Outcome outcome = SetSizes(mtu_bytes, ip_bytes);
  if (outcome == Outcome::kStarted) FinishTemplate();
  return outcome;
}

FragmentHeaders::Outcome FragmentHeaders::StartIpv6(
    std::span<const std::byte> head, size_t l3_offset, size_t packet_bytes,
    size_t mtu_bytes, FragmentIds& ids) noexcept {
  if (head.size() < l3_offset) return Outcome::kMalformed;
  const std::optional<Ipv6FragmentPart> part =
      FindIpv6FragmentPart(head.subspan(l3_offset));
  if (!part) return Outcome::kMalformed;
  const size_t end = l3_offset + part->offset;
  if (end + sizeof(Ipv6FragmentHeader) > kMaxHeaderBytes) {
    return Outcome::kHeadersTooLong;
  }
  std::memcpy(template_.data(), head.data(), end);
  Ipv6FragmentHeader fragment{};
  size_t data_offset = part->offset;
  if (part->has_fragment_header) {
    fragment = LoadHeader<Ipv6FragmentHeader>(head, end);
    data_offset += sizeof fragment;
  } else {
    const size_t next = l3_offset + part->next_header_offset;
    fragment.next_header = static_cast<uint8_t>(template_[next]);
    fragment.id = Be32(ids.Next());
    template_[next] = std::byte{kProtocolFragment};
  }
  if (data_offset > packet_bytes) return Outcome::kMalformed;
  is_ipv6_ = true;
  has_first_options_ = false;
  left_ = static_cast<uint32_t>(packet_bytes - data_offset);
  offset_ = static_cast<uint32_t>(fragment.offset_bytes());
  if (offset_ + left_ > kMaxDatagramBytes) return Outcome::kTooFar;
  more_ = fragment.more_fragments();
  protocol_ = fragment.next_header;
  SetLayer2(head, l3_offset);
  data_offset_ = static_cast<uint32_t>(l3_offset + data_offset);
  more_word_ = kIpv6MoreFragments;
  offset_at_ = static_cast<uint32_t>(
      end + offsetof(Ipv6FragmentHeader, offset_and_more));
  offset_shift_ = 0;
  StoreHeader(template_, end, fragment);
  const Outcome outcome = SetSizes(mtu_bytes, part->offset + sizeof fragment);
  if (outcome != Outcome::kStarted) return outcome;
  FinishTemplate();
  // RFC 7112 §5: the first fragment has all headers.
  const bool fits = part->chain_end <= data_offset + step_;
  return fits || offset_ != 0 ? outcome : Outcome::kHeadersTooLong;
}

void FragmentHeaders::SetLayer2(std::span<const std::byte> head,
                                size_t l3_offset) noexcept {
  l3_offset_ = static_cast<uint32_t>(l3_offset);
  length_offset_ = static_cast<uint32_t>(
      FrameLengthOffset(head.first(l3_offset)).value_or(0));
}

// How much data fits behind `l3_header_bytes` of headers.
FragmentHeaders::Outcome FragmentHeaders::SetSizes(
    size_t mtu_bytes, size_t l3_header_bytes) noexcept {
  mtu_bytes_ = static_cast<uint32_t>(mtu_bytes);
  header_bytes_ = l3_offset_ + static_cast<uint32_t>(l3_header_bytes);
  if (mtu_bytes < l3_header_bytes + 8) return Outcome::kHeadersTooLong;
  max_data_ = static_cast<uint32_t>(mtu_bytes - l3_header_bytes);
  // Offsets count in units of 8 bytes.
  step_ = max_data_ / 8 * 8;
  return Outcome::kStarted;
}

// Puts into the template what all fragments but the last have in common.
void FragmentHeaders::FinishTemplate() noexcept {
  const uint32_t l3_header = header_bytes_ - l3_offset_;
  if (is_ipv6_) {
    length_at_ = l3_offset_ + uint32_t{offsetof(Ipv6Header, payload_length)};
    length_base_ = l3_header - uint32_t{sizeof(Ipv6Header)};
  } else {
    length_at_ = l3_offset_ + uint32_t{offsetof(Ipv4Header, total_length)};
    length_base_ = l3_header;
  }
  StoreLengths(template_.data(), step_);
  if (!is_ipv6_) middle_sum_ = SumIpv4();
  count_ = 1;
  for (uint32_t left = left_; left > max_data_; left -= step_) ++count_;
}

uint16_t FragmentHeaders::SumIpv4() const noexcept {
  InternetSum sum;
  sum.Add({&template_[l3_offset_], header_bytes_ - l3_offset_});
  return static_cast<uint16_t>(~sum.Checksum().host());
}

// Of layers 2 and 3, for a fragment with `data` bytes.
void FragmentHeaders::StoreLengths(std::byte* header,
                                   uint32_t data) const noexcept {
  StoreWord(header + length_at_, length_base_ + data);
  if (length_offset_ != 0) [[unlikely]] {
    StoreFrameLength({header, header_bytes_}, length_offset_,
                     header_bytes_ + data);
  }
}

// Leaves in the template what fragments behind the first one carry.
void FragmentHeaders::KeepCopiedOptions() noexcept {
  has_first_options_ = false;
  const size_t begin = l3_offset_ + sizeof(Ipv4Header);
  const size_t ip_bytes =
      sizeof(Ipv4Header) +
      MoveCopiedOptions({&template_[begin], header_bytes_ - begin});
  template_[l3_offset_] = std::byte(static_cast<uint8_t>(0x40 | ip_bytes / 4));
  SetSizes(mtu_bytes_, ip_bytes);
  FinishTemplate();
}

void FragmentHeaders::WriteNext(std::byte* out) noexcept {
  const uint32_t data = data_bytes();
  const uint32_t more_bit = is_ipv6_ ? kIpv6MoreFragments : kMoreFragments;
  const uint32_t flags = is_last() ? more_word_ & ~more_bit : more_word_;
  const uint32_t word = offset_ >> offset_shift_ | flags;
  CopyTemplate(out, header_bytes_);
  StoreLengths(out, data);
  StoreWord(out + offset_at_, word);
  if (!is_ipv6_) {
    // Less the length of a middle one, in one's complement.
    const uint32_t sum = Fold(middle_sum_ + data + (0xffff - step_));
    StoreWord(out + offset_at_ + kChecksumBehind, ~Fold(Fold(sum) + word));
  }
  left_ -= data;
  offset_ += data;
  --count_;
  if (has_first_options_) KeepCopiedOptions();
}

}  // namespace weir::net
