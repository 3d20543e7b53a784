// How a router on an lcore tells a control thread what of which groups its link
// wants, without a lock: changes one way, and a wake-up.

#ifndef WEIR_MEMBERSHIP_GROUP_CHANGES_H_
#define WEIR_MEMBERSHIP_GROUP_CHANGES_H_

#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/statusor.h"
#include "weir/base/errno_status.h"
#include "weir/base/unique_fd.h"
#include "weir/membership/group_host.h"
#include "weir/membership/group_message.h"
#include "weir/membership/group_router.h"
#include "weir/ring/doorbell.h"
#include "weir/ring/spsc_ring.h"

namespace weir {

// What of `group` has to be forwarded from now on, as GroupForward.
template <typename Address>
struct GroupChange {
  Address group;
  FilterMode mode;
  uint32_t count;
  std::array<Address, kMaxGroupSources> list;

  std::span<const Address> sources() const noexcept {
    return std::span(list).first(count);
  }
  // Nothing at all.
  bool is_gone() const noexcept {
    return mode == FilterMode::kInclude && count == 0;
  }
};

namespace internal {

template <typename Address>
struct GroupChangeBox {
  GroupChangeBox(uint32_t capacity, int fd) : changes(capacity), wake(fd) {}

  SpscRing<GroupChange<Address>> changes;
  Doorbell bell;
  UniqueFd wake;
};

}  // namespace internal

// The lcore's end. Owner lcore only.
template <typename Address>
class GroupChangeSender {
 public:
  explicit GroupChangeSender(
      std::shared_ptr<internal::GroupChangeBox<Address>> box)
      : box_(std::move(box)) {}

  // Whether there is room for a change. What there is no room for stays with
  // the router, where later changes of the same group become one with it.
  bool has_room() noexcept {
    if (!pending_) return true;
    if (box_->changes.Enqueue({&*pending_, 1}) == 0) return false;
    pending_.reset();
    Wake();
    return true;
  }

  // Only if there is room.
  void Send(const GroupForward<Address>& forward) noexcept {
    GroupChange<Address>& change = pending_.emplace();
    change.group = forward.group;
    change.mode = forward.mode;
    change.count = static_cast<uint32_t>(forward.sources.size());
    std::copy(forward.sources.begin(), forward.sources.end(),
              change.list.begin());
    has_room();
  }

 private:
  // A system call if the control thread waits: changes are rare.
  void Wake() noexcept {
    const Doorbell::Ticket ticket = box_->bell.armed();
    if (ticket == Doorbell::kQuiet) return;
    eventfd_write(box_->wake.get(), 1);
    box_->bell.Quiet(ticket);
  }

  std::shared_ptr<internal::GroupChangeBox<Address>> box_;
  std::optional<GroupChange<Address>> pending_;
};

// The control thread's end. Control thread only.
template <typename Address>
class GroupChangeReceiver {
 public:
  explicit GroupChangeReceiver(
      std::shared_ptr<internal::GroupChangeBox<Address>> box)
      : box_(std::move(box)) {}

  // Readable when there may be changes.
  int fd() const noexcept { return box_->wake.get(); }

  // Calls `take(const GroupChange&)` for all changes that have come.
  template <typename F>
  void TakeAll(F take) {
    eventfd_t count = 0;
    eventfd_read(box_->wake.get(), &count);
    TakeSome(take);
    // What comes from now on wakes; what came before is looked for again.
    box_->bell.Arm();
    TakeSome(take);
  }

 private:
  template <typename F>
  void TakeSome(F& take) {
    GroupChange<Address> change;
    while (box_->changes.Dequeue({&change, 1}) != 0) take(change);
  }

  std::shared_ptr<internal::GroupChangeBox<Address>> box_;
};

// Both ends, for a router of up to `max_groups`. ResourceExhausted if the
// process has no descriptor left. Control thread, before Launch.
template <typename Address>
absl::StatusOr<
    std::pair<GroupChangeReceiver<Address>, GroupChangeSender<Address>>>
MakeGroupChanges(uint32_t max_groups) {
  const int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) {
    return ErrnoStatus(errno, {.object = "changes of groups",
                               .call = "eventfd",
                               .remedy = "raise the limit of open files"});
  }
  auto box = std::make_shared<internal::GroupChangeBox<Address>>(
      std::bit_ceil(std::clamp(max_groups, 16U, 1024U)), fd);
  box->bell.Arm();
  return std::pair{GroupChangeReceiver<Address>(box),
                   GroupChangeSender<Address>(box)};
}

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_GROUP_CHANGES_H_
