// The checks of every subject, one file each.

#ifndef WEIR_TEST_CONFORMANCE_CHECKS_ALL_CHECKS_H_
#define WEIR_TEST_CONFORMANCE_CHECKS_ALL_CHECKS_H_

#include <vector>

#include "test/conformance/check.h"

namespace weir::conformance {

CheckList DeviceChecks();
CheckList PdMrChecks();
CheckList CqChecks();
CheckList CqExChecks();
CheckList ChannelChecks();
CheckList QpCreateChecks();
CheckList QpExChecks();
CheckList QpStateChecks();
CheckList PostSendChecks();
CheckList PostRecvChecks();
CheckList InlineSgeChecks();
CheckList DataPathChecks();
CheckList FlowChecks();
CheckList FlowFieldChecks();
CheckList MulticastChecks();
CheckList ErrorChecks();
CheckList LimitChecks();
CheckList LifetimeChecks();
CheckList AsyncChecks();
CheckList ChecksumChecks();
CheckList CvlanChecks();
CheckList FlowActionChecks();
CheckList TsoChecks();
CheckList RssChecks();
CheckList WqChecks();
CheckList LinkChecks();

std::vector<CheckList> AllChecks();

}  // namespace weir::conformance

#endif  // WEIR_TEST_CONFORMANCE_CHECKS_ALL_CHECKS_H_
