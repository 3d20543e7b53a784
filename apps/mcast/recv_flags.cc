#include "apps/mcast/recv_flags.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "apps/mcast/group_flags.h"
#include "apps/mcast/sequence_flags.h"
#include "weir/net/group_address.h"

ABSL_FLAG(std::string, source, "",
          "receive from these addresses only, with commas between; from any if "
          "empty");
ABSL_FLAG(std::string, to, "none",
          "what becomes of payload: stdout, file:PATH (appended), pcap:PATH "
          "(whole frames), udp:HOST:PORT, or none: it is counted");
ABSL_FLAG(
    std::string, when_full, "block",
    "what becomes of datagrams while delivery is behind. block: they wait "
    "at the port, which loses what it has no room for; drop: those that "
    "come are dropped, and queries are answered still");
ABSL_FLAG(uint32_t, igmp_version, 3, "the newest IGMP to speak, 1 to 3");
ABSL_FLAG(uint32_t, mld_version, 2, "the newest MLD to speak, 1 or 2");

namespace weir::mcast {
namespace {

// What hosts have room for.
constexpr size_t kMaxGroups = 256;

bool IsGroup(const net::IpAddress& address) {
  return std::visit([](const auto& one) { return net::IsGroup(one); }, address);
}

absl::StatusOr<std::vector<net::IpAddress>> ReadSources() {
  const std::string text = absl::GetFlag(FLAGS_source);
  std::vector<net::IpAddress> all;
  if (text.empty()) return all;
  for (const absl::string_view part : absl::StrSplit(text, ',')) {
    const auto address = net::ParseIpAddress(part);
    if (!address || IsGroup(*address)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--source: want an address of a host such as 192.0.2.1, got ",
          part.empty() ? "nothing" : part));
    }
    all.push_back(*address);
  }
  return all;
}

// All groups of --group, and which of them are two lines.
struct GroupsFlag {
  std::vector<net::IpAddress> groups;
  std::vector<LinePair> pairs;
};

// `part` of --group: a group, or two with a + between.
absl::Status AddGroups(absl::string_view part, GroupsFlag& all) {
  const std::vector<absl::string_view> lines = absl::StrSplit(part, '+');
  if (lines.size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("--group: want a group, or two lines as A+B, got ", part));
  }
  for (const absl::string_view line : lines) {
    const auto group = ReadGroup(line);
    if (!group.ok()) return group.status();
    if (std::find(all.groups.begin(), all.groups.end(), *group) !=
        all.groups.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--group: ", line, " is there twice"));
    }
    all.groups.push_back(*group);
  }
  if (lines.size() == 2) {
    all.pairs.push_back({{*(all.groups.end() - 2), all.groups.back()}});
  }
  return absl::OkStatus();
}

absl::StatusOr<GroupsFlag> ReadGroups() {
  GroupsFlag all;
  for (const absl::string_view part :
       absl::StrSplit(absl::GetFlag(FLAGS_group), ',')) {
    absl::Status added = AddGroups(part, all);
    if (!added.ok()) return added;
  }
  if (all.groups.size() > kMaxGroups) {
    return absl::InvalidArgumentError(absl::StrCat("--group: want ", kMaxGroups,
                                                   " groups at most, got ",
                                                   all.groups.size()));
  }
  return all;
}

// Each group with the sources of its family.
absl::StatusOr<std::vector<RecvFlags::Wanted>> ReadWanted(
    const std::vector<net::IpAddress>& groups) {
  const auto sources = ReadSources();
  if (!sources.ok()) return sources.status();
  for (const net::IpAddress& source : *sources) {
    const bool fits = std::any_of(groups.begin(), groups.end(),
                                  [&](const net::IpAddress& group) {
                                    return group.index() == source.index();
                                  });
    if (fits) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("--source: ", net::ToString(source),
                     " is of another family than every --group"));
  }
  std::vector<RecvFlags::Wanted> wanted;
  for (const net::IpAddress& group : groups) {
    GroupInterest interest;
    for (const net::IpAddress& source : *sources) {
      if (source.index() == group.index()) interest.sources.push_back(source);
    }
    if (!interest.sources.empty()) interest.mode = FilterMode::kInclude;
    if (!sources->empty() && interest.sources.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--source: none is of the family of --group=", net::ToString(group),
          "; name one, or run twice"));
    }
    wanted.push_back({group, std::move(interest)});
  }
  return wanted;
}

absl::StatusOr<WhenFull> ReadWhenFull() {
  const std::string text = absl::GetFlag(FLAGS_when_full);
  if (text == "block") return WhenFull::kBlock;
  if (text == "drop") return WhenFull::kDropNewest;
  return absl::InvalidArgumentError(
      absl::StrCat("--when_full: want block or drop, got ", text));
}

absl::StatusOr<uint8_t> ReadVersion(absl::string_view flag, uint32_t value,
                                    uint32_t newest) {
  if (value >= 1 && value <= newest) return static_cast<uint8_t>(value);
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": want 1 to ", newest, ", got ", value));
}

}  // namespace

absl::StatusOr<RecvFlags> ReadRecvFlags() {
  RecvFlags flags;
  const auto groups = ReadGroups();
  if (!groups.ok()) return groups.status();
  auto sequence = ReadRecvSequence();
  if (!sequence.ok()) return sequence.status();
  flags.sequence = *std::move(sequence);
  if (flags.sequence) {
    flags.sequence->pairs = groups->pairs;
  } else if (!groups->pairs.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--group=", absl::GetFlag(FLAGS_group),
        ": two lines of one stream need numbers: --sequence=weir or rtp"));
  }
  auto wanted = ReadWanted(groups->groups);
  if (!wanted.ok()) return wanted.status();
  flags.groups = *std::move(wanted);
  const auto port = ReadUdpPort("--udp_port", absl::GetFlag(FLAGS_udp_port));
  if (!port.ok()) return port.status();
  flags.udp_port = *port;
  const auto vlan = ReadVlan();
  if (!vlan.ok()) return vlan.status();
  flags.vlan = *vlan;
  flags.ip = absl::GetFlag(FLAGS_ip);
  const auto when_full = ReadWhenFull();
  if (!when_full.ok()) return when_full.status();
  flags.when_full = *when_full;
  const auto igmp =
      ReadVersion("--igmp_version", absl::GetFlag(FLAGS_igmp_version), 3);
  if (!igmp.ok()) return igmp.status();
  flags.igmp_version = *igmp;
  const auto mld =
      ReadVersion("--mld_version", absl::GetFlag(FLAGS_mld_version), 2);
  if (!mld.ok()) return mld.status();
  flags.mld_version = *mld;
  flags.count = absl::GetFlag(FLAGS_count);
  flags.to = absl::GetFlag(FLAGS_to);
  return flags;
}

}  // namespace weir::mcast
