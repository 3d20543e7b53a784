// One capture: which places it looks at, what of their packets goes to its
// file, and when it is over.

#ifndef WEIR_CAPTURE_CAPTURE_SESSION_H_
#define WEIR_CAPTURE_CAPTURE_SESSION_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "weir/base/counter.h"
#include "weir/capture/capture_options.h"
#include "weir/capture/capture_output.h"
#include "weir/pipeline/tap_point.h"

namespace weir {

// What a capture looks at in one place.
struct CaptureChoice {
  std::shared_ptr<TapPoint> point;
  // A bit a kind, as TapPoint::BitOf.
  uint32_t kinds = 0;
  // For each kind the number of its interface in the file.
  std::array<uint32_t, kTapKinds> interfaces{};
  // What the ring of the place had lost when the capture began.
  std::array<uint64_t, kTapKinds> lost_before{};
};

// Made by one thread, used by another, save where noted.
class CaptureSession {
 public:
  // Looks at those of `places` that fit `options` and creates the file, by
  // `application`. NotFound, with what there is, if none fits; the errors of
  // CaptureOutput::Create.
  static absl::StatusOr<std::unique_ptr<CaptureSession>> Create(
      uint64_t id, CaptureOptions options, absl::string_view application,
      std::span<const TapPlace> places);

  uint64_t id() const noexcept { return id_; }
  const CaptureOptions& options() const noexcept { return options_; }
  std::vector<CaptureChoice>& choices() noexcept { return choices_; }

  // Packets in the file and its bytes so far. Any thread.
  uint64_t packets() const noexcept { return packets_.value(); }
  uint64_t file_bytes() const noexcept { return file_bytes_.value(); }

  // The capture begins: what was seen earlier is not taken.
  void Begin(uint64_t tsc, uint64_t unix_ns) noexcept;

  // Takes a packet seen at `choice`, unless it is not wanted or is_over().
  void Take(const CaptureChoice& choice, const TapRecord& record,
            std::span<const std::byte> bytes, uint64_t unix_ns);
  // Writes what was taken.
  void Write();
  // Whether a limit was reached or the file cannot be written.
  bool is_over(uint64_t unix_ns) const noexcept;

  // The last of the file: `lost` packets of each kind at each choice.
  void Finish(std::span<const std::array<uint64_t, kTapKinds>> lost,
              uint64_t unix_ns);
  // Why the file is incomplete, if it is.
  const absl::Status& error() const noexcept { return error_; }

 private:
  struct Interface {
    std::string name;
    uint64_t delivered = 0;
    uint64_t lost = 0;
  };

  CaptureSession(uint64_t id, CaptureOptions options, CaptureOutput output)
      : id_(id), options_(std::move(options)), output_(std::move(output)) {}

  void Flush(size_t least);

  uint64_t id_;
  CaptureOptions options_;
  CaptureOutput output_;
  std::vector<CaptureChoice> choices_;
  std::vector<Interface> interfaces_;
  uint64_t begin_tsc_ = 0;
  uint64_t begin_unix_ns_ = 0;
  bool is_full_ = false;
  absl::Status error_;
  Counter packets_;
  Counter file_bytes_;
};

}  // namespace weir

#endif  // WEIR_CAPTURE_CAPTURE_SESSION_H_
