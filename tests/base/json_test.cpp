#include "base/json.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

using nlohmann::json;

template <class Action>
std::string refusal(Action&& action) {
    try {
        action();
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

std::string refusalOf(std::string_view text) {
    return refusal([&] { parseJson(text, "f.json"); });
}

std::string nested(std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
}

TEST(Json, ErrorsHaveAPlace) {
    EXPECT_EQ(refusalOf("{\n  \"a\": ]\n}"), "f.json: not JSON: unexpected text at line 2, column 8");
    EXPECT_EQ(refusalOf("{\"a\": 1"), "f.json: not JSON: ends too early at line 1, column 8");
    EXPECT_EQ(refusalOf(""), "f.json: not JSON: ends too early at line 1, column 1");
    EXPECT_EQ(refusalOf("{} {}"), "f.json: not JSON: unexpected text at line 1, column 4");
    EXPECT_EQ(refusalOf("{}"), "");
}

TEST(Json, ANumberThatNoDoubleHoldsHasAPlace) {
    EXPECT_EQ(refusalOf("{\n  \"a\": 1e3082}"), "f.json: a number at line 2, column 8 is too large");
    EXPECT_EQ(refusalOf("[-1e999]"), "f.json: a number at line 1, column 2 is too large");
    EXPECT_EQ(refusalOf("[1e308]"), "");
}

TEST(Json, NestingHasALimit) {
    EXPECT_EQ(refusalOf(nested(64)), "");
    EXPECT_EQ(refusalOf(nested(65)), "f.json: nested more than 64 levels deep");
    EXPECT_EQ(refusalOf(nested(1'000'000)), "f.json: nested more than 64 levels deep");
    std::string objects;
    for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
    EXPECT_EQ(refusalOf(objects), "f.json: nested more than 64 levels deep");
}

TEST(Json, AFileIsNamed) {
    const TemporaryDirectory folder;
    writeFile(folder / "good.json", "[1]");
    writeFile(folder / "bad.json", "[1");
    EXPECT_EQ(readJson(folder / "good.json"), json({1}));
    EXPECT_EQ(refusal([&] { readJson(folder / "bad.json"); }),
              (folder / "bad.json").string() + ": not JSON: ends too early at line 1, column 3");
}

TEST(Json, TextThatIsNoUtf8IsReplacedInOutput) {
    const nlohmann::ordered_json ordered = {{"program", "./bad\xff"}, {"time", 1.5}};
    EXPECT_EQ(jsonText(ordered), "{\"program\":\"./bad\xEF\xBF\xBD\",\"time\":1.5}");
    EXPECT_EQ(jsonText(json(ordered)), jsonText(ordered));
    EXPECT_EQ(jsonText(json({1}), 1), "[\n 1\n]");
    EXPECT_EQ(jsonQuoted("\x1b[2J\xc2\x9b"), R"("\u001b[2J\u009b")");
    EXPECT_EQ(jsonQuoted(std::string(100, 'x')), "\"" + std::string(59, 'x') + "...");
}

template <class T>
T readAs(std::string_view text) {
    return jsonAs<T>(parseJson(text, "text"), "it");
}

TEST(JsonAs, WholeNumbersMustFit) {
    EXPECT_EQ(readAs<std::uint8_t>("255"), 255);
    EXPECT_EQ(readAs<int>("-2147483648"), -2147483648);
    EXPECT_EQ(readAs<std::uint64_t>("18446744073709551615"), 18446744073709551615u);
    const std::string range = "it must be a whole number from 0 to 4294967295";
    for (const char* text : {"-1", "4294967296", "1e30", "1.5", "-9223372036854775808", "18446744073709551616", "\"1\"",
                             "true", "null", "[1]"})
        EXPECT_EQ(refusal([&] { readAs<std::uint32_t>(text); }), range) << text;
    EXPECT_NE(refusal([] { readAs<std::int64_t>("9223372036854775808"); }), "");
    EXPECT_NE(refusal([] { readAs<std::uint8_t>("256"); }), "");
    EXPECT_NE(refusal([] { readAs<std::int8_t>("-129"); }), "");
}

TEST(JsonAs, OtherTypesMustBeThemselves) {
    EXPECT_EQ(readAs<double>("3"), 3.0);
    EXPECT_EQ(readAs<std::string>("\"a\""), "a");
    EXPECT_EQ(readAs<bool>("true"), true);
    EXPECT_EQ(refusal([] { readAs<double>("\"3\""); }), "it must be a number");
    EXPECT_EQ(refusal([] { readAs<double>("null"); }), "it must be a number");
    EXPECT_EQ(refusal([] { readAs<std::string>("3"); }), "it must be text");
    EXPECT_EQ(refusal([] { readAs<bool>("1"); }), "it must be true or false");
}

TEST(JsonAs, EveryElementOfAListIsChecked) {
    EXPECT_EQ(readAs<std::vector<unsigned>>("[1, 2]"), (std::vector<unsigned>{1, 2}));
    EXPECT_EQ((readAs<std::array<int, 2>>("[1, 2]")), (std::array<int, 2>{1, 2}));
    EXPECT_EQ(readAs<std::vector<std::vector<double>>>("[[1], []]").size(), 2u);
    EXPECT_EQ(refusal([] { readAs<std::vector<unsigned>>("[1, -2]"); }),
              "each of it must be a whole number from 0 to 4294967295");
    EXPECT_EQ(refusal([] { readAs<std::vector<unsigned>>("3"); }), "it must be a list");
    EXPECT_EQ(refusal([] { readAs<std::array<int, 2>>("[1]"); }), "it must be a list of 2");
}

TEST(JsonObjects, SayWhatIsMissingAndWhatIsUnknown) {
    const json value = {{"samples", 3}, {"sample", 4}};
    JsonObject o(value, "f.json");
    EXPECT_EQ(o.get<int>("samples"), 3);
    int kept = 7;
    o.read("limit", kept);
    EXPECT_EQ(kept, 7);
    EXPECT_EQ(o.find("limit"), nullptr);
    EXPECT_EQ(refusal([&] { o.get<int>("victims"); }), "f.json: victims is missing");
    EXPECT_EQ(refusal([&] { o.get<std::string>("samples"); }), "f.json: samples must be text");
    EXPECT_EQ(refusal([&] { o.finish(); }), "f.json: unknown key sample");
    EXPECT_EQ(refusal([] { JsonObject(json({1}), "f.json"); }), "f.json: must be an object");
}

}  // namespace
}  // namespace bulkhead
