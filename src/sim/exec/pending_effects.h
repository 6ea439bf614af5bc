#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/exec/places.h"
#include "sim/exec/warp.h"

namespace bulkhead::sim {

/// What the warps of an SM have done to memory that they share with other SMs, before it shows: stores, atomics, loads
/// of what an atomic may still change, text that was printed. It shows at the end of a window, in the order of cycles
/// and, within a cycle, of SMs. Until then the SM sees its own stores. The result of an atomic is not needed sooner: it
/// is further away than a window is long.
///
/// Where blocks are executed without time there are no windows: everything shows at once, and nothing is ever pending.
class PendingEffects {
  public:
    enum class Shows : std::uint8_t { atWindowEnd, atOnce };
    explicit PendingEffects(const Cycles& now, Shows shows = Shows::atWindowEnd)
        : now_(now), atOnce_(shows == Shows::atOnce), marks_(kMarks) {}

    /// Whoever stores or executes an atomic does so in memory itself, and defers nothing.
    bool showAtOnce() const { return atOnce_; }

    // ---- While the SM executes.

    /// What a load must know of what is pending.
    enum class Seen : std::uint8_t {
        memory,  ///< nothing: memory holds what it wants
        stores,  ///< there may be stores: see read()
        atomics  ///< there may be atomics: the load can be done at the end of the window only
    };
    Seen seenBy(const Access& a, const Places& p) const { return entries_.empty() ? Seen::memory : look(a, p); }
    /// Bytes of one line, for none of which an atomic is pending, as the SM sees them. `from`: where memory has them.
    void read(std::uint64_t address, const std::uint8_t* from, std::size_t bytes, std::uint8_t* to) const;
    /// Where the lanes' bytes are to be written instead of to memory.
    Places store(const Access&, const Places&);
    /// Bytes that are to be written to memory.
    void store(std::uint64_t address, std::uint8_t* to, const std::uint8_t* from, std::uint32_t bytes);
    /// Something that `run` will do with what is put there: atomics, and loads. True says that it has changed memory.
    using Run = bool (*)(void* what);
    void* defer(const Access&, std::size_t bytes, Run run);
    void* defer(std::size_t bytes, Run run);
    /// ... to so many bytes of global memory from an address on.
    void* deferOn(std::uint64_t address, std::size_t accessed, std::size_t bytes, Run run);
    template <class What>
    What& defer(const Access& a, Run run) {
        return *static_cast<What*>(defer(a, sizeof(What), run));
    }
    /// ... and that no load of the SM could see: what is done to other blocks of a cluster.
    template <class What>
    What& defer(Run run) {
        return *static_cast<What*>(defer(sizeof(What), run));
    }
    void print(const LaunchContext& launch, std::string text) {
        if (!atOnce_)
            prints_.push_back({now_, &launch, std::move(text)});
        else if (launch.print)
            launch.print(text);
    }

    /// Something that was deferred cannot be done: ends the launch.
    void fail(const LaunchContext& launch, LaunchError error) {
        failures_.push_back({now_, &launch, std::move(error)});
    }

    // ---- At the end of the window.

    struct Failure {
        Cycles when;
        const LaunchContext* launch;
        LaunchError error;
    };
    std::vector<Failure> takeFailures() { return std::exchange(failures_, {}); }

    bool empty() const { return entries_.empty() && prints_.empty(); }
    /// Shows what these have pending, and empties them. Of one cycle the first one's comes first.
    static void show(const std::vector<PendingEffects*>&);
    /// Whether an atomic has changed memory since this was last asked: a failed compare-and-swap has not.
    bool takeChange() { return std::exchange(changed_, false); }

  private:
    static constexpr std::uint32_t kNone = ~std::uint32_t{0};
    static constexpr unsigned kLineShift = 7;
    static constexpr std::uint32_t kLine = 1u << kLineShift;
    static constexpr std::size_t kMarks = 512;  ///< at first

    /// A store to one line, or something deferred.
    struct Entry {
        Cycles when;
        std::uint8_t* to;        ///< null: deferred
        Run run;                 ///< where deferred
        std::uint32_t previous;  ///< store to the line before it
        std::uint32_t offset;    ///< in the line
        std::uint32_t data;      ///< where its bytes are
        std::uint32_t bytes;
    };
    /// What is pending for a line, by its address on the GPU: nothing may depend on the host's.
    struct Mark {
        std::uint64_t line = 0;
        std::uint32_t window = 0;    ///< in which it was marked; a mark of another one is none
        std::uint32_t last = kNone;  ///< store
        bool atomics = false;
    };
    struct Print {
        Cycles when;
        const LaunchContext* launch;
        std::string text;
    };

    std::size_t placeOf(std::uint64_t line) const;
    const Mark* markOf(std::uint64_t line) const {
        const Mark& mark = marks_[placeOf(line)];
        return mark.window == window_ ? &mark : nullptr;
    }
    Mark& mark(std::uint64_t line);
    void growMarks();
    Seen look(const Access&, const Places&) const;
    std::uint32_t room(std::size_t bytes);
    void addStore(std::uint64_t address, std::uint8_t* to, std::uint32_t data, std::uint32_t bytes);
    void show(const Entry&);
    void clear();

    const Cycles& now_;
    const bool atOnce_;
    std::vector<Entry> entries_;
    std::unique_ptr<std::uint8_t[]> data_;
    std::uint32_t used_ = 0, capacity_ = 0;
    std::vector<Mark> marks_;  ///< by line, or in the next place that is free; a power of two of them
    std::uint32_t marked_ = 0, window_ = 1;
    std::vector<Print> prints_;
    std::vector<Failure> failures_;
    bool changed_ = false;
};

}  // namespace bulkhead::sim
