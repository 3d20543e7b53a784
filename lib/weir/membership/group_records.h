// The records of a report, which are the same in IGMPv3 and MLDv2 but for the
// size of an address.

#ifndef WEIR_MEMBERSHIP_GROUP_RECORDS_H_
#define WEIR_MEMBERSHIP_GROUP_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weir/base/big_endian.h"
#include "weir/membership/group_message.h"
#include "weir/net/load_store.h"

namespace weir {
namespace internal {

// The bytes of the record that `records` begins with; nothing if they are not
// all there.
template <typename Record, typename Address>
std::optional<size_t> RecordBytes(std::span<const std::byte> records) noexcept {
  if (records.size() < sizeof(Record)) return std::nullopt;
  const auto record = net::LoadHeader<Record>(records, 0);
  const size_t bytes = sizeof record +
                       size_t{record.sources.host()} * sizeof(Address) +
                       size_t{record.auxiliary_words} * 4;
  if (bytes > records.size()) return std::nullopt;
  return bytes;
}

}  // namespace internal

// The bytes that `count` records take from the front of `bytes`; nothing if
// they are not all there. Any thread.
template <typename Record, typename Address>
std::optional<size_t> MeasureRecords(std::span<const std::byte> bytes,
                                     size_t count) noexcept {
  size_t at = 0;
  for (; count != 0; --count) {
    const auto size = internal::RecordBytes<Record, Address>(bytes.subspan(at));
    if (!size) return std::nullopt;
    at += *size;
  }
  return at;
}

// Calls `f(type, group, sources)` with the type as a number, for it may be one
// that nobody knows; RFC 3376 §4.2.12: such records are ignored. `records` were
// measured. Any thread.
template <typename Record, typename Address, typename F>
void ForEachRecord(std::span<const std::byte> records, F f) {
  while (!records.empty()) {
    const auto record = net::LoadHeader<Record>(records, 0);
    const size_t bytes = *internal::RecordBytes<Record, Address>(records);
    f(record.type, record.group,
      AddressList<Address>(records.subspan(
          sizeof record, record.sources.host() * sizeof(Address))));
    records = records.subspan(bytes);
  }
}

// Writes a report (IGMPv3: RFC 3376 §4.2, MLDv2: RFC 3810 §5.2) from front to
// back, without its checksum. Owner lcore only.
template <typename Protocol>
class ReportWriter {
  using Address = typename Protocol::Address;
  using Record = typename Protocol::Record;
  using Report = typename Protocol::Report;

 public:
  // `out` has room for the header at least.
  explicit ReportWriter(std::span<std::byte> out) noexcept : out_(out) {}

  // Begins a record; sources follow. False, and nothing is written, without
  // room for it with `sources` of them.
  bool Begin(RecordType type, const Address& group, size_t sources) noexcept {
    const size_t bytes = sizeof(Record) + sources * sizeof(Address);
    if (out_.size() - at_ < bytes) return false;
    Record record{};
    record.type = static_cast<uint8_t>(type);
    record.sources = Be16(static_cast<uint16_t>(sources));
    record.group = group;
    net::StoreHeader(out_, at_, record);
    at_ += sizeof record;
    ++records_;
    return true;
  }
  void AddSource(const Address& source) noexcept {
    net::StoreHeader(out_, at_, source);
    at_ += sizeof source;
  }

  bool empty() const noexcept { return records_ == 0; }

  // Writes the header; returns the bytes of the message.
  size_t Finish() noexcept {
    Report report{};
    report.type = Protocol::kReportType;
    report.records = Be16(records_);
    net::StoreHeader(out_, 0, report);
    return at_;
  }

 private:
  std::span<std::byte> out_;
  size_t at_ = sizeof(Report);
  uint16_t records_ = 0;
};

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_GROUP_RECORDS_H_
