#include "test/support/naive_flows.h"

#include <algorithm>
#include <cerrno>
#include <tuple>

namespace weir {
namespace {

// Numbers of ibv_flow_attr_type and ibv_flow_spec_type.
constexpr uint32_t kNormal = 0;
constexpr uint32_t kAllDefault = 1;
constexpr uint32_t kMulticastDefault = 2;
constexpr uint32_t kSniffer = 3;
constexpr uint32_t kInner = 0x100;

// Bytes at a place of a block, zeros behind its end.
class Block {
 public:
  explicit Block(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size(); }
  uint32_t At(size_t offset) const {
    return offset < bytes_.size() ? bytes_[offset] : 0;
  }
  NaiveBytes Bytes(size_t offset, size_t count) const {
    NaiveBytes out;
    for (size_t i = 0; i < count; ++i) {
      out.push_back(static_cast<uint8_t>(At(offset + i)));
    }
    return out;
  }
  uint32_t Big(size_t offset) const {
    return (At(offset) << 8) | At(offset + 1);
  }
  // As this machine stores numbers: little-endian.
  uint32_t Little(size_t offset, size_t count) const {
    uint32_t out = 0;
    for (size_t i = 0; i < count; ++i) out |= At(offset + i) << (8 * i);
    return out;
  }

 private:
  std::span<const uint8_t> bytes_;
};

void ParsePorts(const Block& at, size_t offset, uint32_t protocol,
                NaiveFrame& frame) {
  if ((protocol != 6 && protocol != 17) || offset + 4 > at.size()) return;
  frame.headers.insert(protocol == 6 ? "tcp" : "udp");
  frame.fields["src_port"] = at.Bytes(offset, 2);
  frame.fields["dst_port"] = at.Bytes(offset + 2, 2);
}

void ParseIpv4(const Block& at, size_t offset, NaiveFrame& frame) {
  const size_t header = (at.At(offset) % 16) * 4;
  if (offset + 20 > at.size() || at.At(offset) / 16 != 4 || header < 20) return;
  frame.headers.insert("ipv4");
  const uint32_t fragment = at.Big(offset + 6);
  const bool dont = (fragment & 0x4000) != 0;
  const bool more = (fragment & 0x2000) != 0;
  frame.fields["tos"] = at.Bytes(offset + 1, 1);
  frame.fields["flags"] = {static_cast<uint8_t>(2 * dont + 4 * more)};
  frame.fields["ttl"] = at.Bytes(offset + 8, 1);
  frame.fields["proto"] = at.Bytes(offset + 9, 1);
  frame.fields["src_ip"] = at.Bytes(offset + 12, 4);
  frame.fields["dst_ip"] = at.Bytes(offset + 16, 4);
  if (fragment % 0x2000 != 0) return;
  ParsePorts(at, offset + header, at.At(offset + 9), frame);
}

void ParseIpv6(const Block& at, size_t offset, NaiveFrame& frame) {
  if (offset + 40 > at.size() || at.At(offset) / 16 != 6) return;
  frame.headers.insert("ipv6");
  frame.fields["flow_label"] = at.Bytes(offset, 4);
  frame.fields["flow_label"][0] = 0;
  frame.fields["flow_label"][1] &= 0x0f;
  frame.fields["traffic_class"] = {
      static_cast<uint8_t>(at.Big(offset) / 16 % 256)};
  frame.fields["next_hdr"] = at.Bytes(offset + 6, 1);
  frame.fields["hop_limit"] = at.Bytes(offset + 7, 1);
  frame.fields["src_ip6"] = at.Bytes(offset + 8, 16);
  frame.fields["dst_ip6"] = at.Bytes(offset + 24, 16);
  uint32_t next = at.At(offset + 6);
  size_t here = offset + 40;
  for (int i = 0; i < 8; ++i) {
    if (next == 44) {
      if (at.Big(here + 2) / 8 != 0) return;
      next = at.At(here);
      here += 8;
    } else if (next == 0 || next == 43 || next == 60) {
      next = at.At(here);
      here += (at.At(here + 1) + 1) * 8;
    } else {
      break;
    }
  }
  ParsePorts(at, here, next, frame);
}

// A field of a spec: its name, and where its value and its mask stand.
struct Place {
  const char* field;
  size_t bytes;
  size_t value;
  size_t mask;
};

struct Spec {
  size_t size;
  const char* layer;
  const char* header;
  std::vector<Place> places;
};

// Offsets of <infiniband/verbs.h> on 64-bit machines.
const std::map<uint32_t, Spec>& Specs() {
  static const auto* const specs = new std::map<uint32_t, Spec>{
      {0x20,
       {40,
        "ethernet",
        nullptr,
        {{"dst_mac", 6, 6, 22},
         {"src_mac", 6, 12, 28},
         {"ether_type", 2, 18, 34},
         {"vlan_tag", 2, 20, 36}}}},
      {0x30, {24, "ip", "ipv4", {{"src_ip", 4, 8, 16}, {"dst_ip", 4, 12, 20}}}},
      {0x32,
       {32,
        "ip",
        "ipv4",
        {{"src_ip", 4, 8, 20},
         {"dst_ip", 4, 12, 24},
         {"proto", 1, 16, 28},
         {"tos", 1, 17, 29},
         {"ttl", 1, 18, 30},
         {"flags", 1, 19, 31}}}},
      {0x31,
       {88,
        "ip",
        "ipv6",
        {{"src_ip6", 16, 8, 48},
         {"dst_ip6", 16, 24, 64},
         {"flow_label", 4, 40, 80},
         {"next_hdr", 1, 44, 84},
         {"traffic_class", 1, 45, 85},
         {"hop_limit", 1, 46, 86}}}},
      {0x40,
       {16,
        "transport",
        "tcp",
        {{"dst_port", 2, 6, 10}, {"src_port", 2, 8, 12}}}},
      {0x41,
       {16,
        "transport",
        "udp",
        {{"dst_port", 2, 6, 10}, {"src_port", 2, 8, 12}}}},
      {0x1000, {12, "tag", nullptr, {}}},
      {0x1001, {8, "drop", nullptr, {}}},
      {0x1003, {16, "count", nullptr, {}}}};
  return *specs;
}

bool IsKnownElsewhere(uint32_t type) {
  static const auto* const types =
      new std::set<uint32_t>{0x34, 0x50, 0x51, 0x60, 0x1002};
  return (type & kInner) != 0 || types->contains(type);
}

void ReadPlaces(const Block& spec, const Spec& kind, NaiveRule& rule) {
  for (const Place& place : kind.places) {
    NaiveBytes value = spec.Bytes(place.value, place.bytes);
    const NaiveBytes mask = spec.Bytes(place.mask, place.bytes);
    if (mask == NaiveBytes(place.bytes)) continue;
    for (size_t i = 0; i < value.size(); ++i) value[i] &= mask[i];
    rule.tests[place.field] = {value, mask};
    if (place.field == std::string("vlan_tag")) rule.headers.insert("vlan");
  }
  if (kind.header != nullptr) rule.headers.insert(kind.header);
}

int ReadSpec(uint32_t type, const Block& spec, NaiveRule& rule) {
  ReadPlaces(spec, Specs().at(type), rule);
  if (type == 0x1000) rule.tag = spec.Little(8, 4);
  if (type == 0x1001) rule.drops = true;
  if (type == 0x1003) {
    rule.counts = true;
    if (spec.Bytes(8, 8) == NaiveBytes(8)) return EINVAL;
  }
  return rule.tag.value_or(0) > 0xffffff ? EINVAL : 0;
}

// The ether type in full, or not at all, beside an IP spec.
bool Contradicts(const NaiveRule& rule) {
  const auto type = rule.tests.find("ether_type");
  if (type == rule.tests.end()) return false;
  const auto& [value, mask] = type->second;
  const NaiveBytes full = {0xff, 0xff};
  if (rule.headers.contains("ipv4")) {
    return mask != full || value != NaiveBytes{0x08, 0x00};
  }
  if (rule.headers.contains("ipv6")) {
    return mask != full || value != NaiveBytes{0x86, 0xdd};
  }
  return false;
}

int ReadSpecs(std::span<const uint8_t> bytes, NaiveRule& rule) {
  std::set<std::string> layers;
  size_t at = 20;
  for (uint32_t i = Block(bytes).At(12); i > 0; --i) {
    const Block spec(bytes.subspan(std::min(at, bytes.size())));
    const uint32_t type = spec.Little(0, 4);
    const auto kind = Specs().find(type);
    if (kind == Specs().end()) {
      return IsKnownElsewhere(type) ? EOPNOTSUPP : EINVAL;
    }
    if (spec.Little(4, 2) != kind->second.size ||
        !layers.insert(kind->second.layer).second) {
      return EINVAL;
    }
    if (const int error = ReadSpec(type, spec, rule); error != 0) return error;
    at += kind->second.size;
  }
  return Contradicts(rule) ? EINVAL : 0;
}

// Normal rules, then multicast, then all; sniffers stand apart.
int Order(uint32_t type) {
  return type == kMulticastDefault ? 1 : type == kAllDefault ? 2 : 0;
}

}  // namespace

NaiveFrame NaiveParse(std::span<const uint8_t> bytes) {
  NaiveFrame frame;
  const Block at(bytes);
  if (at.size() < 14) return frame;
  frame.fields["dst_mac"] = at.Bytes(0, 6);
  frame.fields["src_mac"] = at.Bytes(6, 6);
  size_t type = 12;
  while ((at.Big(type) == 0x8100 || at.Big(type) == 0x88a8) &&
         type + 6 <= at.size()) {
    if (frame.headers.insert("vlan").second) {
      frame.fields["vlan_tag"] = at.Bytes(type + 2, 2);
    }
    type += 4;
  }
  frame.fields["ether_type"] = at.Bytes(type, 2);
  if (at.Big(type) == 0x0800) ParseIpv4(at, type + 2, frame);
  if (at.Big(type) == 0x86dd) ParseIpv6(at, type + 2, frame);
  return frame;
}

bool NaiveRule::Matches(const NaiveFrame& frame) const {
  for (const std::string& header : headers) {
    if (!frame.headers.contains(header)) return false;
  }
  for (const auto& [field, test] : tests) {
    const auto& [value, mask] = test;
    const auto found = frame.fields.find(field);
    // A header that is not there reads as zeros.
    const NaiveBytes actual =
        found == frame.fields.end() ? NaiveBytes(value.size()) : found->second;
    for (size_t i = 0; i < value.size(); ++i) {
      if ((actual[i] & mask[i]) != value[i]) return false;
    }
  }
  return true;
}

bool NaiveRule::SameAs(const NaiveRule& other) const {
  return std::tie(type, priority, traps, headers, tests) ==
         std::tie(other.type, other.priority, other.traps, other.headers,
                  other.tests);
}

int NaiveRead(std::span<const uint8_t> bytes, NaiveRule& rule) {
  const Block attr(bytes);
  rule = {};
  rule.type = attr.Little(4, 4);
  rule.priority = static_cast<uint16_t>(attr.Little(10, 2));
  const uint32_t flags = attr.Little(16, 4);
  if (attr.At(13) != 1 || rule.priority > 15 || rule.type > kSniffer ||
      (flags & ~6u) != 0) {
    return EINVAL;
  }
  if ((flags & 4) != 0) return EOPNOTSUPP;
  rule.traps = (flags & 2) == 0;
  if (!rule.traps && rule.type != kNormal) return EINVAL;
  if (const int error = ReadSpecs(bytes, rule); error != 0) return error;
  if (rule.drops && (!rule.traps || rule.type == kSniffer)) return EINVAL;
  if (rule.type == kNormal) return 0;
  if (!rule.headers.empty() || !rule.tests.empty()) return EINVAL;
  if (rule.tag.has_value() && rule.type != kSniffer) return EINVAL;
  if (rule.type == kMulticastDefault) {
    rule.tests["dst_mac"] = {{1, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}};
  }
  return 0;
}

int NaiveSteering::Add(const NaiveRule& rule, int receiver, int id) {
  for (Group& group : groups_) {
    if (!group.rule.SameAs(rule)) continue;
    if (rule.tag.value_or(group.tag) != group.tag ||
        rule.drops != group.rule.drops) {
      return EEXIST;
    }
    group.users[id] = receiver;
    return 0;
  }
  groups_.push_back({.rule = rule,
                     .tag = rule.tag.value_or(0),
                     .age = next_age_++,
                     .users = {{id, receiver}}});
  return 0;
}

void NaiveSteering::Remove(int id) {
  for (Group& group : groups_) group.users.erase(id);
  std::erase_if(groups_,
                [](const Group& group) { return group.users.empty(); });
}

NaiveSteering::Verdict NaiveSteering::Find(std::span<const uint8_t> bytes,
                                           bool sniffed) const {
  const NaiveFrame frame = NaiveParse(bytes);
  std::vector<const Group*> walk;
  for (const Group& group : groups_) {
    if (group.rule.Matches(frame)) walk.push_back(&group);
  }
  std::ranges::sort(walk, {}, [](const Group* group) {
    const NaiveRule& rule = group->rule;
    return std::tuple(Order(rule.type), rule.priority, rule.traps, group->age);
  });
  Verdict verdict;
  bool taken = sniffed;
  for (const Group* group : walk) {
    const bool is_sniffer = group->rule.type == kSniffer;
    const bool goes_on = is_sniffer || (sniffed && !group->rule.traps);
    if (taken && !goes_on) continue;
    if (!is_sniffer && group->rule.traps) taken = true;
    std::set<int> receivers;
    for (const auto& [id, receiver] : group->users) {
      verdict.ids.insert(id);
      receivers.insert(receiver);
    }
    if (group->rule.drops) {
      verdict.dropped = true;
      continue;
    }
    for (const int receiver : receivers) {
      verdict.copies.push_back({receiver, group->tag});
    }
  }
  std::ranges::sort(verdict.copies);
  return verdict;
}

}  // namespace weir
