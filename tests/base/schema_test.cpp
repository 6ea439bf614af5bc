#include "base/schema.h"

#include <gtest/gtest.h>

namespace bulkhead {
namespace {

constexpr Schema kOfOurs = {"bulkhead.thing", 3, "bulkhead make"}, kOfPeople = {"bulkhead.thing", 3};

std::string refusal(const Schema& schema, std::string_view text) {
    const nlohmann::json json = nlohmann::json::parse(text);
    JsonObject file(json, "f.json");
    try {
        schema.expectIn(file);
        file.finish();  // the schema is no unknown key
    } catch (const Error& e) {
        return e.what();
    }
    return "";
}

TEST(Schema, IsTheFirstMemberOfWhatIsWritten) {
    EXPECT_EQ(kOfOurs.begin().dump(), R"({"schema":"bulkhead.thing/3"})");
}

TEST(Schema, OfThisVersionIsRead) {
    EXPECT_EQ(refusal(kOfOurs, R"({"schema": "bulkhead.thing/3"})"), "");
}

TEST(Schema, OfAnotherVersionOrFormatIsRefusedByFileFoundAndRead) {
    for (const char* found : {"\"bulkhead.thing/4\"", "\"bulkhead.thing/2\"", "\"bulkhead.other/3\"", "3"})
        for (const Schema& schema : {kOfOurs, kOfPeople})
            EXPECT_EQ(refusal(schema, fmt::format(R"({{"schema": {}}})", found)),
                      fmt::format("f.json: its schema is {}, but this version of bulkhead reads bulkhead.thing/3 here",
                                  found));
}

TEST(Schema, MayBeLeftOutByPeopleAlone) {
    EXPECT_EQ(refusal(kOfPeople, "{}"), "");
    EXPECT_EQ(refusal(kOfOurs, "{}"),
              "f.json: has no schema: it is not a bulkhead.thing/3, or of an older version: bulkhead make makes one");
}

}  // namespace
}  // namespace bulkhead
