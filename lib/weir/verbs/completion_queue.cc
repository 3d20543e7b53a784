#include "weir/verbs/completion_queue.h"

#include <fcntl.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "weir/base/errno_status.h"

namespace weir::verbs {
namespace {

absl::Status Error(const Device& device, uint32_t entries,
                   absl::string_view call) {
  return ErrnoStatus(
      errno,
      {.object = absl::StrCat(device.name(),
                              ": cannot create a completion queue of ", entries,
                              " entries (the device has at "
                              "most ",
                              device.attributes().max_cqe, ")"),
       .call = call});
}

}  // namespace

absl::StatusOr<CompletionQueue::Channel> CompletionQueue::CreateChannel(
    const Device& device) {
  Channel channel(ibv_create_comp_channel(device.context()));
  const int flags = channel == nullptr ? -1 : fcntl(channel->fd, F_GETFL);
  if (flags < 0 || fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return ErrnoStatus(
        errno, {.object = absl::StrCat(device.name(),
                                       ": cannot create a completion channel"),
                .call = "ibv_create_comp_channel"});
  }
  return channel;
}

absl::StatusOr<CompletionQueue> CompletionQueue::Create(const Device& device,
                                                        uint32_t entries) {
  absl::StatusOr<Channel> channel = CreateChannel(device);
  if (!channel.ok()) return channel.status();
  ibv_cq* cq = ibv_create_cq(device.context(), static_cast<int>(entries),
                             nullptr, channel->get(), 0);
  if (cq == nullptr) return Error(device, entries, "ibv_create_cq");
  return CompletionQueue(*std::move(channel), cq, nullptr);
}

absl::StatusOr<CompletionQueue> CompletionQueue::CreateWithTimes(
    const Device& device, uint32_t entries) {
  absl::StatusOr<Channel> channel = CreateChannel(device);
  if (!channel.ok()) return channel.status();
  ibv_cq_init_attr_ex wanted{};
  wanted.cqe = entries;
  wanted.channel = channel->get();
  wanted.wc_flags =
      IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  ibv_cq_ex* cq = ibv_create_cq_ex(device.context(), &wanted);
  if (cq != nullptr) {
    return CompletionQueue(*std::move(channel), ibv_cq_ex_to_cq(cq), cq);
  }
  if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL) {
    return Create(device, entries);
  }
  return Error(device, entries, "ibv_create_cq_ex");
}

bool CompletionQueue::TakeEvents() const noexcept {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  unsigned events = 0;
  while (ibv_get_cq_event(channel_.get(), &cq, &context) == 0) ++events;
  if (events != 0) ibv_ack_cq_events(cq_.get(), events);
  return events != 0;
}

int CompletionQueue::PollWithTimes(
    std::span<ibv_wc> completions,
    std::span<uint64_t> times_ns) const noexcept {
  assert(completions.size() == times_ns.size());
  if (extended_ == nullptr) {
    std::ranges::fill(times_ns, 0);
    return Poll(completions);
  }
  ibv_poll_cq_attr attributes{};
  int error = ibv_start_poll(extended_, &attributes);
  if (error == ENOENT) return 0;
  if (error != 0) return -error;
  size_t count = 0;
  while (error == 0) {
    ibv_wc& completion = completions[count];
    completion.wr_id = extended_->wr_id;
    completion.status = extended_->status;
    if (completion.status == IBV_WC_SUCCESS) {
      completion.byte_len = ibv_wc_read_byte_len(extended_);
      completion.wc_flags = ibv_wc_read_wc_flags(extended_);
      times_ns[count] = ibv_wc_read_completion_wallclock_ns(extended_);
    }
    ++count;
    if (count == completions.size()) break;
    error = ibv_next_poll(extended_);
  }
  ibv_end_poll(extended_);
  return static_cast<int>(count);
}

}  // namespace weir::verbs
