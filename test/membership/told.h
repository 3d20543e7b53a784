// A host on a clock of its own: what it says, when, as text.

#ifndef TEST_MEMBERSHIP_TOLD_H_
#define TEST_MEMBERSHIP_TOLD_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "weir/membership/group_host.h"
#include "weir/membership/group_message.h"
#include "weir/membership/group_records.h"
#include "weir/net/ip_text.h"

namespace weir {

inline constexpr uint64_t kSecond = 1'000'000'000;

inline std::string NameOfRecord(uint8_t type) {
  constexpr std::array<const char*, 7> kNames = {
      "?", "IS_IN", "IS_EX", "TO_IN", "TO_EX", "ALLOW", "BLOCK"};
  return type < kNames.size() ? kNames[type] : "?";
}

// "TO_EX 233.252.0.5 {}": what the message says, records joined by "; ".
template <typename P>
std::string TextOf(std::span<const std::byte> bytes) {
  using Address = typename P::Address;
  using Kind = typename GroupMessage<Address>::Kind;
  const auto message = P::Read(bytes);
  if (!message) return "not to be read";
  const std::string group = net::ToString(message->group);
  const std::string version = absl::StrCat("v", message->version, " ");
  if (message->kind == Kind::kOldReport) return version + "report " + group;
  if (message->kind == Kind::kLeave) return version + "leave " + group;
  if (message->kind == Kind::kQuery) return version + "query " + group;
  std::vector<std::string> records;
  ForEachRecord<typename P::Record, Address>(
      message->records,
      [&records](uint8_t type, const Address& of, AddressList<Address> list) {
        std::vector<std::string> sources;
        for (size_t i = 0; i < list.size(); ++i) {
          sources.push_back(net::ToString(list[i]));
        }
        records.push_back(absl::StrCat(NameOfRecord(type), " ",
                                       net::ToString(of), " {",
                                       absl::StrJoin(sources, " "), "}"));
      });
  return absl::StrJoin(records, "; ");
}

// What was said at a time.
struct Told {
  uint64_t at_ns;
  std::string to;
  std::string text;
};

template <typename P>
class HostOnClock {
 public:
  using Address = typename P::Address;

  explicit HostOnClock(const GroupHostOptions& options = {}) : host(options) {}

  static Address Of(const char* text) {
    if constexpr (std::is_same_v<Address, net::Ipv4Address>) {
      return net::ParseIpv4Address(text).value();
    } else {
      return net::ParseIpv6Address(text).value();
    }
  }

  bool Set(const char* group, FilterMode mode,
           const std::vector<const char*>& sources = {}) {
    std::vector<Address> list;
    for (const char* source : sources) list.push_back(Of(source));
    return host.Set(Of(group), mode, list, now_ns);
  }
  bool Join(const char* group) { return Set(group, FilterMode::kExclude); }
  bool Leave(const char* group) { return Set(group, FilterMode::kInclude); }

  // Lets `for_ns` pass; returns what was said meanwhile.
  std::vector<Told> Run(uint64_t for_ns) {
    std::vector<Told> told;
    const uint64_t end_ns = now_ns + for_ns;
    while (host.next_ns() <= end_ns) {
      now_ns = std::max(now_ns, host.next_ns());
      std::array<std::byte, 1200> out;
      while (const auto message = host.Take(out, now_ns)) {
        told.push_back({now_ns, net::ToString(message->destination),
                        TextOf<P>(std::span(out).first(message->bytes))});
      }
    }
    now_ns = end_ns;
    return told;
  }
  // The texts alone.
  std::vector<std::string> Texts(uint64_t for_ns) {
    std::vector<std::string> texts;
    for (const Told& one : Run(for_ns)) texts.push_back(one.text);
    return texts;
  }

  // A query comes: for all groups if `group` is null.
  void Query(uint8_t version, uint64_t max_response_ns,
             const char* group = nullptr,
             const std::vector<const char*>& sources = {}) {
    GroupMessage<Address> query{.kind = GroupMessage<Address>::Kind::kQuery,
                                .version = version};
    if (group != nullptr) query.group = Of(group);
    query.max_response_ns = max_response_ns;
    std::vector<std::byte> bytes;
    for (const char* source : sources) {
      for (const uint8_t octet : Of(source).octets) {
        bytes.push_back(std::byte{octet});
      }
    }
    query.sources = AddressList<Address>(bytes);
    host.OnMessage(query, now_ns);
  }
  // Another host says that it is a member.
  void OtherReports(const char* group) {
    host.OnMessage({.kind = GroupMessage<Address>::Kind::kOldReport,
                    .version = 2,
                    .group = Of(group)},
                   now_ns);
  }

  GroupHost<P> host;
  // Not 0, which no clock shows.
  uint64_t now_ns = 1000 * kSecond;
};

}  // namespace weir

#endif  // TEST_MEMBERSHIP_TOLD_H_
