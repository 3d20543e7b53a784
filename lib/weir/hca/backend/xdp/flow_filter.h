// Flow rules in the kernel: an XDP program that hands frames which fulfil a
// rule to AF_XDP sockets and leaves the rest to the kernel's own stack, as a
// NIC with flow steering does.

#ifndef WEIR_HCA_BACKEND_XDP_FLOW_FILTER_H_
#define WEIR_HCA_BACKEND_XDP_FLOW_FILTER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/hca/backend/xdp/flow_filter_layout.h"
#include "weir/hca/flow/flow_match.h"

struct bpf_object;

namespace weir::hca {

// The loaded program and its rules. Control thread.
class FlowFilter {
 public:
  struct Options {
    // Of the netdev; frames of others go to the kernel.
    uint32_t queues = 1;
    // Frames longer than a page, in pieces, are to pass the program.
    bool jumbo = false;
  };

  // Loads the program without rules or sockets: it passes all frames. Messages
  // begin with `object`. PermissionDenied without CAP_BPF and CAP_NET_ADMIN,
  // else errors as the system says.
  static absl::StatusOr<FlowFilter> Load(const Options& options,
                                         absl::string_view object);

  int program_fd() const noexcept { return program_fd_; }

  // Frames that arrive on `queue` go to the AF_XDP socket `fd`.
  absl::Status SetSocket(uint32_t queue, int fd, absl::string_view object);

  // Takes frames that fulfil `match` from now on, or no longer; equal matches
  // count. Returns 0 or an errno value: EOPNOTSUPP for fields that the program
  // does not read, ENOMEM for more rules or more different masks than it holds.
  // Add does nothing if it runs out of memory.
  int Add(const FlowMatch& match);
  void Remove(const FlowMatch& match) noexcept;

 private:
  using Words = std::array<uint64_t, kFilterWords>;

  struct CloseObject {
    void operator()(bpf_object* object) const noexcept;
  };
  // A mask in use, with how often each value under it was added.
  struct MaskSlot {
    Words mask{};
    std::map<Words, uint32_t> values;
  };

  explicit FlowFilter(bpf_object* object);

  MaskSlot* FindMask(const Words& mask) noexcept;
  int TakeMask(const Words& mask, MaskSlot*& slot) noexcept;
  FlowFilterKey KeyOf(const MaskSlot& slot, const Words& value) const noexcept;
  int StoreTable() noexcept;

  std::unique_ptr<bpf_object, CloseObject> object_;
  int program_fd_ = -1;
  int table_fd_ = -1;
  int rules_fd_ = -1;
  int sockets_fd_ = -1;
  FlowFilterTable table_{};
  std::array<MaskSlot, kFilterMasks> slots_;
};

}  // namespace weir::hca

#endif  // WEIR_HCA_BACKEND_XDP_FLOW_FILTER_H_
