#include "weir/hca/backend/open_backend.h"

#include <array>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "weir/hca/backend/impair/impaired.h"
#include "weir/hca/backend/impair/impairment.h"
#include "weir/hca/backend/loopback.h"
#include "weir/hca/backend/null.h"
#include "weir/hca/backend/packet.h"
#include "weir/hca/backend/pcap.h"
#include "weir/hca/backend/tap.h"
#include "weir/hca/backend/wire/wire.h"
#include "weir/hca/backend/xdp/xdp.h"

namespace weir::hca {
namespace {

// Of all kinds, and for the port.
constexpr std::array<absl::string_view, 3> kPortOptions = {"fault", "rss",
                                                           "rx_checksum"};

// The options of the kind, and those that all kinds know.
absl::Status Check(const DeviceKey& key, std::vector<absl::string_view> known) {
  known.insert(known.end(), kPortOptions.begin(), kPortOptions.end());
  for (const absl::string_view name : ImpairmentOptions()) {
    known.push_back(name);
  }
  return CheckOptions(key, known);
}

// What the medium itself has to know: xdp looks at checksums anyway, and needs
// not verify them if nobody does.
DeviceKey ForMedium(DeviceKey key) {
  std::erase_if(key.options, [&key](const auto& option) {
    if (key.kind == "xdp" && option.first == "rx_checksum") return false;
    return absl::c_linear_search(kPortOptions, option.first) ||
           absl::c_linear_search(ImpairmentOptions(), option.first);
  });
  return key;
}

absl::StatusOr<std::unique_ptr<Backend>> OpenMedium(const DeviceKey& key) {
  if (key.kind == "loopback") return OpenLoopback(key);
  if (key.kind == "packet") return OpenPacket(key);
  if (key.kind == "pcap") return OpenPcap(key);
  if (key.kind == "tap") return OpenTap(key);
  if (key.kind == "wire") return OpenWire(key);
  if (key.kind == "xdp") return OpenXdp(key);
  return OpenNull(key);
}

}  // namespace

absl::Status CheckBackendKey(const DeviceKey& key) {
  if (key.kind == "loopback") return Check(key, {"flow_control", "mtu"});
  if (key.kind == "null") return Check(key, {"flows", "mtu", "size"});
  if (key.kind == "packet") return Check(key, {"flow_control"});
  if (key.kind == "pcap")
    return Check(key, {"empty", "loop", "mtu", "out", "plan"});
  if (key.kind == "tap") return Check(key, {"mtu"});
  if (key.kind == "wire") {
    return Check(key, {"bytes", "end", "flow_control", "mtu"});
  }
  if (key.kind == "xdp") {
    return Check(key, {"busy_poll", "flow_control", "queues"});
  }
  return absl::InvalidArgumentError(absl::StrCat(
      key.text, ": unknown kind \"", key.kind,
      "\"; known kinds are loopback, null, packet, pcap, tap, wire, xdp"));
}

absl::StatusOr<std::unique_ptr<Backend>> OpenBackend(const DeviceKey& key) {
  if (absl::Status known = CheckBackendKey(key); !known.ok()) return known;
  const absl::StatusOr<Impairment> impairment = ParseImpairment(key);
  if (!impairment.ok()) return impairment.status();
  absl::StatusOr<std::unique_ptr<Backend>> medium = OpenMedium(ForMedium(key));
  if (!medium.ok() || !impairment->has_effect()) return medium;
  return Impaired::Create(*std::move(medium), *impairment, key.text);
}

}  // namespace weir::hca
