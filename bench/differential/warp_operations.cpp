#include <algorithm>
#include <bit>

#include "operation.h"

namespace bulkhead::differential {
namespace {

using Word = std::uint64_t;
using Mask = std::uint32_t;

constexpr Source kMask{Width::b32};

template <class Body>
void forMembers(const WarpEvaluation& warp, Body body) {
    for (unsigned lane = 0; lane < kLanes; ++lane)
        if (warp.members >> lane & 1) body(lane);
}

Operation& add(Collector& c, const std::string& body, std::vector<Width> results, std::vector<Source> sources,
               std::function<void(WarpEvaluation&)> evaluate) {
    Operation& operation = c.add(body, std::move(results), std::move(sources), nullptr);
    operation.evaluateWarp = std::move(evaluate);
    return operation;
}

/// One value for all members.
void addShared(Collector& c, const std::string& body, Width result, Source source,
               std::function<Word(const WarpEvaluation&)> value) {
    add(c, body, {result}, {source, kMask}, [value = std::move(value)](WarpEvaluation& warp) {
        const Word all = value(warp);
        forMembers(warp, [&](unsigned lane) { warp.lanes[lane].out[0] = all; });
    });
}

Mask ballot(const WarpEvaluation& warp) {
    Mask mask = 0;
    forMembers(warp, [&](unsigned lane) { mask |= static_cast<Mask>(warp.lanes[lane].in[0]) << lane; });
    return mask;
}

void addVotes(Collector& c) {
    const Source p{Width::pred};
    addShared(c, "vote.sync.all.pred %o0, %a, %b;", Width::pred, p,
              [](const WarpEvaluation& w) { return Word{ballot(w) == w.members}; });
    addShared(c, "vote.sync.any.pred %o0, %a, %b;", Width::pred, p,
              [](const WarpEvaluation& w) { return Word{ballot(w) != 0}; });
    addShared(c, "vote.sync.uni.pred %o0, %a, %b;", Width::pred, p,
              [](const WarpEvaluation& w) { return Word{ballot(w) == 0 || ballot(w) == w.members}; });
    addShared(c, "vote.sync.ballot.b32 %o0, %a, %b;", Width::b32, p, [](const WarpEvaluation& w) { return ballot(w); });
}

void addMatches(Collector& c) {
    struct Form {
        const char* type;
        Width width;
        std::string before, value;  ///< few different values are compared as well
        Word keep;
    };
    for (const Form& form : {Form{"b32", Width::b32, "", "%a", ~Word{0}}, Form{"b64", Width::b64, "", "%a", ~Word{0}},
                             Form{"b32", Width::b32, "and.b32 %z32, %a, 3; ", "%z32", 3},
                             Form{"b64", Width::b64, "and.b64 %z64, %a, 1; ", "%z64", 1}}) {
        const Word keep = form.keep;
        const auto same = [keep](const WarpEvaluation& warp, unsigned lane) {
            Mask mask = 0;
            forMembers(warp, [&](unsigned other) {
                if ((warp.lanes[other].in[0] & keep) == (warp.lanes[lane].in[0] & keep)) mask |= Mask{1} << other;
            });
            return mask;
        };
        add(c, form.before + "match.any.sync." + form.type + " %o0, " + form.value + ", %b;", {Width::b32},
            {{form.width}, kMask}, [same](WarpEvaluation& warp) {
                forMembers(warp, [&](unsigned lane) { warp.lanes[lane].out[0] = same(warp, lane); });
            });
        add(c, form.before + "match.all.sync." + form.type + " %o0|%o1, " + form.value + ", %b;",
            {Width::b32, Width::pred}, {{form.width}, kMask}, [same](WarpEvaluation& warp) {
                forMembers(warp, [&](unsigned lane) {
                    const bool all = same(warp, lane) == warp.members;
                    warp.lanes[lane].out[0] = all ? warp.members : 0;
                    warp.lanes[lane].out[1] = all;
                });
            });
    }
}

void addReductions(Collector& c) {
    const Source r{Width::b32};
    const auto reduce = [&](const std::string& name, std::function<Word(Word, Word)> combine) {
        addShared(c, "redux.sync." + name + " %o0, %a, %b;", Width::b32, r,
                  [combine = std::move(combine)](const WarpEvaluation& warp) {
                      Word all = 0;
                      bool first = true;
                      forMembers(warp, [&](unsigned lane) {
                          all = first ? warp.lanes[lane].in[0] : combine(all, warp.lanes[lane].in[0]) & 0xffffffff;
                          first = false;
                      });
                      return all;
                  });
    };
    for (const IntegerType& t : {kU32, kS32}) {
        const std::string type = t.name;
        reduce("add." + type, [](Word a, Word b) { return a + b; });
        reduce("min." + type, [t](Word a, Word b) { return t.value(a) < t.value(b) ? a : b; });
        reduce("max." + type, [t](Word a, Word b) { return t.value(a) > t.value(b) ? a : b; });
    }
    reduce("and.b32", [](Word a, Word b) { return a & b; });
    reduce("or.b32", [](Word a, Word b) { return a | b; });
    reduce("xor.b32", [](Word a, Word b) { return a ^ b; });
}

enum class Shuffle : std::uint8_t { up, down, bfly, idx };

/// The manual's definition.
void shuffle(WarpEvaluation& warp, Shuffle mode) {
    forMembers(warp, [&](unsigned lane) {
        Evaluation& e = warp.lanes[lane];
        const int self = static_cast<int>(lane), by = static_cast<int>(e.in[1] & 31);
        const int limit = static_cast<int>(e.in[2] & 31), segments = static_cast<int>(e.in[2] >> 8 & 31);
        const int last = (self & segments) | (limit & ~segments), first = self & segments;
        int from = 0;
        bool inside = false;
        switch (mode) {
            case Shuffle::up:
                from = self - by;
                inside = from >= last;
                break;
            case Shuffle::down:
                from = self + by;
                inside = from <= last;
                break;
            case Shuffle::bfly:
                from = self ^ by;
                inside = from <= last;
                break;
            case Shuffle::idx:
                from = first | (by & ~segments);
                inside = from <= last;
                break;
        }
        if (!inside) from = self;
        e.out[0] = warp.lanes[static_cast<unsigned>(from)].in[0];
        e.out[1] = inside;
    });
}

void addShuffles(Collector& c) {
    const Source r{Width::b32}, s{Width::b32, Literal::integer};
    constexpr const char* kNames[] = {"up", "down", "bfly", "idx"};
    for (int mode = 0; mode < 4; ++mode)
        add(c, std::string("shfl.sync.") + kNames[mode] + ".b32 %o0|%o1, %a, %b, %c, %d;", {Width::b32, Width::pred},
            {r, s, s, kMask}, [mode](WarpEvaluation& warp) { shuffle(warp, static_cast<Shuffle>(mode)); })
            .wholeWarp = true;
    // From the lowest member, whoever else takes part.
    add(c, "brev.b32 %z32, %b; clz.b32 %z32, %z32; shfl.sync.idx.b32 %o0|%o1, %a, %z32, 31, %b;",
        {Width::b32, Width::pred}, {r, kMask}, [](WarpEvaluation& warp) {
            const auto lowest = static_cast<unsigned>(std::countr_zero(warp.members));
            forMembers(warp, [&](unsigned lane) {
                warp.lanes[lane].out[0] = warp.lanes[lowest].in[0];
                warp.lanes[lane].out[1] = 1;
            });
        });
}

}  // namespace

Family warpOperations() {
    Collector c("warp", 8);
    addVotes(c);
    addMatches(c);
    addReductions(c);
    addShuffles(c);
    return c.take();
}

Family specialOperations() {
    Collector c("special", 2);
    const auto special = [&](const std::string& name, std::function<Word(unsigned thread)> value) {
        c.add("mov.u32 %o0, %" + name + ";", {Width::b32}, {},
              [value = std::move(value)](Evaluation& e) { e.out[0] = value(e.thread); });
    };
    special("tid.x", [](unsigned t) { return t; });
    special("tid.y", [](unsigned) { return 0; });
    special("ntid.x", [](unsigned) { return kThreads; });
    special("ctaid.x", [](unsigned) { return 0; });
    special("nctaid.x", [](unsigned) { return 1; });
    special("laneid", [](unsigned t) { return t % kLanes; });
    special("lanemask_eq", [](unsigned t) { return Word{1} << t % kLanes; });
    special("lanemask_lt", [](unsigned t) { return (Word{1} << t % kLanes) - 1; });
    special("lanemask_le", [](unsigned t) { return (Word{2} << t % kLanes) - 1; });
    special("lanemask_gt", [](unsigned t) { return ~((Word{2} << t % kLanes) - 1); });
    special("lanemask_ge", [](unsigned t) { return ~((Word{1} << t % kLanes) - 1); });
    return c.take();
}

}  // namespace bulkhead::differential
