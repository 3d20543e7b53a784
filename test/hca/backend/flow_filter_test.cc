// The XDP program against the code that it has to agree with: ReadFlowFields
// and FlowMatch. The kernel runs it on frames from here; nothing is sent.

#include "weir/hca/backend/xdp/flow_filter.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "test/support/frame.h"
#include "weir/base/big_endian.h"
#include "weir/base/unique_fd.h"

namespace weir::hca {
namespace {

constexpr net::MacAddress kA{{2, 0, 0, 0, 0, 1}};
constexpr net::MacAddress kB{{2, 0, 0, 0, 0, 2}};

using Words = std::array<uint64_t, kFlowWords>;

FlowMatch MatchOf(const FlowFields& value, const FlowFields& mask) {
  FlowMatch match{.value = std::bit_cast<Words>(value),
                  .mask = std::bit_cast<Words>(mask)};
  for (size_t i = 0; i < kFlowWords; ++i) match.value[i] &= match.mask[i];
  return match;
}

// UDP to `port`, with bits of the source address besides so that masks differ.
FlowMatch UdpTo(uint16_t port, uint32_t source_mask = 0) {
  FlowFields value{};
  FlowFields mask{};
  value.ports.dst_port = std::bit_cast<uint16_t>(Be16(port));
  mask.ports.dst_port = 0xffff;
  mask.ipv4.src_ip = source_mask;
  value.headers = mask.headers = kHasIpv4 | kHasUdp;
  return MatchOf(value, mask);
}

Bytes UdpFrame(uint16_t port) {
  return Frame()
      .Eth(kA, kB)
      .Ipv4("0.0.0.0", "10.0.0.1")
      .Udp(7, port)
      .Payload(18)
      .Build();
}

class FlowFilterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
    auto filter = FlowFilter::Load({.queues = 1, .jumbo = false}, "test");
    ASSERT_TRUE(filter.ok()) << filter.status();
    filter_.emplace(*std::move(filter));
    // Unbound, so that nothing arrives; it makes "taken" differ from "passed".
    socket_ = UniqueFd(socket(AF_XDP, SOCK_RAW, 0));
    ASSERT_TRUE(filter_->SetSocket(0, socket_.get(), "test").ok());
  }

  // Whether the program takes `frame` for a socket; it passes it otherwise.
  bool Takes(std::span<const std::byte> frame) {
    std::vector<std::byte> out(frame.size() + 256);
    bpf_test_run_opts options{};
    options.sz = sizeof options;
    options.data_in = frame.data();
    options.data_size_in = static_cast<uint32_t>(frame.size());
    options.data_out = out.data();
    options.data_size_out = static_cast<uint32_t>(out.size());
    options.repeat = repeat_;
    EXPECT_EQ(bpf_prog_test_run_opts(filter_->program_fd(), &options), 0)
        << std::strerror(errno);
    EXPECT_TRUE(options.retval == XDP_REDIRECT || options.retval == XDP_PASS)
        << options.retval;
    duration_ns_ = options.duration;
    return options.retval == XDP_REDIRECT;
  }

  // The descriptor of this process for a map of the program, -1 if none is.
  static int MapNamed(std::string_view name) {
    for (int fd = 0; fd < 1024; ++fd) {
      bpf_map_info info{};
      uint32_t size = sizeof info;
      if (bpf_obj_get_info_by_fd(fd, &info, &size) != 0) continue;
      // Those of programs and other objects are not as long.
      if (size == sizeof info && info.name == name) return fd;
    }
    return -1;
  }

  std::optional<FlowFilter> filter_;
  UniqueFd socket_;
  int repeat_ = 1;
  // Of one run, of the last Takes.
  uint32_t duration_ns_ = 0;
};

TEST_F(FlowFilterTest, PassesEverythingWithoutRules) {
  EXPECT_FALSE(Takes(UdpFrame(1)));
}

TEST_F(FlowFilterTest, TakesEverythingByAnEmptyRule) {
  ASSERT_EQ(filter_->Add(FlowMatch{}), 0);
  EXPECT_TRUE(Takes(UdpFrame(1)));
  filter_->Remove(FlowMatch{});
  EXPECT_FALSE(Takes(UdpFrame(1)));
}

TEST_F(FlowFilterTest, ForgetsARuleForEverythingThatItCouldNotStore) {
  const int table = MapNamed("table");
  ASSERT_GE(table, 0);
  const UniqueFd kept(dup(table));
  close(table);
  EXPECT_EQ(filter_->Add(FlowMatch{}), EBADF);
  ASSERT_EQ(dup2(kept.get(), table), table);
  ASSERT_EQ(filter_->Add(UdpTo(5)), 0);
  EXPECT_TRUE(Takes(UdpFrame(5)));
  EXPECT_FALSE(Takes(UdpFrame(6)));
}

TEST_F(FlowFilterTest, TakesWhatAnyOfItsRulesSays) {
  ASSERT_EQ(filter_->Add(UdpTo(5)), 0);
  ASSERT_EQ(filter_->Add(UdpTo(6, 0xff)), 0);
  EXPECT_TRUE(Takes(UdpFrame(5)));
  EXPECT_TRUE(Takes(UdpFrame(6)));
  EXPECT_FALSE(Takes(UdpFrame(7)));
}

TEST_F(FlowFilterTest, KeepsARuleUntilItWasRemovedAsOftenAsAdded) {
  ASSERT_EQ(filter_->Add(UdpTo(5)), 0);
  ASSERT_EQ(filter_->Add(UdpTo(5)), 0);
  filter_->Remove(UdpTo(5));
  EXPECT_TRUE(Takes(UdpFrame(5)));
  filter_->Remove(UdpTo(5));
  EXPECT_FALSE(Takes(UdpFrame(5)));
}

TEST_F(FlowFilterTest, HasRoomForSoManyDifferentMasks) {
  for (uint32_t i = 0; i < kFilterMasks; ++i) {
    ASSERT_EQ(filter_->Add(UdpTo(5, 1u << (i % 32) | (i >> 5))), 0) << i;
  }
  EXPECT_EQ(filter_->Add(UdpTo(5)), ENOMEM);
  // Another rule under a mask that is there already.
  EXPECT_EQ(filter_->Add(UdpTo(6, 1)), 0);
  filter_->Remove(UdpTo(5, 1u << 7));
  EXPECT_EQ(filter_->Add(UdpTo(7)), 0);
  EXPECT_TRUE(Takes(UdpFrame(7)));
}

TEST_F(FlowFilterTest, TenThousandRulesAreTriedAsFastAsOne) {
  repeat_ = 20'000;
  ASSERT_EQ(filter_->Add(UdpTo(1)), 0);
  uint32_t one_ns = UINT32_MAX;
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(Takes(UdpFrame(50'000)));
    one_ns = std::min(one_ns, duration_ns_);
  }
  for (uint16_t port = 2; port <= 10'000; ++port) {
    ASSERT_EQ(filter_->Add(UdpTo(port)), 0) << port;
  }
  uint32_t many_ns = UINT32_MAX;
  for (int i = 0; i < 5; ++i) {
    EXPECT_FALSE(Takes(UdpFrame(50'000)));
    many_ns = std::min(many_ns, duration_ns_);
  }
  repeat_ = 1;
  for (const uint16_t port : {1, 2, 5000, 10'000}) {
    EXPECT_TRUE(Takes(UdpFrame(port))) << port;
  }
  EXPECT_FALSE(Takes(UdpFrame(10'001)));
  // A list would be thousands of times slower.
  EXPECT_LT(many_ns, 4 * one_ns + 200);
}

// Frames of all the kinds that the fields tell apart, damaged in every way.
class FrameMaker {
 public:
  Bytes Next() {
    Frame frame;
    frame.Eth(kA, kB);
    for (int tags = Pick({0, 0, 0, 1, 2, 3}); tags > 0; --tags) {
      frame.Vlan(static_cast<uint16_t>(random_()),
                 static_cast<uint16_t>(Pick({0x8100, 0x88a8})));
    }
    if (Pick({0, 1}) == 0) {
      AddIpv4(frame);
    } else {
      AddIpv6(frame);
    }
    Bytes bytes = frame.Build();
    if (Pick({0, 0, 1}) == 1) {
      bytes.resize(std::max<size_t>(14, random_() % bytes.size()));
    }
    for (int damaged = Pick({0, 0, 1, 3}); damaged > 0; --damaged) {
      bytes[12 + random_() % (bytes.size() - 12)] = std::byte(random_());
    }
    return bytes;
  }

  int Pick(const std::vector<int>& from) {
    return from[random_() % from.size()];
  }

 private:
  void AddIpv4(Frame& frame) {
    Ipv4Fields fields{.tos = static_cast<uint8_t>(random_()),
                      .ttl = static_cast<uint8_t>(Pick({1, 64})),
                      .dont_fragment = Pick({0, 1}) == 1,
                      .more_fragments = Pick({0, 0, 1}) == 1};
    fields.fragment_offset_bytes = static_cast<uint16_t>(Pick({0, 0, 0, 8}));
    fields.options = Bytes(static_cast<size_t>(Pick({0, 0, 4, 40})));
    frame.Ipv4("10.0.0.1", "10.0.0.2", fields);
    AddTransport(frame);
  }

  void AddIpv6(Frame& frame) {
    const std::vector<int> kinds = {0, 43, 44, 60};
    std::vector<int> chain;
    for (int i = Pick({0, 0, 0, 1, 2, 3, 8, 9}); i > 0; --i) {
      chain.push_back(Pick(kinds));
    }
    const bool tcp = Pick({0, 1}) == 1;
    chain.push_back(tcp ? 6 : Pick({17, 17, 58}));
    Ipv6Fields fields{.traffic_class = static_cast<uint8_t>(random_()),
                      .flow_label = static_cast<uint32_t>(random_() & 0xfffff)};
    fields.next_header = static_cast<uint8_t>(chain.front());
    frame.Ipv6("fd00::1", "fd00::2", fields);
    for (size_t i = 0; i + 1 < chain.size(); ++i) {
      AddExtension(frame, chain[i], chain[i + 1]);
    }
    frame.Raw({4, 0, 8, 0, 0, 20, 0, 0}).Payload(20);
  }

  void AddExtension(Frame& frame, int kind, int next) {
    const int units = kind == 44 ? 0 : Pick({0, 0, 1});
    const int offset = kind == 44 ? Pick({0, 0, 0, 8}) : 0;
    frame.Raw({next, units, 0, offset, 0, 0, 0, 0});
    if (units == 1) frame.Raw({0, 0, 0, 0, 0, 0, 0, 0});
  }

  void AddTransport(Frame& frame) {
    switch (Pick({0, 1, 2})) {
      case 0:
        frame.Udp(1024, 2048).Payload(20);
        break;
      case 1:
        frame.Tcp(1024, 2048).Payload(20);
        break;
      default:
        frame.Echo();
    }
  }

  std::mt19937 random_{20260729};
};

// Each frame against rules made of other frames' fields under masks that look
// at one thing each, and at all at once.
TEST_F(FlowFilterTest, ReadsTheSameFieldsAsTheSoftware) {
  FrameMaker maker;
  size_t taken = 0;
  for (int i = 0; i < 4000; ++i) {
    const Bytes frame = maker.Next();
    const FlowFields fields = ReadFlowFields(frame);
    // All that the software reads, and then with one bit the other way.
    FlowFields all;
    std::memset(&all, 0xff, sizeof all);
    FlowMatch match = MatchOf(fields, all);
    ASSERT_EQ(filter_->Add(match), 0);
    EXPECT_TRUE(Takes(frame)) << "frame " << i;
    filter_->Remove(match);
    const size_t word = static_cast<size_t>(i) % kFlowWords;
    FlowMatch one{};
    one.mask[word] = ~uint64_t{0};
    one.value[word] = match.value[word];
    ASSERT_EQ(filter_->Add(one), 0);
    EXPECT_TRUE(Takes(frame)) << "frame " << i << " word " << word;
    const Bytes other = maker.Next();
    const bool expected = one.Matches(ReadFlowFields(other));
    EXPECT_EQ(Takes(other), expected) << "frame " << i << " word " << word;
    taken += expected ? 1 : 0;
    filter_->Remove(one);
    match.value[word] ^= uint64_t{1} << (i % 64);
    ASSERT_EQ(filter_->Add(match), 0);
    EXPECT_FALSE(Takes(frame)) << "frame " << i << " word " << word;
    filter_->Remove(match);
    if (HasFailure()) break;
  }
  // Else the comparison of other frames says little.
  EXPECT_GT(taken, 200u);
}

}  // namespace
}  // namespace weir::hca
