// RSS: which work queue a frame goes to.

#include <arpa/inet.h>
#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "test/conformance/checks/all_checks.h"
#include "test/conformance/checks/spread.h"
#include "test/conformance/rig.h"

namespace weir::conformance {
namespace {

// The function of Microsoft's "Verifying the RSS Hash Calculation", bit by bit.
uint32_t Toeplitz(const std::vector<uint8_t>& input) {
  const auto key = RssKey();
  const auto key_bit = [&key](size_t i) {
    return (key[i / 8] >> (7 - i % 8)) & 1u;
  };
  uint32_t hash = 0;
  for (size_t i = 0; i < input.size() * 8; ++i) {
    if (((input[i / 8] >> (7 - i % 8)) & 1) == 0) continue;
    uint32_t window = 0;
    for (size_t k = 0; k < 32; ++k) window = window << 1 | key_bit(i + k);
    hash ^= window;
  }
  return hash;
}

void Append(std::vector<uint8_t>& input, int family, const std::string& text) {
  std::array<uint8_t, 16> address{};
  EXPECT_EQ(inet_pton(family, text.c_str(), address.data()), 1);
  input.insert(input.end(), address.begin(),
               address.begin() + (family == AF_INET ? 4 : 16));
}

void Append(std::vector<uint8_t>& input, uint16_t port) {
  input.push_back(static_cast<uint8_t>(port >> 8));
  input.push_back(static_cast<uint8_t>(port));
}

// Frames, each with the input of its hash.
struct Hashed {
  Bytes frame;
  std::vector<uint8_t> input;
};

// All of `frames` arrive, each where the hash says.
void ExpectSpread(Lab& lab, const std::vector<Hashed>& frames,
                  uint64_t fields) {
  std::vector<Bytes> bytes;
  for (const Hashed& each : frames) bytes.push_back(each.frame);
  Rig rig(lab, bytes);
  Spread spread(rig, 2, fields);
  ASSERT_TRUE(spread.ok());
  spread.Take(frames.size());
  rig.Deliver();
  std::array<std::vector<Bytes>, 4> expected;
  for (const Hashed& each : frames) {
    expected[Toeplitz(each.input) % 4].push_back(each.frame);
  }
  for (size_t i = 0; i < 4; ++i) {
    std::vector<Bytes> got;
    for (const ibv_wc& wc : spread.wqs[i]->cq.Poll(expected[i].size())) {
      const auto buffer = rig.Buffer(wc.wr_id).first(wc.byte_len);
      got.emplace_back(buffer.begin(), buffer.end());
    }
    EXPECT_EQ(got, expected[i]) << "work queue " << i;
  }
}

void SpreadsUdpByPorts(Lab& lab) {
  std::vector<Hashed> frames;
  for (uint16_t port = 1000; port < 1024; ++port) {
    Hashed each = {.frame = UdpFrame(port, 53), .input = {}};
    Append(each.input, AF_INET, "10.0.0.1");
    Append(each.input, AF_INET, "10.0.0.2");
    Append(each.input, port);
    Append(each.input, 53);
    frames.push_back(each);
  }
  ExpectSpread(lab, frames, kIpv4Udp);
}

void SpreadsIpv4ByAddresses(Lab& lab) {
  std::vector<Hashed> frames;
  for (int host = 1; host <= 24; ++host) {
    const std::string from = "10.0.1." + std::to_string(host);
    Hashed each = {.frame = Frame()
                                .Eth(kTestMacB, kTestMacA)
                                .Ipv4(from, "10.0.0.2")
                                .Udp(static_cast<uint16_t>(host), 9)
                                .Payload(30)
                                .Build(),
                   .input = {}};
    Append(each.input, AF_INET, from);
    Append(each.input, AF_INET, "10.0.0.2");
    frames.push_back(each);
  }
  ExpectSpread(lab, frames, IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4);
}

void SpreadsIpv6ByAddresses(Lab& lab) {
  std::vector<Hashed> frames;
  for (int host = 1; host <= 24; ++host) {
    const std::string from = "fc00::" + std::to_string(host);
    Hashed each = {.frame = Frame()
                                .Eth(kTestMacB, kTestMacA)
                                .Ipv6(from, "fc00::2")
                                .Udp(7, 9)
                                .Payload(30)
                                .Build(),
                   .input = {}};
    Append(each.input, AF_INET6, from);
    Append(each.input, AF_INET6, "fc00::2");
    frames.push_back(each);
  }
  ExpectSpread(lab, frames, IBV_RX_HASH_SRC_IPV6 | IBV_RX_HASH_DST_IPV6);
}

void SpreadsTcpByPorts(Lab& lab) {
  std::vector<Hashed> frames;
  for (uint16_t port = 1000; port < 1024; ++port) {
    Hashed each = {.frame = Frame()
                                .Eth(kTestMacB, kTestMacA)
                                .Ipv4("10.0.0.1", "10.0.0.2")
                                .Tcp(port, 80)
                                .Payload(30)
                                .Build(),
                   .input = {}};
    Append(each.input, AF_INET, "10.0.0.1");
    Append(each.input, AF_INET, "10.0.0.2");
    Append(each.input, port);
    Append(each.input, 80);
    frames.push_back(each);
  }
  ExpectSpread(lab, frames,
               IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 |
                   IBV_RX_HASH_SRC_PORT_TCP | IBV_RX_HASH_DST_PORT_TCP);
}

void TableOfOneTakesAll(Lab& lab) {
  const std::vector<Bytes> frames = {UdpFrame(1, 2), PlainFrame(60),
                                     UdpFrame(3, 4)};
  Rig rig(lab, frames);
  Spread spread(rig, 0, kIpv4Udp);
  ASSERT_TRUE(spread.ok());
  spread.Take(3);
  rig.Deliver();
  const auto done = spread.wqs[0]->cq.Poll(3);
  ASSERT_EQ(done.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(done[i].wr_id, i);
    EXPECT_EQ(done[i].status, IBV_WC_SUCCESS);
    EXPECT_EQ(done[i].opcode, IBV_WC_RECV);
    EXPECT_EQ(done[i].byte_len, frames[i].size());
    EXPECT_EQ(done[i].qp_num, spread.wqs[0]->wq->wq_num);
  }
}

void WhatHasNoHashGoesToTheFirst(Lab& lab) {
  Rig rig(lab, PlainFrames(3));
  Spread spread(rig, 2, kIpv4Udp);
  ASSERT_TRUE(spread.ok());
  spread.Take(3);
  rig.Deliver();
  EXPECT_EQ(spread.wqs[0]->cq.Poll(3).size(), 3u);
}

void RefusesTablesBeyondTheLimit(Lab& lab) {
  Rig rig(lab);
  TestWq wq(rig);
  ASSERT_NE(wq.wq, nullptr);
  const uint32_t most =
      rig.ExtendedAttributes().rss_caps.max_rwq_indirection_table_size;
  unsigned log_size = 0;
  while ((uint64_t{1} << log_size) <= most) ++log_size;
  const std::vector<ibv_wq*> entries(size_t{1} << log_size, wq.wq);
  ibv_rwq_ind_table_init_attr attr{};
  attr.log_ind_tbl_size = log_size;
  attr.ind_tbl = const_cast<ibv_wq**>(entries.data());
  EXPECT_EQ(ibv_create_rwq_ind_table(rig.context, &attr), nullptr);
}

void RefusesUnknownHashes(Lab& lab) {
  Rig rig(lab);
  Spread spread(rig, 0, kIpv4Udp);
  ASSERT_TRUE(spread.ok());
  auto key = RssKey();
  ibv_qp_init_attr_ex attr = RssAttributes(rig, spread.table, kIpv4Udp, key);
  attr.rx_hash_conf.rx_hash_function = 0x80;
  EXPECT_EQ(ibv_create_qp_ex(rig.context, &attr), nullptr);
  attr = RssAttributes(rig, spread.table, uint64_t{1} << 50, key);
  EXPECT_EQ(ibv_create_qp_ex(rig.context, &attr), nullptr);
}

void RefusesKeysOfOtherLengths(Lab& lab) {
  Rig rig(lab);
  Spread spread(rig, 0, kIpv4Udp);
  ASSERT_TRUE(spread.ok());
  auto key = RssKey();
  ibv_qp_init_attr_ex attr = RssAttributes(rig, spread.table, kIpv4Udp, key);
  attr.rx_hash_conf.rx_hash_key_len = 39;
  EXPECT_EQ(ibv_create_qp_ex(rig.context, &attr), nullptr);
}

}  // namespace

CheckList RssChecks() {
  static constexpr uint32_t kIn = kRssCap | kInject;
  static constexpr Check kChecks[] = {
      {"rss.table_of_one_takes_all", kIn, TableOfOneTakesAll},
      {"rss.spreads_udp_by_ports", kIn, SpreadsUdpByPorts},
      {"rss.spreads_tcp_by_ports", kIn, SpreadsTcpByPorts},
      {"rss.spreads_ipv4_by_addresses", kIn, SpreadsIpv4ByAddresses},
      {"rss.spreads_ipv6_by_addresses", kIn, SpreadsIpv6ByAddresses},
      {"rss.what_has_no_hash_goes_to_the_first", kIn | kStrict,
       WhatHasNoHashGoesToTheFirst},
      {"rss.refuses_tables_beyond_the_limit", kRssCap,
       RefusesTablesBeyondTheLimit},
      {"rss.refuses_unknown_hashes", kRssCap, RefusesUnknownHashes},
      {"rss.refuses_keys_of_other_lengths", kRssCap | kStrict,
       RefusesKeysOfOtherLengths},
  };
  return kChecks;
}

}  // namespace weir::conformance
