// What came of each multicast group, counted where it passes and read
// elsewhere.

#ifndef WEIR_STAGE_UDP_GROUP_COUNTS_H_
#define WEIR_STAGE_UDP_GROUP_COUNTS_H_

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "weir/base/counter.h"
#include "weir/net/ip_text.h"

namespace weir {

// A group and what came of it so far.
struct GroupCount {
  net::IpAddress group;
  uint64_t datagrams = 0;
  // Of payload.
  uint64_t bytes = 0;
};

// Groups get a row when their first datagram comes. What comes of more than
// kMaxRows is in others().
class GroupCounts {
 public:
  static constexpr size_t kMaxRows = 1024;

  GroupCounts() : rows_(kMaxRows) {}

  // Owner lcore only.
  void Add(const net::Ipv4Address& group, uint64_t bytes) noexcept {
    AddTo({.high = 0, .low = std::bit_cast<uint32_t>(group), .family = kIpv4},
          bytes);
  }
  void Add(const net::Ipv6Address& group, uint64_t bytes) noexcept {
    const auto words = std::bit_cast<std::array<uint64_t, 2>>(group);
    AddTo({.high = words[0], .low = words[1], .family = kIpv6}, bytes);
  }

  // In the order in which they came first. Any thread.
  std::vector<GroupCount> rows() const {
    std::vector<GroupCount> all;
    for (size_t i = 0; i < used_.value(); ++i) {
      const Row& row = rows_[i];
      // A row that is being begun has no family yet.
      if (row.family.value() == kNone) continue;
      all.push_back({AddressOf(row), row.datagrams.value(), row.bytes.value()});
    }
    return all;
  }
  // Datagrams of groups without a row. Any thread.
  uint64_t others() const noexcept { return others_.value(); }

 private:
  static constexpr uint64_t kNone = 0;
  static constexpr uint64_t kIpv4 = 4;
  static constexpr uint64_t kIpv6 = 6;
  // Half empty at most.
  static constexpr size_t kPlaces = 2 * kMaxRows;

  struct Key {
    uint64_t high = 0;
    uint64_t low = 0;
    uint64_t family = kNone;

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Row {
    Counter high;
    Counter low;
    Counter family;
    Counter datagrams;
    Counter bytes;
  };

  static net::IpAddress AddressOf(const Row& row) {
    if (row.family.value() == kIpv4) {
      return std::bit_cast<net::Ipv4Address>(
          static_cast<uint32_t>(row.low.value()));
    }
    return std::bit_cast<net::Ipv6Address>(
        std::array<uint64_t, 2>{row.high.value(), row.low.value()});
  }

  void AddTo(const Key& key, uint64_t bytes) noexcept {
    if (key != last_key_) [[unlikely]] {
      last_ = Find(key);
      last_key_ = key;
    }
    if (last_ == nullptr) [[unlikely]] {
      others_.Add(1);
      return;
    }
    last_->datagrams.Add(1);
    last_->bytes.Add(bytes);
  }

  // Null if there is no room.
  Row* Find(const Key& key) noexcept {
    size_t place = ((key.high ^ key.low) * 0x9e3779b97f4a7c15U) >> 32;
    for (;; ++place) {
      uint16_t& row = places_[place % kPlaces];
      if (row == 0) {
        if (used_.value() == kMaxRows) return nullptr;
        row = static_cast<uint16_t>(used_.value() + 1);
        keys_[row - 1U] = key;
        Begin(rows_[row - 1U], key);
        return &rows_[row - 1U];
      }
      if (keys_[row - 1U] == key) return &rows_[row - 1U];
    }
  }
  void Begin(Row& row, const Key& key) noexcept {
    row.high.Set(key.high);
    row.low.Set(key.low);
    row.family.Set(key.family);
    used_.Add(1);
  }

  Key last_key_;
  Row* last_ = nullptr;
  std::array<Key, kMaxRows> keys_;
  // By hash: the number of the row from 1, 0 for none.
  std::array<uint16_t, kPlaces> places_{};
  std::vector<Row> rows_;
  Counter used_;
  Counter others_;
};

}  // namespace weir

#endif  // WEIR_STAGE_UDP_GROUP_COUNTS_H_
