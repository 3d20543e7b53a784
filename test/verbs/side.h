// What a queue needs of a soft device, for tests.

#ifndef WEIR_TEST_VERBS_SIDE_H_
#define WEIR_TEST_VERBS_SIDE_H_

#include <string>

#include "weir/verbs/completion_queue.h"
#include "weir/verbs/device.h"
#include "weir/verbs/protection_domain.h"
#include "weir/verbs/soft_hca.h"

namespace weir::verbs {

// In creation order, as a queue of a port holds them.
struct Side {
  explicit Side(const std::string& key)
      : device(*Device::Open(*AddSoftDevice(key))),
        domain(*ProtectionDomain::Create(device)),
        cq(*CompletionQueue::Create(device, 64)) {}

  Device device;
  ProtectionDomain domain;
  CompletionQueue cq;
};

}  // namespace weir::verbs

#endif  // WEIR_TEST_VERBS_SIDE_H_
