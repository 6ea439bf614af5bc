// Damaged kernels that still parse: lowering refuses them or they run, end with an error or at their limit, and the
// program goes on.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "base/random.h"
#include "harness.h"

namespace bulkhead::sim {
namespace {

std::vector<std::string> linesOf(const std::string& text) {
    std::vector<std::string> lines;
    std::size_t from = 0;
    while (from < text.size()) {
        const std::size_t to = std::min(text.find('\n', from), text.size());
        lines.push_back(text.substr(from, to - from));
        from = to + 1;
    }
    return lines;
}

std::vector<std::string> wordsOf(const std::string& text) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < text.size();) {
        std::size_t j = i;
        while (j < text.size() && (std::isalnum(static_cast<unsigned char>(text[j])) || text[j] == '_' ||
                                   text[j] == '%' || text[j] == '$'))
            ++j;
        if (j == i) ++j;
        words.push_back(text.substr(i, j - i));
        i = j;
    }
    return words;
}

/// A few lines changed: words taken from elsewhere in the file, lines left out, doubled or exchanged, numbers made odd.
std::string damage(const std::string& text, Random& random) {
    std::vector<std::string> lines = linesOf(text);
    const std::vector<std::string> pool = wordsOf(text);
    static const char* kNumbers[] = {
        "0", "1", "-1", "3", "31", "32", "33", "64", "255", "4096", "65537", "0x7fffffff", "0xffffffffffffffff"};
    for (std::uint64_t n = 1 + random.next() % 3; n > 0; --n) {
        const std::size_t at = random.next() % lines.size();
        switch (random.next() % 5) {
            case 0:
                lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
                break;
            case 1:
                lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), lines[random.next() % lines.size()]);
                break;
            case 2:
                std::swap(lines[at], lines[random.next() % lines.size()]);
                break;
            default: {
                std::vector<std::string> words = wordsOf(lines[at]);
                if (words.empty()) break;
                std::string& word = words[random.next() % words.size()];
                word = random.next() % 3 ? pool[random.next() % pool.size()]
                                         : kNumbers[random.next() % std::size(kNumbers)];
                lines[at].clear();
                for (const std::string& w : words) lines[at] += w;
            }
        }
        if (lines.empty()) return "";
    }
    std::string damaged;
    for (const std::string& line : lines) damaged += line + '\n';
    return damaged;
}

TEST(Fuzz, damagedKernelsNeverBringTheProgramDown) {
    std::vector<std::string> sources;
    for (const char* compiler : {"clang", "nvcc"})
        for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(BULKHEAD_SOURCE_DIR) /
                                                                     "tests/ptx/fixtures" / compiler))
            if (std::filesystem::file_size(entry) < 20000) sources.push_back(entry.path().string());
    std::sort(sources.begin(), sources.end());
    ASSERT_GT(sources.size(), 30u);
    Random random(20261115);
    int refused = 0, ran = 0, failed = 0;
    for (int round = 0; round < 1500; ++round) {
        const std::string text = damage(readFile(sources[random.next() % sources.size()]), random);
        test::Harness h("tx2");
        LoadedModule module;
        try {
            module = h.gpu.load(h.context, ptx::parse(text, "damaged.ptx"));
        } catch (const Error&) {
            ++refused;
            continue;
        }
        for (const std::string& name : module.program->kernelNames()) {
            LaunchSpec spec;
            spec.program = module.program;
            spec.code = module.program->kernel(name);
            spec.grid = {2};
            spec.block = {64};
            spec.dynamicShared = 1024;
            spec.maxCycles = 30000;
            spec.print = [](std::string_view) {};
            spec.params.resize(spec.code->kernelParamBytes);
            for (const Code::Param& param : spec.code->params) {
                const std::uint64_t bits = param.bytes == 8 ? h.buffer(4096) : 100;
                std::memcpy(spec.params.data() + param.offset, &bits, std::min(param.bytes, 8u));
            }
            try {
                const LaunchId launch = h.gpu.launch(h.stream, std::move(spec));
                h.gpu.finishLaunch(launch);
                ++(h.gpu.record(launch).error ? failed : ran);
            } catch (const Error&) {
                ++refused;
            }
        }
    }
    // All three ends occur, or the damage is too much or too little to say anything.
    EXPECT_GT(refused, 100);
    EXPECT_GT(failed, 100);
    EXPECT_GT(ran, 100);
}

}  // namespace
}  // namespace bulkhead::sim
