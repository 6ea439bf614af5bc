#include "sim/close_look.h"

#include <algorithm>
#include <bit>
#include <cstdio>

namespace bulkhead::sim {
namespace {

constexpr std::size_t kLeastTimes = 4096;

void count(CloseLook::Histogram& histogram, std::uint64_t value) {
    ++histogram[std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(value)), CloseLook::kBuckets - 1)];
}

}  // namespace

// Times are numbered. A tree of sums (Fenwick) over them says how many lines were used last after a given one.

void ReuseDistances::mark(std::size_t time, bool latest) {
    for (; time < marks_.size(); time += time & (~time + 1)) marks_[time] += latest ? 1 : ~std::uint32_t{0};
}

std::uint64_t ReuseDistances::marksUpTo(std::size_t time) const {
    std::uint64_t sum = 0;
    for (; time; time &= time - 1) sum += marks_[time];
    return sum;
}

/// Times that nobody needs any more are left out.
void ReuseDistances::renumber() {
    std::vector<std::pair<std::size_t, std::uint64_t>> order;
    order.reserve(last_.size());
    for (const auto& [line, time] : last_) order.emplace_back(time, line);
    std::sort(order.begin(), order.end());
    marks_.assign(std::max(2 * order.size(), kLeastTimes), 0);
    now_ = 0;
    for (const auto& [time, line] : order) {
        last_[line] = ++now_;
        mark(now_, true);
    }
}

std::uint64_t ReuseDistances::use(std::uint64_t line) {
    if (now_ + 1 >= marks_.size()) renumber();
    const auto [at, first] = last_.try_emplace(line, 0);
    std::uint64_t distance = kFirst;
    if (!first) {
        distance = last_.size() - marksUpTo(at->second);
        mark(at->second, false);
    }
    at->second = ++now_;
    mark(now_, true);
    return distance;
}

void CloseLook::accessed(std::uint64_t line) {
    const std::uint64_t distance = reuse_.use(line);
    if (distance == ReuseDistances::kFirst)
        ++firstUses_;
    else
        count(distances_, distance);
}

void CloseLook::loaded(Cycles after) {
    count(latencies_, after);
}

void CloseLook::issued(const Program& program, const Code& code, const Instr& instr, unsigned lanes, Cycles waited) {
    Cost*& known = places_[&instr];
    if (!known) known = &costOf(program, code, instr);
    ++known->issues;
    known->lanes += lanes;
    known->waited += waited;
}

CloseLook::Cost& CloseLook::costOf(const Program& program, const Code& code, const Instr& instr) {
    Cost& cost = costs_[{code.name, instr.line}];
    const auto index = static_cast<std::size_t>(&instr - code.instrs.data());
    if (!cost.text.empty() || index >= code.texts.size()) return cost;
    const std::string_view text = code.texts[index];
    cost.text = text.substr(0, text.find(';'));
    if (program.source && text.data() >= program.source->data() &&
        text.data() < program.source->data() + program.source->size())
        cost.source = sourceLine(*program.source, static_cast<std::size_t>(text.data() - program.source->data()));
    return cost;
}

void CloseLook::forgetPlaces() {
    places_.clear();
}

std::string sourceLine(std::string_view ptx, std::size_t at) {
    const std::size_t function = std::max<std::size_t>(ptx.rfind(".entry", at) + 1, ptx.rfind(".func", at) + 1);
    const std::string_view before = ptx.substr(function, at - function);
    const std::size_t loc = before.rfind(".loc");
    if (loc == std::string_view::npos) return {};
    unsigned file = 0, line = 0;
    if (std::sscanf(std::string(before.substr(loc, 80)).c_str(), ".loc %u %u", &file, &line) != 2) return {};
    // The name stands anywhere at module scope, at the end as compilers leave it.
    for (std::size_t next = ptx.find(".file"); next != std::string_view::npos; next = ptx.find(".file", next + 1)) {
        unsigned number = 0;
        int length = 0;
        const std::string rest(ptx.substr(next, 4096));
        if (std::sscanf(rest.c_str(), ".file %u \"%n", &number, &length) != 1 || number != file || !length) continue;
        std::string name = rest.substr(static_cast<std::size_t>(length));
        name.resize(std::min(name.find('"'), name.size()));
        return name.substr(name.rfind('/') + 1) + ":" + std::to_string(line);
    }
    return {};
}

}  // namespace bulkhead::sim
