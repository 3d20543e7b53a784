// The loops that weir's parser and DPDK's are measured by, and their traffic:
// the same source for both, compiled with the same flags.
//
// `Parser` keeps frames in its own kind of mbufs and has
//   Add(bytes)           another frame, behind the others
//   Prefetch(i)          the first line of frame i
//   Parse(i)             looks at frame i, writes what it is into its mbuf and
//                        says whether that was known to it

#ifndef WEIR_BENCH_NET_PARSE_LOOPS_H_
#define WEIR_BENCH_NET_PARSE_LOOPS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "bench/support/peer_thread.h"
#include "bench/support/samples.h"
#include "benchmark/benchmark.h"

namespace weir {

using FrameBytes = std::vector<std::byte>;

// What a frame is, in the order of the mixes below.
enum class Kind {
  kIpv4Udp,
  kIpv4Tcp,
  kIpv6Tcp,
  kVlanIpv4Udp,
  kQinqIpv4Tcp,
  kIpv6Udp,
  kIpv4Icmp,
  kIpv4Options,
  kIpv4Fragment,
  kIpv6HopByHop,
};

// Mixes: that many of the kinds above, each as likely as the others.
inline constexpr size_t kOneKind = 1;
inline constexpr size_t kThreeKinds = 3;
inline constexpr size_t kSevenKinds = 7;
inline constexpr size_t kTenKinds = 10;

// Packets between the one that is parsed and the one whose line is fetched.
inline constexpr size_t kFetchAhead = 4;

// A frame of 60 bytes or more, with as much in it as a parser looks at.
inline FrameBytes MakeFrame(Kind kind) {
  FrameBytes frame(12, std::byte{2});
  const auto put = [&](std::initializer_list<int> bytes) {
    for (const int byte : bytes) frame.push_back(static_cast<std::byte>(byte));
  };
  const bool is_tcp = kind == Kind::kIpv4Tcp || kind == Kind::kIpv6Tcp ||
                      kind == Kind::kQinqIpv4Tcp;
  const bool is_six = kind == Kind::kIpv6Tcp || kind == Kind::kIpv6Udp ||
                      kind == Kind::kIpv6HopByHop;
  const int protocol = kind == Kind::kIpv4Icmp ? 1 : is_tcp ? 6 : 17;
  // Header and 6 bytes of payload.
  const int transport = is_tcp ? 26 : 14;
  if (kind == Kind::kQinqIpv4Tcp) put({0x88, 0xa8, 0, 100});
  if (kind == Kind::kQinqIpv4Tcp || kind == Kind::kVlanIpv4Udp) {
    put({0x81, 0, 0, 7});
  }
  if (is_six) {
    const bool chain = kind == Kind::kIpv6HopByHop;
    put({0x86, 0xdd, 0x60, 0, 0, 0, 0, transport + (chain ? 8 : 0),
         chain ? 0 : protocol, 64});
    frame.resize(frame.size() + 32, std::byte{0x20});
    if (chain) put({protocol, 0, 5, 2, 0, 0, 1, 0});
  } else {
    const int options = kind == Kind::kIpv4Options ? 4 : 0;
    const int fragment = kind == Kind::kIpv4Fragment ? 185 : 0;
    put({8,        0,  0x45 + options / 4,
         0,        0,  20 + options + transport,
         0,        1,  0,
         fragment, 64, protocol,
         0,        0,  192,
         0,        2,  1,
         192,      0,  2,
         2});
    if (options != 0) put({0x94, 4, 0, 0});
  }
  put({15, 160, 19, 136});
  if (is_tcp) {
    put({0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x10, 4, 0, 0, 0, 0, 0});
  } else {
    put({0, transport, 0, 0});
  }
  frame.resize(std::max<size_t>(frame.size() + 6, 60));
  return frame;
}

// `state.range(0)` frames of the first kKinds kinds at random, parsed in turn;
// per frame.
template <typename Parser, size_t kKinds>
void ParseFrames(benchmark::State& state) {
  PinTo(kMainCpu);
  const auto frames = static_cast<size_t>(state.range(0));
  Parser parser(frames);
  std::mt19937 random(1);
  for (size_t i = 0; i < frames; ++i) {
    parser.Add(MakeFrame(static_cast<Kind>(random() % kKinds)));
  }
  Samples samples;
  const size_t rounds = std::max<size_t>(1, 16384 / frames);
  for (auto _ : state) {
    size_t known = 0;
    samples.Take(static_cast<double>(rounds * frames), [&] {
      for (size_t round = 0; round < rounds; ++round) {
        for (size_t i = 0; i < frames; ++i) {
          parser.Prefetch(std::min(i + kFetchAhead, frames - 1));
          known += parser.Parse(i) ? 1 : 0;
        }
        Clobber();
      }
    });
    if (known != rounds * frames) state.SkipWithError("not all are known");
  }
  samples.Report(state);
}

// All of a parser's benchmarks.
template <typename Parser>
void RegisterParseBenches() {
  const auto add = [](const char* name, auto* bench) {
    benchmark::RegisterBenchmark(name, bench)->Arg(64)->Arg(8192);
  };
  add("parse/1_kind", ParseFrames<Parser, kOneKind>);
  add("parse/3_kinds", ParseFrames<Parser, kThreeKinds>);
  add("parse/7_kinds", ParseFrames<Parser, kSevenKinds>);
  add("parse/10_kinds", ParseFrames<Parser, kTenKinds>);
}

}  // namespace weir

#endif  // WEIR_BENCH_NET_PARSE_LOOPS_H_
