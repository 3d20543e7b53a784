#include "apps/control/request.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weir::control {
namespace {

using ::testing::HasSubstr;

std::string Request(const std::vector<std::string>& words,
                    const Json& options = Json::object()) {
  const auto request = RequestOf(words, options, "/here");
  return request.ok() ? request->dump()
                      : std::string(request.status().message());
}

TEST(ControlRequestTest, IsACommandOfOneWord) {
  EXPECT_EQ(Request({"stats", "100ms"}),
            R"({"command":"stats","interval":"100ms"})");
}

TEST(ControlRequestTest, IsACommandOfTwoWords) {
  EXPECT_EQ(Request({"port", "list"}), R"({"command":"port list"})");
}

TEST(ControlRequestTest, MayDoWithoutWhatIsOptional) {
  EXPECT_EQ(Request({"stats"}), R"({"command":"stats"})");
}

TEST(ControlRequestTest, NamesTheCommandsThereAre) {
  EXPECT_THAT(Request({"port"}), HasSubstr("no such command: port; there are "
                                           "stats, capture start, "));
}

TEST(ControlRequestTest, HasFilesWithTheirFolder) {
  EXPECT_EQ(Request({"capture", "start", "packet:eth0", "a.pcapng"}),
            R"({"command":"capture start","place":"packet:eth0",)"
            R"("file":"/here/a.pcapng"})");
  EXPECT_EQ(Request({"capture", "start", "tap:x", "/b"}, {{"drops", true}}),
            R"({"command":"capture start","place":"tap:x","file":"/b",)"
            R"("drops":true})");
}

TEST(ControlRequestTest, HasNumbersAsNumbers) {
  EXPECT_EQ(Request({"capture", "stop", "3"}),
            R"({"command":"capture stop","id":3})");
  EXPECT_EQ(Request({"capture", "stop"}), R"({"command":"capture stop"})");
}

TEST(ControlRequestTest, SaysWhatACommandWants) {
  EXPECT_EQ(Request({"stats", "1s", "2s"}),
            "want stats [TIME|off], got 2 arguments");
}

TEST(ControlRequestTest, RefusesAnOptionOfAnotherCommand) {
  EXPECT_EQ(Request({"stats"}, {{"drops", true}}), "stats takes no --drops");
}

TEST(ControlAnswerTest, IsALineAMember) {
  EXPECT_EQ(FormatAnswer({{"ok", true}, {"interval", "1s"}, {"number", 3}}),
            "interval: 1s\nnumber: 3\n");
}

TEST(ControlAnswerTest, IsALineAnElementOfAList) {
  const Json answer = Json::parse(
      R"({"ok":true,"ports":[{"name":"a","netdev":"","rx":1},{"name":"b"}]})");
  EXPECT_EQ(FormatAnswer(answer), "name a, rx 1\nname b\n");
  EXPECT_EQ(FormatAnswer(Json::parse(R"({"ports":[]})")), "no ports\n");
}

}  // namespace
}  // namespace weir::control
