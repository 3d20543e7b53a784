#include "weir/verbs/raw_packet_error.h"

#include <cerrno>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::verbs {
namespace {

using ::testing::HasSubstr;

constexpr FailedCall kCall = {.object = "mlx5_0: cannot create a queue",
                              .call = "ibv_create_qp"};

TEST(RawPacketErrorTest, NamesTheCapability) {
  const absl::Status status = RawPacketError(EPERM, kCall, 64);
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(std::string(status.message()),
            "mlx5_0: cannot create a queue: ibv_create_qp: Operation not "
            "permitted; needs CAP_NET_RAW");
}

TEST(RawPacketErrorTest, DoesNotPromiseWhatTheDeviceDoesNotSay) {
  const absl::Status status = RawPacketError(EPERM, kCall, 0);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("needs CAP_NET_RAW; whether the device can do raw "
                        "packets is not known before"));
}

TEST(RawPacketErrorTest, OffersTheNetdevWhereTheDeviceCannot) {
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    const absl::Status status = RawPacketError(error, kCall, 0);
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the device cannot do raw packets; use its netdev "
                          "through packet:NETDEV"));
  }
}

TEST(RawPacketErrorTest, AddsNothingToOtherErrors) {
  const absl::Status status = RawPacketError(ENOMEM, kCall, 64);
  EXPECT_EQ(std::string(status.message()),
            "mlx5_0: cannot create a queue: ibv_create_qp: Cannot allocate "
            "memory");
}

}  // namespace
}  // namespace weir::verbs
