// The headers of the fragments of a packet (RFC 791 §3.2, RFC 8200 §4.5),
// written one after the other from one template: everything in front of the
// data, layer 2 included, is the same in all of them but for lengths, offsets
// and, of IPv4, options and checksum.

#ifndef WEIR_NET_FRAGMENT_HEADERS_H_
#define WEIR_NET_FRAGMENT_HEADERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/net/fragment_ids.h"

namespace weir::net {

// One packet at a time: Start, then WriteNext until data_left() is 0. Owner
// lcore only.
class FragmentHeaders {
 public:
  // Whether a packet can be cut.
  enum class Outcome : uint8_t {
    kStarted,
    // The headers that each fragment carries leave no room for 8 bytes of data,
    // or those that the first one must have do not fit it (RFC 7112 §5).
    kHeadersTooLong,
    // Its data ends where no offset reaches: beyond 65535 bytes.
    kTooFar,
    // Its headers do not end where the packet has bytes.
    kMalformed,
  };

  // Bytes of the longest headers that are kept; layer 2 included.
  static constexpr size_t kMaxHeaderBytes = 512;

  // Begins with a packet of `packet_bytes` bytes from its IP header on, which
  // is at `l3_offset` of `head`, the first bytes of the frame with all headers
  // of layer 3. Fragments will have `mtu_bytes` at most. A packet that is a
  // fragment is cut into parts of the same datagram; any other IPv6 packet gets
  // an identification of `ids`.
  Outcome StartIpv4(std::span<const std::byte> head, size_t l3_offset,
                    size_t packet_bytes, size_t mtu_bytes) noexcept;
  Outcome StartIpv6(std::span<const std::byte> head, size_t l3_offset,
                    size_t packet_bytes, size_t mtu_bytes,
                    FragmentIds& ids) noexcept;

  // Where in the packet's frame the data begins that fragments carry.
  uint32_t data_offset() const noexcept { return data_offset_; }
  // Bytes of it that no fragment has yet.
  uint32_t data_left() const noexcept { return left_; }

  // The IP protocol number of what begins with the data.
  uint8_t protocol() const noexcept { return protocol_; }

  // Of the next fragment: its bytes up to the data, those of data, and whether
  // it is the first or the last part of its datagram.
  uint32_t header_bytes() const noexcept { return header_bytes_; }
  uint32_t data_bytes() const noexcept {
    return left_ <= max_data_ ? left_ : step_;
  }
  bool is_first() const noexcept { return offset_ == 0; }
  bool is_last() const noexcept { return left_ <= max_data_ && !more_; }
  // How many fragments there will be, up to `limit`; too many if the first one
  // has options that the others have not.
  uint32_t CountUpTo(uint32_t limit) const noexcept {
    return limit < count_ ? limit : count_;
  }
  // How many of the next fragments, up to `limit`, are like the next one but
  // for their place, neither the last one nor at the end of the next `bytes`
  // bytes of data. While data_left() is not 0.
  uint32_t CountRun(uint32_t limit, uint32_t bytes) const noexcept {
    if (has_first_options_) return 0;
    const uint32_t most = CountUpTo(limit + 1) - 1;
    if (bytes >= left_) return most;
    uint32_t count = 0;
    for (; count < most && bytes > step_; ++count) bytes -= step_;
    return count;
  }

  // Bytes of room that WriteNext wants: header_bytes() and some.
  uint32_t room_bytes() const noexcept { return RoundUp(header_bytes_); }
  // Writes the headers of the next fragment to `out` and goes on to the one
  // after it.
  void WriteNext(std::byte* out) noexcept;
  // The same for `count` fragments, of which CountRun told, to place(0),
  // place(1) and so on.
  template <typename Place>
  void WriteRun(uint32_t count, const Place& place) noexcept {
    // In registers, for all the compiler knows `out` may point to this.
    const uint32_t step = step_;
    const uint32_t shift = offset_shift_;
    const uint32_t at = offset_at_;
    const bool is_ipv6 = is_ipv6_;
    const uint32_t flags = more_word_;
    const uint32_t sum = middle_sum_;
    const uint32_t header_bytes = header_bytes_;
    uint32_t offset = offset_;
    for (uint32_t i = 0; i < count; ++i, offset += step) {
      std::byte* const out = place(i);
      CopyTemplate(out, header_bytes);
      const uint32_t word = offset >> shift | flags;
      StoreWord(out + at, word);
      if (!is_ipv6) StoreWord(out + at + kChecksumBehind, ~Fold(sum + word));
    }
    left_ -= count * step;
    count_ -= count;
    offset_ = offset;
  }

 private:
  // Templates are copied in blocks of this many bytes.
  static constexpr uint32_t kBlock = 64;
  static constexpr uint32_t RoundUp(uint32_t bytes) noexcept {
    return (bytes + kBlock - 1) / kBlock * kBlock;
  }

  void SetLayer2(std::span<const std::byte> head, size_t l3_offset) noexcept;
  Outcome SetSizes(size_t mtu_bytes, size_t l3_header_bytes) noexcept;
  void FinishTemplate() noexcept;
  uint16_t SumIpv4() const noexcept;
  void StoreLengths(std::byte* header, uint32_t data) const noexcept;
  void KeepCopiedOptions() noexcept;

  void CopyTemplate(std::byte* out, uint32_t header_bytes) const noexcept {
    for (uint32_t at = 0; at < header_bytes; at += kBlock) {
      std::memcpy(out + at, &template_[at], kBlock);
    }
  }
  static void StoreWord(std::byte* out, uint32_t word) noexcept {
    const Be16 value(static_cast<uint16_t>(word));
    std::memcpy(out, &value, sizeof value);
  }
  // The sum of two numbers of 16 bits as one of them: in one's complement the
  // same.
  static constexpr uint32_t Fold(uint32_t sum) noexcept {
    return (sum & 0xffff) + (sum >> 16);
  }

  // From the word with the offset to the checksum of IPv4.
  static constexpr uint32_t kChecksumBehind = 4;

  uint32_t left_ = 0;
  // Of the next fragment's data in that of the datagram.
  uint32_t offset_ = 0;
  // Bytes of data in the last fragment, and in each of the others.
  uint32_t max_data_ = 0;
  uint32_t step_ = 0;
  // Fragments of the data that is left, if all are like the next one.
  uint32_t count_ = 0;
  uint32_t header_bytes_ = 0;
  // The word with the offset: where it stands, by how much the offset is
  // shifted right in it, and its other bits where more fragments follow.
  uint32_t offset_at_ = 0;
  uint8_t offset_shift_ = 0;
  bool is_ipv6_ = false;
  // The template has options that only the first fragment carries.
  bool has_first_options_ = false;
  // The packet is not the last part of its datagram.
  bool more_ = false;
  uint16_t more_word_ = 0;
  // Where the length of layer 3 stands, and that of a fragment without data.
  uint32_t length_at_ = 0;
  uint32_t length_base_ = 0;
  // Of IPv4: the sum of a header with step_ bytes of data, its offset and
  // checksum left out.
  uint16_t middle_sum_ = 0;
  uint32_t l3_offset_ = 0;
  uint32_t data_offset_ = 0;
  uint32_t mtu_bytes_ = 0;
  // Where a length stands in place of an EtherType (IEEE 802.3), 0 for nowhere.
  uint32_t length_offset_ = 0;
  uint8_t protocol_ = 0;
  // The headers of a fragment with step_ bytes of data.
  alignas(kBlock) std::array<std::byte, kMaxHeaderBytes> template_{};
};

}  // namespace weir::net

#endif  // WEIR_NET_FRAGMENT_HEADERS_H_
