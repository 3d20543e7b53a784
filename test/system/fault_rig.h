// A forwarder in a box, for the campaign of faults: two wires, this thread at
// their far ends, and between them the port that receives, one or several
// workers and the port that sends, run as an app runs them.

#ifndef WEIR_TEST_SYSTEM_FAULT_RIG_H_
#define WEIR_TEST_SYSTEM_FAULT_RIG_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "test/support/frame.h"
#include "weir/app/port_watch.h"
#include "weir/app/report.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/port/port.h"
#include "weir/runtime/runtime.h"
#include "weir/verbs/device.h"

namespace weir::testing {

enum class Load : uint8_t { kIdle, kHalf, kFull };

// One thread.
class FaultRig {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr size_t kFlows = 16;
  static constexpr uint64_t kWatchdogMs = 50;
  // Nothing takes this long, on a busy machine under sanitizers either.
  static constexpr std::chrono::seconds kPatience{60};

  // The ports under test.
  enum class Side : bool { kIn, kOut };

  // With one worker a pipeline does all; with more, one receives and deals to
  // as many that send, each by a queue of its own.
  explicit FaultRig(uint32_t workers);

  PortMonitor& monitor(Side side) { return *under_test(side).monitor(); }
  void Inject(Side side, const std::string& fault);

  // Sends as `load` says, a frame a flow at times if that is kIdle, receives
  // what comes, and has the ports looked at.
  void Step(Load load);

  // Frames that came; those of flow `i` that were sent since Mark have come.
  uint64_t received() const { return received_; }
  void Mark() { marks_ = next_; }
  bool HasComeSinceMark() const;

  // What was said since the last call, and, of what was said often, the sum.
  std::vector<std::string> TakeSaid();

  // Errors and recoveries of all queues of a port, and one drop of all.
  uint64_t errors(Side side);
  uint64_t recoveries(Side side);
  uint64_t drops(Side side, absl::string_view reason);

  Runtime& runtime() { return *runtime_; }
  PortWatch& watch() { return *watch_; }
  // Stops the workers, as an app does at its end.
  AppReport Stop();
  // Mbufs that are not free once everything is gone.
  uint64_t Close();

 private:
  Port& under_test(Side side) { return side == Side::kIn ? *in_ : *out_; }
  void Launch(uint32_t workers);
  void Send(size_t count);
  void Receive();

  std::unique_ptr<MbufPool> far_pool_;
  std::unique_ptr<MbufPool> pool_;
  Lcore lcore_;
  std::array<std::shared_ptr<verbs::Device>, 2> devices_;
  std::unique_ptr<Port> source_;
  std::unique_ptr<Port> sink_;
  std::unique_ptr<Port> in_;
  std::unique_ptr<Port> out_;
  std::unique_ptr<Runtime> runtime_;
  std::unique_ptr<PortWatch> watch_;
  std::vector<std::vector<std::byte>> templates_;
  // Of each flow: the number of the next frame, and of the one that would come
  // next.
  std::array<uint32_t, kFlows> next_{};
  std::array<uint32_t, kFlows> marks_{};
  std::array<uint32_t, kFlows> came_{};
  size_t turn_ = 0;
  uint64_t steps_ = 0;
  uint64_t received_ = 0;
  std::vector<std::string> said_;
  // Ahead of the real time by what TakeSaid let pass.
  Clock::duration ahead_{};
};

}  // namespace weir::testing

#endif  // WEIR_TEST_SYSTEM_FAULT_RIG_H_
