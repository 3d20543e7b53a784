#include "apps/inspect/options.h"

#include <bit>
#include <cctype>
#include <cstring>
#include <string>

#include "absl/flags/flag.h"
#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/app/flag_values.h"

// The first two bytes of the published key again and again: with it both
// directions of a flow have one hash.
ABSL_FLAG(std::string, rss_key,
          "6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a"
          "6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a6d5a",
          "the key of the Toeplitz hash, 40 bytes in hexadecimal");
ABSL_FLAG(std::string, l4_checksum, "verify",
          "verify: drop packets whose checksum behind the IP header is wrong; "
          "ignore: do not look at it, as in captures from the sending host");
ABSL_FLAG(std::string, reassembly_timeout, "",
          "how long fragments wait for the rest, in the time of the port (of "
          "the capture); by default 30s for IPv4 and 60s for IPv6");
ABSL_FLAG(uint32_t, max_datagrams, 4096,
          "datagrams that fragments may be kept of at once");
ABSL_FLAG(uint32_t, max_fragments, 1024, "fragments of one datagram, to 8191");
ABSL_FLAG(uint32_t, queues, 1, "queues that flows are spread to by their hash");
ABSL_FLAG(uint32_t, rss_table, 128,
          "entries of the table between hash and queue, a power of two");

namespace weir::inspect {
namespace {

constexpr uint32_t kMaxDatagrams = 1 << 20;
// An IPv4 datagram has no more pieces of 8 bytes (RFC 791 §3.2).
constexpr uint32_t kMaxFragments = 8191;
constexpr uint32_t kMaxTable = 1 << 16;

absl::StatusOr<uint32_t> Number(absl::string_view flag, uint32_t value,
                                uint32_t max) {
  if (value >= 1 && value <= max) return value;
  return absl::InvalidArgumentError(
      absl::StrCat(flag, ": ", value, ": want 1 to ", max));
}

absl::StatusOr<net::ToeplitzKey> Key(const std::string& text) {
  net::ToeplitzKey key;
  for (const char letter : text) {
    if (std::isxdigit(static_cast<unsigned char>(letter)) == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--rss_key: ", text, ": want hexadecimal digits"));
    }
  }
  if (text.size() != 2 * key.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--rss_key: ", text, ": want 40 bytes, 80 digits, got ", text.size()));
  }
  const std::string bytes = absl::HexStringToBytes(text);
  std::memcpy(key.data(), bytes.data(), key.size());
  return key;
}

}  // namespace

absl::StatusOr<Options> ReadOptions() {
  Options options;
  const std::string l4 = absl::GetFlag(FLAGS_l4_checksum);
  if (l4 != "verify" && l4 != "ignore") {
    return absl::InvalidArgumentError(
        absl::StrCat("--l4_checksum: ", l4, ": want verify or ignore"));
  }
  options.verify_l4 = l4 == "verify";
  const std::string timeout = absl::GetFlag(FLAGS_reassembly_timeout);
  if (!timeout.empty()) {
    const auto time = ParseDuration(timeout);
    if (!time.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--reassembly_timeout: ", time.status().message()));
    }
    options.reassembly_timeout = *time;
  }
  const struct {
    absl::string_view flag;
    uint32_t value;
    uint32_t max;
    uint32_t* to;
  } numbers[] = {
      {"--max_datagrams", absl::GetFlag(FLAGS_max_datagrams), kMaxDatagrams,
       &options.max_datagrams},
      {"--max_fragments", absl::GetFlag(FLAGS_max_fragments), kMaxFragments,
       &options.max_fragments},
      {"--rss_table", absl::GetFlag(FLAGS_rss_table), kMaxTable,
       &options.rss_table},
      {"--queues", absl::GetFlag(FLAGS_queues), kMaxTable, &options.queues},
  };
  for (const auto& number : numbers) {
    const auto value = Number(number.flag, number.value, number.max);
    if (!value.ok()) return value.status();
    *number.to = *value;
  }
  if (!std::has_single_bit(options.rss_table)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--rss_table: ", options.rss_table, ": want a power of two"));
  }
  if (options.queues > options.rss_table) {
    return absl::InvalidArgumentError(
        absl::StrCat("--queues: ", options.queues, ": more than --rss_table, ",
                     options.rss_table, "; some would get nothing"));
  }
  const auto key = Key(absl::GetFlag(FLAGS_rss_key));
  if (!key.ok()) return key.status();
  options.rss_key = *key;
  return options;
}

}  // namespace weir::inspect
