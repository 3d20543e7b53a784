#include "weir/hca/backend/pcap.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "weir/base/errno_status.h"
#include "weir/hca/backend/capture_reader.h"
#include "weir/hca/backend/capture_writer.h"
#include "weir/hca/backend/derived_mac.h"
#include "weir/hca/backend/rx_window.h"

namespace weir::hca {
namespace {

// Holds whatever an Ethernet capture has, jumbo frames with encapsulation too.
constexpr uint64_t kDefaultMtuBytes = 9216;
// IEEE 802.3 payloads start here; RFC 791 needs 68.
constexpr uint64_t kMinMtuBytes = 68;
constexpr uint64_t kMaxMtuBytes = 65535;

enum CounterIndex : size_t {
  kRxCapturedShort,
  kRxEmptyRecord,
  kRxForeignLink,
  kTxDiscarded,
  kTxTooLong,
  kTxWriteError,
  kCounters,
};

uint64_t NowNs() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
         static_cast<uint64_t>(now.tv_nsec);
}

// The files of a port and how they are used.
struct PcapFiles {
  std::string in_path;
  std::string out_path;
  std::optional<CaptureReader> reader;
  std::optional<CaptureWriter> writer;
  bool loop = false;
  // Records without bytes are frames, not mere counts.
  bool empty = false;
};

class PcapBackend final : public Backend {
 public:
  PcapBackend(BackendInfo info, PcapFiles files)
      : info_(std::move(info)),
        files_(std::move(files)),
        finished_(!files_.reader.has_value()) {}

  const BackendInfo& info() const noexcept override { return info_; }
  size_t Transmit(std::span<const TxFrame> frames) noexcept override;
  std::span<const RxFrame> Receive(size_t max) noexcept override;
  void Consume(size_t count) noexcept override;
  bool finished() const noexcept override { return finished_; }
  bool ArmReceive() noexcept override { return !finished_; }
  std::span<const BackendCounter> counters() const noexcept override {
    return counters_;
  }
  std::string TakeWarning() override;

 private:
  void Fill() noexcept;
  bool StartAgain() noexcept;
  void PushRecord(const CaptureRecord& record) noexcept;
  void FlushWriter() noexcept;
  void Count(CounterIndex index, uint64_t n) noexcept {
    counters_[index].value.Add(n);
  }

  // Receiver only.
  RxWindow window_;
  bool at_end_ = false;
  uint64_t pushed_this_pass_ = 0;
  std::optional<CaptureDefect> defect_;

  // Either side.
  BackendInfo info_;
  PcapFiles files_;
  std::atomic<bool> finished_;
  std::array<BackendCounter, kCounters> counters_ = {{{"rx_captured_short", {}},
                                                      {"rx_empty_record", {}},
                                                      {"rx_foreign_link", {}},
                                                      {"tx_discarded", {}},
                                                      {"tx_too_long", {}},
                                                      {"tx_write_error", {}}}};

  // For the control thread: set once, after what they announce.
  std::atomic<bool> has_defect_ = false;
  std::atomic<int> write_error_ = 0;
  bool defect_told_ = false;
  bool write_error_told_ = false;
};

size_t PcapBackend::Transmit(std::span<const TxFrame> frames) noexcept {
  if (!files_.writer.has_value()) {
    Count(kTxDiscarded, frames.size());
    return frames.size();
  }
  const uint64_t now_ns = NowNs();
  for (const TxFrame& frame : frames) {
    const auto append = [&] {
      return files_.writer->Append(frame.segments, frame.length_bytes, now_ns);
    };
    if (append()) continue;
    FlushWriter();
    if (!append()) Count(kTxTooLong, 1);
  }
  FlushWriter();
  return frames.size();
}

void PcapBackend::FlushWriter() noexcept {
  const CaptureWriter::FlushResult result = files_.writer->Flush();
  if (result.lost_frames == 0) return;
  Count(kTxWriteError, result.lost_frames);
  write_error_ = result.error;
}

std::span<const RxFrame> PcapBackend::Receive(size_t max) noexcept {
  if (window_.empty() && !at_end_ && files_.reader.has_value()) Fill();
  return window_.Front(max);
}

void PcapBackend::Fill() noexcept {
  while (!window_.full()) {
    const std::optional<CaptureRecord> record = files_.reader->Next();
    if (record.has_value()) {
      PushRecord(*record);
    } else if (!StartAgain()) {
      at_end_ = true;
      break;
    }
  }
  counters_[kRxForeignLink].value.Set(files_.reader->foreign_packets());
  if (at_end_ && window_.empty()) finished_ = true;
}

// At the end of a pass over the file: true if another one begins.
bool PcapBackend::StartAgain() noexcept {
  if (!has_defect_ && files_.reader->defect().has_value()) {
    defect_ = files_.reader->defect();
    has_defect_ = true;
  }
  if (!files_.loop || pushed_this_pass_ == 0) return false;
  pushed_this_pass_ = 0;
  files_.reader->Rewind();
  return true;
}

void PcapBackend::PushRecord(const CaptureRecord& record) noexcept {
  if (record.bytes.empty() && !files_.empty) {
    Count(kRxEmptyRecord, 1);
    return;
  }
  const auto length = static_cast<uint32_t>(record.bytes.size());
  if (length < record.wire_bytes) Count(kRxCapturedShort, 1);
  window_.Push({.data = record.bytes.data(),
                .length_bytes = length,
                .timestamp_ns = record.timestamp_ns});
  ++pushed_this_pass_;
}

void PcapBackend::Consume(size_t count) noexcept {
  window_.Pop(count);
  if (at_end_ && window_.empty()) finished_ = true;
}

std::string PcapBackend::TakeWarning() {
  if (has_defect_ && !defect_told_) {
    defect_told_ = true;
    return absl::StrCat(files_.in_path, ": ", defect_->what, " at byte ",
                        defect_->offset_bytes,
                        "; only the frames before it were replayed");
  }
  const int error = write_error_;
  if (error != 0 && !write_error_told_) {
    write_error_told_ = true;
    const absl::Status status =
        ErrnoStatus(error, {.object = files_.out_path,
                            .call = "write",
                            .remedy = "frames are lost (tx_write_error)"});
    return std::string(status.message());
  }
  return {};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> OpenPcap(const DeviceKey& key) {
  absl::Status status =
      CheckOptions(key, {"out", "mtu", "loop", "empty", "plan"});
  if (!status.ok()) return status;
  const auto mtu_bytes = NumberOption(
      key, "mtu",
      {.min = kMinMtuBytes, .max = kMaxMtuBytes, .fallback = kDefaultMtuBytes});
  if (!mtu_bytes.ok()) return mtu_bytes.status();
  const auto loop = SwitchOption(key, "loop", false);
  if (!loop.ok()) return loop.status();
  const auto empty = SwitchOption(key, "empty", false);
  if (!empty.ok()) return empty.status();
  const auto plan = SwitchOption(key, "plan", false);
  if (!plan.ok()) return plan.status();

  PcapFiles files;
  files.in_path = key.argument;
  files.out_path = std::string(key.Option("out", ""));
  files.loop = *loop;
  files.empty = *empty;
  if (files.in_path.empty() && files.out_path.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        key.text, ": names no file; want pcap:IN, pcap:,out=OUT or both"));
  }
  if (!files.in_path.empty()) {
    absl::StatusOr<CaptureReader> reader = CaptureReader::Open(files.in_path);
    if (!reader.ok()) return reader.status();
    files.reader = *std::move(reader);
  }
  if (!files.out_path.empty() && !*plan) {
    absl::StatusOr<CaptureWriter> writer = CaptureWriter::Create(
        files.out_path,
        files.reader.has_value() ? &files.reader->file() : nullptr);
    if (!writer.ok()) return writer.status();
    files.writer = *std::move(writer);
  }
  BackendInfo info;
  // That of the port that is planned.
  info.mac = DerivedMac(absl::StripSuffix(key.text, ",plan=on"));
  info.mtu_bytes = static_cast<uint32_t>(*mtu_bytes);
  return std::make_unique<PcapBackend>(std::move(info), std::move(files));
}

}  // namespace weir::hca
