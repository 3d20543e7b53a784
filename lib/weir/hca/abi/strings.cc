// Entry points that take no object: names of values and rates, fork support.
// The real library answers where there is one, for it knows later values.

#include <infiniband/verbs.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <span>

#include "weir/hca/abi/real_library.h"

using weir::hca::RealFunction;

namespace {

constexpr const char* kUnknown = "unknown";

const char* Name(std::span<const char* const> names, int index) {
  return index >= 0 && static_cast<size_t>(index) < names.size()
             ? names[static_cast<size_t>(index)]
             : kUnknown;
}

struct Rate {
  ibv_rate rate;
  // Of 2.5 Gb/s, -1 where it is no multiple.
  int multiple;
  int mbps;
};

constexpr std::array<Rate, 22> kRates = {{
    {IBV_RATE_2_5_GBPS, 1, 2500},     {IBV_RATE_5_GBPS, 2, 5000},
    {IBV_RATE_10_GBPS, 4, 10000},     {IBV_RATE_20_GBPS, 8, 20000},
    {IBV_RATE_30_GBPS, 12, 30000},    {IBV_RATE_40_GBPS, 16, 40000},
    {IBV_RATE_60_GBPS, 24, 60000},    {IBV_RATE_80_GBPS, 32, 80000},
    {IBV_RATE_120_GBPS, 48, 120000},  {IBV_RATE_14_GBPS, -1, 14062},
    {IBV_RATE_56_GBPS, -1, 56250},    {IBV_RATE_112_GBPS, -1, 112500},
    {IBV_RATE_168_GBPS, -1, 168750},  {IBV_RATE_25_GBPS, -1, 25781},
    {IBV_RATE_100_GBPS, -1, 103125},  {IBV_RATE_200_GBPS, -1, 206250},
    {IBV_RATE_300_GBPS, -1, 309375},  {IBV_RATE_28_GBPS, -1, 28125},
    {IBV_RATE_50_GBPS, 20, 53125},    {IBV_RATE_400_GBPS, 160, 425000},
    {IBV_RATE_600_GBPS, 240, 637500}, {IBV_RATE_MAX, -1, -1},
}};

}  // namespace

extern "C" {

const char* ibv_wc_status_str(ibv_wc_status status) {
  static constinit RealFunction<const char*(ibv_wc_status)> real{
      "ibv_wc_status_str", "IBVERBS_1.1"};
  constexpr std::array kNames = {"success",
                                 "local length error",
                                 "local QP operation error",
                                 "local EE context operation error",
                                 "local protection error",
                                 "Work Request Flushed Error",
                                 "memory management operation error",
                                 "bad response error",
                                 "local access error",
                                 "remote invalid request error",
                                 "remote access error",
                                 "remote operation error",
                                 "transport retry counter exceeded",
                                 "RNR retry counter exceeded",
                                 "local RDD violation error",
                                 "remote invalid RD request",
                                 "aborted error",
                                 "invalid EE context number",
                                 "invalid EE context state",
                                 "fatal error",
                                 "response timeout error",
                                 "general error"};
  return real.exists() ? real(status) : Name(kNames, status);
}

const char* ibv_event_type_str(ibv_event_type event) {
  static constinit RealFunction<const char*(ibv_event_type)> real{
      "ibv_event_type_str", "IBVERBS_1.1"};
  constexpr std::array kNames = {"CQ error",
                                 "local work queue catastrophic error",
                                 "invalid request local work queue error",
                                 "local access violation work queue error",
                                 "communication established",
                                 "send queue drained",
                                 "path migrated",
                                 "path migration request error",
                                 "local catastrophic error",
                                 "port active",
                                 "port error",
                                 "LID change",
                                 "P_Key change",
                                 "SM change",
                                 "SRQ catastrophic error",
                                 "SRQ limit reached",
                                 "last WQE reached",
                                 "client reregistration",
                                 "GID table change",
                                 "WQ fatal"};
  return real.exists() ? real(event) : Name(kNames, event);
}

const char* ibv_port_state_str(ibv_port_state state) {
  static constinit RealFunction<const char*(ibv_port_state)> real{
      "ibv_port_state_str", "IBVERBS_1.1"};
  constexpr std::array kNames = {
      "no state change (NOP)", "down", "init", "armed", "active",
      "active defer"};
  return real.exists() ? real(state) : Name(kNames, state);
}

const char* ibv_node_type_str(ibv_node_type type) {
  static constinit RealFunction<const char*(ibv_node_type)> real{
      "ibv_node_type_str", "IBVERBS_1.1"};
  constexpr std::array kNames = {kUnknown,
                                 "InfiniBand channel adapter",
                                 "InfiniBand switch",
                                 "InfiniBand router",
                                 "iWARP NIC",
                                 "usNIC",
                                 "usNIC UDP",
                                 "unspecified"};
  return real.exists() ? real(type) : Name(kNames, type);
}

int ibv_rate_to_mult(ibv_rate rate) {
  static constinit RealFunction<int(ibv_rate)> real{"ibv_rate_to_mult",
                                                    "IBVERBS_1.0"};
  if (real.exists()) return real(rate);
  for (const Rate& each : kRates) {
    if (each.rate == rate) return each.multiple;
  }
  return -1;
}

ibv_rate mult_to_ibv_rate(int multiple) {
  static constinit RealFunction<ibv_rate(int)> real{"mult_to_ibv_rate",
                                                    "IBVERBS_1.0"};
  if (real.exists()) return real(multiple);
  for (const Rate& each : kRates) {
    if (each.multiple == multiple) return each.rate;
  }
  return IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
  static constinit RealFunction<int(ibv_rate)> real{"ibv_rate_to_mbps",
                                                    "IBVERBS_1.1"};
  if (real.exists()) return real(rate);
  for (const Rate& each : kRates) {
    if (each.rate == rate) return each.mbps;
  }
  return -1;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
  static constinit RealFunction<ibv_rate(int)> real{"mbps_to_ibv_rate",
                                                    "IBVERBS_1.1"};
  if (real.exists()) return real(mbps);
  for (const Rate& each : kRates) {
    if (each.mbps == mbps) return each.rate;
  }
  return IBV_RATE_MAX;
}

// Soft devices pin nothing, so they have no need of fork support.
int ibv_fork_init() {
  static constinit RealFunction<int()> real{"ibv_fork_init", "IBVERBS_1.1"};
  return real.exists() ? real() : 0;
}

ibv_fork_status ibv_is_fork_initialized() {
  static constinit RealFunction<ibv_fork_status()> real{
      "ibv_is_fork_initialized", "IBVERBS_1.13"};
  return real.exists() ? real() : IBV_FORK_UNNEEDED;
}

// Called by providers about their own memory.
int ibv_dontfork_range(void* base, size_t bytes) {
  static constinit RealFunction<int(void*, size_t)> real{"ibv_dontfork_range",
                                                         "IBVERBS_1.1"};
  return real.exists() ? real(base, bytes) : 0;
}

int ibv_dofork_range(void* base, size_t bytes) {
  static constinit RealFunction<int(void*, size_t)> real{"ibv_dofork_range",
                                                         "IBVERBS_1.1"};
  return real.exists() ? real(base, bytes) : 0;
}

// Soft devices have no sysfs directory: their paths are empty.
int ibv_read_sysfs_file(const char* directory, const char* file, char* to,
                        size_t bytes) {
  static constinit RealFunction<int(const char*, const char*, char*, size_t)>
      real{"ibv_read_sysfs_file", "IBVERBS_1.0"};
  return real.exists() && directory[0] != '\0'
             ? real(directory, file, to, bytes)
             : -1;
}

}  // extern "C"
