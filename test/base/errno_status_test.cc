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

TEST(ErrnoStatusTest, HasARemedyOfItsOwnForLimits) {
  const FailedCall failed{.object = "x", .call = "open", .remedy = "rename it"};
  EXPECT_EQ(ErrnoStatus(EMFILE, failed).message(),
            "x: open: Too many open files; raise the limit of open files "
            "(ulimit -n)");
  EXPECT_EQ(ErrnoStatus(ENOSPC, failed).message(),
            "x: open: No space left on device; rename it");
  EXPECT_EQ(ErrnoStatus(ENOSPC, {.object = "x", .call = "write"}).message(),
            "x: write: No space left on device; make room there");
}

TEST(ErrnoStatusTest, RemembersTheNumber) {
  const FailedCall failed{.object = "x", .call = "y"};
  EXPECT_EQ(ErrnoOf(ErrnoStatus(EMFILE, failed)), EMFILE);
  EXPECT_EQ(ErrnoOf(absl::InternalError("x")), std::nullopt);
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
