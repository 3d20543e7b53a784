#include "weir/membership/igmp.h"

#include <algorithm>

#include "weir/base/big_endian.h"
#include "weir/membership/group_records.h"
#include "weir/membership/response_code.h"
#include "weir/net/checksum.h"
#include "weir/net/load_store.h"

namespace weir {
namespace {

using Message = GroupMessage<net::Ipv4Address>;
using Bytes = std::span<const std::byte>;

constexpr uint64_t kNsPerSecond = 1'000'000'000;
// The unit of Max Resp Time (RFC 2236 §2.2).
constexpr uint64_t kNsPerTenth = kNsPerSecond / 10;
// What a query of version 1 leaves unsaid (RFC 3376 §8.3, §7.2.1).
constexpr uint64_t kVersion1ResponseNs = 10 * kNsPerSecond;

std::optional<Message> ReadQuery(Bytes message) noexcept {
  const auto query = net::LoadHeader<net::IgmpHeader>(message, 0);
  Message read{.kind = Message::Kind::kQuery, .version = 2};
  if (message.size() == sizeof query) {
    if (query.max_response == 0) {
      // Its group is 0 and ignored (RFC 1112, Appendix I).
      read.version = 1;
      read.max_response_ns = kVersion1ResponseNs;
    } else {
      read.group = query.group;
      read.max_response_ns = query.max_response * kNsPerTenth;
    }
    return read;
  }
  if (message.size() < sizeof(net::Igmp3Query)) return std::nullopt;
  const auto query3 = net::LoadHeader<net::Igmp3Query>(message, 0);
  const Bytes rest = message.subspan(sizeof query3);
  const size_t sources_bytes =
      size_t{query3.sources.host()} * sizeof(net::Ipv4Address);
  if (rest.size() < sources_bytes) return std::nullopt;
  read.version = 3;
  read.group = query.group;
  read.max_response_ns = ReadCode8(query.max_response) * kNsPerTenth;
  read.robustness = query3.flags & 7;
  read.is_suppressed = (query3.flags & 8) != 0;
  read.interval_ns = ReadCode8(query3.interval_code) * kNsPerSecond;
  read.sources = AddressList<net::Ipv4Address>(rest.first(sources_bytes));
  return read;
}

size_t WriteMessage(std::span<std::byte> out, uint8_t type,
                    const net::Ipv4Address& group) noexcept {
  net::StoreHeader(out, 0, net::IgmpHeader{type, 0, Be16(0), group});
  return sizeof(net::IgmpHeader);
}

}  // namespace

bool Igmp::IsRight(Bytes message, const Header&) noexcept {
  net::InternetSum sum;
  sum.Add(message);
  return sum.Checksum() == Be16(0);
}

std::optional<Message> Igmp::Read(Bytes message) noexcept {
  if (message.size() < sizeof(net::IgmpHeader)) return std::nullopt;
  const auto header = net::LoadHeader<net::IgmpHeader>(message, 0);
  switch (header.type) {
    case net::kIgmpQuery:
      return ReadQuery(message);
    case net::kIgmp1Report:
      return Message{.kind = Message::Kind::kOldReport,
                     .version = 1,
                     .group = header.group};
    case net::kIgmp2Report:
      return Message{.kind = Message::Kind::kOldReport,
                     .version = 2,
                     .group = header.group};
    case net::kIgmp2Leave:
      return Message{
          .kind = Message::Kind::kLeave, .version = 2, .group = header.group};
    case net::kIgmp3Report: {
      const auto report = net::LoadHeader<Report>(message, 0);
      const Bytes rest = message.subspan(sizeof report);
      const auto bytes =
          MeasureRecords<Record, Address>(rest, report.records.host());
      if (!bytes) return std::nullopt;
      return Message{.kind = Message::Kind::kReport,
                     .version = 3,
                     .records = rest.first(*bytes)};
    }
    default:
      return std::nullopt;
  }
}

size_t Igmp::WriteOldReport(std::span<std::byte> out, uint8_t version,
                            const Address& group) noexcept {
  return WriteMessage(out, version == 1 ? net::kIgmp1Report : net::kIgmp2Report,
                      group);
}

size_t Igmp::WriteLeave(std::span<std::byte> out,
                        const Address& group) noexcept {
  return WriteMessage(out, net::kIgmp2Leave, group);
}

size_t Igmp::WriteQuery(std::span<std::byte> out,
                        const GroupMessage<Address>& query,
                        std::span<const Address> sources) noexcept {
  const net::Igmp3Query header{
      {net::kIgmpQuery, WriteCode8(query.max_response_ns / kNsPerTenth),
       Be16(0), query.group},
      static_cast<uint8_t>((query.is_suppressed ? 8U : 0U) |
                           (query.robustness & 7U)),
      WriteCode8(query.interval_ns / kNsPerSecond),
      Be16(static_cast<uint16_t>(sources.size()))};
  net::StoreHeader(out, 0, header);
  const std::span<const std::byte> list = std::as_bytes(sources);
  std::copy(list.begin(), list.end(), out.begin() + sizeof header);
  return sizeof header + list.size();
}

void Igmp::Finish(std::span<std::byte> message, const Header&) noexcept {
  // The checksum is in the same place in all of them.
  auto header = net::LoadHeader<net::IgmpHeader>(message, 0);
  header.checksum = Be16(0);
  net::StoreHeader(message, 0, header);
  net::InternetSum sum;
  sum.Add(message);
  header.checksum = sum.Checksum();
  net::StoreHeader(message, 0, header);
}

}  // namespace weir
