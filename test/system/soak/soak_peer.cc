// The other end of a soak: sends numbered packets of many flows by one port,
// takes what comes back by another, and says as JSON what it made of them.

#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "test/system/soak/numbered_flows.h"
#include "weir/mbuf/burst.h"
#include "weir/mbuf/mbuf_pool.h"
#include "weir/pipeline/lcore.h"
#include "weir/port/port.h"

ABSL_FLAG(std::string, out, "", "the port to send by");
ABSL_FLAG(std::string, in, "", "the port to receive by");
ABSL_FLAG(uint64_t, packets, 100'000, "how many to send");
ABSL_FLAG(uint32_t, flows, 64, "of how many flows");
ABSL_FLAG(uint64_t, window, 0,
          "packets on their way at most; 0: as many as ports take");
ABSL_FLAG(double, patience, 20, "seconds to wait for a packet at most");

namespace weir::testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint32_t kMbufs = 16'384;
// Polls between two looks at the clock.
constexpr uint32_t kPollsPerLook = 1024;
constexpr auto kProbeEvery = std::chrono::milliseconds(20);

// Two ports, all that is on its way, and the time of the last progress.
class Peer {
 public:
  Peer(MbufPool& pool, Port out, Port in, uint32_t flows)
      : lcore_(0, pool.cache(0)),
        out_(std::move(out)),
        in_(std::move(in)),
        waiting_(lcore_.cache()),
        flows_(flows),
        check_(flows),
        patience_(absl::GetFlag(FLAGS_patience)) {}

  // Sends probes until one has come back: from then on both ways are open.
  bool Probe() {
    Clock::time_point next = Clock::now();
    while (check_.probes() == 0 && IsPatient()) {
      if (waiting_.empty() && Clock::now() >= next) {
        Add(1, [this](auto frame) { flows_.WriteProbe(frame); });
        ++probes_;
        next = Clock::now() + kProbeEvery;
      }
      Turn();
    }
    return check_.probes() > 0;
  }

  // Sends `packets`, of which no more than `window` are on their way, and waits
  // for all of them.
  void Run(uint64_t packets, uint64_t window) {
    progress_ = Clock::now();
    while (check_.received() < packets && IsPatient()) {
      if (waiting_.empty() && sent_ < packets) {
        uint64_t count = std::min<uint64_t>(kDefaultBurst, packets - sent_);
        if (window != 0) {
          const uint64_t away = sent_ - check_.received();
          count = away < window ? std::min(count, window - away) : 0;
        }
        Add(count, [this](auto frame) { flows_.WriteNext(frame); });
        sent_ += count;
      }
      Turn();
    }
  }

  // Waits until nothing has come for a moment, which is more than there should
  // be.
  void Listen() {
    progress_ = Clock::now();
    while (Clock::now() - progress_ < kProbeEvery) Turn();
  }

  std::string Json(double seconds) const {
    return absl::StrCat(
        "{\"sent\": ", sent_, ", \"probes_sent\": ", probes_,
        ", \"received\": ", check_.received(),
        ", \"missing\": ", check_.missing(), ", \"late\": ", check_.late(),
        ", \"probes\": ", check_.probes(), ", \"foreign\": ", check_.foreign(),
        ", \"seconds\": ", seconds, "}\n");
  }

 private:
  bool IsPatient() {
    if (++turns_ % kPollsPerLook != 0) return true;
    return Clock::now() - progress_ < patience_;
  }

  template <typename Write>
  void Add(uint64_t count, Write write) {
    std::array<Mbuf*, kDefaultBurst> mbufs;
    const auto wanted = std::span(mbufs).first(count);
    const size_t got = lcore_.cache().Alloc(wanted);
    for (Mbuf* mbuf : wanted.first(got)) {
      mbuf->Reset(lcore_.cache().pool().headroom_bytes());
      mbuf->SetLength(kNumberedBytes);
      write(std::span<std::byte, kNumberedBytes>(mbuf->data(), kNumberedBytes));
      waiting_.Adopt(*mbuf);
    }
    if (got != count) {
      std::cerr << "soak_peer: its pool is dry\n";
      std::exit(1);
    }
  }

  // Sends what waits, as far as there is room, and takes what has come.
  void Turn() {
    lcore_.UpdateClock();
    TxQueue& tx = out_.tx[0];
    tx.Reap(lcore_);
    if (!waiting_.empty()) tx.Send(waiting_, lcore_);
    Burst burst(lcore_.cache());
    in_.rx[0].Receive(burst, lcore_);
    if (burst.empty()) return;
    for (const Mbuf* mbuf : burst.mbufs()) check_.Add(mbuf->bytes());
    progress_ = Clock::now();
  }

  Lcore lcore_;
  Port out_;
  Port in_;
  Burst waiting_;
  NumberedFlows flows_;
  NumberedCheck check_;
  std::chrono::duration<double> patience_;
  Clock::time_point progress_ = Clock::now();
  uint64_t sent_ = 0;
  uint64_t probes_ = 0;
  uint32_t turns_ = 0;
};

absl::Status Soak() {
  auto pool = MbufPool::Create({.mbufs = kMbufs, .caches = 1});
  if (!pool.ok()) return pool.status();
  {
    auto out = Port::Open(absl::GetFlag(FLAGS_out), **pool);
    if (!out.ok()) return out.status();
    auto in = Port::Open(absl::GetFlag(FLAGS_in), **pool);
    if (!in.ok()) return in.status();
    Peer peer(**pool, *std::move(out), *std::move(in),
              absl::GetFlag(FLAGS_flows));
    if (!peer.Probe()) {
      return absl::UnavailableError("no probe has come back");
    }
    const Clock::time_point begin = Clock::now();
    peer.Run(absl::GetFlag(FLAGS_packets), absl::GetFlag(FLAGS_window));
    const std::chrono::duration<double> took = Clock::now() - begin;
    peer.Listen();
    std::cout << peer.Json(took.count());
  }
  if ((*pool)->used_mbufs() != 0) {
    return absl::InternalError(
        absl::StrCat((*pool)->used_mbufs(), " mbufs are missing"));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace weir::testing

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = weir::testing::Soak();
  if (!status.ok()) std::cerr << "soak_peer: " << status.message() << '\n';
  return status.ok() ? 0 : 1;
}
