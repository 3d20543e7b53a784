// Internet checksum, CRC32c and Toeplitz hash of weir.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/net/checksum_loops.h"
#include "benchmark/benchmark.h"
#include "weir/net/address_sum.h"
#include "weir/net/checksum.h"
#include "weir/net/crc32c.h"
#include "weir/net/ipv4.h"
#include "weir/net/load_store.h"
#include "weir/net/toeplitz.h"
#include "weir/net/transport_checksum.h"

namespace weir {
namespace {

class Weir {
 public:
  uint16_t Sum(std::span<const std::byte> bytes) const {
    net::InternetSum sum;
    sum.Add(bytes);
    return std::bit_cast<uint16_t>(sum.Checksum());
  }

  uint16_t Udp(std::span<const std::byte> packet) const {
    const auto ip = net::LoadHeader<net::Ipv4Header>(packet, 0);
    const size_t header = ip.header_bytes();
    const net::TransportPart part = {
        .kind = net::ChecksumKind::kUdp,
        .is_ipv6 = false,
        .front = packet.subspan(header),
        .length_bytes = static_cast<uint32_t>(ip.total_length.host() - header),
        .addresses = net::Ipv4AddressSum(packet.first(header))};
    const net::ChecksumField field = net::ComputeChecksum(
        part, net::CoveredBytes(part),
        [&part](size_t offset, size_t bytes, const auto& take) noexcept {
          take(part.front.subspan(offset, bytes));
        });
    return std::bit_cast<uint16_t>(net::LoadHeader<Be16>(field, 0));
  }

  uint32_t Crc(std::span<const std::byte> bytes) const {
    net::Crc32c crc;
    crc.Add(bytes);
    return crc.value();
  }

  uint32_t Hash(std::span<const std::byte> input) const {
    return toeplitz_.Hash(input);
  }

 private:
  net::Toeplitz toeplitz_{net::kPublishedToeplitzKey};
};

}  // namespace
}  // namespace weir

int main(int argc, char** argv) {
  weir::RegisterChecksums<weir::Weir>();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
