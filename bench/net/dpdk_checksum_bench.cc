// The DPDK twins of checksum_bench.cc: rte_raw_cksum, rte_ipv4_udptcp_cksum,
// rte_hash_crc and rte_softrss, all of which are inline and so compiled with
// the flags of this file.

#include <rte_hash_crc.h>
#include <rte_ip.h>
#include <rte_thash.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "bench/net/checksum_loops.h"
#include "bench/support/dpdk_main.h"

namespace weir {
namespace {

class Dpdk {
 public:
  uint16_t Sum(std::span<const std::byte> bytes) const {
    return static_cast<uint16_t>(~rte_raw_cksum(bytes.data(), bytes.size()));
  }

  uint16_t Udp(std::span<const std::byte> packet) const {
    const auto* ip = reinterpret_cast<const rte_ipv4_hdr*>(packet.data());
    return rte_ipv4_udptcp_cksum(ip, packet.data() + rte_ipv4_hdr_len(ip));
  }

  uint32_t Crc(std::span<const std::byte> bytes) const {
    return ~rte_hash_crc(bytes.data(), static_cast<uint32_t>(bytes.size()),
                         ~uint32_t{0});
  }

  // It takes words in the order of this machine, as its examples make them.
  uint32_t Hash(std::span<const std::byte> input) const {
    std::array<uint32_t, 9> words;
    for (size_t i = 0; i < input.size() / 4; ++i) {
      std::memcpy(&words[i], input.data() + 4 * i, 4);
      words[i] = rte_be_to_cpu_32(words[i]);
    }
    return rte_softrss(words.data(), static_cast<uint32_t>(input.size() / 4),
                       kKey.data());
  }

 private:
  // Any key takes as long.
  static constexpr std::array<uint8_t, 40> kKey = {
      0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
      0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
      0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
      0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
};

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::RegisterChecksums<weir::Dpdk>();
  return weir::RunDpdkBenches(argc, argv);
}
