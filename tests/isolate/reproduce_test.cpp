// `bulkhead reproduce fgpu`: the tables of the paper from the runtimes of its figures.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "sdk/shell.h"
#include "temporary_directory.h"

namespace bulkhead {
namespace {

using nlohmann::json;

json resultNamed(const json& results, const std::string& begin) {
    for (const json& result : results)
        if (result.at("title").get<std::string>().starts_with(begin)) return result;
    ADD_FAILURE() << "no " << begin;
    return {};
}

/// The slowest time beside a neighbour over the idle one, in percent, by application, of one method.
std::map<std::string, double> variations(const json& runtimes, const std::string& method) {
    std::map<std::string, double> idle, busy, percent;
    for (const json& row : runtimes.at("rows")) {
        if (row.at("method") != method) continue;
        double& time = (row.at("neighbour") == "-" ? idle : busy)[row.at("application")];
        time = std::max(time, row.at("runtime").get<double>());
    }
    for (const auto& [application, seconds] : idle) percent[application] = (busy.at(application) / seconds - 1) * 100;
    return percent;
}

TEST(ReproduceFgpu, TableThreeIsTheVariationOfFigureNineBesideThePapers) {
    const TemporaryDirectory folder;
    const std::string file = (folder / "fgpu.json").string();
    const Outcome outcome = run({BULKHEAD_PROGRAM, "reproduce", "fgpu", "--quick", "--size", "test", "--figures",
                                 "table3,9a,9b", "--store", (folder / "runs").string(), "--json", file});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    const json results = parseJson(readFile(file), file).at("results");
    const json table = resultNamed(results, "table3.").at("rows");
    // Table III of the paper.
    const std::vector<std::pair<double, double>> paper = {
        {130.4, 226.7}, {7.5, 24.6}, {135.8, 273.3}, {48.1, 127.7}, {8.7, 18.3}};
    ASSERT_EQ(table.size(), paper.size());
    for (std::size_t i = 0; i < paper.size(); ++i) {
        const json& row = table[i];
        EXPECT_EQ(row.at("paper's average"), paper[i].first);
        EXPECT_EQ(row.at("paper's maximum"), paper[i].second);
        const json runtimes = resultNamed(results, row.at("GPU") == "sim:v100" ? "Figure 9b." : "Figure 9a.");
        double sum = 0, most = -100;
        const auto all = variations(runtimes, row.at("method"));
        for (const auto& [application, percent] : all) {
            sum += percent;
            most = std::max(most, percent);
        }
        ASSERT_EQ(all.size(), 2u);  // what --quick has
        EXPECT_NEAR(row.at("average"), sum / 2, 1e-6);
        EXPECT_NEAR(row.at("maximum"), most, 1e-6);
        EXPECT_NEAR(all.at(row.at("slowest")), most, 1e-6);
    }
}

TEST(ReproduceFgpu, FiguresOfTheMemoryStandBesideThePapers) {
    const TemporaryDirectory folder;
    const std::string file = (folder / "fgpu.json").string();
    const Outcome outcome =
        run({BULKHEAD_PROGRAM, "reproduce", "fgpu", "--quick", "--figures", "3,4,6,8", "--json", file});
    ASSERT_EQ(outcome.exitCode, 0) << outcome.output;
    const json results = parseJson(readFile(file), file).at("results");
    // IV-D and appendix B.
    const std::map<std::string, double> sizes = {
        {"memory modules", 8}, {"DRAM banks", 128}, {"DRAM row", 2048}, {"L2 sets", 1024}, {"L2 ways", 16}};
    const json found = resultNamed(results, "Figure 6. Banks, sets and modules of a GTX 1080: sizes").at("rows");
    ASSERT_EQ(found.size(), sizes.size());
    for (const json& row : found) {
        EXPECT_EQ(row.at("paper"), sizes.at(row.at("quantity")));
        EXPECT_EQ(row.at("ours"), row.at("paper"));
    }
    // A random pair meets in one of 128 banks.
    const json pairs = resultNamed(results, "Figure 4. Histogram of access times on a GTX 1080: pairs").at("rows");
    EXPECT_NEAR(pairs.at(0).at("ours"), 100.0 / 128, 0.4);
    const json cycles = resultNamed(results, "Figure 8. Interference between threads of a GTX 1080: cycles of");
    EXPECT_EQ(cycles.at("rows").size(), 25u);  // five cases at five numbers of threads
    for (const json& row : cycles.at("rows"))
        if (row.at("threads") == 50) {
            EXPECT_NEAR(row.at("ours").get<double>() / row.at("paper").get<double>(), 1, 0.1) << row;
        }
}

}  // namespace
}  // namespace bulkhead
