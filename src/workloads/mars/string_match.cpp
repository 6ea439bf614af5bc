#include "string_match.ptx.h"
#include "workloads/compare.h"
#include "workloads/host_code.h"
#include "workloads/mars/layouts.h"
#include "workloads/mars/mapreduce.h"
#include "workloads/mars/text.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace mars {
namespace {

template <class Visit>
void eachWord(std::string_view text, Visit visit) {
    std::size_t start = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == ' ' || text[i] == '\n') {
            visit(start, text.substr(start, i - start));
            start = i + 1;
        }
}

/// The first word of five letters: neither the commonest nor rare.
std::string keywordOf(std::string_view text) {
    std::string keyword;
    eachWord(text, [&](std::size_t, std::string_view word) {
        if (keyword.empty() && word.size() == 5) keyword = word;
    });
    return keyword;
}

class StringMatch final : public Instance {
  public:
    StringMatch(gpu::Context& context, Size size, std::uint64_t seed) : job_(context, kStringMatchPtx) {
        Random random(seed);
        text_ = prose(random, forSize<std::size_t>(size, 64 << 10, 1 << 20, 1 << 20));
        keyword_ = keywordOf(text_);
        deviceText_ = context.array(std::vector<char>(text_.begin(), text_.end()));
        deviceKeyword_ = context.array(std::vector<char>(keyword_.begin(), keyword_.end()));
        RecordBuilder input;
        for (const Span& block : cut(text_, kBlockBytes, '\n'))
            input.add(KeywordKey{deviceText_.address(), deviceKeyword_.address()},
                      KeywordBlock{static_cast<int>(block.offset), static_cast<int>(block.size),
                                   static_cast<int>(keyword_.size())});
        input_ = input.upload(context);
    }

    void run(gpu::Stream& stream) override { job_.map(stream, input_); }

    void check() override {
        std::vector<int> reference, places;
        eachWord(text_, [&](std::size_t offset, std::string_view word) {
            if (word == keyword_) reference.push_back(static_cast<int>(offset));
        });
        const HostRecords matches(job_.mapped());
        job_.forget();
        for (std::size_t i = 0; i < matches.size(); ++i) {
            places.push_back(matches.keyAs<int>(i));
            if (const int size = matches.valueAs<int>(i); size != static_cast<int>(keyword_.size()))
                throw Error("match {} has {} letters, the keyword {}", i, size, keyword_.size());
        }
        expectEqual("place", reference, places);
    }

    std::size_t footprint() const override { return text_.size() + keyword_.size() + input_.bytes() + job_.bytes(); }

  private:
    static constexpr std::size_t kBlockBytes = 1024;  // of text, for one task, as in Mars

    std::string text_, keyword_;
    gpu::Array<char> deviceText_, deviceKeyword_;
    Records input_;
    MapReduce job_;
};

}  // namespace
}  // namespace mars

std::unique_ptr<Instance> createStringMatch(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<mars::StringMatch>(context, size, seed);
}

}  // namespace bulkhead::workloads
