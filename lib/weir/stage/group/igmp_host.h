// The host's side of IGMP in a pipeline (RFC 1112, RFC 2236, RFC 3376).

#ifndef WEIR_STAGE_GROUP_IGMP_HOST_H_
#define WEIR_STAGE_GROUP_IGMP_HOST_H_

#include "weir/membership/igmp.h"
#include "weir/stage/group/membership_host.h"

namespace weir {

using IgmpHost = MembershipHost<Igmp>;
using IgmpOptions = MembershipOptions<Igmp>;
using IgmpControl = GroupControl<Igmp>;

static_assert(BurstStage<IgmpHost> && CountingStage<IgmpHost>);

}  // namespace weir

#endif  // WEIR_STAGE_GROUP_IGMP_HOST_H_
