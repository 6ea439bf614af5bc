#include <unordered_set>

#include "base/error.h"
#include "page_view_count.ptx.h"
#include "workloads/host_code.h"
#include "workloads/mars/layouts.h"
#include "workloads/mars/mapreduce.h"
#include "workloads/mars/tally.h"
#include "workloads/mars/text.h"
#include "workloads/workload.h"

namespace bulkhead::workloads {
namespace mars {
namespace {

std::string urlAt(std::string_view log, std::size_t offset) {
    return std::string(log.substr(offset, log.find('\t', offset) - offset));
}

Tally viewsOfPages(std::string_view log) {
    std::unordered_set<std::string_view> seen;
    Tally views;
    for (const Span& line : cut(log, 1, '\n'))
        if (seen.insert(log.substr(line.offset, line.size)).second) ++views[urlAt(log, line.offset)];
    return views;
}

class PageViewCount final : public Instance {
  public:
    PageViewCount(gpu::Context& context, Size size, std::uint64_t seed)
        : distinct_(context, kPageViewCountPtx, "distinct_"), pages_(context, kPageViewCountPtx, "page_") {
        Random random(seed);
        log_ = webLog(random, forSize<std::size_t>(size, 32 << 10, 512 << 10, 13 << 20));
        deviceLog_ = context.array(std::vector<char>(log_.begin(), log_.end()));
        RecordBuilder input;
        for (const Span& line : cut(log_, 1, '\n'))
            input.add(ViewKey{deviceLog_.address(), static_cast<int>(line.offset), 0},
                      ViewLine{static_cast<int>(line.size)});
        input_ = input.upload(context);
    }

    void run(gpu::Stream& stream) override {
        const Groups& views = distinct_.group(stream, distinct_.map(stream, input_), SortIn::sharedChunks);
        const Records& distinct = distinct_.reduce(stream, views);
        pages_.group(stream, pages_.map(stream, distinct), SortIn::sharedChunks);
    }

    void check() override {
        const HostRecords records(pages_.groups().records);
        std::unordered_set<std::string_view> seen;
        const Tally views = tallyGroups(pages_.groups(), [&](std::size_t i) {
            const std::string_view line = lineOf(records, i);
            if (!seen.insert(line).second) throw Error("there is more than one view {}", line);
            return urlAt(line, 0);
        });
        distinct_.forget();
        pages_.forget();
        expectSame("number of views", viewsOfPages(log_), views);
    }

    std::size_t footprint() const override { return log_.size() + input_.bytes() + distinct_.bytes() + pages_.bytes(); }

  private:
    std::string_view lineOf(const HostRecords& records, std::size_t i) const {
        const auto key = records.keyAs<ViewKey>(i);
        const auto offset = static_cast<std::size_t>(key.offset);
        const auto size = static_cast<std::size_t>(records.valueAs<ViewLine>(i).size);
        if (key.log != deviceLog_.address() || log_.find('\n', offset) - offset + 1 != size)
            throw Error("view {} is of {} bytes at {}, where no line is", i, size, offset);
        return std::string_view(log_).substr(offset, size);
    }

    std::string log_;
    gpu::Array<char> deviceLog_;
    Records input_;
    MapReduce distinct_, pages_;
};

}  // namespace
}  // namespace mars

std::unique_ptr<Instance> createPageViewCount(gpu::Context& context, Size size, std::uint64_t seed) {
    return std::make_unique<mars::PageViewCount>(context, size, seed);
}

}  // namespace bulkhead::workloads
