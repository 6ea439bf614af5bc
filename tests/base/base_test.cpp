#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/printable.h"
#include "base/result.h"
#include "base/split.h"
#include "base/statistics.h"
#include "base/suggest.h"
#include "base/units.h"
#include "report/report.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

namespace fs = std::filesystem;

TEST(Error, FormatsItsMessage) {
    EXPECT_STREQ(Error("{} of {}", 2, "x").what(), "2 of x");
}

TEST(Error, IsOneLineWhateverItQuotes) {
    EXPECT_STREQ(Error("{}: no such file", "a\nb\x1b[2J").what(), "a\\nb\\x1b[2J: no such file");
    EXPECT_STREQ(Error("{}: {}", "x", Error("\t{}", 1).what()).what(), "x: \\t1");
}

TEST(Split, HasAPartMoreThanSeparators) {
    using Parts = std::vector<std::string>;
    EXPECT_EQ(split("a,bc,,d", ','), (Parts{"a", "bc", "", "d"}));
    EXPECT_EQ(split("", ','), Parts{""});
    EXPECT_EQ(split(",", ','), (Parts{"", ""}));
    EXPECT_EQ(splitWords(",a,,b c,", ','), (Parts{"a", "b c"}));
    EXPECT_EQ(splitWords("", ' '), Parts{});
}

TEST(Printable, LeavesWhatATerminalShows) {
    const std::string text = "plain, \\x1b, \xc3\xa9, \xe2\x82\xac, \xf0\x9f\x98\x80";  // two, three and four bytes
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, SpellsWhatATerminalObeys) {
    EXPECT_EQ(printable(std::string("\0\x07\x7f", 3)), "\\x00\\x07\\x7f");
    EXPECT_EQ(printable("\xc2\x9b;31m"), "\\u009b;31m");      // CSI as one character
    EXPECT_EQ(printable("\xe2\x80\xae.exe"), "\\u202e.exe");  // right to left
    EXPECT_EQ(printable("\xf3\xa0\x81\x81"), "\\U000e0041");  // a tag
}

TEST(Printable, SpellsBytesThatAreNoUtf8) {
    EXPECT_EQ(printable("\xff"), "\\xff");
    EXPECT_EQ(printable("a\xe2\x82"), "a\\xe2\\x82");                  // cut short
    EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b");                    // longer than needed
    EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // half of a pair
    EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond the last
}

TEST(Report, TextShowsControlCharactersInsteadOfObeyingThem) {
    Result r;
    r.title = "of \x1b";
    r.columns = {{"name", ""}, {"n", ""}};
    r.add({"a\nb", std::int64_t{1}});
    EXPECT_EQ(report::text(r), "of \\x1b\nname  n\na\\nb  1\n");
}

TEST(Statistics, OfAKnownSample) {
    const std::vector<double> x = {2, 4, 4, 4, 5, 5, 7, 9};  // squares of the deviations: 32
    EXPECT_DOUBLE_EQ(mean(x), 5);
    EXPECT_DOUBLE_EQ(minimum(x), 2);
    EXPECT_DOUBLE_EQ(maximum(x), 9);
    EXPECT_DOUBLE_EQ(standardDeviation(x), std::sqrt(32.0 / 7));
    EXPECT_DOUBLE_EQ(percentile(x, 0), 2);
    EXPECT_DOUBLE_EQ(percentile(x, 50), 4.5);
    EXPECT_DOUBLE_EQ(percentile(x, 100), 9);
    EXPECT_DOUBLE_EQ(percentile(x, 10), 2 + 0.7 * 2);  // place 0.7 of 0..7
    EXPECT_DOUBLE_EQ(geometricMean(std::vector<double>{1, 10, 100}), 10);
}

TEST(Statistics, StudentsTIsThatOfTheTables) {
    EXPECT_DOUBLE_EQ(studentT95(1), 12.706);
    EXPECT_DOUBLE_EQ(studentT95(7), 2.365);
    EXPECT_NEAR(studentT95(40), 2.021, 5e-4);
    EXPECT_NEAR(studentT95(120), 1.980, 5e-4);
    EXPECT_NEAR(studentT95(1'000'000), 1.960, 5e-4);
    EXPECT_THROW(studentT95(0), Error);
}

TEST(Statistics, OfOneSample) {
    const std::vector<double> x = {3};
    EXPECT_DOUBLE_EQ(mean(x), 3);
    EXPECT_DOUBLE_EQ(standardDeviation(x), 0);
    EXPECT_DOUBLE_EQ(percentile(x, 95), 3);
}

TEST(Statistics, RefuseWhatHasNone) {
    EXPECT_THROW(mean({}), Error);
    EXPECT_THROW(percentile({}, 50), Error);
    EXPECT_THROW(percentile(std::vector<double>{1}, 101), Error);
    EXPECT_THROW(percentile(std::vector<double>{1}, std::nan("")), Error);
    EXPECT_THROW(geometricMean(std::vector<double>{1, 0}), Error);
}

TEST(Statistics, MeanOfHugeSamplesDoesNotOverflow) {
    const double huge = std::numeric_limits<double>::max();
    EXPECT_DOUBLE_EQ(mean(std::vector<double>{huge, huge}), huge);
}

TEST(DidYouMean, FindsTheNearestAndStaysSilentOtherwise) {
    EXPECT_EQ(didYouMean("l1.way", {"l2.bytes", "l1.ways"}), " (did you mean l1.ways?)");
    EXPECT_EQ(didYouMean("elephant", {"l2.bytes", "l1.ways"}), "");
    EXPECT_EQ(didYouMean("", {}), "");
}

TEST(Files, WriteThenRead) {
    const TemporaryDirectory directory;
    const std::string bytes("a\0b\n", 4);
    writeFile(directory / "x", bytes);
    EXPECT_EQ(readFile(directory / "x"), bytes);
    writeFile(directory / "x", "shorter");
    EXPECT_EQ(readFile(directory / "x"), "shorter");
    EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), {}), 1) << "a temporary file was left";
}

TEST(Files, WriteThroughALinkKeepsTheLink) {
    const TemporaryDirectory directory;
    writeFile(directory / "target", "old");
    fs::create_symlink("target", directory / "link");
    writeFile(directory / "link", "new");
    EXPECT_TRUE(fs::is_symlink(directory / "link"));
    EXPECT_EQ(readFile(directory / "target"), "new");
}

TEST(Files, FailuresNameTheFile) {
    const TemporaryDirectory temporary;
    const fs::path& directory = temporary.path();
    const auto message = [](auto&& action) {
        try {
            action();
        } catch (const Error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const std::string missing = (directory / "missing").string();
    EXPECT_EQ(message([&] { readFile(missing); }), missing + ": no such file");
    EXPECT_EQ(message([&] { readFile(directory); }), directory.string() + ": is a directory, not a file");
    EXPECT_EQ(message([&] { writeFile(directory, "x"); }), directory.string() + ": is a directory, not a file");
    EXPECT_EQ(message([&] { writeFile(missing + "/x", "x"); }),
              missing + "/x: cannot be written: No such file or directory");
}

TEST(Files, AReadHasALimit) {
    const TemporaryDirectory directory;
    writeFile(directory / "x", "four");
    EXPECT_EQ(readFile(directory / "x", 4), "four");
    EXPECT_THROW(readFile(directory / "x", 3), Error);
    EXPECT_EQ(readBeginning(directory / "x", 3), "fou");
    EXPECT_EQ(readBeginning(directory / "x", 9), "four");
    EXPECT_EQ(readBeginning("/dev/zero", 5), std::string(5, '\0'));
    try {
        readFile("/dev/zero", 1_MiB);
        FAIL();
    } catch (const Error& e) {
        EXPECT_STREQ(e.what(), "/dev/zero: has more than 1 MB, the most that is read");
    }
}

TEST(Files, APipeIsReadToItsEnd) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const std::string bytes(10'000, 'x');
    ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    ::close(ends[1]);
    EXPECT_EQ(readFile("/dev/fd/" + std::to_string(ends[0])), bytes);
    ::close(ends[0]);
}

TEST(Files, PermissionsAreTheUsualOnesOrThoseOfTheOldFile) {
    const TemporaryDirectory directory;
    const mode_t mask = ::umask(027);
    writeFile(directory / "new", "x");
    writeFile(directory / "old", "x");
    fs::permissions(directory / "old", fs::perms::owner_read | fs::perms::owner_write);
    writeFile(directory / "old", "y");
    ::umask(mask);
    EXPECT_EQ(static_cast<int>(fs::status(directory / "new").permissions()), 0640);
    EXPECT_EQ(static_cast<int>(fs::status(directory / "old").permissions()), 0600);
}

TEST(Files, WriteThroughALinkToNothingMakesTheFile) {
    const TemporaryDirectory directory;
    fs::create_directory(directory / "folder");
    fs::create_symlink("folder/target", directory / "link");
    writeFile(directory / "link", "new");
    EXPECT_TRUE(fs::is_symlink(directory / "link"));
    EXPECT_EQ(readFile(directory / "folder/target"), "new");
}

Result sample() {
    Result r;
    r.title = "times";
    r.columns = {{"kernel", ""}, {"cycles", ""}, {"bandwidth", "GB/s"}, {"ok", ""}};
    r.add({std::string("copy, \"fast\""), std::int64_t{12}, 320.256, true});
    r.add({std::string("π"), std::int64_t{123456}, std::monostate{}, false});
    r.provenance = {"bulkhead x", "sim:tx2", 7, "0.1.0", "2026-01-01T00:00:00Z"};
    return r;
}

TEST(ResultRows, MustFitTheColumns) {
    Result r = sample();
    EXPECT_THROW(r.add({std::int64_t{1}}), Error);
}

TEST(ResultDate, IsIso8601) {
    const std::string date = currentDate();
    ASSERT_EQ(date.size(), 20u);
    EXPECT_EQ(date[10], 'T');
    EXPECT_EQ(date[19], 'Z');
}

TEST(Report, TextAlignsColumns) {
    EXPECT_EQ(report::text(sample()),
              "times\n"
              "kernel        cycles  bandwidth (GB/s)  ok\n"
              "copy, \"fast\"      12             320.3  yes\n"
              "π             123456                 -  no\n");
}

TEST(Report, CsvQuotesAndKeepsPrecision) {
    EXPECT_EQ(report::csv(sample()),
              "kernel,cycles,bandwidth (GB/s),ok\r\n"
              "\"copy, \"\"fast\"\"\",12,320.256,true\r\n"
              "π,123456,,false\r\n");
}

TEST(Report, JsonHoldsValuesUnitsAndProvenance) {
    const nlohmann::ordered_json j = report::json(sample());
    EXPECT_EQ(j["title"], "times");
    EXPECT_EQ(j["columns"][2]["unit"], "GB/s");
    EXPECT_EQ(j["rows"][0]["bandwidth"], 320.256);
    EXPECT_EQ(j["rows"][0]["ok"], true);
    EXPECT_TRUE(j["rows"][1]["bandwidth"].is_null());
    EXPECT_EQ(j["provenance"]["seed"], 7);
    EXPECT_EQ(j["provenance"]["gpu"], "sim:tx2");
    EXPECT_EQ(nlohmann::ordered_json::parse(j.dump()), j);
}

TEST(Report, NoRows) {
    Result r;
    r.columns = {{"a", ""}, {"b", ""}};
    EXPECT_EQ(report::text(r), "a  b\n");
    EXPECT_EQ(report::csv(r), "a,b\r\n");
    EXPECT_TRUE(report::json(r)["rows"].empty());
}

}  // namespace
}  // namespace bulkhead
