#include "weir/metrics/metric.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "weir/metrics/open_metrics.h"

namespace weir {
namespace {

constexpr auto kCounter = Metric::Kind::kCounter;
constexpr auto kGauge = Metric::Kind::kGauge;

TEST(MetricTest, FormatsItsKeyAndReadsItBack) {
  const std::vector<Metric> metrics = {
      {kCounter, "weir_lcore_polls", {}, 0},
      {kGauge, "weir_ring_size", {{"ring", "a"}}, 0},
      {kCounter, "x", {{"a", "1"}, {"b", ""}}, 0},
      {kCounter, "x", {{"path", "a\"b\\c\nd,e=\"f}"}}, 0}};
  for (const Metric& metric : metrics) {
    const std::string line = FormatKey(metric);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto back = ParseKey(line);
    ASSERT_TRUE(back.has_value()) << line;
    EXPECT_EQ(*back, metric) << line;
  }
}

TEST(MetricTest, RefusesLinesThatAreNoKeys) {
  for (const char* line :
       {"", "c", "c ", "x name", "cname", "c name{", "c name{a", "c name{a=\"b",
        "c name{a=\"b\"", "c name{a=\"b\"}x", "c name{a=\"b\"x", "c name{}",
        "c name{a=\"b\\", "c name{a=\"b\",}", "c {a=\"b\"}"}) {
    EXPECT_FALSE(ParseKey(line).has_value()) << line;
  }
}

TEST(MetricTest, FindsALabel) {
  const Metric metric = {kGauge, "x", {{"a", "1"}, {"b", "2"}}, 0};
  EXPECT_EQ(metric.label("b"), "2");
  EXPECT_EQ(metric.label("c"), "");
  EXPECT_TRUE(metric.Has({{"b", "2"}, {"a", "1"}}));
  EXPECT_TRUE(metric.Has({}));
  EXPECT_FALSE(metric.Has({{"a", "1"}, {"b", "1"}}));
  EXPECT_FALSE(metric.Has({{"c", "1"}}));
}

TEST(OpenMetricsTest, PutsFamiliesTogether) {
  const std::vector<Metric> metrics = {
      {kCounter, "weir_polls", {{"lcore", "0"}}, 5},
      {kGauge, "weir_held", {{"lcore", "0"}}, 7},
      {kCounter, "weir_polls", {{"lcore", "1"}}, 6},
      {kGauge, "weir_free", {}, 18446744073709551615U}};
  EXPECT_EQ(FormatOpenMetrics(metrics),
            "# TYPE weir_polls counter\n"
            "weir_polls_total{lcore=\"0\"} 5\n"
            "weir_polls_total{lcore=\"1\"} 6\n"
            "# TYPE weir_held gauge\n"
            "weir_held{lcore=\"0\"} 7\n"
            "# TYPE weir_free gauge\n"
            "weir_free 18446744073709551615\n"
            "# EOF\n");
}

TEST(OpenMetricsTest, EndsAlsoWhatIsEmpty) {
  EXPECT_EQ(FormatOpenMetrics({}), "# EOF\n");
}

}  // namespace
}  // namespace weir
