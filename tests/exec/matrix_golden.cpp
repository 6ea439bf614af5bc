#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>

#include "matrix_forms.h"
#include "runner.h"

// Every matrix instruction against what an H200 answered (golden/matrices_on_gpu.cpp wrote the file).

namespace bulkhead::sim::test {
namespace {

using golden::MatrixForm;

struct Recorded {
    std::uint64_t inputHash = 0;
    std::vector<std::uint64_t> answers;  ///< hashes, by case
    std::string first;                   ///< the whole answer of the first case, if it is short
};

const std::map<std::string, Recorded>& recordings() {
    static const std::map<std::string, Recorded> all = [] {
        std::ifstream file(std::string(BULKHEAD_SOURCE_DIR) + "/tests/exec/golden/h200-matrices.bin", std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(file)), {});
        EXPECT_EQ(bytes.substr(0, 8), "BHMATR1\n");
        std::size_t at = 8;
        const auto take = [&](unsigned count) {
            std::uint64_t value = 0;
            for (unsigned i = 0; i < count; ++i)
                value |= std::uint64_t{static_cast<unsigned char>(bytes.at(at++))} << (8 * i);
            return value;
        };
        std::map<std::string, Recorded> result;
        while (at < bytes.size()) {
            const auto length = static_cast<std::size_t>(take(1));
            Recorded& recorded = result[bytes.substr(at, length)];
            at += length;
            recorded.inputHash = take(8);
            const auto answerBytes = static_cast<std::size_t>(take(4));
            recorded.answers.resize(static_cast<std::size_t>(take(2)));
            for (std::uint64_t& hash : recorded.answers) hash = take(8);
            if (answerBytes > golden::kWholeBytes) continue;
            recorded.first = bytes.substr(at, answerBytes);
            at += answerBytes;
        }
        return result;
    }();
    return all;
}

std::vector<std::uint8_t> simulate(const MatrixForm& form, const std::vector<std::uint8_t>& inputs) {
    Runner runner(moduleOf(form));
    const std::size_t bytes = casesOf(form) * answerBytes(form);
    const VirtualAddress in = runner.upload(inputs), out = runner.allocate(bytes);
    runner.launch("k", {{casesOf(form)}, {form.threads}, form.sharedBytes}, in, out);
    return runner.download<std::uint8_t>(out, bytes);
}

/// What differs in the first case, or which cases do.
std::string differences(const MatrixForm& form, const Recorded& recorded, const std::vector<std::uint8_t>& answers) {
    const std::size_t bytes = answerBytes(form);
    std::string text;
    int cases = 0;
    for (unsigned number = 0; number < casesOf(form); ++number) {
        if (golden::hashOf(answers.data() + number * bytes, bytes) == recorded.answers[number]) continue;
        text += ++cases <= 12 ? " " + std::to_string(number) : "";
    }
    if (cases == 0) return "";
    text = std::to_string(cases) + " of " + std::to_string(casesOf(form)) + " cases differ:" + text;
    for (std::size_t word = 0, shown = 0; word < recorded.first.size() / 4 && shown < 4; ++word) {
        std::uint32_t ours, theirs;
        std::memcpy(&ours, answers.data() + 4 * word, 4);
        std::memcpy(&theirs, recorded.first.data() + 4 * word, 4);
        if (ours == theirs) continue;
        char line[100];
        std::snprintf(line, sizeof line, "\n  word %zu of the first is %08x, hardware says %08x", word, ours, theirs);
        text += line;
        ++shown;
    }
    return text;
}

/// By the instruction, and for mma and wgmma by the type of A as well.
std::string groupOf(const MatrixForm& form) {
    std::string group = form.name.substr(0, form.name.find('.'));
    if (form.name.find(".sp") != std::string::npos) group += "_sparse";
    if (!form.isFloat && group.find("mma") != std::string::npos) group += "_integers";
    return group;
}

class Matrices : public testing::TestWithParam<std::string> {};

TEST_P(Matrices, matchHardware) {
    for (const MatrixForm& form : golden::matrixForms()) {
        if (groupOf(form) != GetParam()) continue;
        const auto found = recordings().find(form.name);
        if (found == recordings().end()) {
            ADD_FAILURE() << form.name << " is not recorded: run golden/matrices_on_gpu.cpp";
            continue;
        }
        const std::vector<std::uint8_t> inputs = inputsOf(form);
        ASSERT_EQ(found->second.inputHash, golden::hashOf(inputs.data(), inputs.size()))
            << form.name << ": the inputs have changed since: run golden/matrices_on_gpu.cpp again";
        EXPECT_EQ(differences(form, found->second, simulate(form, inputs)), "") << form.name;
    }
}

std::vector<std::string> groups() {
    std::vector<std::string> list;
    for (const MatrixForm& form : golden::matrixForms())
        if (std::find(list.begin(), list.end(), groupOf(form)) == list.end()) list.push_back(groupOf(form));
    return list;
}

INSTANTIATE_TEST_SUITE_P(Golden, Matrices, testing::ValuesIn(groups()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace bulkhead::sim::test
