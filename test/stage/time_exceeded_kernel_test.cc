// The kernel and we answer the same timeouts by the same messages, and the
// kernel understands ours.

#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/stage/icmp_answer.h"
#include "test/stage/reassembly_rig.h"
#include "test/support/datagram.h"
#include "test/support/tap_kernel.h"
#include "weir/stage/time_exceeded.h"

namespace weir::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

constexpr int kDeadlineMs = 20'000;

using Rig = BasicReassemblyRig<ReassembleAnd<AnswerTimeouts>>;

// The parts of an answer in which the kernel has no choice: the Ethernet
// header, lengths, protocol, addresses, and all of ICMP. Empty for other
// frames.
Bytes Essence(const Bytes& frame) {
  if (frame.size() < 62) return {};
  const bool is_ipv4 = frame[12] == std::byte{8};
  const size_t icmp = is_ipv4 ? 34 : 54;
  const bool is_answer =
      is_ipv4 ? frame[23] == std::byte{1} && frame[icmp] == std::byte{11}
              : frame[12] == std::byte{0x86} && frame[20] == std::byte{58} &&
                    frame[icmp] == std::byte{3};
  if (!is_answer) return {};
  Bytes essence = Part(frame, 0, 14);
  const auto add = [&](size_t begin, size_t size) {
    const Bytes part = Part(frame, begin, size);
    essence.insert(essence.end(), part.begin(), part.end());
  };
  if (is_ipv4) {
    add(16, 2);
    add(23, 1);
    add(26, 8);
  } else {
    add(18, 3);
    add(22, 32);
  }
  add(icmp, frame.size() - icmp);
  return essence;
}

Bytes First(bool is_ipv6, uint32_t id, size_t bytes) {
  return FragmentFrame(UdpDatagram(is_ipv6, id, 3000), 0, bytes, true);
}

Frame To(const net::MacAddress& mac) {
  Frame frame;
  frame.Eth(mac, kTestMacA);
  return frame;
}

// Fragments that come to nothing; each has an identification of its own.
std::vector<Bytes> Fragments4() {
  std::vector<Bytes> frames;
  for (const size_t bytes : {8, 16, 64, 512, 528, 552, 1480}) {
    frames.push_back(First(false, static_cast<uint32_t>(bytes), bytes));
  }
  uint16_t id = 5000;
  const auto icmp = [&](const net::MacAddress& mac, int type) {
    frames.push_back(
        To(mac)
            .Ipv4("192.0.2.1", "198.51.100.2",
                  {.id = ++id, .more_fragments = true, .protocol = 1})
            .Raw({type, 0, 0, 0, 0, 0, 0, 0})
            .Payload(56)
            .Build());
  };
  for (const int type : {0, 3, 4, 5, 8, 11, 12, 13}) icmp(kTestMacB, type);
  icmp(net::kBroadcast, 8);
  frames.push_back(To(kTestMacB)
                       .Ipv4("192.0.2.1", "198.51.100.2",
                             {.id = ++id,
                              .more_fragments = true,
                              .options = MakeBytes({1, 1, 1, 0}),
                              .protocol = 17})
                       .Payload(64)
                       .Build());
  // Without the first; without that in the middle.
  const Datagram headless = UdpDatagram(false, 6000, 200);
  frames.push_back(FragmentFrame(headless, 64, 144, false));
  const Datagram holed = UdpDatagram(false, 6001, 200);
  frames.push_back(FragmentFrame(holed, 128, 80, false));
  frames.push_back(FragmentFrame(holed, 0, 64, true));
  return frames;
}

std::vector<Bytes> Fragments6() {
  std::vector<Bytes> frames;
  for (const size_t bytes : {8, 16, 64, 512, 1184, 1192, 1448}) {
    frames.push_back(First(true, static_cast<uint32_t>(bytes), bytes));
  }
  uint32_t id = 5000;
  const auto icmp = [&](const net::MacAddress& mac, int type) {
    frames.push_back(
        To(mac)
            .Ipv6("2001:db8::1", "2001:db8::2")
            .Ipv6Fragment(
                {.id = ++id, .more_fragments = true, .next_header = 58})
            .Raw({type, 0, 0, 0, 0, 0, 0, 0})
            .Payload(56)
            .Build());
  };
  // Not of a redirect, which the kernel does answer.
  for (const int type : {1, 2, 3, 4, 127, 128, 129, 135}) icmp(kTestMacB, type);
  icmp(net::kBroadcast, 128);
  for (const int type : {1, 128}) {
    frames.push_back(
        To(kTestMacB)
            .Ipv6("2001:db8::1", "2001:db8::2")
            .Ipv6Fragment(
                {.id = ++id, .more_fragments = true, .next_header = 60})
            .Raw({58, 0, 1, 4, 0, 0, 0, 0, type, 0, 0, 0, 0, 0, 0, 0})
            .Payload(56)
            .Build());
  }
  const Datagram headless = UdpDatagram(true, 6000, 200);
  frames.push_back(FragmentFrame(headless, 64, 144, false));
  const Datagram holed = UdpDatagram(true, 6001, 200);
  frames.push_back(FragmentFrame(holed, 128, 80, false));
  frames.push_back(FragmentFrame(holed, 0, 64, true));
  return frames;
}

// What the kernel answers, up to `count` answers.
std::vector<Bytes> Answers(TapKernel& kernel, size_t count) {
  std::vector<Bytes> answers;
  while (answers.size() < count) {
    const Bytes frame = kernel.Sent(kDeadlineMs);
    if (frame.empty()) return answers;
    if (Bytes essence = Essence(frame); !essence.empty()) {
      answers.push_back(std::move(essence));
    }
  }
  return answers;
}

std::vector<Bytes> OurAnswers(const std::vector<Bytes>& fragments) {
  TimeExceededCounts counts;
  Rig rig({}, 2048, AnswerTimeouts({}, counts));
  rig.SendAll(fragments);
  rig.Send(MakeFrame(60, 0xee), 100 * kSecond);
  std::vector<Bytes> answers;
  for (const Bytes& frame : rig.out()) {
    if (Bytes essence = Essence(frame); !essence.empty()) {
      answers.push_back(std::move(essence));
    }
  }
  return answers;
}

void ExpectTheSameAnswers(bool is_ipv6, const std::vector<Bytes>& fragments) {
  TapKernel kernel;
  if (::testing::Test::HasFatalFailure()) return;
  kernel.Set("ipv4/ipfrag_time", 1);
  kernel.Set("ipv6/ip6frag_time", 1);
  kernel.Set("ipv4/icmp_ratelimit", 0);
  kernel.Set("ipv6/icmp/ratelimit", 0);
  const std::vector<Bytes> ours = OurAnswers(fragments);
  for (const Bytes& frame : fragments) kernel.Send(frame);
  std::vector<Bytes> theirs = Answers(kernel, ours.size());
  // What times out last: no answer to the others comes behind its.
  const Bytes last = First(is_ipv6, 7000, 64);
  kernel.Send(last);
  const std::vector<Bytes> end = OurAnswers({last});
  ASSERT_THAT(end, SizeIs(1));
  do {
    const auto next = Answers(kernel, 1);
    ASSERT_THAT(next, SizeIs(1));
    theirs.push_back(next[0]);
  } while (theirs.back() != end[0]);
  theirs.pop_back();
  EXPECT_THAT(ours, Not(IsEmpty()));
  EXPECT_THAT(theirs, UnorderedElementsAreArray(ours));
}

TEST(TimeExceededKernelTest, AnswersIpv4AsTheKernelDoes) {
  ExpectTheSameAnswers(false, Fragments4());
}

TEST(TimeExceededKernelTest, AnswersIpv6AsTheKernelDoes) {
  ExpectTheSameAnswers(true, Fragments6());
}

// The fragments that the kernel makes of a datagram, but the last.
std::vector<Bytes> FragmentsOfKernel(TapKernel& kernel, bool is_ipv6) {
  const Bytes data(4000);
  ssize_t sent = 0;
  if (is_ipv6) {
    sockaddr_in6 to{};
    to.sin6_family = AF_INET6;
    to.sin6_port = htons(9);
    inet_pton(AF_INET6, "2001:db8::1", &to.sin6_addr);
    sent = sendto(kernel.socket_of(true), data.data(), data.size(), 0,
                  reinterpret_cast<sockaddr*>(&to), sizeof to);
  } else {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(9);
    inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
    sent = sendto(kernel.socket_of(false), data.data(), data.size(), 0,
                  reinterpret_cast<sockaddr*>(&to), sizeof to);
  }
  EXPECT_EQ(sent, 4000);
  std::vector<Bytes> frames;
  while (frames.size() < 3) {
    Bytes frame = kernel.Sent(kDeadlineMs);
    if (frame.empty()) break;
    const bool is_fragment =
        frame.size() > 100 &&
        (is_ipv6 ? frame[12] == std::byte{0x86} && frame[20] == std::byte{44}
                 : frame[12] == std::byte{8});
    if (is_fragment) frames.push_back(std::move(frame));
  }
  EXPECT_THAT(frames, SizeIs(3));
  frames.resize(2);
  return frames;
}

// Ours as a frame.
Bytes AnswerTo(const std::vector<Bytes>& fragments) {
  TimeExceededCounts counts;
  Rig rig({}, 2048, AnswerTimeouts({}, counts));
  rig.SendAll(fragments);
  rig.Send(MakeFrame(60, 0xee), 100 * kSecond);
  return rig.out().size() == 2 ? rig.out()[1] : Bytes();
}

TEST(TimeExceededKernelTest, TheKernelTellsASocketOfIpv6WhatWeAnswered) {
  TapKernel kernel;
  if (HasFatalFailure()) return;
  const int yes = 1;
  ASSERT_EQ(setsockopt(kernel.socket_of(true), IPPROTO_IPV6, IPV6_RECVERR, &yes,
                       sizeof yes),
            0);
  const auto fragments = FragmentsOfKernel(kernel, true);
  const Bytes answer = AnswerTo(fragments);
  ASSERT_THAT(answer, SizeIs(14 + 1280));
  kernel.Send(answer);
  pollfd wait{.fd = kernel.socket_of(true), .events = 0, .revents = 0};
  ASSERT_EQ(poll(&wait, 1, kDeadlineMs), 1);
  alignas(cmsghdr) std::array<char, 512> control{};
  msghdr message{};
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ASSERT_GE(recvmsg(kernel.socket_of(true), &message, MSG_ERRQUEUE), 0);
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  ASSERT_NE(header, nullptr);
  sock_extended_err error{};
  std::memcpy(&error, CMSG_DATA(header), sizeof error);
  EXPECT_EQ(error.ee_origin, SO_EE_ORIGIN_ICMP6);
  EXPECT_EQ(error.ee_type, 3);
  EXPECT_EQ(error.ee_code, 1);
}

// A counter of Icmp in /proc/net/snmp.
uint64_t IcmpCounter(const std::string& name) {
  std::ifstream file("/proc/thread-self/net/snmp");
  std::vector<std::string> names;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::vector<std::string> row;
    for (std::string word; words >> word;) row.push_back(word);
    if (row.empty() || row[0] != "Icmp:") continue;
    if (names.empty()) {
      names = row;
      continue;
    }
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) break;
    return std::stoull(row.at(static_cast<size_t>(at - names.begin())));
  }
  ADD_FAILURE() << "no counter " << name;
  return 0;
}

// Sockets of IPv4 are not told; the kernel counts, behind all its checks.
TEST(TimeExceededKernelTest, TheKernelCountsWhatWeAnsweredAboutIpv4) {
  TapKernel kernel;
  if (HasFatalFailure()) return;
  const auto fragments = FragmentsOfKernel(kernel, false);
  const Bytes answer = AnswerTo(fragments);
  ASSERT_THAT(answer, SizeIs(14 + 576));
  const uint64_t before = IcmpCounter("InTimeExcds");
  kernel.Send(answer);
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(kDeadlineMs);
  while (IcmpCounter("InTimeExcds") == before &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_EQ(IcmpCounter("InTimeExcds"), before + 1);
  EXPECT_EQ(IcmpCounter("InErrors"), 0);
  EXPECT_EQ(IcmpCounter("InCsumErrors"), 0);
}

}  // namespace
}  // namespace weir::testing
