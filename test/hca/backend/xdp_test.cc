// The xdp backend at one end of a veth pair, a kernel host at the other.

#include "weir/hca/backend/xdp/xdp.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/hca/backend/xdp_rig.h"
#include "weir/base/unique_fd.h"
#include "weir/hca/device_key.h"

namespace weir::hca {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr char kPing[] = "ping -n -c 2 -i 0.01 -W 5 10.9.0.1";

// A program that passes everything, attached until somebody removes it.
void AttachForeignProgram() {
  bpf_insn code[] = {{BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, XDP_PASS},
                     {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}};
  const UniqueFd fd(bpf_prog_load(BPF_PROG_TYPE_XDP, "foreign", "Apache-2.0",
                                  code, std::size(code), nullptr));
  ASSERT_TRUE(fd.is_open());
  const int index = static_cast<int>(if_nametoindex("out"));
  ASSERT_EQ(bpf_xdp_attach(index, fd.get(), 0, nullptr), 0);
}

class XdpTest : public XdpRig {
 protected:
  using Set = std::multiset<FrameBytes>;
  static Set AsSet(const std::vector<FrameBytes>& frames) {
    return {frames.begin(), frames.end()};
  }
  // Those whose source address ends in `last`.
  static std::vector<FrameBytes> From(std::byte last,
                                      const std::vector<FrameBytes>& frames) {
    std::vector<FrameBytes> found;
    for (const FrameBytes& frame : frames) {
      if (frame[11] == last) found.push_back(frame);
    }
    return found;
  }
};

TEST_F(XdpTest, ReceivesWhatARuleTakes) {
  Open();
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  const std::vector<FrameBytes> sent = Patterns(100, 64);
  SendFromHost(sent);
  EXPECT_EQ(TakeHere(sent.size()), sent);
}

TEST_F(XdpTest, LeavesTheKernelWhatNoRuleTakes) {
  Open();
  ASSERT_EQ(backend_->AddFlow(UdpTo(4791)), 0);
  MakeAddresses();
  host_->Run([] { Shell(kPing); });
  EXPECT_THAT(TakeFrames(*backend_, 64), IsEmpty());
}

TEST_F(XdpTest, GivesTheKernelBackWhatARemovedRuleTook) {
  Open();
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  backend_->RemoveFlow(kEverything);
  MakeAddresses();
  host_->Run([] { Shell(kPing); });
}

TEST_F(XdpTest, SendsWhatArrivesAsItIs) {
  Open();
  const std::vector<FrameBytes> sent = Patterns(5000, 60);
  SendAll(sent);
  EXPECT_EQ(TakeAtHost(sent.size()), sent);
  EXPECT_EQ(Count("tx_refused"), 0u);
}

TEST_F(XdpTest, PadsShortFramesWithZeros) {
  Open();
  SendAll({PatternFrame(1, 20)});
  FrameBytes padded = PatternFrame(1, 20);
  padded.resize(60);
  EXPECT_EQ(TakeAtHost(1), std::vector<FrameBytes>{padded});
}

TEST_F(XdpTest, DropsFramesAboveTheMtuWithACount) {
  Open();
  SendAll({PatternFrame(1, 1523)});
  EXPECT_EQ(Count("tx_too_long"), 1u);
}

TEST_F(XdpTest, FollowsAnMtuThatIsLowered) {
  Open();
  const std::vector<FrameBytes> frames = {PatternFrame(1, 1294),
                                          PatternFrame(2, 1514)};
  SendAll(frames);
  EXPECT_EQ(TakeAtHost(2), frames);
  Shell("ip link set out mtu 1280");
  // It is looked at once in a tick of the clock: some may go before.
  size_t before = 0;
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (SendAll({frames[1]}), Count("tx_too_long") == 0) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    EXPECT_EQ(TakeAtHost(1).size(), 1u) << ++before;
  }
  SendAll(frames);
  EXPECT_EQ(TakeAtHost(1), std::vector<FrameBytes>{frames[0]});
  EXPECT_EQ(Count("tx_too_long"), 2u);
}

TEST_F(XdpTest, CarriesJumboFramesBothWays) {
  Shell("ip link set out mtu 9000");
  host_->Run([] { Shell("ip link set in mtu 9000"); });
  Open();
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  std::vector<FrameBytes> sent;
  for (const size_t size : {9014, 60, 4096, 4097, 8192, 3840, 1514, 9000}) {
    sent.push_back(PatternFrame(sent.size(), size));
  }
  SendFromHost(sent);
  EXPECT_EQ(TakeHere(sent.size()), sent);
  SendAll(sent);
  EXPECT_EQ(TakeAtHost(sent.size()), sent);
}

TEST_F(XdpTest, ReceivesFromAllQueues) {
  MakeQueues(2);
  Open();
  EXPECT_THAT(backend_->info().mode, HasSubstr("2 queues"));
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  const std::vector<FrameBytes> sent = UdpFlows(200);
  SendFromHost(sent);
  EXPECT_EQ(AsSet(TakeHere(sent.size())), AsSet(sent));
  for (const char* queue : {"0", "1"}) {
    EXPECT_THAT(
        OutputOf("/usr/sbin/ethtool -S out"),
        Not(HasSubstr(std::string("rx_queue_") + queue + "_xdp_packets: 0\n")));
  }
}

TEST_F(XdpTest, SendsThroughAllQueuesAndKeepsTheOrderOfAFlow) {
  MakeQueues(2);
  Open();
  std::vector<FrameBytes> sent = Patterns(500, 64);
  // Two pairs of addresses.
  for (size_t i = 0; i < sent.size(); ++i) {
    sent[i][11] = std::byte(i % 2 == 0 ? 0x10 : 0x21);
  }
  SendAll(sent);
  const std::vector<FrameBytes> got = TakeAtHost(sent.size());
  EXPECT_EQ(AsSet(got), AsSet(sent));
  for (const std::byte last : {std::byte{0x10}, std::byte{0x21}}) {
    EXPECT_EQ(From(last, got), From(last, sent));
  }
}

TEST_F(XdpTest, LeavesTheKernelWhatArrivesOnQueuesItDoesNotHave) {
  MakeQueues(2);
  Open(",queues=1");
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  // Sees what the kernel gets.
  ASSERT_EQ(backend_->AddFlow(kSniffer), 0);
  const std::vector<FrameBytes> sent = UdpFlows(200);
  SendFromHost(sent);
  EXPECT_EQ(AsSet(TakeHere(sent.size())), AsSet(sent));
  EXPECT_THAT(OutputOf("/usr/sbin/ethtool -S out"),
              AllOf(HasSubstr("rx_queue_1_xdp_packets"),
                    Not(HasSubstr("rx_queue_1_xdp_packets: 0\n"))));
}

TEST_F(XdpTest, WakesWhoWaitsForFrames) {
  Open();
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  ASSERT_FALSE(backend_->ArmReceive());
  pollfd wait = {.fd = backend_->wake_fd(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&wait, 1, 0), 0);
  SendFromHost(Patterns(1, 64));
  EXPECT_EQ(poll(&wait, 1, 10'000), 1);
  EXPECT_TRUE(backend_->ArmReceive());
  EXPECT_EQ(TakeFrames(*backend_, 64).size(), 1u);
  backend_->ClearWake();
  EXPECT_EQ(poll(&wait, 1, 0), 0);
}

TEST_F(XdpTest, FinishesChecksumsThatTheSenderLeftUnfinished) {
  Open();
  ASSERT_EQ(backend_->AddFlow(UdpTo(4791)), 0);
  MakeAddresses();
  host_->Run([] {
    Shell(
        "bash -c 'for i in 1 2 3; do echo $i > /dev/udp/10.9.0.1/4791; done'");
  });
  const std::vector<FrameBytes> frames = TakeHere(3);
  ASSERT_EQ(frames.size(), 3u);
  for (const FrameBytes& frame : frames) {
    EXPECT_EQ(UdpChecksumOf(frame), 0u) << "0 is what a right one sums up to";
  }
  EXPECT_EQ(Count("rx_finished_checksum"), 3u);
}

TEST_F(XdpTest, SaysWhatItKnowsOfChecksums) {
  const auto flags_of = [this](const FrameBytes& frame) {
    SendFromHost({frame});
    std::span<const RxFrame> got;
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (got.empty() && std::chrono::steady_clock::now() < deadline) {
      got = backend_->Receive(1);
    }
    const uint32_t flags = got.empty() ? 0 : got.front().flags;
    backend_->Consume(got.size());
    return flags;
  };
  const FrameBytes good = UdpFlows(1).front();
  FrameBytes wrong = good;
  wrong.back() ^= std::byte{1};
  Open();
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  EXPECT_EQ(flags_of(good),
            uint32_t{kFrameChecksumKnown} | uint32_t{kFrameChecksumGood});
  EXPECT_EQ(flags_of(wrong), uint32_t{kFrameChecksumKnown});
  backend_.reset();
  Open(",rx_checksum=off");
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  EXPECT_EQ(flags_of(good), 0u);
}

TEST_F(XdpTest, SniffsWithoutTakingAnythingFromTheKernel) {
  Open();
  ASSERT_EQ(backend_->AddFlow(kSniffer), 0);
  ASSERT_EQ(backend_->AddFlow(UdpTo(4791)), 0);
  MakeAddresses();
  host_->Run([] { Shell(kPing); });
  size_t sniffed = 0;
  for (const RxFrame& frame : backend_->Receive(64)) {
    EXPECT_EQ(frame.flags & kFrameSniffed, uint32_t{kFrameSniffed});
    ++sniffed;
  }
  // Two echo requests at least; ARP comes besides.
  EXPECT_GE(sniffed, 2u);
  backend_->Consume(sniffed);
  backend_->RemoveFlow(kSniffer);
  EXPECT_THAT(backend_->Receive(64), IsEmpty());
}

TEST_F(XdpTest, LeavesTheKernelWhatRulesThatDoNotTrapWantACopyOf) {
  Open();
  FlowRule rule = kEverything;
  rule.traps = false;
  ASSERT_EQ(backend_->AddFlow(rule), 0);
  MakeAddresses();
  host_->Run([] { Shell(kPing); });
  const std::span<const RxFrame> copies = backend_->Receive(64);
  // Two echo requests at least; ARP comes besides.
  EXPECT_GE(copies.size(), 2u);
  for (const RxFrame& frame : copies) {
    EXPECT_EQ(frame.flags & kFrameSniffed, uint32_t{kFrameSniffed});
  }
  backend_->Consume(copies.size());
  backend_->RemoveFlow(rule);
  EXPECT_THAT(backend_->Receive(64), IsEmpty());
}

TEST_F(XdpTest, UsesTheKernelsOwnXdpWhereTheDriverHasNone) {
  Shell("ip link add link out name above type macvlan mode passthru");
  Shell("ip link set above addrgenmode none up");
  OpenDevice("above");
  EXPECT_EQ(backend_->info().mode, "generic XDP, copy, 1 queue");
  EXPECT_EQ(Count("xdp_native"), 0u);
  ASSERT_EQ(backend_->AddFlow(kEverything), 0);
  const std::vector<FrameBytes> sent = Patterns(10, 64);
  SendFromHost(sent);
  EXPECT_EQ(TakeHere(sent.size()), sent);
}

TEST_F(XdpTest, TellsHowItWorks) {
  Open();
  EXPECT_EQ(backend_->info().mode, "native XDP, copy, 1 queue");
  EXPECT_EQ(Count("xdp_native"), 1u);
  EXPECT_EQ(Count("xdp_zero_copy"), 0u);
}

TEST_F(XdpTest, OpensAgainAtOnceAfterClosing) {
  for (int i = 0; i < 5; ++i) {
    Open();
    ASSERT_EQ(backend_->AddFlow(kEverything), 0);
    SendFromHost(Patterns(1, 64));
    EXPECT_THAT(TakeHere(1), SizeIs(1));
    backend_.reset();
    EXPECT_FALSE(HasProgram());
  }
}

TEST_F(XdpTest, RefusesANetdevWhoseQueueIsTaken) {
  Open();
  const absl::Status second = TryOpen();
  EXPECT_FALSE(second.ok());
  EXPECT_THAT(std::string(second.message()),
              AllOf(HasSubstr("xdp:out: queue 0"),
                    HasSubstr("another AF_XDP socket has this queue")));
  SendFromHost(Patterns(1, 64));
}

TEST_F(XdpTest, RefusesANetdevWithAForeignProgramAndTellsTheRemedy) {
  AttachForeignProgram();
  const absl::Status refused = TryOpen();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition) << refused;
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("\"foreign\""),
                    HasSubstr("ip link set dev out xdp off")));
  Shell("ip link set dev out xdp off");
  Open();
}

TEST_F(XdpTest, RefusesMoreQueuesThanThereAre) {
  const auto refused =
      OpenXdp(ParseDeviceKey("xdp:out,queues=9").value()).status();
  EXPECT_THAT(std::string(refused.message()),
              HasSubstr("queues=9: the netdev has 1"));
}

TEST_F(XdpTest, CountsFramesThatFindNoLink) {
  Open();
  Shell("ip link set out down");
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (Count("tx_link_down") == 0 &&
         std::chrono::steady_clock::now() < deadline) {
    SendAll(Patterns(1, 64));
  }
  EXPECT_GT(Count("tx_link_down"), 0u);
}

}  // namespace
}  // namespace weir::hca
