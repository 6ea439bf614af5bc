#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "gpu/gpu.h"
#include "workloads/mars/records.h"

namespace bulkhead::workloads::mars {

/// Records in device memory. The arrays may be larger than what is in them.
struct Records {
    gpu::Array<char> keys, values;
    gpu::Array<Entry> entries;
    int count = 0;

    RecordView view() const { return {keys.address(), values.address(), entries.address(), count}; }
    std::size_t bytes() const { return keys.size() + values.size() + entries.size() * sizeof(Entry); }
};

/// Records sorted by key, and the ranges of equal keys.
struct Groups {
    Records records;
    gpu::Array<Range> ranges;
    int count = 0;

    std::size_t bytes() const { return records.bytes() + ranges.size() * sizeof(Range); }
};

/// Collects the input of a map.
class RecordBuilder {
  public:
    template <class Key, class Value>
    void add(const Key& key, const Value& value) {
        entries_.push_back(
            {append(keys_, key), static_cast<int>(sizeof key), append(values_, value), static_cast<int>(sizeof value)});
    }
    Records upload(gpu::Context&) const;

  private:
    template <class T>
    static int append(std::vector<char>& bytes, const T& part) {
        const std::size_t offset = bytes.size();
        bytes.resize(offset + sizeof part);
        std::memcpy(bytes.data() + offset, &part, sizeof part);
        return static_cast<int>(offset);
    }
    std::vector<char> keys_, values_;
    std::vector<Entry> entries_;
};

/// Records copied back to the host.
class HostRecords {
  public:
    explicit HostRecords(const Records&);
    std::size_t size() const { return entries_.size(); }
    std::string key(std::size_t i) const { return part(keys_, entries_[i].keyOffset, entries_[i].keySize); }
    template <class T>
    T keyAs(std::size_t i) const {
        return as<T>(keys_, entries_[i].keyOffset, entries_[i].keySize);
    }
    template <class T>
    T valueAs(std::size_t i) const {
        return as<T>(values_, entries_[i].valueOffset, entries_[i].valueSize);
    }

  private:
    /// Throws Error if the record does not lie in its buffer.
    static std::string part(const std::vector<char>& bytes, int offset, int size);
    template <class T>
    static T as(const std::vector<char>& bytes, int offset, int size) {
        if (size != static_cast<int>(sizeof(T))) throw Error("a record has {} bytes instead of {}", size, sizeof(T));
        T value;
        std::memcpy(&value, part(bytes, offset, size).data(), sizeof value);
        return value;
    }
    std::vector<char> keys_, values_;
    std::vector<Entry> entries_;
};

/// Copies the ranges back. Throws Error unless each has a record and together they are all records, in order.
std::vector<Range> hostRanges(const Groups&);

/// Exclusive prefix sums.
class PrefixSum {
  public:
    PrefixSum(gpu::Context&, const gpu::Module& framework);
    /// `out` may be `values`. The sum of all goes to `total`.
    void run(const gpu::Stream&, const gpu::Array<int>& values, const gpu::Array<int>& out, int count,
             driver::CUdeviceptr total);

  private:
    void scan(const gpu::Stream&, driver::CUdeviceptr values, driver::CUdeviceptr out, int count, std::size_t level,
              driver::CUdeviceptr total);

    gpu::Context context_;
    gpu::Kernel scanBlocks_, addSums_;
    std::vector<gpu::Array<int>> sums_;  ///< of the blocks, of the blocks of those, and so on
};

/// Where the steps of a sort are done. Mars sorts up to 256 Ki records in global memory and more than that in chunks;
/// here an application says which of them its input of the paper's size makes Mars use, so that smaller inputs behave
/// alike.
enum class SortIn : std::uint8_t { globalMemory, sharedChunks };

/// The phases of one application, whose kernels are in a module of their own under the names of the phases: mapCount,
/// map, sortStep, sortChunks, mergeChunks, markStarts, reduceCount, reduce. A phase's result lives until it runs again.
class MapReduce {
  public:
    /// `prefix` goes before the kernels' names, where a module holds several applications.
    MapReduce(gpu::Context&, const char* ptx, std::string prefix = "");

    const Records& map(gpu::Stream&, const Records& input);
    const Groups& group(gpu::Stream&, const Records& unsorted, SortIn);
    const Records& reduce(gpu::Stream&, const Groups&);

    const Records& mapped() const { return mapped_; }
    const Groups& groups() const { return groups_; }
    const Records& reduced() const { return reduced_; }
    std::size_t bytes() const { return mapped_.bytes() + groups_.bytes() + reduced_.bytes(); }
    /// Replaces all results by nonsense.
    void forget();

  private:
    gpu::Kernel kernel(const char* name) const;
    void clearCursors(gpu::Stream&, int tasks);
    /// Turns what each task is going to emit into where it starts, and makes room for all of it.
    void placeOutput(gpu::Stream&, int tasks, Records& output);
    void sort(const gpu::Stream&, const Records&, SortIn);
    void gather(const gpu::Stream&, const Records& unsorted, Records& sorted);
    void findRanges(gpu::Stream&);
    TaskCursors cursors() const;

    gpu::Context context_;
    gpu::Module framework_, application_;
    std::string prefix_;
    PrefixSum prefixSum_;
    gpu::Array<int> keyCursors_, valueCursors_, recordCursors_;
    gpu::Array<Entry> sorted_;  ///< entries, filled up to a power of two
    gpu::Array<int> starts_;
    gpu::Array<int> totals_;  ///< key bytes, value bytes, records
    Records mapped_, reduced_;
    Groups groups_;
};

}  // namespace bulkhead::workloads::mars
