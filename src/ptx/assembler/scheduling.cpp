#include "ptx/assembler/scheduling.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "ptx/assembler/dataflow.h"
#include "ptx/assembler/high_halves.h"

namespace bulkhead::ptx {
namespace {

/// How many instructions are looked at for one whose operands are there: the first of these with which registers
/// suffice.
constexpr std::size_t kWindows[] = {64, 40, 24, 16, 10, 6, 3, 1};
/// Registers of 32 bits that a thread may have on GPUs since Volta while an SM is full of threads. NVIDIA's assembler
/// uses so many before it keeps loads back.
constexpr int kFreeRegisters = 32 - 4;
/// Where code needs more as it is written, the assembler adds this share for loads that are under way together:
/// ptxas of CUDA 13.0 does in the kernels of this project that need more than 32.
constexpr int kAddedShare = 4;
/// Longer blocks are ordered piece by piece: dependences between accesses are found pair by pair.
constexpr std::size_t kLongestPiece = 1024;

// What the order is chosen by. Only proportions matter: an access to global memory outlasts all that a window computes.
constexpr int kComputeLatency = 5, kSpecialLatency = 20, kSharedLatency = 30, kGlobalLatency = 400;

int latencyOf(const Instruction& i, Motion motion) {
    switch (motion) {
        case Motion::constantLoad:
            return i.has("global") ? kGlobalLatency : kSharedLatency;
        case Motion::load:
            return i.has("shared") || i.has("shared::cta") ? kSharedLatency : kGlobalLatency;
        case Motion::ordered:
            return i.opcode == "atom" ? kGlobalLatency : kComputeLatency;
        default:
            break;
    }
    for (const std::string_view slow : {"div", "rem", "sqrt", "rsqrt", "rcp", "sin", "cos", "lg2", "ex2", "shfl"})
        if (i.opcode == slow) return kSpecialLatency;
    return i.slots == 0 ? 0 : kComputeLatency;
}

/// The memory that an access may touch.
struct Place {
    Space space = Space::none;  ///< none: any
    int base = -1;              ///< a register, with the number of its writes before
    unsigned version = 0;
    std::string symbol;
    std::int64_t first = 0, last = 0;  ///< bytes from the base
};

Space spaceOf(const Instruction& i) {
    if (i.has("global")) return Space::global;
    if (i.has("shared") || i.has("shared::cta") || i.has("shared::cluster")) return Space::shared;
    if (i.has("local")) return Space::local;
    return Space::none;
}

bool mayMeet(const Place& a, const Place& b) {
    if (a.space != b.space && a.space != Space::none && b.space != Space::none) return false;
    const bool sameBase = a.space == b.space && a.base == b.base && a.version == b.version && a.symbol == b.symbol;
    return !sameBase || (a.first < b.last && b.first < a.last);
}

/// How many registers code needs.
class Pressure {
  public:
    Pressure(const Function& function, const BlockGraph& graph) : function_(function), counts_(function, graph) {
        const UniformRegisters uniform(function, graph);
        const HighHalves high(function, graph);
        for (std::size_t r = 0; r < function.registers.size(); ++r) {
            const Register& reg = function.registers[r];
            const bool isOwn = reg.type != Type::pred && uniform.varies(static_cast<int>(r));
            const bool isHalf = bitsOf(reg.type) == 64 && !isFloat(reg.type) && !high.needed(static_cast<int>(r));
            const unsigned size = isHalf ? 1 : std::max(1U, bitsOf(reg.type) / 32);
            sizes_.push_back(isOwn ? static_cast<int>(size * reg.vector) : 0);
        }
    }

    /// The most 32-bit registers of a thread's own that are live at once in a piece of code, given what is live behind
    /// it. Then `live` is what is live before it.
    int mostLive(const std::vector<Instruction>& code, RegisterSet& live) const {
        int now = 0;
        live.each([&](int reg) { now += sizeOf(reg); });
        int most = now;
        const auto begin = [&](int reg) {
            if (live.has(reg)) return;
            live.add(reg);
            now += sizeOf(reg);
        };
        for (std::size_t k = code.size(); k-- > 0;) {
            const Effects effects = effectsOf(code[k]);
            for (const int reg : effects.writes) begin(reg);
            most = std::max(most, now);
            for (const int reg : effects.writes) {
                live.remove(reg);
                now -= sizeOf(reg);
            }
            for (const int reg : effects.reads) begin(reg);
            most = std::max(most, now);
        }
        return most;
    }

    int sizeOf(int reg) const { return sizes_[static_cast<std::size_t>(reg)]; }
    /// Without reads of registers that nobody else writes.
    Effects effectsOf(const Instruction& i) const { return withoutOwn(ptx::effectsOf(function_, i), counts_); }

  private:
    const Function& function_;
    RegisterCounts counts_;
    std::vector<int> sizes_;  ///< by register, in 32 bits
};

class BlockSchedule {
  public:
    /// `live`: what is live behind the code.
    BlockSchedule(const Function& function, const Pressure& pressure, const std::vector<Instruction>& code,
                  const RegisterSet& live)
        : function_(function), pressure_(pressure), code_(code) {
        findUnits();
        findDependences();
        findValues(live);
    }

    /// The order with a window of so many instructions, which keeps to so many registers where it can.
    std::vector<Instruction> orderWithin(std::size_t window, int allowed) const;

  private:
    class Ordering;

    /// Instructions that are issued together: the last one has slots of its own.
    struct Unit {
        std::size_t first, last;
        std::vector<std::pair<std::size_t, int>> followers;  ///< units that depend on it, and how long after it
        std::size_t waitsFor = 0;
        int latency = 0;
        Motion motion = Motion::free;
        Place place;
        std::vector<std::size_t> uses, makes;  ///< values
    };

    /// What one write leaves in a register, or what was in it before.
    struct Value {
        int size = 0;         ///< in 32 bits
        int readers = 0;      ///< units that read it
        bool isMade = false;  ///< by a unit of this code
        bool isKept = false;  ///< read behind the code
    };

    void findUnits() {
        std::size_t first = 0;
        for (std::size_t k = 0; k < code_.size(); ++k) {
            if (code_[k].slots == 0 && k + 1 < code_.size()) continue;
            Unit unit;
            unit.first = first;
            unit.last = k;
            for (std::size_t i = first; i <= k; ++i) {
                const Motion motion = motionOf(function_, code_[i]);
                if (motion > unit.motion) unit.motion = motion;
                unit.latency = std::max(unit.latency, latencyOf(code_[i], motion));
            }
            units_.push_back(std::move(unit));
            first = k + 1;
        }
    }

    void depend(std::size_t on, std::size_t unit, int latency) {
        units_[on].followers.emplace_back(unit, latency);
        ++units_[unit].waitsFor;
    }

    Effects effectsOfUnit(const Unit& unit) {
        Effects all;
        const int carry = static_cast<int>(function_.registers.size());
        for (std::size_t k = unit.first; k <= unit.last; ++k) {
            const Effects effects = effectsOf(function_, code_[k]);
            all.reads.insert(all.reads.end(), effects.reads.begin(), effects.reads.end());
            all.writes.insert(all.writes.end(), effects.writes.begin(), effects.writes.end());
            if (usesCarry(code_[k])) {
                all.reads.push_back(carry);
                all.writes.push_back(carry);
            }
        }
        return all;
    }

    void findDependences() {
        std::unordered_map<int, std::size_t> writer;
        std::unordered_map<int, std::vector<std::size_t>> readers;
        std::unordered_map<int, unsigned> versions;
        std::vector<std::size_t> accesses;
        std::size_t fixed = units_.size();
        for (std::size_t u = 0; u < units_.size(); ++u) {
            Unit& unit = units_[u];
            const Effects effects = effectsOfUnit(unit);
            for (const int reg : effects.reads)
                if (const auto known = writer.find(reg); known != writer.end())
                    depend(known->second, u, units_[known->second].latency);
            for (const int reg : effects.writes) {
                if (const auto known = writer.find(reg); known != writer.end()) depend(known->second, u, 1);
                for (const std::size_t reader : readers[reg])
                    if (reader != u) depend(reader, u, 0);
            }
            unit.place = placeOf(unit, versions);
            if (fixed < units_.size()) depend(fixed, u, 0);
            if (unit.motion == Motion::fixed) {
                for (std::size_t before = fixed < units_.size() ? fixed + 1 : 0; before < u; ++before)
                    depend(before, u, 0);
                fixed = u;
                accesses.clear();
            } else if (unit.motion >= Motion::load) {
                for (const std::size_t before : accesses)
                    if (mustFollow(units_[before], unit)) depend(before, u, 0);
                accesses.push_back(u);
            }
            for (const int reg : effects.reads) readers[reg].push_back(u);
            for (const int reg : effects.writes) {
                writer[reg] = u;
                readers[reg].clear();
                ++versions[reg];
            }
        }
    }

    static bool mustFollow(const Unit& before, const Unit& after) {
        if (before.motion == Motion::ordered || after.motion == Motion::ordered) return true;
        if (before.motion == Motion::load && after.motion == Motion::load) return false;
        return mayMeet(before.place, after.place);
    }

    Place placeOf(const Unit& unit, const std::unordered_map<int, unsigned>& versions) const {
        const Instruction& i = code_[unit.last];
        Place place;
        if (i.opcode != "ld" && i.opcode != "st") return place;
        place.space = spaceOf(i);
        for (const Operand& operand : i.operands) {
            if (operand.kind != Operand::Kind::address) continue;
            if (operand.baseIsReg) {
                place.base = operand.reg;
                const auto known = versions.find(operand.reg);
                place.version = known == versions.end() ? 0 : known->second;
                for (std::size_t k = unit.first; k < unit.last; ++k) {
                    const Effects before = effectsOf(function_, code_[k]);
                    place.version +=
                        static_cast<unsigned>(std::count(before.writes.begin(), before.writes.end(), operand.reg));
                }
            } else {
                place.symbol = operand.name;
            }
            place.first = operand.integer;
            const unsigned elements = i.has("v4") ? 4 : i.has("v2") ? 2 : 1;
            place.last = place.first + bitsOf(typeOf(i)) / 8 * elements;
        }
        return place;
    }

    void findValues(const RegisterSet& live) {
        std::unordered_map<int, std::size_t> holds;  // by register
        const auto add = [&](int reg, bool isMade) {
            holds[reg] = values_.size();
            values_.push_back({pressure_.sizeOf(reg), 0, isMade, false});
            return holds[reg];
        };
        for (Unit& unit : units_) {
            std::unordered_map<int, std::size_t> made;
            for (std::size_t k = unit.first; k <= unit.last; ++k) {
                const Effects effects = pressure_.effectsOf(code_[k]);
                for (const int reg : effects.reads) {
                    if (pressure_.sizeOf(reg) == 0 || made.contains(reg)) continue;
                    const auto known = holds.find(reg);
                    const std::size_t value = known == holds.end() ? add(reg, false) : known->second;
                    if (std::find(unit.uses.begin(), unit.uses.end(), value) == unit.uses.end())
                        unit.uses.push_back(value);
                }
                for (const int reg : effects.writes)
                    if (pressure_.sizeOf(reg) > 0) made[reg] = add(reg, true);
            }
            for (const auto& [reg, value] : made) unit.makes.push_back(value);
            for (const std::size_t value : unit.uses) ++values_[value].readers;
        }
        live.each([&](int reg) {
            const auto known = holds.find(reg);
            if (known != holds.end()) {
                values_[known->second].isKept = true;
            } else {
                passing_ += pressure_.sizeOf(reg);
            }
        });
    }

    const Function& function_;
    const Pressure& pressure_;
    const std::vector<Instruction>& code_;
    std::vector<Unit> units_;
    std::vector<Value> values_;
    int passing_ = 0;  ///< registers that the code leaves alone, and that are live all the while
};

/// Orders units one after the other.
class BlockSchedule::Ordering {
  public:
    explicit Ordering(const BlockSchedule& schedule)
        : units_(schedule.units_),
          values_(schedule.values_),
          live_(schedule.passing_),
          left_(units_.size()),
          ready_(units_.size(), 0) {
        for (const Value& value : values_) {
            readers_.push_back(value.readers);
            if (!value.isMade) live_ += value.size;
        }
        for (std::size_t u = 0; u < units_.size(); ++u) {
            left_[u] = u;
            waitsFor_.push_back(units_[u].waitsFor);
        }
    }

    bool isDone() const { return left_.empty(); }

    /// The first of the next units whose operands are there and for whose results there are registers; if there is
    /// none, the one whose operands are there soonest; if no registers are left, the first that can be.
    std::size_t takeNext(std::size_t window, int allowed) {
        window = std::min(left_.size(), window);
        std::size_t best = window, first = window;
        for (std::size_t k = 0; k < window; ++k) {
            const std::size_t u = left_[k];
            if (waitsFor_[u]) continue;
            if (first == window) first = k;
            const int change = changeBy(units_[u]);
            if (change > 0 && live_ + change > allowed) continue;
            if (best == window || ready_[u] < ready_[left_[best]]) best = k;
            if (ready_[u] <= now_) break;
        }
        if (best == window) best = first;
        const std::size_t u = left_[best];
        left_.erase(left_.begin() + static_cast<std::ptrdiff_t>(best));
        issue(u);
        return u;
    }

  private:
    /// Of the registers that are live.
    int changeBy(const Unit& unit) const {
        int change = 0;
        for (const std::size_t value : unit.makes)
            if (values_[value].isKept || values_[value].readers > 0) change += values_[value].size;
        for (const std::size_t value : unit.uses)
            if (!values_[value].isKept && readers_[value] == 1) change -= values_[value].size;
        return change;
    }

    void issue(std::size_t u) {
        live_ += changeBy(units_[u]);
        for (const std::size_t value : units_[u].uses) --readers_[value];
        now_ = std::max(now_, ready_[u]) + 1;
        for (const auto& [follower, latency] : units_[u].followers) {
            --waitsFor_[follower];
            ready_[follower] = std::max(ready_[follower], now_ - 1 + latency);
        }
    }

    const std::vector<Unit>& units_;
    const std::vector<Value>& values_;
    int live_, now_ = 0;
    std::vector<std::size_t> left_, waitsFor_;
    std::vector<int> ready_, readers_;
};

std::vector<Instruction> BlockSchedule::orderWithin(std::size_t window, int allowed) const {
    std::vector<Instruction> code;
    for (Ordering ordering(*this); !ordering.isDone();) {
        const Unit& unit = units_[ordering.takeNext(window, allowed)];
        code.insert(code.end(), code_.begin() + static_cast<std::ptrdiff_t>(unit.first),
                    code_.begin() + static_cast<std::ptrdiff_t>(unit.last) + 1);
    }
    return code;
}

std::vector<std::vector<Instruction>> piecesOf(std::vector<Instruction> code) {
    std::vector<std::vector<Instruction>> pieces;
    for (std::size_t begin = 0; begin < code.size();) {
        std::size_t end = std::min(begin + kLongestPiece, code.size());
        while (end < code.size() && code[end - 1].slots == 0) ++end;
        pieces.emplace_back(std::make_move_iterator(code.begin() + static_cast<std::ptrdiff_t>(begin)),
                            std::make_move_iterator(code.begin() + static_cast<std::ptrdiff_t>(end)));
        begin = end;
    }
    return pieces;
}

}  // namespace

void scheduleBlocks(Function& function, BlockGraph& graph) {
    const BlockLiveness liveness(function, graph, BlockLiveness::Guarded::begins);
    const Pressure pressure(function, graph);
    const auto liveBehind = [&](std::size_t b) {
        RegisterSet live = liveness.out[b];
        if (graph.blocks[b].branch)
            for (const int reg : effectsOf(function, *graph.blocks[b].branch).reads) live.add(reg);
        return live;
    };
    int allowed = kFreeRegisters, needed = 1;
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
        RegisterSet live = liveBehind(b);
        const int written = pressure.mostLive(graph.blocks[b].code, live);
        if (written > kFreeRegisters) allowed = std::max(allowed, written + written / kAddedShare);
    }
    for (std::size_t b = 0; b < graph.blocks.size(); ++b) {
        std::vector<std::vector<Instruction>> pieces = piecesOf(std::move(graph.blocks[b].code));
        RegisterSet live = liveBehind(b);
        for (std::size_t p = pieces.size(); p-- > 0;) {
            const BlockSchedule schedule(function, pressure, pieces[p], live);
            for (const std::size_t window : kWindows) {
                std::vector<Instruction> ordered = schedule.orderWithin(window, allowed);
                RegisterSet before = live;
                const int most = pressure.mostLive(ordered, before);
                if (most > allowed && window > 1) continue;
                needed = std::max(needed, most);
                live = std::move(before);
                pieces[p] = std::move(ordered);
                break;
            }
        }
        graph.blocks[b].code.clear();
        for (std::vector<Instruction>& piece : pieces)
            std::move(piece.begin(), piece.end(), std::back_inserter(graph.blocks[b].code));
    }
    function.liveRegisters = static_cast<unsigned>(needed);
}

}  // namespace bulkhead::ptx
