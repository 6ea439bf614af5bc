// The MapReduce framework, the texts that its applications read, and whether their checks see a wrong result.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "corruption.h"
#include "mapreduce.ptx.h"
#include "similarity_score.ptx.h"
#include "workloads/mars/mapreduce.h"
#include "workloads/mars/tally.h"
#include "workloads/mars/text.h"
#include "workloads/workload.h"

namespace bulkhead::workloads::mars {
namespace {

class MarsFramework : public ::testing::Test {
  protected:
    gpu::Gpu gpu_ = gpu::Gpu::open("sim:gtx480");
    gpu::Context& context_ = gpu_.context();
    gpu::Stream stream_ = context_.createStream();
};

TEST_F(MarsFramework, PrefixSumsAreThoseOfTheHost) {
    PrefixSum prefixSum(context_, context_.load(kMapreducePtx));
    Random random(3);
    // Around one block's 128 elements, and enough for sums of sums.
    for (const int count : {1, 2, 127, 128, 129, 20000}) {
        std::vector<int> values(static_cast<std::size_t>(count));
        for (int& v : values) v = static_cast<int>(random.below(100));
        const gpu::Array<int> in = context_.array(values), total = context_.array<int>(1);
        const gpu::Array<int> out = context_.array<int>(values.size());
        prefixSum.run(stream_, in, out, count, total.address());
        stream_.synchronize();

        std::vector<int> expected(values.size());
        std::exclusive_scan(values.begin(), values.end(), expected.begin(), 0);
        EXPECT_EQ(out.download(), expected) << count;
        EXPECT_EQ(total.download()[0], expected.back() + values.back()) << count;
    }
}

TEST_F(MarsFramework, PrefixSumsMayReplaceTheirInput) {
    PrefixSum prefixSum(context_, context_.load(kMapreducePtx));
    const gpu::Array<int> array = context_.array(std::vector<int>(1000, 1)), total = context_.array<int>(1);
    prefixSum.run(stream_, array, array, 1000, total.address());
    stream_.synchronize();
    const std::vector<int> sums = array.download();
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(sums[static_cast<std::size_t>(i)], i);
}

/// Groups `count` records whose keys are numbers below `distinct`, and compares with a map of the host.
void expectGrouped(gpu::Context& context, gpu::Stream& stream, SortIn place, int count, std::uint64_t distinct) {
    Random random(5);
    std::map<float, std::multiset<int>> expected;
    RecordBuilder builder;
    for (int i = 0; i < count; ++i) {
        const auto key = static_cast<float>(random.below(distinct));
        builder.add(key, i);
        expected[key].insert(i);
    }
    MapReduce job(context, kSimilarityScorePtx);
    const Groups& groups = job.group(stream, builder.upload(context), place);
    stream.synchronize();

    const HostRecords records(groups.records);
    std::map<float, std::multiset<int>> actual;
    float before = -1;
    for (const Range& range : hostRanges(groups)) {
        const auto key = records.keyAs<float>(static_cast<std::size_t>(range.begin));
        EXPECT_LT(before, key);
        before = key;
        for (int i = range.begin; i < range.end; ++i)
            actual[records.keyAs<float>(static_cast<std::size_t>(i))].insert(
                records.valueAs<int>(static_cast<std::size_t>(i)));
    }
    EXPECT_EQ(actual, expected) << count << " records";
    EXPECT_EQ(static_cast<std::size_t>(groups.count), expected.size());
}

TEST_F(MarsFramework, GroupsRecordsInGlobalMemory) {
    for (const int count : {1, 255, 256, 257, 1500}) expectGrouped(context_, stream_, SortIn::globalMemory, count, 40);
}

TEST_F(MarsFramework, GroupsRecordsInSharedChunks) {
    for (const int count : {1, 255, 256, 257, 1500}) expectGrouped(context_, stream_, SortIn::sharedChunks, count, 40);
}

TEST_F(MarsFramework, GroupsRecordsThatAllDiffer) {
    expectGrouped(context_, stream_, SortIn::sharedChunks, 600, 1 << 20);
}

TEST_F(MarsFramework, HasNoGroupsOfNoRecords) {
    MapReduce job(context_, kSimilarityScorePtx);
    const Groups& groups = job.group(stream_, Records{}, SortIn::globalMemory);
    EXPECT_EQ(groups.count, 0);
    EXPECT_TRUE(hostRanges(groups).empty());
    EXPECT_EQ(job.reduce(stream_, groups).count, 0);
}

TEST(MarsTally, TellsWhichNameDiffers) {
    const Tally reference = {{"a", 1}, {"b", 2}};
    EXPECT_NO_THROW(expectSame("number", reference, reference));
    const auto complaint = [&](const Tally& actual) {
        try {
            expectSame("number", reference, actual);
        } catch (const Error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    EXPECT_EQ(complaint({{"a", 1}, {"b", 3}}), "number of b is 3, the reference has 2");
    EXPECT_EQ(complaint({{"a", 1}}), "number of b is 0, the reference has 2");
    EXPECT_EQ(complaint({{"a", 1}, {"b", 2}, {"c", 4}}), "number of c is 4, the reference has none");
}

// An application's result is in several arrays: keys, values, entries, ranges. Its check looks at every record, so that
// one wrong element of any of them is found.
class MarsChecks : public ::testing::TestWithParam<std::pair<std::string, std::size_t>> {};

TEST_P(MarsChecks, CatchOneWrongElementOfEachArrayOfTheResult) {
    const auto& [workload, arrays] = GetParam();
    EXPECT_EQ(bytesOfCaught(workload).size(), arrays);
}

INSTANTIATE_TEST_SUITE_P(, MarsChecks,
                         ::testing::Values(std::pair("KMN", 5),  // clusters of points, centres; keys, values, entries
                                           std::pair("II", 4), std::pair("PVC", 4), std::pair("SS", 4),
                                           std::pair("SM", 3),  // no ranges
                                           std::pair("WC", 4)),
                         [](const auto& info) { return info.param.first; });

TEST(MarsText, RanksComeInProportionToOneOverTheirNumber) {
    const Zipf ranks(4);  // shares 12/25, 6/25, 4/25, 3/25
    Random random(1);
    std::vector<int> drawn(4);
    constexpr int kDraws = 25000;
    for (int i = 0; i < kDraws; ++i) ++drawn[ranks.draw(random)];
    const std::vector<int> expected = {12000, 6000, 4000, 3000};
    // Five standard deviations of a binomial count are less than 5 sqrt(25000 / 4) = 395.
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(drawn[i], expected[i], 395);
}

TEST(MarsText, WordsAreDistinctAndThoseOfLowRankShorter) {
    Random random(2);
    const std::vector<std::string> words = vocabulary(random, 4000);
    EXPECT_EQ(std::set<std::string>(words.begin(), words.end()).size(), words.size());
    const auto letters = [&](std::size_t from, std::size_t to) {
        std::size_t sum = 0;
        for (std::size_t i = from; i < to; ++i) sum += words[i].size();
        return static_cast<double>(sum) / static_cast<double>(to - from);
    };
    EXPECT_LT(letters(0, 20) + 2, letters(2000, 4000));
}

std::map<std::string, int> wordsOf(const std::string& text) {
    std::map<std::string, int> words;
    std::string word;
    for (const char c : text) {
        if (c >= 'a' && c <= 'z') {
            word += c;
        } else if (!word.empty()) {
            ++words[word];
            word.clear();
        }
    }
    return words;
}

TEST(MarsText, ProseIsSkewedAndHasTheBytesAskedFor) {
    Random random(4);
    const std::string text = prose(random, 100000);
    EXPECT_EQ(text.size(), 100000u);
    EXPECT_EQ(text.back(), '\n');
    std::vector<int> counts;
    for (const auto& [word, count] : wordsOf(text)) counts.push_back(count);
    std::sort(counts.rbegin(), counts.rend());
    // Zipf's law: the first comes about ten times as often as the tenth.
    ASSERT_GT(counts.size(), 1000u);
    EXPECT_GT(counts[0], 7 * counts[9]);
    EXPECT_LT(counts[0], 14 * counts[9]);
}

TEST(MarsText, TheSeedDecides) {
    Random one(8), same(8), other(9);
    const std::string text = prose(one, 4096);
    EXPECT_EQ(prose(same, 4096), text);
    EXPECT_NE(prose(other, 4096), text);
}

TEST(MarsText, AWebLogHasThreeFieldsALineSkewedPagesAndRepeatedLines) {
    Random random(6);
    for (const std::size_t bytes : {1024u, 5001u, 100000u}) {
        const std::string log = webLog(random, bytes);
        EXPECT_EQ(log.size(), bytes);
        std::map<std::string, int> lines, pages;
        for (const Span& line : cut(log, 1, '\n')) {
            const std::string text = log.substr(line.offset, line.size);
            ASSERT_EQ(std::count(text.begin(), text.end(), '\t'), 2) << text;
            ASSERT_EQ(text.back(), '\n');
            ++lines[text];
            ++pages[text.substr(0, text.find('\t'))];
        }
        if (bytes < 100000) continue;
        const auto repeated = std::count_if(lines.begin(), lines.end(), [](const auto& l) { return l.second > 1; });
        EXPECT_GT(repeated, static_cast<int>(lines.size()) / 20);
        int most = 0;
        for (const auto& [page, count] : pages) most = std::max(most, count);
        EXPECT_GT(most, 10 * static_cast<int>(bytes / 50 / pages.size()));
    }
}

TEST(MarsText, DocumentsFillTheirTextAndEveryLinkEndsInItsLine) {
    Random random(7);
    const WalledGpu site = htmlDocuments(random, 200000);
    EXPECT_EQ(site.text.size(), 200000u);
    std::size_t next = 0, links = 0, smallest = site.text.size(), largest = 0;
    for (const Span& document : site.documents) {
        EXPECT_EQ(document.offset, next);
        next += document.size;
        smallest = std::min(smallest, document.size);
        largest = std::max(largest, document.size);
        EXPECT_EQ(site.text[next - 1], '\n');
    }
    EXPECT_EQ(next, site.text.size());
    EXPECT_GT(largest, 8 * smallest);
    for (std::size_t at = 0; (at = site.text.find("<a href=\"", at)) != std::string::npos; ++links) {
        at += 9;
        EXPECT_LT(site.text.find('"', at), site.text.find('\n', at));
    }
    EXPECT_GT(links, 100u);
}

TEST(MarsText, IsCutBehindTheFirstEndThatFollowsEnoughBytes) {
    const auto sizes = [](std::string_view text, std::size_t bytes) {
        std::vector<std::size_t> list;
        for (const Span& span : cut(text, bytes, '\n')) list.push_back(span.size);
        return list;
    };
    EXPECT_EQ(sizes("ab\ncd\nef\n", 1), (std::vector<std::size_t>{3, 3, 3}));
    EXPECT_EQ(sizes("ab\ncd\nef\n", 3), (std::vector<std::size_t>{3, 3, 3}));
    EXPECT_EQ(sizes("ab\ncd\nef\n", 4), (std::vector<std::size_t>{6, 3}));
    EXPECT_EQ(sizes("ab\ncd\nef", 100), (std::vector<std::size_t>{8}));
    EXPECT_TRUE(sizes("", 4).empty());
}

}  // namespace
}  // namespace bulkhead::workloads::mars
