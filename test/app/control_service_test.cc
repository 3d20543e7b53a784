#include "weir/app/control_service.h"

#include <unistd.h>

#include <string>

#include "gtest/gtest.h"

namespace weir {
namespace {

// A service with one command that says its arguments again.
class ControlServiceTest : public ::testing::Test {
 protected:
  ControlServiceTest() {
    service_->Add(
        "say", {"text", "number", "flag"},
        [](const ControlArguments& said) -> absl::StatusOr<ControlJson> {
          const auto text = said.Text("text");
          if (!text.ok()) return text.status();
          const auto number = said.NumberOr("number", 7);
          if (!number.ok()) return number.status();
          const auto flag = said.FlagOr("flag", false);
          if (!flag.ok()) return flag.status();
          return ControlJson{
              {"text", *text}, {"number", *number}, {"flag", *flag}};
        });
  }

  std::unique_ptr<ControlService> service_ = *ControlService::Open(
      "/dev/shm/weir-test-service." + std::to_string(getpid()));
};

TEST_F(ControlServiceTest, AnswersACommandWithItsResult) {
  EXPECT_EQ(service_->Answer(
                R"({"command":"say","text":"hi","number":3,"flag":true})"),
            R"({"ok":true,"text":"hi","number":3,"flag":true})");
}

TEST_F(ControlServiceTest, SaysWhatIsMissing) {
  EXPECT_EQ(service_->Answer(R"({"command":"say"})"),
            R"({"ok":false,"error":"say: text is missing"})");
}

TEST_F(ControlServiceTest, SaysWhatIsOfTheWrongType) {
  const auto wrong = [&](const std::string& argument) {
    return service_->Answer(R"({"command":"say",)" + argument + "}");
  };
  EXPECT_EQ(wrong(R"("text":1)"),
            R"({"ok":false,"error":"say: text: want a string"})");
  EXPECT_EQ(
      wrong(R"("text":"x","number":-1)"),
      R"({"ok":false,"error":"say: number: want a whole number from 0"})");
  EXPECT_EQ(wrong(R"("text":"x","flag":1)"),
            R"({"ok":false,"error":"say: flag: want true or false"})");
}

TEST_F(ControlServiceTest, NamesTheArgumentsThereAre) {
  EXPECT_EQ(service_->Answer(R"({"command":"say","loud":true})"),
            R"({"ok":false,"error":"say: no such argument: loud; there are )"
            R"(text, number, flag"})");
}

TEST_F(ControlServiceTest, NamesTheCommandsThereAre) {
  EXPECT_EQ(service_->Answer(R"({"command":"shout"})"),
            R"({"ok":false,"error":"no such command: shout; there are say"})");
}

TEST_F(ControlServiceTest, AnswersWhatIsNoRequestWithAnExample) {
  const std::string deep(4000, '[');
  for (const std::string& line :
       {std::string(), std::string("hello"), std::string("[1]"),
        std::string("{\"command\":"), std::string("\xff\0\x01", 3), deep}) {
    const auto answer = ControlJson::parse(service_->Answer(line));
    EXPECT_EQ(answer["ok"], false);
    EXPECT_EQ(answer["error"],
              R"(want a line of JSON such as {"command":"port list"})");
  }
}

TEST_F(ControlServiceTest, GivesTextBackThatIsNoUtf8) {
  const auto answer =
      ControlJson::parse(service_->Answer("{\"command\":\"a\xff\"}"));
  EXPECT_EQ(answer["ok"], false);
}

}  // namespace
}  // namespace weir
