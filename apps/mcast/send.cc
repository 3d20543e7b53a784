#include "apps/mcast/send.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "apps/mcast/group_flags.h"
#include "apps/mcast/source_address.h"
#include "weir/base/errno_status.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port.h"
#include "weir/stage/fill_checksums.h"
#include "weir/stage/fragment.h"
#include "weir/stage/transmit.h"
#include "weir/stage/udp/memory_payload.h"
#include "weir/stage/udp/udp_source.h"

ABSL_FLAG(uint32_t, source_port, 0,
          "the UDP port that datagrams come from; --udp_port if 0");
ABSL_FLAG(uint32_t, size, 0,
          "bytes of payload of a datagram; 1400, or, with --file, as many as "
          "one can have, if 0");
ABSL_FLAG(std::string, file, "",
          "send the bytes of this file, once unless --count says more");
ABSL_FLAG(uint64_t, rate, 1000,
          "datagrams a second; 0: as many as the port takes");
ABSL_FLAG(uint64_t, count, 0, "end after so many datagrams; 0: do not");
ABSL_FLAG(uint32_t, ttl, 1, "hops that datagrams may make, 1 to 255");
ABSL_FLAG(std::string, sequence, "none",
          "weir: a number and the time in front of each payload");

namespace weir::mcast {
namespace {

// What a datagram of `destination`'s family can have (RFC 768).
size_t MaxPayloadBytes(const net::IpAddress& destination) {
  return destination.index() == 0 ? 65507 : 65527;
}

absl::StatusOr<std::vector<std::byte>> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::vector<char> chars{std::istreambuf_iterator<char>(file),
                          std::istreambuf_iterator<char>()};
  if (!file.good() && !file.eof()) {
    return ErrnoStatus(errno == 0 ? EIO : errno,
                       {.object = absl::StrCat("--file: ", path),
                        .call = "read",
                        .remedy = "name a file that can be read"});
  }
  std::vector<std::byte> bytes(chars.size());
  for (size_t i = 0; i < chars.size(); ++i) {
    bytes[i] = static_cast<std::byte>(chars[i]);
  }
  return bytes;
}

// Bytes that show where one is lost or moved.
std::vector<std::byte> Pattern(size_t bytes) {
  std::vector<std::byte> pattern(bytes);
  for (size_t i = 0; i < bytes; ++i) pattern[i] = static_cast<std::byte>(i);
  return pattern;
}

absl::StatusOr<MemoryPayload> ReadPayload(const net::IpAddress& destination) {
  const std::string path = absl::GetFlag(FLAGS_file);
  const uint64_t count = absl::GetFlag(FLAGS_count);
  size_t size = absl::GetFlag(FLAGS_size);
  const size_t most = MaxPayloadBytes(destination);
  if (size > most) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--size: a datagram has ", most, " bytes at most, got ", size));
  }
  if (path.empty()) {
    if (size == 0) size = 1400;
    return MemoryPayload(Pattern(size), size, count);
  }
  auto bytes = ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  if (size == 0) size = most;
  const uint64_t pieces = MemoryPayload::PiecesOf(bytes->size(), size);
  return MemoryPayload(*std::move(bytes), size, count == 0 ? pieces : count);
}

absl::StatusOr<UdpSourceOptions> ReadOptions() {
  UdpSourceOptions options;
  const auto group = ReadGroup(absl::GetFlag(FLAGS_group));
  if (!group.ok()) return group.status();
  options.addresses.destination = *group;
  const uint32_t to_port = absl::GetFlag(FLAGS_udp_port);
  const auto to = ReadUdpPort("--udp_port", to_port);
  if (!to.ok()) return to.status();
  options.addresses.destination_port = *to;
  const uint32_t from_port = absl::GetFlag(FLAGS_source_port);
  const auto from =
      ReadUdpPort("--source_port", from_port == 0 ? to_port : from_port);
  if (!from.ok()) return from.status();
  options.addresses.source_port = *from;
  const auto vlan = ReadVlan();
  if (!vlan.ok()) return vlan.status();
  options.addresses.vlan = *vlan;
  const uint32_t ttl = absl::GetFlag(FLAGS_ttl);
  if (ttl == 0 || ttl > 255) {
    return absl::InvalidArgumentError(
        absl::StrCat("--ttl: want 1 to 255, got ", ttl));
  }
  options.addresses.hops = static_cast<uint8_t>(ttl);
  options.datagrams_per_second = absl::GetFlag(FLAGS_rate);
  const std::string sequence = absl::GetFlag(FLAGS_sequence);
  if (sequence != "none" && sequence != "weir") {
    return absl::InvalidArgumentError(
        absl::StrCat("--sequence: want none or weir, got ", sequence));
  }
  options.stamps = sequence == "weir";
  return options;
}

}  // namespace

absl::Status Send(App& app) {
  auto options = ReadOptions();
  if (!options.ok()) return options.status();
  auto payload = ReadPayload(options->addresses.destination);
  if (!payload.ok()) return payload.status();
  // Fragments on their way out, a header and one or two references each, and
  // the payload that they refer to.
  const PortOptions port_options;
  auto ports =
      app.OpenPorts({.ports = port_options,
                     .stage_mbufs = 3 * uint64_t{port_options.tx_depth} + 128,
                     .stage_packets = 64});
  if (!ports.ok()) return ports.status();
  if (ports->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("send: want exactly 1 port, got ", ports->size()));
  }
  Port& port = (*ports)[0];
  const auto source = SourceAddress(
      absl::GetFlag(FLAGS_ip), options->addresses.destination, port.info());
  if (!source.ok()) return source.status();
  options->addresses.source = *source;
  options->addresses.source_mac = port.mac();
  auto udp = UdpSource<MemoryPayload>::Create(*options, *std::move(payload));
  if (!udp.ok()) return udp.status();
  auto fragment = Fragment::Create({.mtu_bytes = port.mtu_bytes(),
                                    .max_segments = port.tx[0].max_segments()});
  if (!fragment.ok()) return fragment.status();
  // What comes is for others.
  port.rx.clear();
  absl::Status launched = app.Launch(
      {.near = port.numa_node()},
      Pipeline{*std::move(udp), FillChecksums{}, *std::move(fragment),
               Transmit{std::move(port.tx[0])}});
  if (!launched.ok()) return launched;
  return app.RunUntilSignal();
}

}  // namespace weir::mcast
