// What checksums cost a frame in software: verified when it is received, filled
// in when it is sent.

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "benchmark/benchmark.h"
#include "weir/hca/packet_checksums.h"

namespace {

using weir::hca::kMaxChecksummedHeaderBytes;

// UDP over IPv4, `size` bytes in all, with its checksums filled in.
std::vector<std::byte> MakeFrame(size_t size) {
  std::vector<std::byte> frame(size, std::byte{0x5a});
  const auto put = [&](size_t at, unsigned value) {
    frame[at] = static_cast<std::byte>(value >> 8);
    frame[at + 1] = static_cast<std::byte>(value);
  };
  put(12, 0x0800);
  put(14, 0x4500);
  put(16, static_cast<unsigned>(size) - 14);
  put(20, 0x4000);
  put(22, 0x4011);
  put(38, static_cast<unsigned>(size) - 34);
  const iovec whole = {frame.data(), frame.size()};
  std::array<std::byte, kMaxChecksummedHeaderBytes> scratch;
  const auto finished =
      weir::hca::FinishChecksums(std::span(&whole, 1), size, scratch);
  std::copy_n(scratch.begin(), finished.bytes, frame.begin());
  return frame;
}

void Verify(benchmark::State& state) {
  const auto frame = MakeFrame(static_cast<size_t>(state.range(0)));
  if (!weir::hca::HasGoodChecksums(frame)) state.SkipWithError("wrong");
  for (auto _ : state) {
    benchmark::DoNotOptimize(weir::hca::HasGoodChecksums(frame));
  }
}
BENCHMARK(Verify)->Arg(64)->Arg(1518);

void Finish(benchmark::State& state) {
  auto frame = MakeFrame(static_cast<size_t>(state.range(0)));
  const iovec whole = {frame.data(), frame.size()};
  std::array<std::byte, kMaxChecksummedHeaderBytes> scratch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(weir::hca::FinishChecksums(std::span(&whole, 1),
                                                        frame.size(), scratch));
  }
}
BENCHMARK(Finish)->Arg(64)->Arg(1518);

}  // namespace
