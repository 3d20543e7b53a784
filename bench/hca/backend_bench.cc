// What a frame costs in the media below the HCA: a capture read, a capture read
// and written. Files are in memory (/dev/shm).

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "weir/hca/backend/open_backend.h"

namespace weir::hca {
namespace {

constexpr size_t kBurst = 32;
constexpr size_t kFileFrames = 100'000;

std::unique_ptr<Backend> MustOpen(const std::string& text) {
  return OpenBackend(ParseDeviceKey(text).value()).value();
}

// A path that is removed at the end.
class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name)
      : path_("/dev/shm/weir_bench_" + std::to_string(getpid()) + name) {}
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;
  ~ScratchFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A burst of equal frames of `size` bytes.
class FrameBurst {
 public:
  explicit FrameBurst(size_t size)
      : bytes_(size, std::byte{0x5a}), segment_{bytes_.data(), size} {
    frames_.assign(kBurst, {.segments = {&segment_, 1},
                            .length_bytes = static_cast<uint32_t>(size)});
  }
  FrameBurst(const FrameBurst&) = delete;
  FrameBurst& operator=(const FrameBurst&) = delete;
  std::span<const TxFrame> frames() const { return frames_; }

 private:
  std::vector<std::byte> bytes_;
  iovec segment_;
  std::vector<TxFrame> frames_;
};

void WriteCapture(const std::string& path, size_t frame_bytes) {
  const auto backend = MustOpen("pcap:,out=" + path);
  const FrameBurst burst(frame_bytes);
  for (size_t i = 0; i < kFileFrames; i += kBurst) {
    backend->Transmit(burst.frames());
  }
}

// Touches what a receiver touches first.
uint64_t Touch(std::span<const RxFrame> frames) {
  uint64_t sum = 0;
  for (const RxFrame& frame : frames) {
    sum += std::to_integer<uint64_t>(*frame.data) + frame.length_bytes;
  }
  return sum;
}

void SetPerFrame(benchmark::State& state, uint64_t frames) {
  state.counters["ns/frame"] = benchmark::Counter(
      static_cast<double>(frames) * 1e-9,
      benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_ReadCapture(benchmark::State& state) {
  const ScratchFile file("in");
  WriteCapture(file.path(), static_cast<size_t>(state.range(0)));
  const auto backend = MustOpen("pcap:" + file.path() + ",loop=on");
  uint64_t frames = 0;
  for (auto _ : state) {
    const std::span<const RxFrame> burst = backend->Receive(kBurst);
    benchmark::DoNotOptimize(Touch(burst));
    backend->Consume(burst.size());
    frames += burst.size();
  }
  SetPerFrame(state, frames);
}
BENCHMARK(BM_ReadCapture)->Arg(64)->Arg(1460);

// Once through the file, opened anew: page faults are part of it.
void BM_ReadAndWriteCapture(benchmark::State& state) {
  const ScratchFile in("in");
  const ScratchFile out("out");
  WriteCapture(in.path(), static_cast<size_t>(state.range(0)));
  uint64_t frames = 0;
  for (auto _ : state) {
    const auto backend = MustOpen("pcap:" + in.path() + ",out=" + out.path());
    while (!backend->finished()) {
      const std::span<const RxFrame> burst = backend->Receive(kBurst);
      std::vector<iovec> segments(burst.size());
      std::vector<TxFrame> sent(burst.size());
      for (size_t i = 0; i < burst.size(); ++i) {
        segments[i] = {const_cast<std::byte*>(burst[i].data),
                       burst[i].length_bytes};
        sent[i] = {.segments = {&segments[i], 1},
                   .length_bytes = burst[i].length_bytes};
      }
      backend->Transmit(sent);
      backend->Consume(burst.size());
      frames += burst.size();
    }
  }
  SetPerFrame(state, frames);
}
BENCHMARK(BM_ReadAndWriteCapture)->Arg(64)->Arg(1460)->UseRealTime();

}  // namespace
}  // namespace weir::hca
