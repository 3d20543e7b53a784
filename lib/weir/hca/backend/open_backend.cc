#include "weir/hca/backend/open_backend.h"

#include "absl/strings/str_cat.h"
#include "weir/hca/backend/loopback.h"
#include "weir/hca/backend/null.h"
#include "weir/hca/backend/packet.h"
#include "weir/hca/backend/pcap.h"
#include "weir/hca/backend/tap.h"
#include "weir/hca/backend/wire.h"

namespace weir::hca {

absl::Status CheckBackendKey(const DeviceKey& key) {
  if (key.kind == "loopback") {
    return CheckOptions(key, {"flow_control", "mtu"});
  }
  if (key.kind == "null") return CheckOptions(key, {"mtu", "size"});
  if (key.kind == "packet") return CheckOptions(key, {"flow_control"});
  if (key.kind == "pcap") return CheckOptions(key, {"loop", "mtu", "out"});
  if (key.kind == "tap") return CheckOptions(key, {"mtu"});
  if (key.kind == "wire") {
    return CheckOptions(key, {"bytes", "end", "flow_control", "mtu"});
  }
  return absl::InvalidArgumentError(absl::StrCat(
      key.text, ": unknown kind \"", key.kind,
      "\"; known kinds are loopback, null, packet, pcap, tap, wire"));
}

absl::StatusOr<std::unique_ptr<Backend>> OpenBackend(const DeviceKey& key) {
  if (absl::Status known = CheckBackendKey(key); !known.ok()) return known;
  if (key.kind == "loopback") return OpenLoopback(key);
  if (key.kind == "packet") return OpenPacket(key);
  if (key.kind == "pcap") return OpenPcap(key);
  if (key.kind == "tap") return OpenTap(key);
  if (key.kind == "wire") return OpenWire(key);
  return OpenNull(key);
}

}  // namespace weir::hca
