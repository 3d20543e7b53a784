// The xdp backend and the kernel on one netdev: each keeps its flows, whatever
// the other does, however the program ends.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/xdp_rig.h"
#include "weir/hca/backend/xdp/xdp.h"
#include "weir/hca/device_key.h"

namespace weir::hca {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class XdpKernelTest : public XdpRig {
 protected:
  // Receives `count` frames and sends each back.
  void Echo(size_t count) {
    const std::vector<FrameBytes> frames = TakeHere(count);
    ASSERT_THAT(frames, SizeIs(count));
    SendAll(frames);
  }
};

TEST_F(XdpKernelTest, StreamsAndPingsOfOthersGoOnBesideItsOwnFlow) {
  MakeAddresses();
  Open();
  ASSERT_EQ(backend_->AddFlow(UdpTo(4791)), 0);
  Shell("iperf3 --server --one-off --daemon --bind 10.9.0.1");
  host_->Start([] {
    Shell(
        "for i in $(seq 50); do iperf3 --client 10.9.0.1 --time 1 "
        "--json > /dev/null 2>&1 && exit 0; sleep 0.1; done; exit 1");
    Shell("ping -n -c 20 -i 0.01 -W 5 10.9.0.1");
  });
  const std::vector<FrameBytes> sent = UdpFlows(500);
  SendFromHost(sent);
  EXPECT_EQ(TakeHere(sent.size()), sent);
  host_->Run([] {});
  EXPECT_TRUE(TakeFrames(*backend_, 64).empty());
}

TEST_F(XdpKernelTest, GoesOnByItselfAfterThreeSecondsOfSleep) {
  Open();
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  const std::vector<FrameBytes> sent = Patterns(1000, 64);
  SendFromHost(sent);
  Echo(sent.size());
  EXPECT_EQ(TakeAtHost(sent.size()), sent);
  std::this_thread::sleep_for(std::chrono::seconds(3));
  SendFromHost(sent);
  Echo(sent.size());
  EXPECT_EQ(TakeAtHost(sent.size()), sent);
}

TEST_F(XdpKernelTest, LeavesNothingBehindWhenItIsKilledInFullTraffic) {
  MakeAddresses();
  for (const int signal : {SIGKILL, SIGTERM}) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto backend = OpenXdp(ParseDeviceKey("xdp:out").value());
      if (!backend.ok() || (*backend)->AddFlow(kEverything) != 0) _exit(1);
      bool told = false;
      while (true) {
        const size_t count = (*backend)->Receive(32).size();
        (*backend)->Consume(count);
        if (count > 0 && !told) told = write(ready[1], "r", 1) == 1;
      }
    }
    close(ready[1]);
    host_->Start([] {
      // Ends when the kernel answers again.
      Shell(
          "ping -n -f -c 1000000 -w 20 10.9.0.1 > /dev/null & pid=$!;"
          "until ping -n -c 1 -W 1 10.9.0.1 > /dev/null; do :; done;"
          "kill $pid; exit 0");
    });
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1) << "it received nothing";
    EXPECT_TRUE(HasProgram());
    ASSERT_EQ(kill(child, signal), 0);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    close(ready[0]);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_FALSE(HasProgram());
    host_->Run([] {});
    Open();
    ASSERT_EQ(backend_->AddFlow(UdpTo(4791)), 0);
    SendFromHost(UdpFlows(10));
    EXPECT_EQ(TakeHere(10), UdpFlows(10));
    backend_.reset();
  }
}

}  // namespace
}  // namespace weir::hca
