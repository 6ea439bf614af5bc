#include "dissect/slice_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/phrases.h"
#include "dissect/figures.h"
#include "dissect/replacement.h"
#include "dissect/time_split.h"

namespace bulkhead::dissect {
namespace {

/// Lines of one slice, on the side that single blocks run on: copies of far lines would blur what is cached.
class SliceShape {
  public:
    SliceShape(Probe& probe, const MemoryView& memory, const LabelledPages& pages, const ProbedCache& cache,
               Listener& listener, std::uint64_t seed)
        : probe_(probe), memory_(memory), pages_(pages), cache_(cache), listener_(listener), random_(seed) {}

    void chooseSlice();
    bool findWays();
    void findSets();
    void findCapacity(std::vector<Result>& figures);
    void findBanks(std::vector<Result>& figures);
    void findInterference(std::vector<Result>& figures);
    std::optional<SliceSet> set() const {
        if (!eviction_ || eviction_->rounds > 1) return std::nullopt;
        return SliceSet{*eviction_, cache_};
    }

  private:
    const gpu::Capabilities& can() { return probe_.gpu().capabilities(); }
    /// Whether hardly a random line can have been used before: clearing a large cache is costly then.
    bool rarelyCached() { return can().costly && pages_.bytes() > 256 * cache_.bytes; }
    std::uint64_t sliceLine() {
        return pages_.line(random_, cache_.lineBytes, [&](std::uint32_t s) { return s == slice_; });
    }
    std::vector<std::uint64_t> sliceLines(std::size_t count) {
        std::vector<std::uint64_t> lines;
        while (lines.size() < count) lines.push_back(sliceLine());
        return lines;
    }
    std::vector<std::uint64_t> nearLines(Bytes bytes);
    void findOffsetBits(const char* what, const std::vector<Mask>& differences);
    Times quickest(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pairs);

    Probe& probe_;
    const MemoryView& memory_;
    const LabelledPages& pages_;
    ProbedCache cache_;
    Listener& listener_;
    Random random_;
    unsigned near_ = 0;
    std::uint32_t slice_ = 0;
    std::optional<EvictionSet> eviction_;
};

void SliceShape::chooseSlice() {
    constexpr std::size_t kLines = 100;
    double best = 0;
    for (unsigned side = 0; side < (pages_.sided ? 2U : 1U); ++side) {
        std::vector<Access> twice;
        for (std::size_t i = 0; i < kLines; ++i)
            twice.push_back({pages_.line(random_, cache_.lineBytes,
                                         [&](std::uint32_t s) { return pages_.sideOfSlice(s) == side; })});
        twice.insert(twice.end(), twice.begin(), twice.end());
        const Times times = probe_.timeAccesses(twice);
        // Hardly a random line is cached already.
        const double miss = median({times.begin(), times.begin() + kLines});
        const double hit = median({times.begin() + kLines, times.end()});
        // Far lines may have been copied near by then, but they come from afar.
        if (best != 0 && miss >= best) continue;
        best = miss;
        near_ = side;
        cache_.hitCycles = hit;
        cache_.missCycles = miss;
    }
    std::vector<std::uint32_t> ofSide;
    for (std::uint32_t s = 0; s < pages_.form.slices(); ++s)
        if (pages_.sideOfSlice(s) == near_) ofSide.push_back(s);
    slice_ = ofSide[random_.below(ofSide.size())];
}

bool SliceShape::findWays() {
    LineSource source;
    source.first = cache_.bytes / cache_.lineBytes / pages_.form.slices() * 3 / 2;
    source.most = 4 * source.first;
    source.primary = [&](Random&) { return sliceLine(); };
    source.candidates = [&](std::uint64_t primary, std::size_t count, Random&) {
        std::vector<std::uint64_t> lines = sliceLines(count);
        std::sort(lines.begin(), lines.end());
        lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
        std::erase(lines, primary);
        for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[random_.below(i)]);
        return lines;
    };
    // With noise a single list may be too long by a line that was not needed, or by one that came in between: two of
    // different lines must agree.
    const std::size_t needed = can().deterministic ? 1 : 2;
    constexpr int kMostLists = 6;
    SetProbe search(probe_, cache_);
    std::map<std::size_t, std::size_t> votes;
    std::string seen;
    std::size_t tests = 0;
    for (int list = 0; list < kMostLists; ++list) {
        eviction_ = search.find(source, random_.next(), [&](double f) { listener_.progress(f); });
        if (!eviction_) continue;
        tests += eviction_->tests;
        const std::size_t ways = eviction_->lines.size();
        seen += fmt::format("{}{}", seen.empty() ? "" : ", ", ways);
        if (++votes[ways] < needed) continue;
        listener_.found({"L2 ways", static_cast<std::int64_t>(ways), "", 1,
                         fmt::format("sizes of minimal eviction sets within a slice: {}; {} tests", seen, tests)});
        return true;
    }
    listener_.found({"L2 ways",
                     {},
                     "",
                     0,
                     seen.empty() ? "no eviction set within a slice was found"
                                  : fmt::format("minimal eviction sets differ: {} lines", seen)});
    eviction_.reset();
    return false;
}

void SliceShape::findSets() {
    if (eviction_->rounds > 1) {
        listener_.found({"L2 sets per slice", {}, "", 0, kNoMembers});
        describe(findReplacement(probe_, memory_, cache_, *eviction_, {}), listener_);
        return;
    }
    const std::size_t count = can().costly ? 8'000 : 60'000;
    std::vector<std::uint64_t> lines = sliceLines(count);
    std::sort(lines.begin(), lines.end());
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    std::erase_if(lines, [&](std::uint64_t l) {
        return l == eviction_->primary ||
               std::find(eviction_->lines.begin(), eviction_->lines.end(), l) != eviction_->lines.end();
    });
    SetMembers members(probe_, cache_, *eviction_);
    const std::vector<bool> shares = members.contain(lines);
    std::vector<std::uint64_t> more;
    for (std::size_t i = 0; i < lines.size(); ++i)
        if (shares[i]) more.push_back(lines[i]);
    const auto sets = static_cast<double>(lines.size()) / static_cast<double>(std::max<std::size_t>(1, more.size()));
    const double error = 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(1, more.size())));
    const std::string evidence = fmt::format("{} of {} lines of a slice share a set; accurate to {:.0f} %", more.size(),
                                             lines.size(), 100 * error);
    listener_.found({"L2 sets per slice", more.size() > 10 ? Value(std::round(sets)) : Value(), "",
                     more.size() > 10 ? 1 - error : 0, evidence});
    if (!memory_.physicalKnown()) {
        std::vector<std::uint64_t> sure = more;
        for (int vote = 0; vote < 3; ++vote) {
            const std::vector<bool> again = members.contain(sure);
            std::size_t at = 0;
            std::erase_if(sure, [&](std::uint64_t) { return !again[at++]; });
        }
        std::vector<Mask> differences;
        differences.reserve(sure.size());
        for (std::uint64_t line : sure) differences.push_back(line ^ eviction_->primary);
        findOffsetBits("set within a slice", differences);
    }
    more.resize(std::min(more.size(), 2 * eviction_->lines.size()));
    describe(findReplacement(probe_, memory_, cache_, *eviction_, more), listener_);
}

std::vector<std::uint64_t> SliceShape::nearLines(Bytes bytes) {
    std::vector<std::uint64_t> lines;
    for (Bytes o = 0; o < pages_.bytes() && lines.size() < bytes / cache_.lineBytes; o += cache_.lineBytes) {
        const auto slice = pages_.slice(o);
        if (slice && pages_.sideOfSlice(*slice) == near_) lines.push_back(pages_.base + o);
    }
    for (std::size_t i = lines.size(); i > 1; --i) std::swap(lines[i - 1], lines[random_.below(i)]);
    return lines;
}

/// A ring of lines of the near side, chased by one thread: far lines would be copied near and take room twice.
void SliceShape::findCapacity(std::vector<Result>& figures) {
    Result r;
    r.title = "Latency by footprint: one thread, lines of the near L2 side";
    r.columns = {{"footprint", "KB"}, {"time", "cycles"}};
    const Bytes half = cache_.bytes / (pages_.sided ? 2 : 1);
    std::vector<std::pair<double, double>> curve;
    for (const unsigned sixteenths : {4U, 8U, 12U, 13U, 14U, 15U, 16U, 17U, 18U, 20U, 24U, 32U}) {
        const std::vector<std::uint64_t> ring = nearLines(half / 16 * sixteenths);
        const auto steps = static_cast<std::uint32_t>(ring.size());
        probe_.writeRing(ring);
        probe_.chase(ring[0], steps, false);
        const double cycles = static_cast<double>(probe_.chase(ring[0], steps, false)) / steps;
        curve.emplace_back(static_cast<double>(steps * cache_.lineBytes), cycles);
        r.add({static_cast<std::int64_t>(steps * cache_.lineBytes >> 10), cycles});
        listener_.progress(sixteenths / 32.0);
    }
    r.charts.push_back({Chart::Kind::line, "latency by footprint", "footprint", {"time"}, {}, {}, "", false, false});
    const double low = curve.front().second, high = curve.back().second, middle = (low + high) / 2;
    r.question = "How much fits into the L2?";
    r.answer = fmt::format("An access takes {} cycles at {} MB and {} cycles at {} MB.", brief(low),
                           brief(curve.front().first / (1 << 20)), brief(high), brief(curve.back().first / (1 << 20)));
    r.reading = "The time rises where the footprint no longer fits.";
    figures.push_back(r);
    double capacity = 0;
    for (std::size_t i = 1; i < curve.size() && capacity == 0; ++i)
        if (curve[i].second > middle)
            capacity = curve[i - 1].first + (curve[i].first - curve[i - 1].first) * (middle - curve[i - 1].second) /
                                                (curve[i].second - curve[i - 1].second);
    const bool seen = high > 1.3 * low;
    listener_.found({pages_.sided ? "L2 capacity of a side" : "L2 capacity",
                     seen ? Value(capacity / (1 << 20)) : Value(), "MB", seen ? 0.95 : 0,
                     fmt::format("a pointer chase takes {:.0f} cycles per access up to it, {:.0f} beyond", low, high)});
}

/// The least time of each pair over several rounds, in another order each time: what a refresh of the DRAM delays is
/// another pair then.
Times SliceShape::quickest(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& pairs) {
    const int times = can().deterministic ? 1 : 9;
    Times least(pairs.size(), ~std::uint32_t{0});
    std::vector<std::size_t> order(pairs.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (int round = 0; round < times; ++round) {
        for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.below(i)]);
        std::vector<std::pair<std::uint64_t, std::uint64_t>> list;
        list.reserve(order.size());
        for (std::size_t i : order) list.push_back(pairs[i]);
        if (!rarelyCached()) clearCache(probe_, memory_, cache_);
        const Times some = probe_.timePairs(list);
        for (std::size_t i = 0; i < order.size(); ++i) least[order[i]] = std::min(least[order[i]], some[i]);
    }
    return least;
}

/// Two loads of a slice that want different rows of one bank take longer together. If addresses were spread evenly, one
/// pair in as many would as there are banks behind the slice.
void SliceShape::findBanks(std::vector<Result>& figures) {
    const std::size_t count = can().costly ? 2000 : 8000;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
    while (pairs.size() < count) {
        const std::uint64_t a = sliceLine(), b = sliceLine();
        if ((a ^ b) >> kPageShift != 0) pairs.emplace_back(a, b);
    }
    const Times times = quickest(pairs);
    figures.push_back(timeHistogram("Figure 4 within a slice: histogram of access times of address pairs", times));
    const auto split = splitSlow(times);
    if (!split) {
        listener_.found({"pairs of a slice per row conflict",
                         {},
                         "",
                         0,
                         fmt::format("none of {} pairs of a slice is slower than the others", pairs.size())});
        return;
    }
    std::vector<std::pair<std::uint64_t, std::uint64_t>> slow;
    for (std::size_t i = 0; i < pairs.size(); ++i)
        // Other sectors of the same rows, which are not cached.
        if (times[i] > split->threshold)
            slow.emplace_back(pairs[i].first ^ cache_.sectorBytes, pairs[i].second ^ cache_.sectorBytes);
    std::vector<Mask> differences;
    const Times slowTimes = quickest(slow);
    for (std::size_t i = 0; i < slow.size(); ++i)
        if (slowTimes[i] > split->threshold) differences.push_back(slow[i].first ^ slow[i].second);
    const std::size_t again = differences.size();
    const auto banks = static_cast<double>(pairs.size()) / static_cast<double>(std::max<std::size_t>(1, again));
    const double error = 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(1, again)));
    const bool decided = again > 10 && 10 * again > 7 * slow.size();
    listener_.found(
        {"pairs of a slice per row conflict", decided ? Value(std::round(banks)) : Value(), "", decided ? 1 - error : 0,
         fmt::format(
             "{} of {} pairs of a slice take {:.0f} cycles instead of {:.0f}, {} of them repeatedly (row conflicts); "
             "accurate to {:.0f} %",
             slow.size(), pairs.size(), split->slow, split->usual, again, 100 * error)});
    if (!memory_.physicalKnown()) findOffsetBits("bank within a slice", differences);
}

/// Which XORs of offset bits all colliding pairs of a slice have in common, beyond what all of its lines have. What the
/// address of a page adds is another constant for each page, so a function that has bits above the offset is not seen.
void SliceShape::findOffsetBits(const char* what, const std::vector<Mask>& differences) {
    constexpr std::size_t kSurplus = 24;
    const Mask bits = bitRange(static_cast<unsigned>(std::countr_zero(cache_.lineBytes)), kPageShift);
    Subspace colliding, any;
    for (Mask d : differences) colliding.add(d & bits);
    const std::uint64_t first = sliceLine();
    for (std::size_t i = 0; i < differences.size(); ++i) any.add((sliceLine() ^ first) & bits);
    const Subspace common = colliding.orthogonal(bits);
    Subspace known = any.orthogonal(bits);
    std::string text;
    for (Mask f : common.basis()) {
        if (!known.add(f)) continue;
        text += text.empty() ? "" : ", ";
        for (Mask rest = f; rest != 0; rest &= rest - 1)
            text += fmt::format("{}{}", rest == f ? "" : "^", std::countr_zero(rest));
    }
    const bool enough = differences.size() >= static_cast<std::size_t>(std::popcount(bits)) + kSurplus;
    const bool decided = enough && !text.empty();
    const std::string evidence = !enough ? "too few to find the offset bits"
                                 : decided
                                     ? "offset bits common to all of them; bits above a page may take part as well"
                                     : "no common XOR of offset bits: bits above a page take part, or it is not an XOR";
    listener_.found({what, decided ? Value(text) : Value(), "", decided ? 0.9 : 0,
                     fmt::format("{} pairs: {}", differences.size(), evidence)});
}

/// Figure 8 where sets and banks are unknown: one thread reads a few lines of a slice, others read that slice, another
/// of its side, or the other side.
void SliceShape::findInterference(std::vector<Result>& figures) {
    constexpr std::size_t kRing = 64;
    constexpr std::uint32_t kSteps = 256;
    Result r;
    r.title = "Figure 8 by slices: cycles per access of one thread, by what other threads read";
    r.columns = {{"threads", ""}, {"same slice", "cycles"}, {"same side", "cycles"}};
    std::vector<std::function<bool(std::uint32_t)>> kinds = {
        [&](std::uint32_t s) { return s == slice_; },
        [&](std::uint32_t s) { return s != slice_ && pages_.sideOfSlice(s) == near_; }};
    if (pages_.sided) {
        r.columns.push_back({"other side", "cycles"});
        kinds.emplace_back([&](std::uint32_t s) { return pages_.sideOfSlice(s) != near_; });
    }
    const auto ring = [&](const std::function<bool(std::uint32_t)>& wanted, std::size_t size) {
        std::vector<std::uint64_t> lines;
        while (lines.size() < size) {
            const std::uint64_t line = pages_.line(random_, cache_.lineBytes, wanted);
            if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
        }
        probe_.writeRing(lines);
        return lines;
    };
    const std::vector<std::uint64_t> own = ring(kinds[0], kRing / 4);
    std::vector<std::vector<std::uint64_t>> rings;
    rings.reserve(kinds.size());
    for (const auto& kind : kinds) rings.push_back(ring(kind, kRing));
    const unsigned others = probe_.sms() - 1;
    for (const unsigned threads : {1U, 1 + others / 8, 1 + others / 2, 1 + others, 1 + 2 * others, 1 + 4 * others,
                                   1 + 8 * others, 1 + 15 * others}) {
        if (threads > probe_.mostInterfering()) break;
        std::vector<Value> row = {static_cast<std::int64_t>(threads)};
        for (const auto& lines : rings) {
            std::vector<std::uint64_t> starts = {own[0]};
            for (unsigned i = 1; i < threads; ++i) starts.push_back(lines[i % lines.size()]);
            row.emplace_back(probe_.timeInterference(starts, kSteps));
        }
        r.add(std::move(row));
    }
    Chart chart{Chart::Kind::line, "cycles per access", "threads", {}, {}, {}, "", false, false};
    for (std::size_t i = 1; i < r.columns.size(); ++i) chart.y.push_back(r.columns[i].name);
    r.charts.push_back(std::move(chart));
    r.question = "What must threads share to slow each other down?";
    r.answer = slowestOfLastRow(r);
    r.reading = "A curve that rises with the threads is of something that they compete for.";
    figures.push_back(std::move(r));
}

}  // namespace

std::optional<SliceSet> findSliceShape(Probe& probe, const MemoryView& memory, const LabelledPages& pages,
                                       const ProbedCache& cache, Listener& listener, std::uint64_t seed,
                                       std::vector<Result>& figures) {
    listener.step("Measuring ways, sets and banks of a slice");
    SliceShape shape(probe, memory, pages, cache, listener, seed);
    shape.chooseSlice();
    if (shape.findWays()) shape.findSets();
    shape.findBanks(figures);
    // Without copies of far lines, what L2 holds is known already.
    if (probe.gpu().capabilities().copiesFarLines) shape.findCapacity(figures);
    shape.findInterference(figures);
    return shape.set();
}

}  // namespace bulkhead::dissect
