#include "weir/hca/backend/impair/impairment.h"

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace weir::hca {
namespace {

struct Unit {
  absl::string_view name;
  double factor;
};

// The longer of two that end alike comes first.
constexpr std::array<Unit, 4> kTimes = {
    {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
constexpr std::array<Unit, 4> kRates = {
    {{"kbit", 1e3}, {"Mbit", 1e6}, {"Gbit", 1e9}, {"bit", 1}}};

constexpr double kMaxDelayNs = 10e9;
constexpr double kMinRate = 1e3;
constexpr double kMaxRate = 1e12;

absl::Status BadValue(const DeviceKey& key, absl::string_view name,
                      absl::string_view want) {
  return absl::InvalidArgumentError(absl::StrCat(
      key.text, ": ", name, "=", key.Option(name, ""), ": want ", want));
}

// Digits and a point; not what SimpleAtod knows besides ("nan", "0x1p3").
std::optional<double> Decimal(absl::string_view text) {
  double value = 0;
  if (text.find_first_not_of("0123456789.") != absl::string_view::npos ||
      !absl::SimpleAtod(text, &value)) {
    return std::nullopt;
  }
  return value;
}

// Sets `value` if the option is there.
absl::Status ReadProbability(const DeviceKey& key, absl::string_view name,
                             double& value) {
  absl::string_view text = key.Option(name, "0");
  const double scale = absl::ConsumeSuffix(&text, "%") ? 100 : 1;
  const std::optional<double> number = Decimal(text);
  if (!number.has_value() || *number > scale) {
    return BadValue(key, name, "a probability from 0 to 1, or 0% to 100%");
  }
  value = *number / scale;
  return absl::OkStatus();
}

std::optional<double> WithUnit(absl::string_view text,
                               std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (!absl::ConsumeSuffix(&text, unit.name)) continue;
    const std::optional<double> number = Decimal(text);
    if (!number.has_value()) return std::nullopt;
    return *number * unit.factor;
  }
  return std::nullopt;
}

absl::Status ReadTime(const DeviceKey& key, absl::string_view name,
                      uint64_t& value_ns) {
  const std::optional<uint64_t> time = ParseTimeNs(key.Option(name, "0ns"));
  if (!time.has_value()) {
    return BadValue(key, name, "a time from 0ns to 10s, as in 5ms");
  }
  value_ns = *time;
  return absl::OkStatus();
}

absl::Status ReadRate(const DeviceKey& key, uint64_t& bits_per_s) {
  if (key.Option("rate", "").empty()) return absl::OkStatus();
  const std::optional<double> rate = WithUnit(key.Option("rate", ""), kRates);
  if (!rate.has_value() || *rate < kMinRate || *rate > kMaxRate) {
    return BadValue(key, "rate", "1kbit to 1000Gbit (a second), as in 10Mbit");
  }
  bits_per_s = static_cast<uint64_t>(std::llround(*rate));
  return absl::OkStatus();
}

absl::Status ReadSide(const DeviceKey& key, Impairment::Side& side) {
  const absl::string_view text = key.Option("impair", "both");
  if (text == "both") {
    side = Impairment::Side::kBoth;
  } else if (text == "rx") {
    side = Impairment::Side::kReceive;
  } else if (text == "tx") {
    side = Impairment::Side::kSend;
  } else {
    return BadValue(key, "impair", "rx, tx or both");
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<absl::string_view> ImpairmentOptions() {
  return {"corrupt", "delay", "dup",     "impair", "jitter",
          "loss",    "rate",  "reorder", "seed"};
}

std::optional<uint64_t> ParseTimeNs(absl::string_view text) {
  const std::optional<double> time = WithUnit(text, kTimes);
  if (!time.has_value() || *time > kMaxDelayNs) return std::nullopt;
  return static_cast<uint64_t>(std::llround(*time));
}

absl::StatusOr<Impairment> ParseImpairmentOptions(absl::string_view options) {
  absl::StatusOr<DeviceKey> key = ParseDeviceKey(
      absl::StrCat("impairment:", options.empty() ? "" : ",", options));
  if (!key.ok()) return key.status();
  key->text = std::string(options);
  absl::Status known = CheckOptions(*key, ImpairmentOptions());
  if (!known.ok()) return known;
  return ParseImpairment(*key);
}

absl::StatusOr<Impairment> ParseImpairment(const DeviceKey& key) {
  Impairment impairment;
  const absl::StatusOr<uint64_t> seed = NumberOption(
      key, "seed",
      {.min = 0, .max = std::numeric_limits<uint64_t>::max(), .fallback = 1});
  absl::Status status = seed.status();
  if (seed.ok()) impairment.seed = *seed;
  status.Update(ReadProbability(key, "loss", impairment.loss));
  status.Update(ReadProbability(key, "dup", impairment.dup));
  status.Update(ReadProbability(key, "reorder", impairment.reorder));
  status.Update(ReadProbability(key, "corrupt", impairment.corrupt));
  status.Update(ReadTime(key, "delay", impairment.delay_ns));
  status.Update(ReadTime(key, "jitter", impairment.jitter_ns));
  status.Update(ReadRate(key, impairment.rate_bits_per_s));
  status.Update(ReadSide(key, impairment.side));
  if (impairment.jitter_ns > impairment.delay_ns) {
    status.Update(BadValue(key, "jitter", "a time no longer than delay"));
  }
  if (!status.ok()) return status;
  return impairment;
}

}  // namespace weir::hca
