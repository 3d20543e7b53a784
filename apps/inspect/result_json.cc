#include "apps/inspect/result_json.h"

#include <arpa/inet.h>

#include <array>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <span>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "weir/base/big_endian.h"
#include "weir/net/ethernet.h"
#include "weir/net/ip_protocol.h"
#include "weir/net/ipv4.h"
#include "weir/net/ipv6.h"
#include "weir/net/load_store.h"
#include "weir/net/mac_address.h"
#include "weir/net/mpls.h"
#include "weir/net/udp.h"
#include "weir/stage/verify_checksums.h"

namespace weir::inspect {
namespace {

// Keeps the order in which keys are set.
using Json = nlohmann::ordered_json;
using Bytes = std::span<const std::byte>;

constexpr uint16_t kFirstEtherType = 0x0600;
constexpr uint32_t kFragmentUnit = 8;

std::string Hex(const Digest& digest) {
  return absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(digest.data()), digest.size()));
}

template <typename Header>
bool Holds(Bytes head, size_t offset) {
  return offset + sizeof(Header) <= head.size();
}

bool IsTag(uint16_t type) {
  return type == net::kEtherTypeVlan || type == net::kEtherTypeQinQ ||
         type == net::kEtherTypeOldQinQ;
}

const char* Name(ChecksumState state) {
  switch (state) {
    case ChecksumState::kGood:
      return "good";
    case ChecksumState::kBad:
      return "bad";
    case ChecksumState::kAbsent:
      return "absent";
    case ChecksumState::kPartial:
      return "partial";
    case ChecksumState::kUnverifiable:
      return "unverifiable";
    case ChecksumState::kUnknown:
      break;
  }
  return "n/a";
}

void AddMpls(Json& frame, Bytes head, size_t offset) {
  Json labels = Json::array();
  while (Holds<net::MplsLabel>(head, offset)) {
    const auto entry = net::LoadHeader<net::MplsLabel>(head, offset);
    labels.push_back(entry.label());
    offset += sizeof entry;
    if (entry.bottom_of_stack()) break;
  }
  frame["mpls"] = labels;
}

// The headers of layer 2.
void AddEthernet(Json& frame, Bytes head) {
  if (!Holds<net::EthernetHeader>(head, 0)) return;
  constexpr size_t kTypeOffset = 2 * sizeof(net::MacAddress);
  constexpr uint16_t kVidMask = 0xfff;
  constexpr unsigned kPcpShift = 13;
  size_t offset = kTypeOffset;
  Json vlans = Json::array();
  uint16_t type = net::LoadHeader<Be16>(head, offset).host();
  while (IsTag(type) && Holds<net::VlanTag>(head, offset + sizeof(Be16))) {
    const auto tag = net::LoadHeader<net::VlanTag>(head, offset);
    const unsigned tci = tag.tci.host();
    vlans.push_back({{"tpid", absl::StrFormat("0x%04x", type)},
                     {"vid", tci & kVidMask},
                     {"pcp", tci >> kPcpShift}});
    offset += sizeof(net::VlanTag);
    type = net::LoadHeader<Be16>(head, offset).host();
  }
  if (type >= kFirstEtherType) {
    frame["l2"] = "ethernet";
    frame["ethertype"] = absl::StrFormat("0x%04x", type);
  } else {
    frame["l2"] = "802.3";
    frame["length_field"] = type;
  }
  if (!vlans.empty()) frame["vlans"] = vlans;
  if (type == net::kEtherTypeMpls || type == net::kEtherTypeMplsUpstream) {
    AddMpls(frame, head, offset + sizeof(Be16));
  }
}

void AddAddresses(Json& packet, int family, const void* source,
                  const void* destination) {
  std::array<char, INET6_ADDRSTRLEN> text;
  packet["src"] = inet_ntop(family, source, text.data(), text.size());
  packet["dst"] = inet_ntop(family, destination, text.data(), text.size());
}

// What is the same for a frame and for a datagram. False without IP header.
bool AddIp(Json& packet, Bytes head, const PacketInfo& info) {
  if (info.l3 == L3::kIpv4 && Holds<net::Ipv4Header>(head, info.l3_offset)) {
    const auto ip = net::LoadHeader<net::Ipv4Header>(head, info.l3_offset);
    packet["family"] = 4;
    AddAddresses(packet, AF_INET, &ip.source, &ip.destination);
    packet["proto"] = ip.protocol;
    return true;
  } else if (info.l3 == L3::kIpv6 &&
             Holds<net::Ipv6Header>(head, info.l3_offset)) {
    const auto ip = net::LoadHeader<net::Ipv6Header>(head, info.l3_offset);
    packet["family"] = 6;
    AddAddresses(packet, AF_INET6, &ip.source, &ip.destination);
    // Neither before it was found nor of a part: a datagram has what its first
    // fragment says (RFC 8200 §4.5).
    if (info.l4_offset != 0 && !info.is_fragment()) {
      packet["proto"] = info.protocol;
    }
    return true;
  }
  return false;
}

void AddFragment(Json& frame, Bytes head, const PacketInfo& info) {
  if (info.l3 != L3::kIpv4) return;
  constexpr unsigned kOffsetMask = 0x1fff;
  constexpr unsigned kMoreFragments = 0x2000;
  const auto ip = net::LoadHeader<net::Ipv4Header>(head, info.l3_offset);
  const unsigned word = ip.fragment.host();
  frame["frag"] = {{"id", ip.id.host()},
                   {"off", (word & kOffsetMask) * kFragmentUnit},
                   {"mf", (word & kMoreFragments) != 0}};
}

const char* L4State(const FrameRecord& record) {
  if (record.info.is_fragment()) return "fragment";
  using Checksum = VerifyChecksums::Drop;
  constexpr auto kWithout = static_cast<size_t>(Checksum::kUdp6Without);
  if (record.reason == VerifyChecksums::kDropNames[kWithout]) {
    return "illegal-zero";
  }
  return Name(record.info.l4_checksum());
}

void AddPacket(Json& frame, const FrameRecord& record) {
  const PacketInfo& info = record.info;
  if (!AddIp(frame, record.head, info)) return;
  const bool is_v4 = info.l3 == L3::kIpv4;
  frame["l3"] = is_v4 ? "ipv4" : "ipv6";
  frame["l3_off"] = info.l3_offset;
  if (is_v4) {
    frame["id"] =
        net::LoadHeader<net::Ipv4Header>(record.head, info.l3_offset).id.host();
  }
  if (info.trailer_bytes != 0) frame["pad"] = info.trailer_bytes;
  if (info.is_fragment()) AddFragment(frame, record.head, info);
  if (!is_v4) {
    frame["ip_csum"] = "n/a";
  } else if (info.ip_checksum() != ChecksumState::kUnknown) {
    frame["ip_csum"] = Name(info.ip_checksum());
  }
  if (info.is_fragment() || info.l4_checksum() != ChecksumState::kUnknown) {
    frame["l4_csum"] = L4State(record);
  }
}

const char* Name(Fate fate) {
  switch (fate) {
    case Fate::kDelivered:
      return "deliver";
    case Fate::kPassed:
      return "pass";
    case Fate::kFragment:
      return "fragment";
    case Fate::kDropped:
      break;
  }
  return "drop";
}

Json FrameJson(uint32_t number, const FrameRecord& record, FrameView view) {
  Json frame = {{"n", number}, {"len", record.frame_bytes}};
  if (view == FrameView::kFates) {
    frame["verdict"] = Name(record.fate);
    if (record.fate == Fate::kDropped) {
      frame["reason"] = std::string(record.reason);
    }
  }
  AddEthernet(frame, record.head);
  AddPacket(frame, record);
  if (!record.hash_input.empty()) {
    frame["input"] = std::string(record.hash_input);
    frame["hash"] = absl::StrFormat("0x%08x", record.hash);
    frame["queue"] = record.queue;
  }
  if (!record.completes.empty()) {
    frame["completes"] = record.completes;
    frame["reassembled_l4_csum"] = Name(record.datagram_checksum);
  }
  if (!record.datagram_reason.empty()) {
    frame["reassembled_drop"] = std::string(record.datagram_reason);
  }
  return frame;
}

Json DatagramJson(const DatagramRecord& record) {
  Json datagram = {{"at", record.at}, {"frames", record.frames}};
  AddIp(datagram, record.head, record.info);
  datagram["l4_len"] = record.l4_bytes;
  datagram["l4_sha256"] = Hex(record.l4_digest);
  datagram["l4_csum"] = Name(record.info.l4_checksum());
  if (record.reassembled) datagram["reassembled"] = true;
  if (record.info.protocol == net::kProtocolUdp &&
      Holds<net::UdpHeader>(record.head, record.info.l4_offset)) {
    const auto udp =
        net::LoadHeader<net::UdpHeader>(record.head, record.info.l4_offset);
    datagram["sport"] = udp.source_port.host();
    datagram["dport"] = udp.destination_port.host();
    datagram["payload_len"] = record.payload_bytes;
    datagram["payload_sha256"] = Hex(record.payload_digest);
  }
  return datagram;
}

// One entry a line.
void AppendList(std::string& out, absl::string_view name,
                const std::vector<Json>& entries) {
  absl::StrAppend(&out, "  \"", name, "\": [");
  absl::string_view before = "\n    ";
  for (const Json& entry : entries) {
    absl::StrAppend(&out, before, entry.dump());
    before = ",\n    ";
  }
  absl::StrAppend(&out, "],\n");
}

}  // namespace

std::string FormatResult(const Recorder& recorder,
                         const ReassemblyCounts& reassembly, FrameView view) {
  std::vector<Json> frames;
  std::vector<Json> records;
  uint32_t number = 0;
  for (const FrameRecord& record : recorder.frames()) {
    frames.push_back(FrameJson(++number, record, view));
    records.push_back({{"ts_ns", record.timestamp_ns},
                       {"caplen", record.frame_bytes},
                       {"sha256", Hex(record.digest)}});
  }
  std::vector<Json> datagrams;
  for (const DatagramRecord& record : recorder.datagrams()) {
    datagrams.push_back(DatagramJson(record));
  }
  std::string out = "{\n";
  AppendList(out, "frames", frames);
  AppendList(out, "datagrams", datagrams);
  const Json counts = {{"completed", reassembly.completed},
                       {"timed_out", reassembly.timed_out},
                       {"overlap_abandoned", reassembly.overlap_abandoned},
                       {"pending_at_end", reassembly.pending_at_end}};
  absl::StrAppend(&out, "  \"reassembly\": ", counts.dump(), ",\n");
  AppendList(out, "records", records);
  out.resize(out.size() - 2);
  absl::StrAppend(&out, "\n}\n");
  return out;
}

}  // namespace weir::inspect
