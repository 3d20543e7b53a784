#include "weir/app/flag_values.h"

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace weir {
namespace {

TEST(ParseDurationTest, TakesPlainNumbersAsSeconds) {
  EXPECT_EQ(*ParseDuration("5"), absl::Seconds(5));
  EXPECT_EQ(*ParseDuration("0.25"), absl::Milliseconds(250));
  EXPECT_EQ(*ParseDuration("0"), absl::ZeroDuration());
}

TEST(ParseDurationTest, TakesUnits) {
  EXPECT_EQ(*ParseDuration("500ms"), absl::Milliseconds(500));
  EXPECT_EQ(*ParseDuration("1m30s"), absl::Seconds(90));
}

TEST(ParseDurationTest, RefusesEverythingElse) {
  for (const absl::string_view text :
       {"", "x", "5x", "-1", "-3s", "inf", "nan", "1e300", "5 s"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
  EXPECT_EQ(ParseDuration("5x").status().message(),
            "want seconds or a time with unit, such as 5 or 500ms, got \"5x\"");
}

}  // namespace
}  // namespace weir
