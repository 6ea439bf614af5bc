#include "base/error.h"
#include "word_count.ptx.h"
#include "workloads/host_code.h"
#include "workloads/mars/layouts.h"
#include "workloads/mars/mapreduce.h"
#include "workloads/mars/tally.h"
#include "workloads/mars/text.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace mars {
namespace {

constexpr std::size_t kLetters = 6;  // of the shortest word that counts

Tally longWords(std::string_view text) {
    Tally words;
    std::string word;
    for (const char c : text) {
        if (c >= 'a' && c <= 'z') {
            word += c;
            continue;
        }
        if (word.size() >= kLetters) ++words[word];
        word.clear();
    }
    return words;
}

class WordCount final : public Instance {
  public:
    WordCount(gpu::Context& context, Size size, std::uint64_t seed) : job_(context, kWordCountPtx) {
        Random random(seed);
        text_ = prose(random, forSize<std::size_t>(size, 12 << 10, 88 << 10, 88 << 10));
        deviceText_ = context.array(std::vector<char>(text_.begin(), text_.end()));
        RecordBuilder input;
        for (const Span& block : cut(text_, kBlockBytes, '\n'))
            input.add(TextKey{deviceText_.address()},
                      TextBlock{static_cast<int>(block.offset), static_cast<int>(block.size)});
        input_ = input.upload(context);
    }

    void run(gpu::Stream& stream) override { job_.group(stream, job_.map(stream, input_), SortIn::globalMemory); }

    void check() override {
        const HostRecords records(job_.groups().records);
        const Tally words = tallyGroups(job_.groups(), [&](std::size_t i) {
            const std::string word = records.key(i);
            if (const int length = records.valueAs<int>(i); length != static_cast<int>(word.size()))
                throw Error("{} has the length {}", word, length);
            return word;
        });
        job_.forget();
        expectSame("number", longWords(text_), words);
    }

    std::size_t footprint() const override { return text_.size() + input_.bytes() + job_.bytes(); }

  private:
    static constexpr std::size_t kBlockBytes = 2048;  // of text, for one task, as in Mars

    std::string text_;
    gpu::Array<char> deviceText_;
    Records input_;
    MapReduce job_;
};

}  // namespace
}  // namespace mars

std::unique_ptr<Instance> createWordCount(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<mars::WordCount>(context, size, seed);
}

}  // namespace bulkhead::workloads
