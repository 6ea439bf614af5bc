#include "base/error.h"
#include "inverted_index.ptx.h"
#include "workloads/host_code.h"
#include "workloads/mars/layouts.h"
#include "workloads/mars/mapreduce.h"
#include "workloads/mars/tally.h"
#include "workloads/mars/text.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace mars {
namespace {

std::string linkIn(std::string_view url, int document) {
    return fmt::format("{} in document {}", url, document);
}

/// The links of each document, and those to each URL. Looks for whole tags, where the kernel has a state for each part
/// of one.
std::pair<Tally, Tally> linksOf(const WalledGpu& site) {
    static constexpr std::string_view kOpen = "<a href=\"";
    Tally links, urls;
    for (std::size_t i = 0; i < site.documents.size(); ++i) {
        const std::string_view document =
            std::string_view(site.text).substr(site.documents[i].offset, site.documents[i].size);
        for (std::size_t at = 0; (at = document.find(kOpen, at)) != std::string_view::npos;) {
            at += kOpen.size();
            const std::string url(document.substr(at, document.find('"', at) - at));
            ++links[linkIn(url, static_cast<int>(i))];
            ++urls[url];
        }
    }
    return {links, urls};
}

class InvertedIndex final : public Instance {
  public:
    InvertedIndex(gpu::Context& context, Size size, std::uint64_t seed) : job_(context, kInvertedIndexPtx) {
        Random random(seed);
        site_ = htmlDocuments(random, forSize<std::size_t>(size, 64 << 10, 2 << 20, 28 << 20));
        text_ = context.array(std::vector<char>(site_.text.begin(), site_.text.end()));
        RecordBuilder input;
        for (std::size_t i = 0; i < site_.documents.size(); ++i) {
            const Span& document = site_.documents[i];
            for (const Span& block :
                 cut(std::string_view(site_.text).substr(document.offset, document.size), kBlockBytes, '\n'))
                input.add(
                    LinkKey{text_.address() + document.offset, 0, 0},
                    DocumentBlock{static_cast<int>(i), static_cast<int>(block.offset), static_cast<int>(block.size)});
        }
        input_ = input.upload(context);
    }

    void run(gpu::Stream& stream) override { job_.group(stream, job_.map(stream, input_), SortIn::globalMemory); }

    void check() override {
        const HostRecords records(job_.groups().records);
        const Tally urls = tallyGroups(job_.groups(), [&](std::size_t i) { return urlOf(records, i); });
        Tally links;
        for (std::size_t i = 0; i < records.size(); ++i) ++links[linkIn(urlOf(records, i), records.valueAs<int>(i))];
        job_.forget();
        const auto [expectedLinks, expectedUrls] = linksOf(site_);
        expectSame("number of links", expectedLinks, links);
        expectSame("number of links", expectedUrls, urls);
    }

    std::size_t footprint() const override { return site_.text.size() + input_.bytes() + job_.bytes(); }

  private:
    static constexpr std::size_t kBlockBytes = 1024;  // of a document, for one task, as in Mars

    std::string urlOf(const HostRecords& records, std::size_t i) const {
        const auto key = records.keyAs<LinkKey>(i);
        const std::size_t start = key.document - text_.address() + static_cast<std::size_t>(key.offset);
        if (start >= site_.text.size()) throw Error("links: record {} lies outside of the documents", i);
        return site_.text.substr(start, site_.text.find('"', start) - start);
    }

    WalledGpu site_;
    gpu::Array<char> text_;
    Records input_;
    MapReduce job_;
};

}  // namespace
}  // namespace mars

std::unique_ptr<Instance> createInvertedIndex(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<mars::InvertedIndex>(context, size, seed);
}

}  // namespace bulkhead::workloads
