#include "apps/mcast/send.h"

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "apps/mcast/group_flags.h"
#include "apps/mcast/send_payload.h"
#include "apps/mcast/sequence_flags.h"
#include "apps/mcast/source_address.h"
#include "apps/mcast/stream_cutter.h"
#include "apps/mcast/stream_reader.h"
#include "weir/app/stats_printer.h"
#include "weir/base/tsc_clock.h"
#include "weir/pipeline/pipeline.h"
#include "weir/port/port.h"
#include "weir/port/port_files.h"
#include "weir/stage/fill_checksums.h"
#include "weir/stage/fragment.h"
#include "weir/stage/transmit.h"
#include "weir/stage/udp/memory_payload.h"
#include "weir/stage/udp/payload_ring.h"
#include "weir/stage/udp/sequence_stamp.h"
#include "weir/stage/udp/udp_source.h"

ABSL_FLAG(uint32_t, source_port, 0,
          "the UDP port that datagrams come from; --udp_port if 0");
ABSL_FLAG(std::optional<int64_t>, rate, std::nullopt,
          "datagrams a second; 0: as many as the port takes; 1000 unless it is "
          "said, or with --stdin as they come");
ABSL_FLAG(uint32_t, ttl, 1, "hops that datagrams may make, 1 to 255");

namespace weir::mcast {
namespace {

// What a datagram of `destination`'s family can have (RFC 768).
size_t MaxPayloadBytes(const net::IpAddress& destination) {
  return destination.index() == 0 ? 65507 : 65527;
}

// Datagrams a second that no link minds.
constexpr int64_t kUsualRate = 1000;

// The part of datagrams that may be missing from a rate unsaid.
constexpr double kLagOfNote = 0.01;

// Bytes that were read and not yet sent, at least: some milliseconds at 10
// Gbit/s.
constexpr size_t kRingBytes = size_t{4} << 20;

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
  const int64_t rate =
      absl::GetFlag(FLAGS_rate)
          .value_or(absl::GetFlag(FLAGS_stdin) ? 0 : kUsualRate);
  if (rate < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--rate: want datagrams a second, or 0 for as many as the "
                     "port takes, got ",
                     rate));
  }
  options.datagrams_per_second = static_cast<uint64_t>(rate);
  const auto stamps = ReadSendSequence();
  if (!stamps.ok()) return stamps.status();
  options.stamps = *stamps;
  return options;
}

// The one port of the command line.
absl::StatusOr<Port*> OpenPort(App& app) {
  // Fragments on their way out, a header and one or two references each, and
  // the payload that they refer to.
  const PortOptions port_options;
  auto ports =
      app.OpenPorts({.ports = port_options,
                     .stage_mbufs = 3 * uint64_t{port_options.tx_depth} + 128,
                     .stage_packets = 64,
                     .is_sender = true});
  if (!ports.ok()) return ports.status();
  if (ports->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("send: want exactly 1 port, got ", ports->size()));
  }
  return &(*ports)[0];
}

// Says that the rate was not kept, if so.
void PrintLag(uint64_t wanted, const UdpPace& pace) {
  const uint64_t interval_tsc = wanted == 0 ? 0 : TscHz() / wanted;
  if (interval_tsc == 0) return;
  const auto made = static_cast<double>(pace.made.value());
  const double missed = static_cast<double>(pace.lost_tsc.value()) /
                        static_cast<double>(interval_tsc);
  if (missed < kLagOfNote * made) return;
  const double kept = static_cast<double>(wanted) * made / (made + missed);
  const std::string text =
      absl::StrCat("\nsent ", WithCommas(static_cast<uint64_t>(kept)),
                   " datagrams a second where ", WithCommas(wanted),
                   " were wanted (--rate)\n");
  std::fputs(text.c_str(), stdout);
}

// Has an lcore send `payload` out of `port`.
template <PayloadSource Payload>
absl::Status Launch(App& app, Port& port, const UdpSourceOptions& options,
                    Payload payload) {
  auto udp = UdpSource<Payload>::Create(options, std::move(payload));
  if (!udp.ok()) return udp.status();
  app.SetSummary([wanted = options.datagrams_per_second, pace = udp->pace()] {
    PrintLag(wanted, *pace);
  });
  auto fragment = Fragment::Create({.mtu_bytes = port.mtu_bytes(),
                                    .max_segments = port.tx[0].max_segments()});
  if (!fragment.ok()) return fragment.status();
  // What comes is for others.
  port.rx.clear();
  return app.Launch(
      {.near = port.numa_node()},
      Pipeline{*std::move(udp), FillChecksums{}, *std::move(fragment),
               Transmit{std::move(port.tx[0])}});
}

absl::Status SendStdin(App& app, Port& port, const UdpSourceOptions& options,
                       const PayloadChoice& choice) {
  PayloadRing ring =
      MakePayloadRing(kRingBytes, choice.piece_bytes, choice.count);
  StreamReader reader(STDIN_FILENO, "standard input",
                      StreamCutter(choice.split, choice.piece_bytes),
                      std::move(ring.writer));
  absl::Status launched = Launch(app, port, options, std::move(ring.payload));
  if (!launched.ok()) return launched;
  if (app.only_plans()) return app.RunUntilSignal();
  absl::Status started = reader.Start();
  if (!started.ok()) return started;
  absl::Status run = app.RunUntilSignal();
  reader.Stop();
  if (!run.ok()) return run;
  if (!reader.status().ok()) return reader.status();
  const uint64_t left = reader.datagrams() - reader.taken();
  if (left != 0 && choice.count == 0) {
    return absl::CancelledError(
        absl::StrCat("standard input: ", left, " of ", reader.datagrams(),
                     " datagrams were read and not sent when the run ended"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Send(App& app) {
  auto options = ReadOptions();
  if (!options.ok()) return options.status();
  const auto choice =
      ReadPayloadChoice(MaxPayloadBytes(options->addresses.destination),
                        options->stamps ? sizeof(SequenceStamp) : 0);
  if (!choice.ok()) return choice.status();
  const bool is_stdin = absl::GetFlag(FLAGS_stdin);
  const absl::Status kept =
      is_stdin
          ? app.CheckFile("--stdin", "/dev/stdin", FileUse::kRead)
          : app.CheckFile("--file", absl::GetFlag(FLAGS_file), FileUse::kRead);
  if (!kept.ok()) return kept;
  // Read before ports are opened: a file that is not there is said first.
  std::optional<MemoryPayload> payload;
  if (!is_stdin) {
    auto made = MakeMemoryPayload(*choice);
    if (!made.ok()) return made.status();
    payload.emplace(*std::move(made));
  }
  const auto port = OpenPort(app);
  if (!port.ok()) return port.status();
  const auto source = SourceAddress(
      absl::GetFlag(FLAGS_ip), options->addresses.destination, (*port)->info());
  if (!source.ok()) return source.status();
  options->addresses.source = *source;
  options->addresses.source_mac = (*port)->mac();
  if (is_stdin) return SendStdin(app, **port, *options, *choice);
  absl::Status launched = Launch(app, **port, *options, *std::move(payload));
  if (!launched.ok()) return launched;
  return app.RunUntilSignal();
}

}  // namespace weir::mcast
