#include "apps/inspect/recorder.h"

#include <algorithm>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/net/checksum.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"
#include "weir/net/load_store.h"
#include "weir/net/parse_error.h"
#include "weir/net/udp.h"

namespace weir::inspect {
namespace {

std::vector<std::byte> HeadOf(const Mbuf& packet) {
  std::vector<std::byte> head;
  for (const Mbuf* segment = &packet; segment != nullptr;
       segment = segment->next()) {
    const std::span<const std::byte> bytes = segment->bytes();
    const size_t count = std::min(kHeadBytes - head.size(), bytes.size());
    head.insert(head.end(), bytes.begin(),
                bytes.begin() + static_cast<std::ptrdiff_t>(count));
    if (head.size() == kHeadBytes) break;
  }
  return head;
}

// What can be said of the checksums of a frame that was dropped before they
// were looked at: that of a whole IPv4 header is right or wrong, that of a
// packet that is not all there neither.
void JudgeDropped(FrameRecord& record) {
  PacketInfo& info = record.info;
  if (info.l3 == L3::kIpv4 && info.ip_checksum() == ChecksumState::kUnknown &&
      info.l3_offset + sizeof(net::Ipv4Header) <= record.head.size()) {
    const auto ip =
        net::LoadHeader<net::Ipv4Header>(record.head, info.l3_offset);
    const size_t bytes = ip.header_bytes();
    if (bytes >= sizeof ip && info.l3_offset + bytes <= record.head.size()) {
      net::InternetSum sum;
      sum.Add(std::span(record.head).subspan(info.l3_offset, bytes));
      info.set_ip_checksum(sum.Checksum() == Be16(0) ? ChecksumState::kGood
                                                     : ChecksumState::kBad);
    }
  }
  if (info.is_ip() && !info.is_fragment() &&
      record.reason == net::NameOf(net::ParseError::kIpTotalLong)) {
    info.set_l4_checksum(ChecksumState::kUnverifiable);
  }
}

}  // namespace

Digest Recorder::DigestOf(const Mbuf& packet, uint32_t offset, uint32_t bytes) {
  for (const Mbuf* segment = &packet; segment != nullptr && bytes != 0;
       segment = segment->next()) {
    std::span<const std::byte> data = segment->bytes();
    const size_t skipped = std::min<size_t>(offset, data.size());
    offset -= static_cast<uint32_t>(skipped);
    data = data.subspan(skipped);
    data = data.first(std::min<size_t>(bytes, data.size()));
    bytes -= static_cast<uint32_t>(data.size());
    sha256_.Add(data);
  }
  return sha256_.Finish();
}

void Recorder::Begin(const Mbuf& frame) {
  for (const Mbuf* segment = frame.next(); segment != nullptr;
       segment = segment->next()) {
    frame_of_[pool_.IndexOf(*segment)] = 0;
  }
  FrameRecord& record = frames_.emplace_back();
  frame_of_[pool_.IndexOf(frame)] = static_cast<uint32_t>(frames_.size());
  record.timestamp_ns = frame.timestamp_ns();
  record.frame_bytes = frame.frame_bytes();
  record.head = HeadOf(frame);
  record.digest = DigestOf(frame, 0, frame.frame_bytes());
}

void Recorder::Hashed(const Mbuf& frame, uint32_t queue,
                      absl::string_view input) {
  FrameRecord& record = RecordOf(NumberOf(frame));
  record.hash = frame.hash();
  record.queue = queue;
  record.hash_input = input;
}

void Recorder::Dropped(const Mbuf& packet, absl::string_view reason) {
  FrameRecord& record = RecordOf(NumberOf(packet));
  if (record.fate == Fate::kFragment) {
    // Of the datagram: the frame that completed it says so.
    uint32_t last = 0;
    for (const Mbuf* part = &packet; part != nullptr; part = part->next()) {
      last = std::max(last, frame_of_[pool_.IndexOf(*part)]);
    }
    RecordOf(last).datagram_reason = reason;
    RecordOf(last).datagram_checksum = packet.info().l4_checksum();
    return;
  }
  record.fate = Fate::kDropped;
  record.reason = reason;
  record.info = packet.info();
  JudgeDropped(record);
}

void Recorder::Kept(uint32_t number, const PacketInfo& info) {
  FrameRecord& record = RecordOf(number);
  record.fate = Fate::kFragment;
  record.info = info;
}

void Recorder::DroppedFragment(uint32_t number, const PacketInfo& info,
                               absl::string_view reason) {
  FrameRecord& record = RecordOf(number);
  record.fate = Fate::kDropped;
  record.reason = reason;
  record.info = info;
}

void Recorder::DroppedDatagram(uint32_t number, absl::string_view reason) {
  RecordOf(number).datagram_reason = reason;
}

void Recorder::Completed(uint32_t number, const Mbuf& datagram) {
  std::vector<uint32_t>& frames = RecordOf(number).completes;
  for (const Mbuf* part = &datagram; part != nullptr; part = part->next()) {
    if (frame_of_[pool_.IndexOf(*part)] != 0) {
      frames.push_back(frame_of_[pool_.IndexOf(*part)]);
    }
  }
  std::ranges::sort(frames);
}

void Recorder::Delivered(const Mbuf& packet) {
  const PacketInfo& info = packet.info();
  FrameRecord& first = RecordOf(NumberOf(packet));
  const bool reassembled = first.fate == Fate::kFragment;
  if (!reassembled) {
    first.fate = info.is_ip() ? Fate::kDelivered : Fate::kPassed;
    first.info = info;
  }
  if (!info.is_ip()) return;
  DatagramRecord& datagram = datagrams_.emplace_back();
  for (const Mbuf* part = &packet; part != nullptr; part = part->next()) {
    const uint32_t number = frame_of_[pool_.IndexOf(*part)];
    if (number != 0) datagram.frames.push_back(number);
  }
  std::ranges::sort(datagram.frames);
  // A completed datagram ends with the frame that had `completes`.
  datagram.at = datagram.frames.back();
  datagram.reassembled = reassembled;
  datagram.head = HeadOf(packet);
  datagram.info = info;
  datagram.l4_bytes =
      packet.frame_bytes() - info.trailer_bytes - info.l4_offset;
  datagram.l4_digest = DigestOf(packet, info.l4_offset, datagram.l4_bytes);
  if (reassembled) {
    RecordOf(datagram.at).datagram_checksum = info.l4_checksum();
  }
  if (info.protocol != net::kProtocolUdp ||
      info.l4_offset + sizeof(net::UdpHeader) > datagram.head.size()) {
    return;
  }
  constexpr uint32_t kUdpBytes = sizeof(net::UdpHeader);
  const auto udp =
      net::LoadHeader<net::UdpHeader>(datagram.head, info.l4_offset);
  datagram.payload_bytes =
      std::clamp<uint32_t>(udp.length.host(), kUdpBytes, datagram.l4_bytes) -
      kUdpBytes;
  datagram.payload_digest = DigestOf(
      packet, info.l4_offset + sizeof(net::UdpHeader), datagram.payload_bytes);
}

}  // namespace weir::inspect
