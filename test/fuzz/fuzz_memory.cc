#include "test/fuzz/fuzz_memory.h"

#include <algorithm>
#include <bit>

namespace weir::fuzz {
namespace {

constexpr size_t kSourceBytes = 4096;
// One for each two bytes of an input of 4096: none is posted twice in a run.
constexpr size_t kBuffers = 2048 + 16;
constexpr uint32_t kBufferBytes = 2048;
constexpr char kUntouched = '\xee';

ibv_mr* Register(ibv_pd* pd, std::vector<char>& memory) {
  // Not a constant: clang warns of the macro's comparisons of constants.
  int access = IBV_ACCESS_LOCAL_WRITE;
  ibv_mr* mr = ibv_reg_mr(pd, memory.data(), memory.size(), access);
  Require(mr != nullptr, "memory is registered");
  return mr;
}

uint64_t AddressOf(const std::vector<char>& memory) {
  return std::bit_cast<uint64_t>(memory.data());
}

// The good key of the region, mostly.
uint32_t Key(const ibv_mr& mr, uint8_t choice) {
  switch (choice) {
    case 250:
      return 0;
    case 251:
      return mr.lkey + 1;
    case 252:
      return mr.lkey ^ 0x100;
    case 253:
      return UINT32_MAX;
    default:
      return mr.lkey;
  }
}

}  // namespace

SourceMemory::SourceMemory(ibv_pd* pd) : memory_(kSourceBytes) {
  // Any two places differ: a step that shares no factor with 256.
  for (size_t i = 0; i < memory_.size(); ++i) {
    memory_[i] = static_cast<char>(i * 167 + i / 256 * 31);
  }
  mr_ = Register(pd, memory_);
}

ibv_sge SourceMemory::Sge(Input& input) const {
  const size_t offset = input.Byte() * size_t{16};
  const uint8_t length = input.Byte();
  const uint8_t choice = input.Byte();
  ibv_sge sge{.addr = AddressOf(memory_) + offset,
              .length = length * 8u,
              .lkey = Key(*mr_, choice)};
  if (choice == 254) sge.length = UINT32_MAX;
  if (choice == 255) sge.addr = UINT64_MAX - length;
  return sge;
}

ibv_sge SourceMemory::Clamp(ibv_sge sge) const {
  const uint64_t offset = (sge.addr - AddressOf(memory_)) % kSourceBytes;
  sge.addr = AddressOf(memory_) + offset;
  sge.length = static_cast<uint32_t>(
      std::min<uint64_t>(sge.length, kSourceBytes - offset));
  return sge;
}

std::string SourceMemory::Gather(std::span<const ibv_sge> sges,
                                 bool any_key) const {
  std::string frame;
  for (const ibv_sge& sge : sges) {
    if (sge.length == 0) continue;
    const uint64_t offset = sge.addr - AddressOf(memory_);
    if ((sge.lkey != mr_->lkey && !any_key) || offset > kSourceBytes ||
        sge.length > kSourceBytes - offset) {
      return {};
    }
    frame.append(memory_.data() + offset, sge.length);
  }
  return frame;
}

TargetMemory::TargetMemory(ibv_pd* pd)
    : memory_(kBuffers * kBufferBytes), mr_(Register(pd, memory_)) {}

ibv_sge TargetMemory::NextBuffer(Input& input) {
  const size_t offset = next_++ % kBuffers * kBufferBytes;
  std::fill_n(memory_.begin() + static_cast<ptrdiff_t>(offset), kBufferBytes,
              kUntouched);
  const uint8_t length = input.Byte();
  const uint8_t choice = input.Byte();
  ibv_sge sge{.addr = AddressOf(memory_) + offset,
              // Mostly room for any frame; always short of the buffer's end.
              .length = length < 128 ? kBufferBytes - 8u : (length - 128u) * 8,
              .lkey = Key(*mr_, choice)};
  if (choice == 255) sge.addr = UINT64_MAX - length;
  return sge;
}

std::string TargetMemory::Take(std::span<const ibv_sge> sges,
                               uint32_t bytes) const {
  std::string frame;
  for (const ibv_sge& sge : sges) {
    const auto part = std::min<size_t>(sge.length, bytes - frame.size());
    if (part == 0 && sge.lkey != mr_->lkey) continue;
    const uint64_t offset = sge.addr - AddressOf(memory_);
    if (part == 0 && offset >= memory_.size()) continue;
    const char* const at = memory_.data() + offset;
    frame.append(at, part);
    Require(std::all_of(at + part, at + kBufferBytes,
                        [](char c) { return c == kUntouched; }),
            "nothing is written behind a frame");
  }
  Require(frame.size() == bytes, "a frame fits what it was received into");
  return frame;
}

}  // namespace weir::fuzz
