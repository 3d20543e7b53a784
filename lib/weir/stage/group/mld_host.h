// The host's side of MLD in a pipeline (RFC 2710, RFC 3810).

#ifndef WEIR_STAGE_GROUP_MLD_HOST_H_
#define WEIR_STAGE_GROUP_MLD_HOST_H_

#include "weir/membership/mld.h"
#include "weir/stage/group/membership_host.h"

namespace weir {

using MldHost = MembershipHost<Mld>;
using MldOptions = MembershipOptions<Mld>;
using MldControl = GroupControl<Mld>;

static_assert(BurstStage<MldHost> && CountingStage<MldHost>);

}  // namespace weir

#endif  // WEIR_STAGE_GROUP_MLD_HOST_H_
