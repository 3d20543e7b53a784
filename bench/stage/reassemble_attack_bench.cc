// Good datagrams under attack: how many a core reassembles while fragments of
// others flood it, beside how many it does alone. A table; no Google Benchmark,
// for every line is a comparison of runs in turn. An argument chooses the
// floods that have it in their name.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

#include "bench/support/peer_thread.h"
#include "test/stage/attack_load.h"

namespace weir::testing {
namespace {

struct Size {
  // Good datagrams that are incomplete at once, and how often as many come.
  uint32_t datagrams;
  uint32_t turns;
  uint32_t rounds;
  // Whether there is room for what comes between the first and the last
  // fragment of a good datagram if the flood has four times as many.
  bool has_fourfold;
  ReassemblyOptions options;
};

// Of all rounds the smallest time, and all datagrams.
struct Best {
  double ns_per_good = std::numeric_limits<double>::infinity();
  uint64_t sent = 0;
  uint64_t complete = 0;

  void Take(const AttackResult& result) {
    ns_per_good = std::min(ns_per_good, result.ns_per_good());
    sent += result.sent;
    complete += result.complete;
  }
};

// What is measured under one flood; a fragment of that alone in nanoseconds.
struct Figures {
  Best alone;
  Best million;
  Best equal;
  Best fourfold;
  double flood_ns = std::numeric_limits<double>::infinity();
};

Figures MeasureUnder(const Size& size, const AttackFlood& flood, bool is_ipv6) {
  AttackLoad alone(size.options, size.datagrams, flood, is_ipv6);
  AttackLoad under(size.options, size.datagrams, flood, is_ipv6);
  under.Flood(uint64_t{2} * size.options.max_fragments);
  Figures best;
  alone.Run(size.turns, 0);
  for (uint32_t round = 0; round < size.rounds; ++round) {
    best.alone.Take(alone.Run(size.turns, 0));
    best.flood_ns =
        std::min(best.flood_ns, under.Flood(4096).ns_per_fragment());
    // A core that is never idle takes a good fragment in so many nanoseconds,
    // of which every thousandth brings one of the flood.
    const double ns =
        std::min(best.million.ns_per_good, 2 * best.alone.ns_per_good);
    // No more than there is room for, however slow the machine was.
    best.million.Take(under.Run(size.turns, std::min(ns / 1000, 1.0)));
    best.equal.Take(under.Run(size.turns, 1));
    if (size.has_fourfold) best.fourfold.Take(under.Run(size.turns, 4));
  }
  return best;
}

// False if a good datagram was lost.
bool Report(const Size& size, const AttackFlood& flood, bool is_ipv6) {
  const Figures best = MeasureUnder(size, flood, is_ipv6);
  const double alone_ns = best.alone.ns_per_good;
  const auto percent = [alone_ns](const Best& under) {
    return 100 * alone_ns / under.ns_per_good;
  };
  uint64_t lost = 0;
  for (const Best* one :
       {&best.alone, &best.million, &best.equal, &best.fourfold}) {
    lost += one->sent - one->complete;
  }
  std::printf("| IPv%c | %4u of %6u | %-39s | %4.2f | %3.0f%% | %3.0f%% ",
              is_ipv6 ? '6' : '4', size.datagrams, size.options.max_datagrams,
              flood.name, 1e3 / (6 * alone_ns), percent(best.million),
              percent(best.equal));
  if (size.has_fourfold) {
    std::printf("| %3.0f%% ", percent(best.fourfold));
  } else {
    std::printf("|    - ");
  }
  std::printf("| %5.1f | %5.1f | %llu |\n", alone_ns, best.flood_ns,
              static_cast<unsigned long long>(lost));
  std::fflush(stdout);
  return lost == 0;
}

}  // namespace
}  // namespace weir::testing

int main(int argc, char** argv) {
  weir::PinTo(weir::kMainCpu);
  std::puts(
      "| IP | at once, of | flood | alone, M/s | 1 M/s | 1:1 | 4:1 | ns a good "
      "fragment alone | ns a flood fragment alone | lost |\n"
      "|---|---|---|---|---|---|---|---|---|---|");
  const std::array<weir::testing::Size, 3> sizes = {{
      {.datagrams = 64,
       .turns = 20,
       .rounds = 150,
       .has_fourfold = true,
       .options = {}},
      {.datagrams = 4096,
       .turns = 1,
       .rounds = 25,
       .has_fourfold = false,
       .options = {.max_datagrams = 1 << 15,
                   .max_fragments = 1 << 16,
                   .max_bytes = uint64_t{1} << 30}},
      {.datagrams = 4096,
       .turns = 1,
       .rounds = 25,
       .has_fourfold = true,
       .options = {.max_datagrams = 1 << 17,
                   .max_fragments = 1 << 18,
                   .max_bytes = uint64_t{1} << 30}},
  }};
  bool is_whole = true;
  for (const auto& size : sizes) {
    for (const auto& flood : weir::testing::kAttackFloods) {
      if (argc > 1 && std::strstr(flood.name, argv[1]) == nullptr) continue;
      for (const bool is_ipv6 : {false, true}) {
        is_whole = weir::testing::Report(size, flood, is_ipv6) && is_whole;
      }
    }
  }
  return is_whole ? 0 : 1;
}
