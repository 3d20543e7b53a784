// What tests of the xdp backend share: a veth pair with the backend at this end
// and a kernel host at the other.

#ifndef WEIR_TEST_HCA_BACKEND_XDP_RIG_H_
#define WEIR_TEST_HCA_BACKEND_XDP_RIG_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "test/hca/backend/backend_rig.h"
#include "test/hca/backend/kernel_host.h"
#include "weir/hca/backend/backend.h"

namespace weir::hca {

// A rule that every frame fulfils.
inline constexpr FlowRule kEverything{};
// One that wants a copy of every frame.
inline constexpr FlowRule kSniffer{
    .kind = FlowKind::kSniffer, .priority = 0, .match = {}};

// A rule for UDP over IPv4 to `port`.
FlowRule UdpTo(uint16_t port);

// `count` different frames of `size` bytes.
std::vector<FrameBytes> Patterns(size_t count, size_t size);

// `count` frames of 64 bytes, UDP to port 4791 from as many ports.
std::vector<FrameBytes> UdpFlows(size_t count);

// The Internet checksum over a frame of UDP over IPv4 without options and its
// pseudo-header: 0 if the checksum in it is right.
uint16_t UdpChecksumOf(const FrameBytes& frame);

// What `command` prints.
std::string OutputOf(const std::string& command);

// Skips without root: a user namespace may not load programs.
class XdpRig : public testing::Test {
 protected:
  static void SetUpTestSuite();
  void SetUp() override;

  // Opens `xdp:out` with `options`, such as ",queues=1".
  void Open(const std::string& options = "");
  void OpenDevice(const std::string& netdev);
  absl::Status TryOpen();
  // Opens the port of the host's netdev, again if it is open.
  void OpenPeer();

  // Gives both ends `queues` queues.
  void MakeQueues(int queues);
  // Gives both ends addresses: 10.9.0.1 here, 10.9.0.2 at the host.
  void MakeAddresses();

  // Frames from the host, through a packet socket; all of them go.
  void SendFromHost(const std::vector<FrameBytes>& frames);
  // Sends all of `frames` from here.
  void SendAll(const std::vector<FrameBytes>& frames);
  // The next `count` frames that arrive here, at the host; fewer after ten
  // seconds.
  std::vector<FrameBytes> TakeHere(size_t count);
  std::vector<FrameBytes> TakeAtHost(size_t count);

  uint64_t Count(absl::string_view name) {
    return CounterValue(*backend_, name);
  }
  static bool HasProgram();
  // The index of the netdev here.
  static int NetdevIndex();

  static std::string why_not_;
  std::unique_ptr<KernelHost> host_;
  // A packet port of the host's netdev, from Open on.
  std::unique_ptr<Backend> peer_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace weir::hca

#endif  // WEIR_TEST_HCA_BACKEND_XDP_RIG_H_
