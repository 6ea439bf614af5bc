#include "workloads/mars/mapreduce.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "mapreduce.ptx.h"
#include "workloads/host_code.h"

namespace bulkhead::workloads::mars {

namespace {

/// Runs a kernel with a thread for each of `tasks`.
template <class... Arguments>
void launchTasks(gpu::Kernel kernel, const gpu::Stream& stream, int tasks, const Arguments&... arguments) {
    kernel.launch(stream, {blocksFor(static_cast<std::size_t>(tasks), kBlockThreads)}, {kBlockThreads}, 0,
                  arguments...);
}

template <class T>
void makeRoom(gpu::Context& context, gpu::Array<T>& array, int size) {
    const auto wanted = static_cast<std::size_t>(std::max(size, 1));
    if (array.size() < wanted) array = context.array<T>(wanted);
}

template <class T>
std::vector<T> readFirst(const gpu::Array<T>& array, int count) {
    std::vector<T> all = array.download();
    all.resize(static_cast<std::size_t>(count));
    return all;
}

}  // namespace

Records RecordBuilder::upload(gpu::Context& context) const {
    return {context.array(keys_), context.array(values_), context.array(entries_), static_cast<int>(entries_.size())};
}

HostRecords::HostRecords(const Records& records) {
    if (records.count == 0) return;
    keys_ = records.keys.download();
    values_ = records.values.download();
    entries_ = readFirst(records.entries, records.count);
}

std::string HostRecords::part(const std::vector<char>& bytes, int offset, int size) {
    if (offset < 0 || size < 0 || static_cast<std::size_t>(offset) + static_cast<std::size_t>(size) > bytes.size())
        throw Error("a record has {} bytes at {} of a buffer of {}", size, offset, bytes.size());
    return {bytes.data() + offset, static_cast<std::size_t>(size)};
}

std::vector<Range> hostRanges(const Groups& groups) {
    if (groups.count == 0) return {};
    const std::vector<Range> ranges = readFirst(groups.ranges, groups.count);
    int next = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (ranges[i].begin != next || ranges[i].end <= next)
            throw Error("group {} has the records {} to {}, but {} is the next record", i, ranges[i].begin,
                        ranges[i].end, next);
        next = ranges[i].end;
    }
    if (next != groups.records.count) throw Error("{} of {} records are in groups", next, groups.records.count);
    return ranges;
}

PrefixSum::PrefixSum(gpu::Context& context, const gpu::Module& framework)
    : context_(context), scanBlocks_(framework.kernel("scanBlocks")), addSums_(framework.kernel("addSums")) {}

void PrefixSum::run(const gpu::Stream& stream, const gpu::Array<int>& values, const gpu::Array<int>& out, int count,
                    driver::CUdeviceptr total) {
    scan(stream, values.address(), out.address(), count, 0, total);
}

void PrefixSum::scan(const gpu::Stream& stream, driver::CUdeviceptr values, driver::CUdeviceptr out, int count,
                     std::size_t level, driver::CUdeviceptr total) {
    const unsigned blocks = blocksFor(static_cast<std::size_t>(count), kScanElements);
    if (blocks == 1) {
        scanBlocks_.launch(stream, {1}, {kScanThreads}, 0, values, out, total, count);
        return;
    }
    if (sums_.size() <= level) sums_.emplace_back();
    makeRoom(context_, sums_[level], static_cast<int>(blocks));
    const driver::CUdeviceptr sums = sums_[level].address();
    scanBlocks_.launch(stream, {blocks}, {kScanThreads}, 0, values, out, sums, count);
    scan(stream, sums, sums, static_cast<int>(blocks), level + 1, total);
    addSums_.launch(stream, {blocks}, {kScanThreads}, 0, out, sums, count);
}

MapReduce::MapReduce(gpu::Context& context, const char* ptx, std::string prefix)
    : context_(context),
      framework_(context.load(kMapreducePtx)),
      application_(context.load(ptx)),
      prefix_(std::move(prefix)),
      prefixSum_(context, framework_),
      totals_(context.array<int>(3)) {}

gpu::Kernel MapReduce::kernel(const char* name) const {
    return application_.kernel(prefix_ + name);
}

TaskCursors MapReduce::cursors() const {
    return {keyCursors_.address(), valueCursors_.address(), recordCursors_.address()};
}

void MapReduce::clearCursors(gpu::Stream& stream, int tasks) {
    for (gpu::Array<int>* array : {&keyCursors_, &valueCursors_, &recordCursors_}) {
        makeRoom(context_, *array, tasks);
        array->buffer().fill(0, stream);
    }
}

void MapReduce::placeOutput(gpu::Stream& stream, int tasks, Records& output) {
    driver::CUdeviceptr total = totals_.address();
    for (const gpu::Array<int>* array : {&keyCursors_, &valueCursors_, &recordCursors_}) {
        prefixSum_.run(stream, *array, *array, tasks, total);
        total += sizeof(int);
    }
    stream.synchronize();
    const std::vector<int> totals = totals_.download();
    makeRoom(context_, output.keys, totals[0]);
    makeRoom(context_, output.values, totals[1]);
    makeRoom(context_, output.entries, totals[2]);
    output.count = totals[2];
}

const Records& MapReduce::map(gpu::Stream& stream, const Records& input) {
    clearCursors(stream, input.count);
    launchTasks(kernel("mapCount"), stream, input.count, input.view(), cursors());
    placeOutput(stream, input.count, mapped_);
    if (mapped_.count > 0) launchTasks(kernel("map"), stream, input.count, input.view(), cursors(), mapped_.view());
    return mapped_;
}

void MapReduce::sort(const gpu::Stream& stream, const Records& records, SortIn place) {
    const int padded = std::max(kBlockThreads, static_cast<int>(std::bit_ceil(static_cast<unsigned>(records.count))));
    makeRoom(context_, sorted_, padded);
    launchTasks(framework_.kernel("padEntries"), stream, padded, records.entries, records.count, sorted_);

    const bool chunks = place == SortIn::sharedChunks;
    const gpu::Kernel step = kernel("sortStep"), merge = chunks ? kernel("mergeChunks") : gpu::Kernel();
    if (chunks) launchTasks(kernel("sortChunks"), stream, padded, records.keys, sorted_);
    for (int run = chunks ? 2 * kBlockThreads : 2; run <= padded; run *= 2) {
        for (int distance = run / 2; distance >= (chunks ? kBlockThreads : 1); distance /= 2)
            launchTasks(step, stream, padded, records.keys, sorted_, run, distance);
        if (chunks) launchTasks(merge, stream, padded, records.keys, sorted_, run);
    }
}

void MapReduce::gather(const gpu::Stream& stream, const Records& unsorted, Records& sorted) {
    const int count = unsorted.count;
    makeRoom(context_, keyCursors_, count);
    makeRoom(context_, valueCursors_, count);
    makeRoom(context_, sorted.keys, static_cast<int>(unsorted.keys.size()));
    makeRoom(context_, sorted.values, static_cast<int>(unsorted.values.size()));
    makeRoom(context_, sorted.entries, count);
    sorted.count = count;
    launchTasks(framework_.kernel("splitSizes"), stream, count, sorted_, count, keyCursors_, valueCursors_);
    prefixSum_.run(stream, keyCursors_, keyCursors_, count, totals_.address());
    prefixSum_.run(stream, valueCursors_, valueCursors_, count, totals_.address() + sizeof(int));
    launchTasks(framework_.kernel("gather"), stream, count, unsorted.view(), sorted_, keyCursors_, valueCursors_,
                sorted.view());
}

void MapReduce::findRanges(gpu::Stream& stream) {
    const int count = groups_.records.count;
    makeRoom(context_, starts_, count);
    makeRoom(context_, recordCursors_, count);
    launchTasks(kernel("markStarts"), stream, count, groups_.records.view(), starts_);
    prefixSum_.run(stream, starts_, recordCursors_, count, totals_.address());
    stream.synchronize();
    groups_.count = totals_.download()[0];
    makeRoom(context_, groups_.ranges, groups_.count);
    launchTasks(framework_.kernel("writeRanges"), stream, count, starts_, recordCursors_, count, groups_.ranges);
}

const Groups& MapReduce::group(gpu::Stream& stream, const Records& unsorted, SortIn place) {
    groups_.count = groups_.records.count = 0;
    if (unsorted.count == 0) return groups_;
    sort(stream, unsorted, place);
    gather(stream, unsorted, groups_.records);
    findRanges(stream);
    return groups_;
}

const Records& MapReduce::reduce(gpu::Stream& stream, const Groups& groups) {
    reduced_.count = 0;
    if (groups.count == 0) return reduced_;
    const RecordView view = groups.records.view();
    clearCursors(stream, groups.count);
    launchTasks(kernel("reduceCount"), stream, groups.count, view, groups.ranges, groups.count, cursors());
    placeOutput(stream, groups.count, reduced_);
    if (reduced_.count > 0)
        launchTasks(kernel("reduce"), stream, groups.count, view, groups.ranges, groups.count, cursors(),
                    reduced_.view());
    return reduced_;
}

void MapReduce::forget() {
    for (Records* records : {&mapped_, &reduced_, &groups_.records}) {
        records->keys.take();
        records->values.take();
        records->entries.take();
        records->count = 0;
    }
    groups_.ranges.take();
    groups_.count = 0;
}

}  // namespace bulkhead::workloads::mars
