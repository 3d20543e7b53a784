// Which frames a port receives: rules of its device, changed while lcores poll.
// New rules are there before old ones go, so no frame is lost that both want; a
// change that fails leaves what was there.

#ifndef WEIR_PORT_PORT_STEERING_H_
#define WEIR_PORT_PORT_STEERING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/net/ip_text.h"
#include "weir/net/mac_address.h"
#include "weir/verbs/flow.h"
#include "weir/verbs/flow_rule.h"
#include "weir/verbs/multicast.h"

namespace weir {

// What a port receives besides flows and groups that were asked for.
enum class Accept : uint8_t {
  // Every frame, whoever it is for: promiscuous.
  kAll,
  // Frames to its own MAC and to all (broadcast).
  kOwn,
  // Nothing.
  kRules,
};

// A multicast group: an address of IP, or of Ethernet.
using Group = std::variant<net::MacAddress, net::Ipv4Address, net::Ipv6Address>;

// InvalidArgument for what is no address of a group. Any thread.
absl::StatusOr<Group> ParseGroup(absl::string_view text);
std::string ToString(const Group& group);
net::MacAddress MacOf(const Group& group);

// How the frames of a group come.
enum class GroupMethod : uint8_t {
  // By a rule for its MAC.
  kFlow,
  // By ibv_attach_mcast.
  kAttachment,
  // The device can do neither: the port receives every frame.
  kPromiscuous,
};

struct FlowEntry {
  uint64_t id = 0;
  verbs::FlowRule rule;
};
struct GroupEntry {
  Group group;
  GroupMethod method = GroupMethod::kFlow;
  // Joins, less leaves.
  uint64_t members = 0;
};

// Groups that share a MAC share a rule, as 32 of IPv4 do: who wants one of them
// alone has to look at addresses. Control thread only, save Retarget.
class PortSteering {
 public:
  PortSteering() = default;
  PortSteering(const PortSteering&) = delete;
  PortSteering& operator=(const PortSteering&) = delete;
  ~PortSteering() = default;

  // Frames go to `targets` from now on, all of them: Accept::kAll. Errors of
  // Flow::Create. Once.
  absl::Status Open(std::vector<verbs::FlowTarget> targets,
                    const net::MacAddress& own);
  // Before the queue pairs of the targets go: nothing comes any more.
  void Close();
  // Has all that came to the targets come to `targets`, of the same kinds, from
  // now on: for a queue pair that takes the place of another. If that fails,
  // all is as before. Any thread, while the queue is set up again.
  absl::Status Retarget(std::vector<verbs::FlowTarget> targets);
  // Whether there are queues, so that what follows may succeed;
  // FailedPrecondition otherwise.
  bool is_open() const;

  // Replaces what is received besides flows and groups, and whether that
  // includes every group (all-multicast).
  absl::Status SetAccept(Accept accept);
  absl::Status SetAllGroups(bool wanted);
  Accept accept() const noexcept { return accept_; }
  bool all_groups() const noexcept { return all_groups_; }

  // Has frames of `rule` come, and returns the number by which RemoveFlow knows
  // it. AlreadyExists for a rule that is there; Unimplemented for one that no
  // frame can fit here or that the device cannot do; otherwise the errors of
  // Flow::Create.
  absl::StatusOr<uint64_t> AddFlow(const verbs::FlowRule& rule);
  // NotFound if there is none.
  absl::Status RemoveFlow(uint64_t id);
  std::vector<FlowEntry> flows() const;

  // Has frames of `group` come, by the first of GroupMethod that the device can
  // do, until Leave was called as often. Returns the method.
  absl::StatusOr<GroupMethod> Join(const Group& group);
  // NotFound for a group that nobody joined.
  absl::Status Leave(const Group& group);
  std::vector<GroupEntry> groups() const;

 private:
  // What the device has for a rule, and how many want it.
  struct DeviceRule {
    DeviceRule() = default;
    DeviceRule(DeviceRule&&) = default;
    DeviceRule& operator=(DeviceRule&&) = default;
    // The flow that is asked first goes last: without it those behind it would
    // take what is for it.
    ~DeviceRule() {
      while (!flows.empty()) flows.pop_back();
    }

    std::vector<verbs::Flow> flows;
    uint64_t users = 0;
  };
  struct DeviceGroup {
    GroupMethod method = GroupMethod::kFlow;
    std::optional<verbs::MulticastAttachment> attachment = {};
    uint64_t users = 0;
  };
  struct Member {
    net::MacAddress mac;
    uint64_t joins = 0;
  };

  // All with the lock.
  absl::Status CheckOpen() const;
  absl::Status ChangeAccept(Accept accept);
  absl::StatusOr<DeviceRule> MakeRule(
      const verbs::FlowRule& rule,
      const std::vector<verbs::FlowTarget>& targets) const;
  absl::Status Acquire(const verbs::FlowRule& rule);
  absl::Status AcquireAll(const std::vector<verbs::FlowRule>& rules);
  void Release(const verbs::FlowRule& rule);
  std::vector<verbs::FlowRule> RulesOf(Accept accept) const;
  absl::StatusOr<DeviceGroup> OpenGroup(const net::MacAddress& mac);
  void CloseGroup(const net::MacAddress& mac);

  mutable std::mutex lock_;
  std::vector<verbs::FlowTarget> targets_;
  net::MacAddress own_{};
  Accept accept_ = Accept::kRules;
  bool all_groups_ = false;
  std::map<verbs::FlowRule, DeviceRule> rules_;
  std::map<uint64_t, verbs::FlowRule> flows_;
  uint64_t last_flow_ = 0;
  std::map<net::MacAddress, DeviceGroup> device_groups_;
  std::map<Group, Member> members_;
};

// Closes the steering of queue pairs, whose owner has this behind them.
struct CloseSteering {
  void operator()(PortSteering* steering) const noexcept { steering->Close(); }
};
using OpenSteering = std::unique_ptr<PortSteering, CloseSteering>;

}  // namespace weir

#endif  // WEIR_PORT_PORT_STEERING_H_
