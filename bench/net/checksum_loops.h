// The loops that checksums and hashes are measured by: the same source for weir
// and DPDK, compiled with the same flags. A side is a class with
//   uint16_t Sum(bytes), uint16_t Udp(IPv4 packet), uint32_t Crc(bytes),
//   uint32_t Hash(what goes into the hash).

#ifndef WEIR_BENCH_NET_CHECKSUM_LOOPS_H_
#define WEIR_BENCH_NET_CHECKSUM_LOOPS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/support/peer_thread.h"
#include "bench/support/samples.h"
#include "benchmark/benchmark.h"

namespace weir {

// Bytes of any value that stay in L1; they begin two behind a multiple of 64,
// as an IP header does behind that of Ethernet.
class Subject {
 public:
  explicit Subject(size_t bytes) : bytes_(bytes), memory_(bytes + 128) {
    uint32_t state = 1;
    for (std::byte& byte : memory_) {
      state = state * 1664525 + 1013904223;
      byte = std::byte(state >> 24);
    }
    const auto at = reinterpret_cast<uintptr_t>(memory_.data());
    start_ = (64 - at % 64) % 64 + 2;
  }

  std::span<std::byte> bytes() { return {memory_.data() + start_, bytes_}; }

 private:
  size_t bytes_;
  std::vector<std::byte> memory_;
  size_t start_;
};

// The same bytes, of which the compiler knows neither how many nor what.
inline std::span<const std::byte> Forget(std::span<const std::byte> bytes) {
  size_t size = bytes.size();
  const std::byte* data = bytes.data();
  asm volatile("" : "+r"(size), "+r"(data) : : "memory");
  return {data, size};
}

// `once` of `subject`, per call.
template <typename Once>
void Measure(benchmark::State& state, Subject subject, const Once& once) {
  PinTo(kMainCpu);
  const std::span<const std::byte> bytes = subject.bytes();
  const size_t calls = bytes.size() > 1000 ? 200 : 2000;
  Samples samples;
  for (auto _ : state) {
    samples.Take(static_cast<double>(calls), [&] {
      for (size_t i = 0; i < calls; ++i) {
        benchmark::DoNotOptimize(once(Forget(bytes)));
      }
    });
  }
  samples.Report(state);
}

// An IPv4 packet of UDP that fills a frame of `frame_bytes`.
inline Subject UdpPacket(size_t frame_bytes) {
  Subject packet(frame_bytes - 14);
  const std::span<std::byte> bytes = packet.bytes();
  const auto put = [bytes](size_t at, size_t value) {
    bytes[at] = std::byte(value >> 8);
    bytes[at + 1] = std::byte(value & 0xff);
  };
  bytes[0] = std::byte{0x45};
  put(2, bytes.size());
  put(6, 0);
  bytes[9] = std::byte{17};
  put(24, bytes.size() - 20);
  put(26, 0);
  return packet;
}

// Registers what `Side` can be asked for.
template <typename Side>
void RegisterChecksums() {
  static const Side side;
  for (const size_t size : {20, 64, 256, 1460, 8192}) {
    benchmark::RegisterBenchmark(
        ("checksum/" + std::to_string(size)).c_str(),
        [size](benchmark::State& state) {
          Measure(state, Subject(size), [](std::span<const std::byte> bytes) {
            return side.Sum(bytes);
          });
        });
  }
  for (const size_t size : {64, 1460}) {
    benchmark::RegisterBenchmark(
        ("checksum/udp4/" + std::to_string(size)).c_str(),
        [size](benchmark::State& state) {
          Measure(state, UdpPacket(size), [](std::span<const std::byte> bytes) {
            return side.Udp(bytes);
          });
        });
    benchmark::RegisterBenchmark(
        ("checksum/crc32c/" + std::to_string(size)).c_str(),
        [size](benchmark::State& state) {
          Measure(state, Subject(size), [](std::span<const std::byte> bytes) {
            return side.Crc(bytes);
          });
        });
  }
  // Addresses and ports of IPv4 and of IPv6.
  for (const size_t size : {12, 36}) {
    benchmark::RegisterBenchmark(
        size == 12 ? "toeplitz/ipv4" : "toeplitz/ipv6",
        [size](benchmark::State& state) {
          Measure(state, Subject(size), [](std::span<const std::byte> bytes) {
            return side.Hash(bytes);
          });
        });
  }
}

}  // namespace weir

#endif  // WEIR_BENCH_NET_CHECKSUM_LOOPS_H_
