// A lambda as a stage, for experiments and tests. It can name no drops, so
// stages of a library are classes.

#ifndef WEIR_PIPELINE_EACH_H_
#define WEIR_PIPELINE_EACH_H_

#include <array>
#include <concepts>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "weir/pipeline/stage.h"

namespace weir {

// The one reason that a lambda has.
enum class EachDrop : uint8_t { kDropped };

// Calls `function` for every packet: with Mbuf& to look at it or change it, or
// with Mbuf& and Lcore& to return a Verdict; it drops for
// EachDrop::kDropped. `name` must be a literal. Owner lcore only.
template <typename Function>
class Each {
 public:
  using Drop = EachDrop;
  static constexpr std::array<absl::string_view, 1> kDropNames = {"dropped"};

  Each(absl::string_view name, Function function)
      : name_(name), function_(std::move(function)) {}

  absl::string_view name() const noexcept { return name_; }

  Verdict OnPacket(Mbuf& mbuf, Lcore& lcore) noexcept {
    if constexpr (std::invocable<Function&, Mbuf&, Lcore&>) {
      return function_(mbuf, lcore);
    } else {
      function_(mbuf);
      return Verdict::Pass();
    }
  }

 private:
  absl::string_view name_;
  Function function_;
};

}  // namespace weir

#endif  // WEIR_PIPELINE_EACH_H_
