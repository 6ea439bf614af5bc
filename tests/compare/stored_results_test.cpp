// What is stored in results/, what is said of it there, and what docs/deviations.md says: the same.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "base/json.h"
#include "base/statistics.h"
#include "report/report.h"
#include "reproduce/verdict.h"
#include "workloads/workload.h"

namespace bulkhead::reproduce {
namespace {

const std::filesystem::path kSource = BULKHEAD_SOURCE_DIR;

std::vector<Result> stored(const std::filesystem::path& file) {
    return report::resultsIn(readJson(file), file.string());
}

std::size_t column(const Result& r, const std::string& name) {
    for (std::size_t c = 0; c < r.columns.size(); ++c)
        if (r.columns[c].name == name) return c;
    throw Error("{}: no column {}", r.title, name);
}

bool has(const Result& r, const std::string& name) {
    return std::ranges::any_of(r.columns, [&](const Result::Column& c) { return c.name == name; });
}

std::string textAt(const Result& r, std::size_t row, const std::string& name) {
    return std::get<std::string>(r.rows.at(row)[column(r, name)]);
}

double numberAt(const Result& r, std::size_t row, const std::string& name) {
    const Value& value = r.rows.at(row)[column(r, name)];
    const auto* whole = std::get_if<std::int64_t>(&value);
    return whole ? static_cast<double>(*whole) : std::get<double>(value);
}

class StoredResults : public testing::TestWithParam<std::string> {};

// A verdict is computed from numbers that are stored beside it, by today's rule.
TEST_P(StoredResults, haveTheVerdictsThatFollowFromThem) {
    const std::vector<Result> all = stored(kSource / "results" / GetParam());
    std::vector<Result> said, judged;
    for (const Result& r : all) (isVerdict(r) ? said : judged).push_back(r);
    const std::vector<Result> today = verdicts(judged);
    ASSERT_EQ(said.size(), today.size());
    for (std::size_t i = 0; i < said.size(); ++i) {
        EXPECT_EQ(said[i].title, today[i].title);
        ASSERT_EQ(said[i].rows.size(), today[i].rows.size());
        for (std::size_t row = 0; row < said[i].rows.size(); ++row)
            for (std::size_t c = 0; c < today[i].columns.size(); ++c) {
                const Value &a = said[i].rows[row][c], &b = today[i].rows[row][c];
                const bool numbers = std::holds_alternative<double>(a) && std::holds_alternative<double>(b);
                EXPECT_TRUE(numbers ? std::get<double>(a) == std::get<double>(b) : a == b)
                    << said[i].title << ", row " << row << ", " << today[i].columns[c].name
                    << ": bulkhead report FILE --json FILE judges anew";
            }
    }
}

INSTANTIATE_TEST_SUITE_P(Papers, StoredResults, testing::Values("ciao.json", "fgpu.json", "interference.json"),
                         [](const auto& info) { return info.param.substr(0, info.param.find('.')); });

/// results/ciao.json by what the tests below ask of it.
class StoredCiao : public testing::Test {
  protected:
    const std::vector<Result> results = stored(kSource / "results/ciao.json");

    const Result& table(const std::string& figure, const std::string& with) const {
        for (const Result& r : results)
            if (r.title.starts_with("Figure " + figure + ".") && has(r, with)) return r;
        throw Error("no table of Figure {} with {}", figure, with);
    }
    const Result& gains(const std::string& figure) const {
        for (const Result& r : results)
            if (r.title.starts_with("Figure " + figure + ".") && r.title.find("IPC relative to") != std::string::npos)
                return r;
        throw Error("no gains of Figure {}", figure);
    }
    /// The geometric mean of one column of a figure's gains over another.
    double ratio(const std::string& figure, const std::string& over, const std::string& under, const std::string& among,
                 const std::vector<std::string>& without = {}) const {
        const Result& r = gains(figure);
        std::vector<double> ratios;
        for (std::size_t row = 0; row < r.rows.size(); ++row) {
            const std::string workload = textAt(r, row, "workload");
            if (workload == "geometric mean" || std::ranges::count(without, workload)) continue;
            if (among == "all" || among == workload || among == textAt(r, row, "class"))
                ratios.push_back(numberAt(r, row, over) / numberAt(r, row, under));
        }
        if (ratios.empty()) throw Error("Figure {} has no {}", figure, among);
        return geometricMean(ratios);
    }
};

TEST_F(StoredCiao, ratiosFollowFromTheGainsOfWorkloads) {
    for (const char* figure : {"8a", "12a", "12b"}) {
        const Result& r = table(figure, "relative to");
        for (std::size_t row = 0; row < r.rows.size(); ++row)
            EXPECT_NEAR(
                numberAt(r, row, "ours"),
                ratio(figure, textAt(r, row, "IPC of"), textAt(r, row, "relative to"), textAt(r, row, "workloads")),
                1e-9)
                << figure << " " << textAt(r, row, "IPC of") << " over " << textAt(r, row, "relative to");
    }
}

/// The cells of the table in a Markdown file whose first row begins so.
std::vector<std::vector<std::string>> markdownTable(const std::string& file, const std::string& begins) {
    const std::string text = readFile(kSource / file);
    const std::size_t at = text.find("\n" + begins);
    if (at == std::string::npos) throw Error("{}: no table begins '{}'", file, begins);
    std::istringstream lines(text.substr(at + 1));
    std::vector<std::vector<std::string>> rows;
    for (std::string line; std::getline(lines, line) && line.starts_with("|");) {
        std::vector<std::string> cells;
        std::istringstream parts(line.substr(1));
        for (std::string cell; std::getline(parts, cell, '|');) {
            const std::size_t from = cell.find_first_not_of(' '), to = cell.find_last_not_of(' ');
            cells.push_back(from == std::string::npos ? "" : cell.substr(from, to - from + 1));
        }
        rows.push_back(cells);
    }
    rows.erase(rows.begin() + 1);  // the line below the names of columns
    return rows;
}

std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

std::string twoDecimals(double value) {
    return fmt::format("{:.2f}", value);
}

TEST_F(StoredCiao, meansAreThoseOfTheDocumentation) {
    const auto doc = markdownTable("docs/deviations.md", "| geometric mean of IPC over GTO, all 21 workloads |");
    ASSERT_EQ(doc.size(), 8u);
    for (std::size_t i = 1; i < doc.size(); ++i) {
        const std::string scheduler = lower(doc[i][0]);
        EXPECT_EQ(doc[i][1], twoDecimals(ratio("8a", scheduler, "gto", "all"))) << scheduler;
        EXPECT_EQ(doc[i][2], twoDecimals(ratio("8a", scheduler, "gto", "all", {"Kmeans", "SYR2K"}))) << scheduler;
    }
    const auto classes = markdownTable("docs/deviations.md", "| class | CCWS |");
    for (std::size_t i = 1; i < classes.size(); ++i)
        for (std::size_t c = 1; c < classes[0].size(); ++c)
            EXPECT_EQ(classes[i][c], twoDecimals(ratio("8a", lower(classes[0][c]), "gto", classes[i][0])))
                << classes[i][0] << " " << classes[0][c];
}

// Every number of the paper, with ours and the verdict, as the table of verdicts has them.
TEST_F(StoredCiao, verdictsAreThoseOfTheDocumentation) {
    const auto doc = markdownTable("docs/deviations.md", "| figure | case | ours | paper | verdict |");
    const auto numbers =
        std::ranges::find_if(results, [](const Result& r) { return r.title == "Measured and published values"; });
    ASSERT_NE(numbers, results.end());
    std::size_t next = 1;
    for (std::size_t row = 0; row < numbers->rows.size(); ++row) {
        const std::string figure = textAt(*numbers, row, "figure");
        if (!figure.starts_with("Figure")) continue;  // Table II and V-F are not about gains
        ASSERT_LT(next, doc.size()) << figure;
        const bool percent = textAt(*numbers, row, "unit") == "%";
        const auto shown = [&](double value) { return percent ? fmt::format("{:.0f} %", value) : twoDecimals(value); };
        EXPECT_EQ(doc[next][0], figure.substr(7, figure.find('.') - 7));
        EXPECT_EQ(doc[next][1], textAt(*numbers, row, "case"));
        EXPECT_EQ(doc[next][2], shown(numberAt(*numbers, row, "simulated"))) << doc[next][1];
        EXPECT_EQ(doc[next][3], shown(numberAt(*numbers, row, "paper"))) << doc[next][1];
        EXPECT_EQ(doc[next][4], textAt(*numbers, row, "simulated, verdict")) << doc[next][1];
        ++next;
    }
    EXPECT_EQ(next, doc.size());
}

TEST_F(StoredCiao, countsOfVerdictsAreThoseOfTheDocumentation) {
    const auto doc = markdownTable("docs/deviations.md", "| figure | agree | near | differ |");
    const auto counts =
        std::ranges::find_if(results, [](const Result& r) { return r.title == "Agreement with the papers"; });
    ASSERT_NE(counts, results.end());
    ASSERT_EQ(doc.size(), counts->rows.size() + 1);
    for (std::size_t row = 0; row < counts->rows.size(); ++row) {
        EXPECT_EQ(doc[row + 1][0], textAt(*counts, row, "figure"));
        for (const char* word : {"agree", "near", "differ"})
            EXPECT_EQ(doc[row + 1][column(*counts, word) - 1], fmt::format("{:.0f}", numberAt(*counts, row, word)));
    }
}

}  // namespace
}  // namespace bulkhead::reproduce
