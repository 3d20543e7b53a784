// Every fault of the software HCA, at a port that is idle, half loaded and
// fully loaded, with one worker and with four: traffic goes on, nothing is said
// twice, every packet and every mbuf is found again. Prints how long it took.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "test/system/fault_rig.h"
#include "weir/app/report.h"

namespace weir {
namespace {

using testing::FaultRig;
using testing::Load;
using Side = FaultRig::Side;

struct Case {
  const char* fault;
  Side side;
};

// Whatever can strike the side that receives, or the one that sends.
constexpr Case kCases[] = {
    {"recv_error:loc_prot", Side::kIn},
    {"recv_error:fatal", Side::kIn},
    {"qp_error", Side::kIn},
    {"cq_overrun", Side::kIn},
    {"port_down:20ms", Side::kIn},
    {"send_error:loc_qp_op", Side::kOut},
    {"send_error:general", Side::kOut},
    {"qp_error", Side::kOut},
    {"cq_overrun", Side::kOut},
    {"port_down:20ms", Side::kOut},
    {"send_stall", Side::kOut},
    {"send_stall:10s", Side::kOut},
};
constexpr std::pair<Load, const char*> kLoads[] = {
    {Load::kIdle, "idle"}, {Load::kHalf, "half"}, {Load::kFull, "full"}};

std::string NameOf(const Case& one) {
  return std::string(one.fault) + (one.side == Side::kIn ? " in" : " out");
}

// Steps until `condition` holds; false if it never does.
template <typename Condition>
bool StepUntil(FaultRig& rig, Load load, Condition condition) {
  const auto deadline = FaultRig::Clock::now() + FaultRig::kPatience;
  while (!condition()) {
    if (FaultRig::Clock::now() > deadline) return false;
    rig.Step(load);
  }
  return true;
}

// The law of each port: every frame of the medium is counted once.
void ExpectDeviceLaw(const PortReport& port) {
  std::map<std::string, uint64_t> counts;
  for (const NamedCount& count : port.device_counters) {
    counts[count.name] = count.value;
  }
  uint64_t sum = 0;
  for (const char* name : {"rx_delivered", "unmatched", "rx_flow_dropped",
                           "out_of_buffer", "rx_oversize", "rx_not_ready",
                           "rx_errors", "rx_cq_overrun", "rx_link_down"}) {
    sum += counts[name];
  }
  EXPECT_EQ(counts["rx_frames"], sum);
}

void ExpectExactLedger(FaultRig& rig) {
  const AppReport report = rig.Stop();
  const Conservation packets = Conserve(report);
  EXPECT_TRUE(packets.holds())
      << packets.received << " received, " << packets.made << " made, "
      << packets.sent << " sent, " << packets.dropped << " dropped, "
      << packets.taken << " taken, " << packets.held << " held";
  EXPECT_GT(packets.sent, 0u);
  for (const PortReport& port : report.ports) ExpectDeviceLaw(port);
  EXPECT_EQ(rig.Close(), 0u);
}

// Nothing twice, of each queue and link one line, or two where it comes back.
void ExpectSaidOnce(const std::vector<std::string>& said) {
  EXPECT_FALSE(said.empty());
  EXPECT_EQ(std::set<std::string>(said.begin(), said.end()).size(),
            said.size());
  for (const std::string& line : said) {
    EXPECT_EQ(line.find("more"), std::string::npos) << line;
  }
}

// Strikes and returns after how many milliseconds every flow goes on.
double Recover(FaultRig& rig, const Case& one, Load load) {
  const uint64_t errors = rig.errors(one.side);
  const uint64_t changes = rig.monitor(one.side).state_changes();
  const bool is_link = std::string(one.fault).starts_with("port_down");
  const auto begin = FaultRig::Clock::now();
  rig.Inject(one.side, one.fault);
  EXPECT_TRUE(StepUntil(rig, load, [&] {
    return is_link ? rig.monitor(one.side).state_changes() == changes + 2
                   : rig.errors(one.side) > errors;
  })) << "the fault never struck";
  rig.Mark();
  EXPECT_TRUE(StepUntil(rig, load, [&] { return rig.HasComeSinceMark(); }))
      << "traffic never went on";
  const std::chrono::duration<double, std::milli> took =
      FaultRig::Clock::now() - begin;
  EXPECT_TRUE(StepUntil(rig, load, [&] {
    return rig.errors(one.side) == rig.recoveries(one.side);
  })) << "not every queue recovered";
  return took.count();
}

TEST(FaultCampaign, GetsOverEveryFaultUnderEveryLoad) {
  std::map<std::string, std::vector<double>> table;
  for (const uint32_t workers : {1u, 4u}) {
    FaultRig rig(workers);
    for (const auto& [load, load_name] : kLoads) {
      rig.Mark();
      ASSERT_TRUE(StepUntil(rig, load, [&] { return rig.HasComeSinceMark(); }));
      for (const Case& one : kCases) {
        SCOPED_TRACE(NameOf(one) + ", " + load_name + ", " +
                     std::to_string(workers) + " workers");
        table[NameOf(one)].push_back(Recover(rig, one, load));
        ExpectSaidOnce(rig.TakeSaid());
        if (HasFailure()) return;
      }
    }
    ExpectExactLedger(rig);
  }
  std::printf(
      "milliseconds until every flow went on\n"
      "| fault | 1 worker: idle | half | full | 4: idle | half | full "
      "|\n|---|---|---|---|---|---|---|\n");
  for (const Case& one : kCases) {
    std::printf("| `%s` |", NameOf(one).c_str());
    for (const double ms : table[NameOf(one)]) std::printf(" %.1f |", ms);
    std::printf("\n");
  }
}

class FaultCampaignGone : public ::testing::TestWithParam<uint32_t> {};

TEST_P(FaultCampaignGone, GoesOnWithoutThePortThatSends) {
  for (const auto& [load, load_name] : kLoads) {
    SCOPED_TRACE(load_name);
    FaultRig rig(GetParam());
    rig.Mark();
    ASSERT_TRUE(StepUntil(rig, load, [&] { return rig.HasComeSinceMark(); }));
    rig.Inject(Side::kOut, "remove");
    // All that comes in is dropped by name, and more keeps coming.
    ASSERT_TRUE(StepUntil(rig, load, [&] {
      return rig.drops(Side::kOut, "port-gone") > 2000 ||
             (load == Load::kIdle && rig.drops(Side::kOut, "port-gone") > 20);
    }));
    EXPECT_EQ(rig.monitor(Side::kOut).state(), PortState::kGone);
    EXPECT_EQ(rig.monitor(Side::kOut).held_mbufs(), 0u);
    EXPECT_EQ(rig.monitor(Side::kIn).state(), PortState::kUp);
    EXPECT_FALSE(rig.watch().all_gone());
    EXPECT_EQ(rig.TakeSaid().size(), 1u);
    ExpectExactLedger(rig);
  }
}

TEST_P(FaultCampaignGone, EndsWithoutThePortThatReceives) {
  for (const auto& [load, load_name] : kLoads) {
    SCOPED_TRACE(load_name);
    FaultRig rig(GetParam());
    rig.Mark();
    ASSERT_TRUE(StepUntil(rig, load, [&] { return rig.HasComeSinceMark(); }));
    rig.Inject(Side::kIn, "remove");
    ASSERT_TRUE(StepUntil(rig, load, [&] {
      return rig.runtime().done() &&
             rig.monitor(Side::kIn).state() == PortState::kGone;
    }));
    EXPECT_EQ(rig.TakeSaid().size(), 1u);
    ExpectExactLedger(rig);
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, FaultCampaignGone, ::testing::Values(1, 4));

}  // namespace
}  // namespace weir
