// The block cipher Speck with blocks of 32 bits and a key of 64 (Beaulieu et
// al. 2013, "The SIMON and SPECK Families of Lightweight Block Ciphers", §4): a
// secret permutation of all 2^32 numbers, made of additions, rotations and XORs
// of halves, which vector units do for many blocks at once.

#ifndef WEIR_NET_SPECK32_H_
#define WEIR_NET_SPECK32_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::net {

// A key, made ready. Any thread.
class Speck32 {
 public:
  static constexpr size_t kRounds = 22;
  // Blocks that are enciphered at once.
  static constexpr size_t kBlocks = 32;

  // Blocks in halves.
  struct Blocks {
    std::array<uint16_t, kBlocks> upper;
    std::array<uint16_t, kBlocks> lower;

    constexpr uint32_t operator[](size_t i) const noexcept {
      return uint32_t{upper[i]} << 16 | lower[i];
    }
  };

  explicit Speck32(uint64_t key) noexcept;

  // What `first` and the numbers behind it, modulo 2^32, become.
  Blocks EncryptFrom(uint32_t first) const noexcept;

 private:
  std::array<uint16_t, kRounds> round_keys_;
};

}  // namespace weir::net

#endif  // WEIR_NET_SPECK32_H_
