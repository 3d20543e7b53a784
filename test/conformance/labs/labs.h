// All labs there are, by name.

#ifndef WEIR_TEST_CONFORMANCE_LABS_LABS_H_
#define WEIR_TEST_CONFORMANCE_LABS_LABS_H_

#include <memory>
#include <string>
#include <vector>

#include "test/conformance/lab.h"
#include "test/conformance/labs/network.h"

namespace weir::conformance {

// What every soft device can do, whatever its medium.
inline constexpr uint32_t kSoftCapabilities =
    kChecksumCap | kCvlanCap | kExtendedCqCap | kTimestampCap | kTsoCap |
    kRssCap | kExtendedQpCap | kFlowTagCap | kFlowDropCap | kFlowCountCap |
    kDontTrapCap | kSnifferCap | kMulticastCap;

// "null", "wire", ...: a lab each for the media of the software HCA.
std::vector<std::string> SoftLabNames();

// Null after one line in `error` if it cannot be had here. `network` outlives
// the lab.
std::unique_ptr<Lab> MakeSoftLab(const std::string& name, Network& network,
                                 std::string& error);

// What a check of real devices is told on the command line.
struct NicOptions {
  std::string device;
  // A device with a cable to the first; empty for none.
  std::string peer;
  // The device loops frames between two of its contexts.
  bool loopback = false;
};
std::unique_ptr<Lab> MakeNicLab(const NicOptions& options, std::string& error);

// One kind of lab each; see their files.
std::unique_ptr<Lab> MakeNullLab(std::string& error);
std::unique_ptr<Lab> MakeWireLab(const std::string& name, std::string& error);
std::unique_ptr<Lab> MakePcapLab(std::string& error);
std::unique_ptr<Lab> MakeNetdevLab(const std::string& kind, Network& network,
                                   std::string& error);

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_LABS_LABS_H_
