#include "test/hca/backend/xdp_rig.h"

#include <net/if.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "test/support/frame.h"
#include "weir/base/big_endian.h"
#include "weir/hca/backend/packet.h"
#include "weir/hca/backend/xdp/xdp.h"
#include "weir/hca/device_key.h"

namespace weir::hca {
namespace {

constexpr net::MacAddress kHere{{2, 0, 0, 0, 0, 1}};
constexpr net::MacAddress kThere{{2, 0, 0, 0, 0, 2}};

std::vector<FrameBytes> Await(Backend& backend, size_t count) {
  std::vector<FrameBytes> frames;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (frames.size() < count && std::chrono::steady_clock::now() < end) {
    std::vector<FrameBytes> some = TakeFrames(backend, count - frames.size());
    if (some.empty()) std::this_thread::yield();
    for (FrameBytes& frame : some) frames.push_back(std::move(frame));
  }
  return frames;
}

void OfferAll(Backend& backend, const std::vector<FrameBytes>& frames) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  size_t taken = 0;
  while (taken < frames.size() && std::chrono::steady_clock::now() < end) {
    taken += Send(backend, {frames.begin() + static_cast<ptrdiff_t>(taken),
                            frames.end()});
  }
  while (backend.Flush() && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_EQ(taken, frames.size());
}

}  // namespace

std::string XdpRig::why_not_;

FlowRule UdpTo(uint16_t port) {
  FlowFields value{};
  FlowFields mask{};
  value.ports.dst_port = std::bit_cast<uint16_t>(Be16(port));
  mask.ports.dst_port = 0xffff;
  value.headers = mask.headers = kHasIpv4 | kHasUdp;
  using Words = std::array<uint64_t, kFlowWords>;
  FlowRule rule;
  rule.match = {.value = std::bit_cast<Words>(value),
                .mask = std::bit_cast<Words>(mask)};
  return rule;
}

std::vector<FrameBytes> Patterns(size_t count, size_t size) {
  std::vector<FrameBytes> frames;
  for (size_t i = 0; i < count; ++i) frames.push_back(PatternFrame(i, size));
  return frames;
}

std::vector<FrameBytes> UdpFlows(size_t count) {
  std::vector<FrameBytes> frames;
  for (size_t i = 0; i < count; ++i) {
    frames.push_back(Frame()
                         .Eth(kHere, kThere)
                         .Ipv4("10.9.0.2", "10.9.0.1")
                         .Udp(static_cast<uint16_t>(1000 + i), 4791)
                         .Payload(22, i)
                         .Build());
  }
  return frames;
}

uint16_t UdpChecksumOf(const FrameBytes& frame) {
  constexpr size_t kIp = 14;
  constexpr size_t kUdp = kIp + 20;
  const auto word = [&frame](size_t at) -> uint32_t {
    const auto byte = [&frame](size_t i) {
      return i < frame.size() ? std::to_integer<uint32_t>(frame[i]) : 0;
    };
    return byte(at) << 8 | byte(at + 1);
  };
  const uint32_t length = word(kUdp + 4);
  uint32_t sum = 17 + length;
  for (size_t at = kIp + 12; at < kUdp + length; at += 2) {
    const bool has_half = at + 1 == kUdp + length;
    sum += has_half ? word(at) & 0xff00 : word(at);
  }
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

std::string OutputOf(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 256> line;
  while (fgets(line.data(), line.size(), pipe) != nullptr) {
    output += line.data();
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return output;
}

void XdpRig::SetUpTestSuite() {
  why_not_ = geteuid() == 0 ? EnterNewNetwork() : "needs root";
}

void XdpRig::SetUp() {
  if (!why_not_.empty()) GTEST_SKIP() << why_not_;
  host_ = std::make_unique<KernelHost>("out", "in");
}

void XdpRig::Open(const std::string& options) { OpenDevice("out" + options); }

void XdpRig::OpenDevice(const std::string& netdev) {
  auto backend = OpenXdp(ParseDeviceKey("xdp:" + netdev).value());
  ASSERT_TRUE(backend.ok()) << backend.status();
  backend_ = *std::move(backend);
  if (peer_ == nullptr) OpenPeer();
}

void XdpRig::OpenPeer() {
  host_->Run([this] {
    peer_.reset();
    auto peer = OpenPacket(ParseDeviceKey("packet:in").value());
    ASSERT_TRUE(peer.ok()) << peer.status();
    peer_ = *std::move(peer);
  });
}

absl::Status XdpRig::TryOpen() {
  return OpenXdp(ParseDeviceKey("xdp:out").value()).status();
}

void XdpRig::MakeQueues(int queues) {
  const std::string number = std::to_string(queues);
  Shell("/usr/sbin/ethtool -L out rx " + number + " tx " + number);
  host_->Run(
      [&] { Shell("/usr/sbin/ethtool -L in rx " + number + " tx " + number); });
}

void XdpRig::MakeAddresses() {
  Shell("ip addr add 10.9.0.1/24 dev out");
  host_->Run([] { Shell("ip addr add 10.9.0.2/24 dev in"); });
}

void XdpRig::SendFromHost(const std::vector<FrameBytes>& frames) {
  OfferAll(*peer_, frames);
}

void XdpRig::SendAll(const std::vector<FrameBytes>& frames) {
  OfferAll(*backend_, frames);
}

std::vector<FrameBytes> XdpRig::TakeHere(size_t count) {
  return Await(*backend_, count);
}

std::vector<FrameBytes> XdpRig::TakeAtHost(size_t count) {
  return Await(*peer_, count);
}

bool XdpRig::HasProgram() {
  return OutputOf("ip link show dev out").find("prog/xdp") != std::string::npos;
}

int XdpRig::NetdevIndex() { return static_cast<int>(if_nametoindex("out")); }

}  // namespace weir::hca
