#include "base/formats/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace fairlane {
namespace {

using Library = nlohmann::ordered_json;

std::string message_of(auto const& call) {
  try {
    call();
  } catch (JsonError const& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Json, PrintsAsTheLibraryDoes) {
  Json const json = {{"name", "caf\xC3\xA9 \"x\"\n"},
                     {"broken", "\xFF"},
                     {"least", std::numeric_limits<std::int64_t>::min()},
                     {"greatest", std::numeric_limits<std::uint64_t>::max()},
                     {"third", 1.0 / 3.0},
                     {"single", 0.1F},
                     {"whole", 2.0},
                     {"nan", std::nan("")},
                     {"none", std::optional<int>()},
                     {"some", std::optional<int>(3)},
                     {"yes", true},
                     {"list", std::vector<int>{1, 2}},
                     {"empty", Json::array()},
                     {"object", Json::object()},
                     {"nested", {{"a", {1, "b", nullptr}}}}};
  Library const same = {{"name", "caf\xC3\xA9 \"x\"\n"},
                        {"broken", "\xFF"},
                        {"least", std::numeric_limits<std::int64_t>::min()},
                        {"greatest", std::numeric_limits<std::uint64_t>::max()},
                        {"third", 1.0 / 3.0},
                        {"single", 0.1F},
                        {"whole", 2.0},
                        {"nan", std::nan("")},
                        {"none", nullptr},
                        {"some", 3},
                        {"yes", true},
                        {"list", std::vector<int>{1, 2}},
                        {"empty", Library::array()},
                        {"object", Library::object()},
                        {"nested", {{"a", {1, "b", nullptr}}}}};
  for (int const indent : {-1, 0, 2})
    EXPECT_EQ(json.dump(indent), same.dump(indent, ' ', false, Library::error_handler_t::replace));
}

TEST(Json, ParsesWhatItPrints) {
  std::string const text =
      R"({"z":1,"a":[true,null,-5,18446744073709551615,0.1,"x"],"m":{"k":[]}})";
  Json const json = Json::parse(text);
  EXPECT_EQ(json.dump(), text);  // members in their order
  EXPECT_EQ(json.at("a").at(3).get<std::uint64_t>(), 18446744073709551615U);
  EXPECT_EQ(json.at("a").at(2).get<int>(), -5);
  EXPECT_EQ(json.at("a").at(4).get<double>(), 0.1);
  EXPECT_TRUE(json == Json::parse(R"({"m":{"k":[]},"a":[true,null,-5.0,18446744073709551615,
                                      0.1,"x"],"z":1.0})"));
  EXPECT_FALSE(json == Json::parse(R"({"z":1})"));
}

TEST(Json, RefusesWhatIsNotThere) {
  Json const json = {{"a", 1}, {"text", "x"}, {"list", {1, 2}}, {"half", 0.5}, {"minus", -1}};
  EXPECT_EQ(message_of([&] { json.at("b"); }), "no member 'b'");
  EXPECT_EQ(message_of([&] { json.at("list").at(2); }), "2 items, expected more than 2");
  EXPECT_EQ(message_of([&] { json.at("text").get<int>(); }), "\"x\", expected an integer");
  EXPECT_EQ(message_of([&] { json.at("half").get<int>(); }), "0.5, expected an integer");
  EXPECT_EQ(message_of([&] { json.at("minus").get<unsigned>(); }),
            "-1, expected an integer of at least 0");
  EXPECT_EQ(message_of([&] { Json(1000).get<std::int8_t>(); }), "1000, expected a smaller integer");
  EXPECT_EQ(message_of([&] { json.at("list").get<std::string>(); }), "an array, expected a string");
  EXPECT_EQ(message_of([&] { json.at("a").at("b"); }), "1, expected an object");
  EXPECT_EQ(json.value("b", 7), 7);
  EXPECT_EQ(json.value("text", "y"), "x");
}

TEST(Json, RefusesWhatIsNoJson) {
  for (std::string const text : {"", "{", "[1,]", "{\"a\":1,\"a\":2}", "nul", "[1] 2", "1e999"}) {
    EXPECT_NE(message_of([&] { Json::parse(text); }), "nothing thrown") << text;
  }
  EXPECT_NE(message_of([] { Json::parse(std::string(1000, '[')); }).find("nested"),
            std::string::npos);
}

TEST(Json, GrowsAndShrinks) {
  Json json;
  json["b"]["c"] = 1;
  json["a"].push_back("x");
  json["b"]["c"] = 2;
  EXPECT_EQ(json.dump(), R"({"b":{"c":2},"a":["x"]})");
  Json copy = json;
  copy["b"]["c"] = 3;  // a value, not a reference
  json.erase("a");
  EXPECT_EQ(json.dump(), R"({"b":{"c":2}})");
  EXPECT_EQ(copy.dump(), R"({"b":{"c":3},"a":["x"]})");
}

}  // namespace
}  // namespace fairlane
