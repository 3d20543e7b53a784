#include "test/conformance/check.h"

namespace weir::conformance {

std::string_view NameOf(Need need) {
  switch (need) {
    case kNothing:
      return "nothing";
    case kArrivals:
      return "arriving frames";
    case kInject:
      return "frames of its choice";
    case kLive:
      return "frames when it wants them";
    case kObserve:
      return "a view of what is sent";
    case kHolds:
      return "frames that wait for receives";
    case kDrops:
      return "drops without a receive";
    case kStrict:
      return "what the API leaves to the device";
    case kRunts:
      return "frames below 60 bytes";
    case kLink:
      return "a link to cut";
    case kChecksumCap:
      return "checksum offload";
    case kTsoCap:
      return "TSO";
    case kCvlanCap:
      return "VLAN stripping";
    case kScatterFcsCap:
      return "SCATTER_FCS";
    case kExtendedCqCap:
      return "ibv_create_cq_ex";
    case kTimestampCap:
      return "timestamps";
    case kFlowTagCap:
      return "flow tags";
    case kExtendedQpCap:
      return "ibv_wr_*";
    case kRssCap:
      return "work queues and RSS";
    case kFlowDropCap:
      return "flow action DROP";
    case kFlowCountCap:
      return "flow counters";
    case kDontTrapCap:
      return "DONT_TRAP";
    case kSnifferCap:
      return "SNIFFER rules";
    case kMulticastCap:
      return "ibv_attach_mcast";
  }
  return "?";
}

}  // namespace weir::conformance
