#include "test/conformance/checks/all_checks.h"

namespace weir::conformance {

std::vector<CheckList> AllChecks() {
  return {DeviceChecks(),    PdMrChecks(),    CqChecks(),
          CqExChecks(),      ChannelChecks(), AsyncChecks(),
          QpCreateChecks(),  QpStateChecks(), PostSendChecks(),
          PostRecvChecks(),  QpExChecks(),    InlineSgeChecks(),
          DataPathChecks(),  FlowChecks(),    FlowFieldChecks(),
          MulticastChecks(), ErrorChecks(),   ChecksumChecks(),
          CvlanChecks(),     LimitChecks(),   FlowActionChecks(),
          TsoChecks(),       WqChecks(),      RssChecks(),
          LinkChecks(),      LifetimeChecks()};
}

}  // namespace weir::conformance
