#include <gtest/gtest.h>

#include "report/report.h"

namespace bulkhead::report {
namespace {

Result withText(const std::string& text) {
    Result r;
    r.title = "a title";
    r.columns = {{"name", ""}, {"time", "us"}};
    r.add({text, 1.5});
    r.provenance.command = "bulkhead x";
    return r;
}

TEST(Html, namesUnitsAndProvenanceAreThere) {
    const Result r = withText("x");
    const std::string page = html("page", {&r, 1});
    for (const char* part : {"<title>page</title>", "<h2>a title</h2>", "<th>time (us)</th>",
                             "<td class=\"number\">1.5</td>", "<code>bulkhead x</code>"})
        EXPECT_NE(page.find(part), std::string::npos) << part;
}

TEST(Html, textIsNeverMarkup) {
    const Result r = withText("<script>\"&");
    const std::string page = html("<b>", {&r, 1});
    EXPECT_NE(page.find("<td>&lt;script&gt;&quot;&amp;</td>"), std::string::npos);
    EXPECT_EQ(page.find("<script>"), std::string::npos);
    EXPECT_NE(page.find("<title>&lt;b&gt;</title>"), std::string::npos);
}

}  // namespace
}  // namespace bulkhead::report
