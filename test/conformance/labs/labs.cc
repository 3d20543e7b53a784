#include "test/conformance/labs/labs.h"

namespace weir::conformance {

std::vector<std::string> SoftLabNames() {
  return {"null", "wire", "wire-lossy", "pcap", "packet", "tap", "xdp"};
}

std::unique_ptr<Lab> MakeSoftLab(const std::string& name, Network& network,
                                 std::string& error) {
  if (name == "null") return MakeNullLab(error);
  if (name == "wire" || name == "wire-lossy") return MakeWireLab(name, error);
  if (name == "pcap") return MakePcapLab(error);
  return MakeNetdevLab(name, network, error);
}

}  // namespace weir::conformance
