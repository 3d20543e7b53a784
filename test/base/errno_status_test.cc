#include "weir/base/errno_status.h"

#include <cerrno>

#include "absl/status/status.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(ErrnoStatusTest, NamesObjectCallReasonAndRemedy) {
  const absl::Status status = ErrnoStatus(
      EPERM,
      {.object = "mlx5_0", .call = "ibv_create_qp", .remedy = "needs a cap"});
  EXPECT_EQ(status.message(),
            "mlx5_0: ibv_create_qp: Operation not permitted; needs a cap");
}

TEST(ErrnoStatusTest, LeavesOutAnEmptyRemedyWithItsSemicolon) {
  EXPECT_EQ(
      ErrnoStatus(ENOENT, {.object = "in.pcap", .call = "open"}).message(),
      "in.pcap: open: No such file or directory");
}

TEST(ErrnoStatusTest, PicksTheCodeThatFits) {
  const FailedCall failed{.object = "x", .call = "y"};
  EXPECT_EQ(ErrnoStatus(EPERM, failed).code(),
            absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(ErrnoStatus(ENOENT, failed).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrnoStatus(ENOMEM, failed).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(EINVAL, failed).code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(ErrnoStatus(EIO, failed).ok());
}

}  // namespace
}  // namespace weir
