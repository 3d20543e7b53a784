#include "weir/membership/mld.h"

#include <algorithm>

#include "weir/base/big_endian.h"
#include "weir/membership/group_records.h"
#include "weir/membership/response_code.h"
#include "weir/net/checksum.h"
#include "weir/net/icmp.h"
#include "weir/net/load_store.h"

namespace weir {
namespace {

using Message = GroupMessage<net::Ipv6Address>;
using Bytes = std::span<const std::byte>;

constexpr uint64_t kNsPerMs = 1'000'000;
constexpr uint64_t kNsPerSecond = 1'000'000'000;

std::optional<Message> ReadQuery(Bytes message) noexcept {
  const auto query = net::LoadHeader<net::MldHeader>(message, 0);
  Message read{
      .kind = Message::Kind::kQuery, .version = 1, .group = query.group};
  if (message.size() == sizeof query) {
    read.max_response_ns = query.max_response.host() * kNsPerMs;
    return read;
  }
  if (message.size() < sizeof(net::Mld2Query)) return std::nullopt;
  const auto query2 = net::LoadHeader<net::Mld2Query>(message, 0);
  const Bytes rest = message.subspan(sizeof query2);
  const size_t sources_bytes =
      size_t{query2.sources.host()} * sizeof(net::Ipv6Address);
  if (rest.size() < sources_bytes) return std::nullopt;
  read.version = 2;
  read.max_response_ns = ReadCode16(query.max_response.host()) * kNsPerMs;
  read.robustness = query2.flags & 7;
  read.is_suppressed = (query2.flags & 8) != 0;
  read.interval_ns = ReadCode8(query2.interval_code) * kNsPerSecond;
  read.sources = AddressList<net::Ipv6Address>(rest.first(sources_bytes));
  return read;
}

size_t WriteMessage(std::span<std::byte> out, uint8_t type,
                    const net::Ipv6Address& group) noexcept {
  net::StoreHeader(out, 0,
                   net::MldHeader{type, 0, Be16(0), Be16(0), Be16(0), group});
  return sizeof(net::MldHeader);
}

// RFC 4443 §2.3.
net::InternetSum SumOf(Bytes message, const net::Ipv6Header& ip) noexcept {
  net::InternetSum sum = net::PseudoHeaderSum(
      ip, net::kProtocolIcmp6, static_cast<uint32_t>(message.size()));
  sum.Add(message);
  return sum;
}

// Of a message whose header is all there.
std::optional<Message> ReadOld(Bytes message, Message::Kind kind) noexcept {
  if (message.size() < sizeof(net::MldHeader)) return std::nullopt;
  const auto header = net::LoadHeader<net::MldHeader>(message, 0);
  return Message{.kind = kind, .version = 1, .group = header.group};
}

}  // namespace

bool Mld::IsRight(Bytes message, const Header& ip) noexcept {
  return SumOf(message, ip).Checksum() == Be16(0);
}

std::optional<Message> Mld::Read(Bytes message) noexcept {
  if (message.size() < sizeof(Report)) return std::nullopt;
  const auto report = net::LoadHeader<Report>(message, 0);
  switch (report.type) {
    case net::kMldQuery:
      if (message.size() < sizeof(net::MldHeader)) return std::nullopt;
      return ReadQuery(message);
    case net::kMld1Report:
      return ReadOld(message, Message::Kind::kOldReport);
    case net::kMld1Done:
      return ReadOld(message, Message::Kind::kLeave);
    case net::kMld2Report: {
      const Bytes rest = message.subspan(sizeof report);
      const auto bytes =
          MeasureRecords<Record, Address>(rest, report.records.host());
      if (!bytes) return std::nullopt;
      return Message{.kind = Message::Kind::kReport,
                     .version = 2,
                     .records = rest.first(*bytes)};
    }
    default:
      return std::nullopt;
  }
}

size_t Mld::WriteOldReport(std::span<std::byte> out, uint8_t /*version*/,
                           const Address& group) noexcept {
  return WriteMessage(out, net::kMld1Report, group);
}

size_t Mld::WriteLeave(std::span<std::byte> out,
                       const Address& group) noexcept {
  return WriteMessage(out, net::kMld1Done, group);
}

size_t Mld::WriteQuery(std::span<std::byte> out,
                       const GroupMessage<Address>& query,
                       std::span<const Address> sources) noexcept {
  const net::Mld2Query header{
      {net::kMldQuery, 0, Be16(0),
       Be16(WriteCode16(query.max_response_ns / kNsPerMs)), Be16(0),
       query.group},
      static_cast<uint8_t>((query.is_suppressed ? 8U : 0U) |
                           (query.robustness & 7U)),
      WriteCode8(query.interval_ns / kNsPerSecond),
      Be16(static_cast<uint16_t>(sources.size()))};
  net::StoreHeader(out, 0, header);
  const std::span<const std::byte> list = std::as_bytes(sources);
  std::copy(list.begin(), list.end(), out.begin() + sizeof header);
  return sizeof header + list.size();
}

void Mld::Finish(std::span<std::byte> message, const Header& ip) noexcept {
  auto header = net::LoadHeader<net::Icmp6Header>(message, 0);
  header.checksum = Be16(0);
  net::StoreHeader(message, 0, header);
  header.checksum = SumOf(message, ip).Checksum();
  net::StoreHeader(message, 0, header);
}

}  // namespace weir
