// How a control thread tells a host that runs on an lcore which groups it
// wants, without a lock: requests one way, counts of what was done the other.

#ifndef WEIR_MEMBERSHIP_GROUP_REQUESTS_H_
#define WEIR_MEMBERSHIP_GROUP_REQUESTS_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "weir/membership/group_host.h"
#include "weir/membership/group_mailbox.h"
#include "weir/membership/group_message.h"
#include "weir/net/group_address.h"
#include "weir/net/ip_text.h"

namespace weir {

// What is wanted of a group.
template <typename Address>
struct GroupWish {
  FilterMode mode = FilterMode::kExclude;
  std::vector<Address> sources = {};
};

// The control thread's end. Keeps what it asked for, so that mistakes are
// errors of the call that makes them. Movable. Control thread only.
template <typename Protocol>
class GroupControl {
 public:
  using Address = typename Protocol::Address;
  using Wish = GroupWish<Address>;

  GroupControl(std::shared_ptr<internal::GroupMailbox<Address>> mailbox,
               const GroupHostOptions& options)
      : mailbox_(std::move(mailbox)), options_(options) {}

  // Wants `group` as `wish` says, in place of what was wanted of it.
  // InvalidArgument for what is no group, or a source that is one;
  // ResourceExhausted for too many groups or sources; Unavailable if the lcore
  // does not follow.
  absl::Status Join(const Address& group, const Wish& wish = {}) {
    absl::Status checked = Check(group, wish);
    if (!checked.ok()) return checked;
    checked = Ask(group, wish);
    if (!checked.ok()) return checked;
    wanted_[group] = wish;
    return absl::OkStatus();
  }

  // Wants nothing of `group` any more. NotFound if nothing was; Unavailable as
  // above.
  absl::Status Leave(const Address& group) {
    if (!wanted_.contains(group)) {
      return absl::NotFoundError(
          absl::StrCat("group ", net::ToString(group), " was not joined"));
    }
    absl::Status asked = Ask(group, {.mode = FilterMode::kInclude});
    if (!asked.ok()) return asked;
    wanted_.erase(group);
    return absl::OkStatus();
  }

  // Has all groups said again, as behind a link that was gone.
  absl::Status Refresh() {
    return Ask(Address{}, {.mode = FilterMode::kExclude});
  }

  // Wants nothing any more, and that said soon: GroupHost::LeaveAll.
  // Unavailable as above.
  absl::Status LeaveAll() {
    absl::Status asked = Ask(Address{}, {.mode = FilterMode::kInclude});
    if (asked.ok()) wanted_.clear();
    return asked;
  }

  // What is wanted.
  const std::map<Address, Wish>& wanted() const noexcept { return wanted_; }

  // Whether all requests were followed and what came of them was said at least
  // once, of LeaveAll as often as has to be.
  bool is_settled() const noexcept { return mailbox_->said.value() == asked_; }

 private:
  absl::Status Check(const Address& group, const Wish& wish) const {
    if (!net::IsGroup(group)) {
      return absl::InvalidArgumentError(
          absl::StrCat(net::ToString(group),
                       " is no multicast group: want an address such "
                       "as 239.1.2.3 or ff3e::8000:1"));
    }
    if (wish.mode == FilterMode::kInclude && wish.sources.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("group ", net::ToString(group),
                       ": to join it from no source is not to join it"));
    }
    for (const Address& source : wish.sources) {
      if (!net::IsGroup(source)) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("group ", net::ToString(group), ": source ",
                       net::ToString(source), " is a group itself"));
    }
    const uint32_t max_sources =
        std::min(options_.max_sources, kMaxGroupSources);
    if (wish.sources.size() > max_sources) {
      return absl::ResourceExhaustedError(
          absl::StrCat("group ", net::ToString(group), ": want ", max_sources,
                       " sources at most, got ", wish.sources.size()));
    }
    if (!wanted_.contains(group) && wanted_.size() >= options_.max_groups) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "group ", net::ToString(group), ": there are ", options_.max_groups,
          " already, which is all there is room for"));
    }
    return absl::OkStatus();
  }

  absl::Status Ask(const Address& group, const Wish& wish) {
    internal::GroupRequest<Address> request{};
    request.group = group;
    request.mode = wish.mode;
    request.count = static_cast<uint32_t>(wish.sources.size());
    std::copy(wish.sources.begin(), wish.sources.end(),
              request.sources.begin());
    if (mailbox_->requests.Enqueue({&request, 1}) == 0) {
      return absl::UnavailableError(absl::StrCat(
          "group ", net::ToString(group), ": ", mailbox_->requests.capacity(),
          " requests wait for the lcore already; is it running?"));
    }
    mailbox_->bell.Ring();
    ++asked_;
    return absl::OkStatus();
  }

  std::shared_ptr<internal::GroupMailbox<Address>> mailbox_;
  GroupHostOptions options_;
  std::map<Address, Wish> wanted_;
  uint64_t asked_ = 0;
};

// The lcore's end: a host that follows requests. Owner lcore only.
template <typename Protocol>
class RequestedHost {
 public:
  using Address = typename Protocol::Address;

  RequestedHost(std::shared_ptr<internal::GroupMailbox<Address>> mailbox,
                const GroupHostOptions& options)
      : mailbox_(std::move(mailbox)), host_(options) {}

  // Once a poll: follows what was asked. Returns whether something is due to be
  // said.
  bool Tick(uint64_t now_ns) noexcept {
    internal::GroupRequest<Address> request;
    while (mailbox_->requests.Dequeue({&request, 1}) != 0) {
      Follow(request, now_ns);
    }
    const bool is_due = host_.next_ns() <= now_ns;
    if (!is_due) NoteSaid();
    return is_due;
  }

  // The next request wakes this lcore by `wake_fd`; true if a look into the
  // mailbox, behind a HeavyFence, has to follow, as of RingBell.
  bool Arm(int wake_fd) const noexcept { return mailbox_->bell.Arm(wake_fd); }

  // As GroupHost::Take; to be called until there is nothing, or as long as
  // there is room: the next Tick notes that all was said.
  std::optional<GroupOutgoing<Address>> Take(std::span<std::byte> out,
                                             uint64_t now_ns) noexcept {
    auto message = host_.Take(out, now_ns);
    if (!message) NoteSaid();
    return message;
  }

  // Requests so far.
  uint64_t followed() const noexcept { return mailbox_->followed.value(); }

  GroupHost<Protocol>& host() noexcept { return host_; }
  const GroupHost<Protocol>& host() const noexcept { return host_; }

 private:
  void Follow(const internal::GroupRequest<Address>& request,
              uint64_t now_ns) noexcept {
    if (request.group == Address{}) {
      request.mode == FilterMode::kExclude ? host_.Refresh(now_ns)
                                           : host_.LeaveAll(now_ns);
    } else {
      // The control thread saw to it that there is room; groups that are being
      // left, which it has counted out already, make some.
      host_.Set(request.group, request.mode,
                {request.sources.data(), request.count}, now_ns);
    }
    mailbox_->followed.Add(1);
  }

  // There is nothing to say now.
  void NoteSaid() noexcept {
    const uint64_t followed = mailbox_->followed.value();
    if (mailbox_->said.value() == followed || host_.is_leaving_all()) return;
    mailbox_->said.Set(followed);
  }

  std::shared_ptr<internal::GroupMailbox<Address>> mailbox_;
  GroupHost<Protocol> host_;
};

// Both ends, for a host with these options.
template <typename Protocol>
std::pair<GroupControl<Protocol>, RequestedHost<Protocol>> MakeRequestedHost(
    const GroupHostOptions& options) {
  const uint32_t capacity = std::bit_ceil(std::max(options.max_groups, 16U));
  auto mailbox =
      std::make_shared<internal::GroupMailbox<typename Protocol::Address>>(
          capacity);
  // Room for as many again that are being left.
  GroupHostOptions roomy = options;
  roomy.max_groups = 2 * options.max_groups;
  return {GroupControl<Protocol>(mailbox, options),
          RequestedHost<Protocol>(mailbox, roomy)};
}

}  // namespace weir

#endif  // WEIR_MEMBERSHIP_GROUP_REQUESTS_H_
