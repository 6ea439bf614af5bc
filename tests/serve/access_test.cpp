#include "serve/access.h"

#include <gtest/gtest.h>

#include <set>

namespace bulkhead::serve {
namespace {

TEST(Access, tokensAreLongAndNeverTheSame) {
    std::set<std::string> tokens;
    for (int i = 0; i < 100; ++i) tokens.insert(newToken());
    EXPECT_EQ(tokens.size(), 100u);
    for (const std::string& token : tokens) {
        EXPECT_EQ(token.size(), 32u);  // 128 bits, four a digit
        EXPECT_EQ(token.find_first_not_of("0123456789abcdef"), std::string::npos);
    }
}

TEST(Access, takesATargetApart) {
    const auto target = targetBehind("t0ken", "/t0ken/result?file=a%2Fb+c.json&x=&y&=z");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->path, "/result");
    EXPECT_EQ(target->query.at("file"), "a/b c.json");
    EXPECT_EQ(target->query.at("x"), "");
    EXPECT_EQ(target->query.at("y"), "");
    EXPECT_EQ(target->query.at(""), "z");
    EXPECT_EQ(targetBehind("t", "/t/")->path, "/");
}

TEST(Access, leavesWhatIsNoCodeAsItIs) {
    const auto target = targetBehind("t", "/t/p?a=%&b=%4&c=%zz&d=%41%");
    ASSERT_TRUE(target);
    EXPECT_EQ(target->query.at("a"), "%");
    EXPECT_EQ(target->query.at("b"), "%4");
    EXPECT_EQ(target->query.at("c"), "%zz");
    EXPECT_EQ(target->query.at("d"), "A%");
}

TEST(Access, wantsTheWholeToken) {
    for (const char* target : {"", "/", "t0ken/", "/t0ken", "/t0ke/", "/t0kenn/", "/T0KEN/", "//t0ken/", "/?t0ken/",
                               "http://127.0.0.1/t0ken/", "/a?b=/t0ken/"})
        EXPECT_FALSE(targetBehind("t0ken", target)) << target;
}

TEST(Access, knowsItsOwnNames) {
    EXPECT_TRUE(isOwnHost("127.0.0.1:80", 80));
    EXPECT_TRUE(isOwnHost("localhost:8080", 8080));
    for (const char* host :
         {"", "127.0.0.1", "localhost:81", "evil.example:80", "localhost:80.evil.example", "[::1]:80"})
        EXPECT_FALSE(isOwnHost(host, 80)) << host;
    EXPECT_TRUE(isOwnOrigin("", 80));
    EXPECT_TRUE(isOwnOrigin("http://localhost:80", 80));
    for (const char* origin : {"null", "https://localhost:80", "http://evil.example:80", "localhost:80"})
        EXPECT_FALSE(isOwnOrigin(origin, 80)) << origin;
}

}  // namespace
}  // namespace bulkhead::serve
