// Packets and bytes by group, counted on an lcore and read by a control thread.

#ifndef WEIR_STAGE_GROUP_GROUP_TALLY_H_
#define WEIR_STAGE_GROUP_GROUP_TALLY_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "weir/base/counter.h"
#include "weir/ring/spsc_ring.h"

namespace weir {
namespace internal {

struct TallyRow {
  Counter packets;
  Counter bytes;
};

template <typename Address>
struct TallyBox {
  explicit TallyBox(uint32_t max_groups)
      : added(std::bit_ceil(std::max(max_groups, 2U))), rows(max_groups + 1) {}

  // The group of each row but the last, in order.
  SpscRing<Address> added;
  // The last is of all groups for which there is no row.
  std::vector<TallyRow> rows;
};

}  // namespace internal

// The lcore's end. Owner lcore only.
template <typename Address>
class GroupTally {
 public:
  using Row = internal::TallyRow;

  GroupTally(std::shared_ptr<internal::TallyBox<Address>> box,
             uint32_t max_groups)
      : box_(std::move(box)), max_groups_(max_groups) {
    // Twice as many, as BasicGroupTable does.
    index_.reserve(size_t{2} * max_groups);
  }

  // The row of a group that was counted before; null if there is none.
  Row* Find(const Address& group) noexcept {
    const auto found = index_.find(group.octets);
    return found == index_.end() ? nullptr : &box_->rows[found->second];
  }

  // A row for a group without one: that of all others if there is no room.
  Row& Add(const Address& group) noexcept {
    const auto number = static_cast<uint32_t>(index_.size());
    if (number == max_groups_) return box_->rows.back();
    index_[group.octets] = number;
    box_->added.Enqueue({&group, 1});
    return box_->rows[number];
  }

 private:
  std::shared_ptr<internal::TallyBox<Address>> box_;
  uint32_t max_groups_;
  absl::flat_hash_map<decltype(Address::octets), uint32_t> index_;
};

// What was counted of a group; of all that had no row, if it is none.
template <typename Address>
struct GroupTotals {
  std::optional<Address> group;
  uint64_t packets;
  uint64_t bytes;
};

// The control thread's end. Control thread only.
template <typename Address>
class GroupTallyReader {
 public:
  explicit GroupTallyReader(std::shared_ptr<internal::TallyBox<Address>> box)
      : box_(std::move(box)) {}

  // In the order in which groups were first seen; those without a row last, if
  // there were any.
  std::vector<GroupTotals<Address>> Read() {
    Address group;
    while (box_->added.Dequeue({&group, 1}) != 0) groups_.push_back(group);
    std::vector<GroupTotals<Address>> all;
    for (size_t i = 0; i < groups_.size(); ++i) {
      all.push_back(Totals(groups_[i], box_->rows[i]));
    }
    const auto others = Totals({}, box_->rows.back());
    if (others.packets != 0) all.push_back(others);
    return all;
  }

 private:
  static GroupTotals<Address> Totals(std::optional<Address> group,
                                     const internal::TallyRow& row) {
    return {group, row.packets.value(), row.bytes.value()};
  }

  std::shared_ptr<internal::TallyBox<Address>> box_;
  std::vector<Address> groups_;
};

// Both ends, with a row for each of the first `max_groups` groups. Control
// thread, before Launch.
template <typename Address>
std::pair<GroupTallyReader<Address>, GroupTally<Address>> MakeGroupTally(
    uint32_t max_groups) {
  auto box = std::make_shared<internal::TallyBox<Address>>(max_groups);
  return {GroupTallyReader<Address>(box), GroupTally<Address>(box, max_groups)};
}

}  // namespace weir

#endif  // WEIR_STAGE_GROUP_GROUP_TALLY_H_
