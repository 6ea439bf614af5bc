#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "driver/image_forms.h"
#include "driver/support.h"

// Textures, surfaces and the codes of their calls against what an H200 answered (golden/images_on_gpu.cpp wrote the
// files).

namespace bulkhead::driver {
namespace {

using golden::ImageAnswer;
using golden::ImageForm;
using golden::ImagePlace;

struct Recorded {
    std::uint64_t inputHash = 0;
    ImageAnswer answer;
};

std::string contentOf(const char* name) {
    std::ifstream file(std::string(BULKHEAD_SOURCE_DIR) + "/tests/driver/golden/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

const std::map<std::string, Recorded>& recordings() {
    static const std::map<std::string, Recorded> all = [] {
        const std::string bytes = contentOf("h200-images.bin");
        EXPECT_EQ(bytes.substr(0, 9), "BHIMAGE1\n");
        std::size_t at = 9;
        const auto take = [&](unsigned count) {
            std::uint64_t value = 0;
            for (unsigned i = 0; i < count; ++i)
                value |= std::uint64_t{static_cast<unsigned char>(bytes.at(at++))} << (8 * i);
            return value;
        };
        const auto takeText = [&] {
            const auto length = static_cast<std::size_t>(take(1));
            at += length;
            return bytes.substr(at - length, length);
        };
        std::map<std::string, Recorded> result;
        while (at < bytes.size()) {
            Recorded& recorded = result[takeText()];
            recorded.inputHash = take(8);
            if (take(1)) {
                recorded.answer.code = static_cast<int>(take(4));
                recorded.answer.failed = takeText();
                continue;
            }
            recorded.answer.words.resize(static_cast<std::size_t>(take(4)));
            for (std::uint32_t& word : recorded.answer.words) word = static_cast<std::uint32_t>(take(4));
        }
        return result;
    }();
    return all;
}

/// What is known to differ from the card, and how far (docs/driver.md): forms whose names have all these parts.
struct Allowance {
    const char *prefix, *part;
    double most;       ///< between two numbers
    double share = 0;  ///< of the words that may differ by anything
};
constexpr double kTextureShare = 1.0 / 256;
constexpr Allowance kAllowances[] = {
    // Eight texels: which way a share of exactly a half goes. Texels lie within 2.
    {"mode.3d", ".linear", 8 * kTextureShare},
    {"levels.3d", ".linear", 8 * kTextureShare},
    // Texels of two levels: the same.
    {"levels.", ".linear.linear", 8 * kTextureShare},
    // Signed bytes are filtered to 15 bits, of which the card's last one differs.
    {"", "s8", 1.01 / 32767},
    // A few entries of the card's table for sRGB; its border is not converted.
    {"format.u8", ".srgb", 1.0 / 128, 0.25},
    // The last bit of a half.
    {"", "half", 0x1p-11},
    // 1/32 of a texel is the least step of a normalized coordinate.
    {"width.65536", ".linear.normalized", 4.0 / 32},
    // Levels of detail from gradients: the card estimates lengths, here they are computed.
    {"levels.gradient", ".linear", 0.6},
    {"levels.gradient", ".point", 1},
    {"levels.log", "", 0.03},
    {"gradient.", "", 0.6},
    {"gradient.cube", "", 4},
    // Directions that are infinite, within 1/2^22 of an edge between faces, or filtered across it.
    {"cube.", "", 0, 0.2},
    {"cubes.", "", 0, 0.2},
    {"cube.", ".linear", 0, 0.6},
    {"cubes.", ".linear", 0, 0.6},
    {"levels.cube", "", 0, 0.35},
    // Which texels of a cube are gathered is not known: only that they are is compared.
    {"gather.cube", "", 0, 1},
    // A gather from levels of which the first is left out.
    {"gather.levels", "", 0, 0.05},
};

std::string differences(const ImageForm& form, const ImageAnswer& theirs, const ImageAnswer& ours) {
    if (theirs.failed != ours.failed || theirs.code != ours.code)
        return "\"" + ours.failed + "\" gives " + std::to_string(ours.code) + ", on hardware \"" + theirs.failed +
               "\" " + std::to_string(theirs.code);
    double most = 0, share = 0;
    for (const Allowance& a : kAllowances)
        if (form.name.starts_with(a.prefix) && form.name.find(a.part) != std::string::npos)
            most = std::max(most, a.most), share = std::max(share, a.share);
    std::string text;
    std::size_t count = 0;
    for (std::size_t i = 0; i < theirs.words.size(); ++i) {
        const std::uint32_t a = ours.words.at(i), b = theirs.words[i];
        const double distance =
            static_cast<double>(std::bit_cast<float>(a)) - static_cast<double>(std::bit_cast<float>(b));
        if (a == b || std::abs(distance) <= most) continue;
        if (++count > 4) continue;
        char line[160];
        const ImagePlace& place = form.places[form.givesTexels ? 0 : i / form.words];
        std::snprintf(line, sizeof line, "\n  word %zu is %08x, hardware says %08x; words of the place %08x %08x %08x",
                      i, a, b, place[0], place[1], place[2]);
        text += line;
    }
    if (static_cast<double>(count) <= share * static_cast<double>(theirs.words.size())) return "";
    return std::to_string(count) + " of " + std::to_string(theirs.words.size()) + " words differ" + text;
}

std::string groupOf(const ImageForm& form) {
    return form.name.substr(0, form.name.find('.'));
}

class OnH200 : public DriverTest {
    arch::DeviceProfile profile() const override { return arch::findProfile("h200"); }
};
class ImageGolden : public OnH200, public testing::WithParamInterface<std::string> {};

TEST_P(ImageGolden, matchesHardware) {
    for (const ImageForm& form : golden::imageForms()) {
        if (groupOf(form) != GetParam()) continue;
        const auto found = recordings().find(form.name);
        if (found == recordings().end()) {
            ADD_FAILURE() << form.name << " is not recorded: run golden/images_on_gpu.cpp";
            continue;
        }
        ASSERT_EQ(found->second.inputHash, golden::hashOfInputs(form))
            << form.name << ": the inputs have changed since: run golden/images_on_gpu.cpp again";
        EXPECT_EQ(differences(form, found->second.answer, evaluate(api, form)), "") << form.name;
    }
}

class ImageCalls : public OnH200 {
  protected:
    /// Code by name, from lines of both with a tab between.
    static std::map<std::string, int> recordedCalls() {
        std::istringstream lines(contentOf("h200-image-calls.txt"));
        std::map<std::string, int> all;
        for (std::string line; std::getline(lines, line);) {
            const std::size_t tab = line.find('\t');
            all[line.substr(0, tab)] = std::stoi(line.substr(tab + 1));
        }
        return all;
    }
};

TEST_F(ImageCalls, giveTheCodesOfHardware) {
    const std::map<std::string, int> recorded = recordedCalls();
    int compared = 0;
    golden::tryImageCalls(api, [&](const std::string& name, int code) {
        const auto found = recorded.find(name);
        if (found == recorded.end()) return;
        EXPECT_EQ(code, found->second) << name;
        ++compared;
    });
    EXPECT_GT(compared, 2000);
}

TEST_F(ImageCalls, endKernelsAsHardwareDoes) {
    const std::map<std::string, int> recorded = recordedCalls();
    for (const ImageForm& form : golden::endingForms()) {
        TearDown();
        SetUp();
        EXPECT_EQ(evaluate(api, form).code, recorded.at(form.name)) << form.name;
    }
}

std::vector<std::string> groups() {
    std::vector<std::string> list;
    for (const ImageForm& form : golden::imageForms())
        if (std::find(list.begin(), list.end(), groupOf(form)) == list.end()) list.push_back(groupOf(form));
    return list;
}

INSTANTIATE_TEST_SUITE_P(Golden, ImageGolden, testing::ValuesIn(groups()), [](const auto& info) { return info.param; });

}  // namespace
}  // namespace bulkhead::driver
