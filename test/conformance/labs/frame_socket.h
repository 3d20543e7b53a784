// The kernel's end of a netdev, for the frames themselves: what is sent here
// arrives at the device under test, and the other way round.

#ifndef WEIR_TEST_CONFORMANCE_LABS_FRAME_SOCKET_H_
#define WEIR_TEST_CONFORMANCE_LABS_FRAME_SOCKET_H_

#include <optional>
#include <string>

#include "test/support/frame.h"

namespace weir::conformance {

class FrameSocket {
 public:
  FrameSocket() = default;
  FrameSocket(const FrameSocket&) = delete;
  FrameSocket& operator=(const FrameSocket&) = delete;
  ~FrameSocket() { Close(); }

  // A packet socket on `netdev`. Empty, or what did not work.
  std::string Open(const std::string& netdev);
  void Close();

  // A failure of the test if the kernel refuses it.
  void Send(const Bytes& frame);
  // The next frame that the netdev received, with the VLAN tag that the kernel
  // took out of it put back.
  std::optional<Bytes> Receive();

 private:
  int fd_ = -1;
};

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_LABS_FRAME_SOCKET_H_
