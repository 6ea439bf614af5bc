#include "generator.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/random.h"

namespace bulkhead::differential {
namespace {

const Operation& operationNamed(const std::string& familyName, const std::string& body) {
    for (const Operation& operation : family(familyName).operations)
        if (operation.body == body) return operation;
    throw std::logic_error("no operation " + body);
}

/// Words that find faults: edges of every format, runs of ones, floats near one, anything.
std::uint64_t drawWord(Random& random, unsigned bits) {
    const std::uint64_t top = std::uint64_t{1} << (bits - 1), mask = maskOf(bits);
    const std::uint64_t any = random.next();
    switch (random.below(10)) {
        case 0: {
            const std::uint64_t edges[] = {0,        1,    2,    3,    top,  top + 1, top - 1,
                                           mask - 1, mask, 0x7f, 0x80, 0xff, 0x7fff,  0x8000};
            return edges[any % std::size(edges)] & mask;
        }
        case 1: {
            // One, infinity, the largest, the smallest normal, a NaN; of every format.
            const std::uint64_t f64[] = {0x3ff0000000000000, 0x7ff0000000000000, 0x7fefffffffffffff, 0x0010000000000000,
                                         0x7ff8000000000001, 0x000fffffffffffff, 0x7ff0000000000001};
            const std::uint64_t f32[] = {0x3f800000, 0x7f800000, 0x7f7fffff, 0x00800000,
                                         0x7fc00001, 0x007fffff, 0x7f800001};
            const std::uint64_t f16[] = {0x3c00, 0x7c00, 0x7bff, 0x0400, 0x7e01, 0x03ff, 0x3f80};
            const std::uint64_t edge = bits == 64 ? f64[any % 7] : bits == 32 ? f32[any % 7] : f16[any % 7];
            return edge | (random.below(2) ? top : 0);
        }
        case 2:
            return any >> (64 - bits) >> random.below(bits);
        case 3:
            return ~std::uint64_t{0} << random.below(bits) & mask;
        case 4:
        case 5: {
            // A float near one, with few bits of its fraction set: ties and cancellation.
            const std::uint64_t one = bits == 64 ? 0x3ff0000000000000 : bits == 32 ? 0x3f800000 : 0x3c00;
            const unsigned fraction = bits == 64 ? 52 : bits == 32 ? 23 : 10;
            const std::uint64_t sparse = any & random.next() & random.next() & maskOf(fraction);
            return (one - (std::uint64_t{8} << fraction) + (random.below(16) << fraction)) | sparse |
                   (random.below(2) ? top : 0);
        }
        case 6:
            return random.below(40);
        default:
            return any & mask;
    }
}

/// What may stand at a place of a program.
struct Place {
    unsigned level = 0;       ///< of nesting
    unsigned loops = 0;       ///< around it
    unsigned mask = 0;        ///< the level whose register says which threads are here
    bool warp = true;         ///< operations of a warp: that register is right
    bool wholeBlock = true;   ///< every thread comes here: barriers
    bool inFunction = false;  ///< no memory, no calls
    bool structured = true;   ///< ifs and loops may begin here
};

class Generator {
  public:
    explicit Generator(std::uint64_t seed) : random_(seed) {}

    Program program() {
        Program program;
        functions_ = chance(4) ? 1 + static_cast<unsigned>(random_.below(2)) : 0;
        for (unsigned i = 0; i < functions_; ++i) program.functions.push_back(function());
        Place place;
        // A third of the programs are straight lines.
        place.structured = !chance(3);
        program.body = block(place, 6 + static_cast<unsigned>(random_.below(30)));
        program.input.resize(kDataBytes);
        fillInput(program.input);
        return program;
    }

  private:
    bool chance(unsigned oneIn) { return random_.below(oneIn) == 0; }
    unsigned below(std::size_t bound) { return static_cast<unsigned>(random_.below(bound)); }

    void fillInput(Data& input) {
        const auto fill = [&](unsigned at, unsigned bytes) {
            const std::uint64_t word = drawWord(random_, 8 * bytes);
            std::memcpy(&input[at], &word, bytes);
        };
        for (unsigned t = 0; t < kThreads; ++t) {
            const unsigned record = t * Record::kBytes;
            for (unsigned i = 0; i < kDoubles; ++i) fill(record + Record::kDoublesAt + 8 * i, 8);
            for (unsigned i = 0; i < kWords; ++i) fill(record + Record::kWordsAt + 4 * i, 4);
            for (unsigned i = 0; i < kHalves; ++i) fill(record + Record::kHalvesAt + 2 * i, 2);
            input[record + Record::kPredicatesAt] = static_cast<std::uint8_t>(random_.below(1 << kPredicates));
            for (unsigned at = 0; at < kSlotBytes; at += 8) {
                fill(record + Record::kSharedAt + at, 8);
                fill(record + Record::kLocalAt + at, 8);
                fill(kGlobalAt + t * kSlotBytes + at, 8);
            }
        }
    }

    Body function() {
        Place place;
        place.warp = place.wholeBlock = false;
        place.inFunction = true;
        place.structured = chance(2);
        Body body = block(place, 4 + below(8));
        // What the words hold is part of the result.
        body.push_back(operation(operationNamed("bits", "mov.b64 %o0, {%a, %b};"), {{Width::b64, 1}},
                                 {use({Width::b32, 0}), use({Width::b32, 1})}));
        body.push_back(operation(operationNamed("bits", "xor.b64 %o0, %a, %b;"), {{Width::b64, 0}},
                                 {use({Width::b64, 0}), use({Width::b64, 1})}));
        return body;
    }

    static Operand use(Register reg) { return {false, reg, 0}; }
    static Instruction operation(const Operation& what, std::vector<Register> results, std::vector<Operand> sources) {
        Instruction instruction;
        instruction.operation = &what;
        instruction.results = std::move(results);
        instruction.sources = std::move(sources);
        return instruction;
    }
    static Instruction label(unsigned name) {
        Instruction instruction;
        instruction.kind = Instruction::Kind::label;
        instruction.labels = {name};
        return instruction;
    }
    static Instruction branch(unsigned to, int guard = -1, bool negated = false) {
        Instruction instruction;
        instruction.kind = Instruction::Kind::branch;
        instruction.labels = {to};
        instruction.guard = guard;
        instruction.guardNegated = negated;
        return instruction;
    }
    static Instruction barrier() {
        Instruction instruction;
        instruction.kind = Instruction::Kind::barrier;
        return instruction;
    }

    Register anyRegister(Width width) {
        constexpr unsigned kCounts[] = {kPredicates, kHalves, kWords, kDoubles};
        return {width, below(kCounts[static_cast<int>(width)])};
    }
    int anyPredicate() { return static_cast<int>(below(kPredicates)); }

    std::uint64_t drawLiteral(const Source& source) {
        const unsigned bits = bitsOf(source.width);
        const std::uint64_t word = drawWord(random_, bits);
        // The least integer has no literal: its magnitude is not one.
        return source.literal == Literal::integer && word == std::uint64_t{1} << (bits - 1) ? word - 1 : word;
    }

    /// An operation with registers, literals and perhaps a guard.
    Instruction filled(const Operation& what, unsigned mask) {
        Instruction instruction;
        instruction.operation = &what;
        const std::size_t masked = what.evaluateWarp ? 1 : 0;
        for (std::size_t i = 0; i + masked < what.sources.size(); ++i) {
            const Source& source = what.sources[i];
            const bool literal = source.literal != Literal::none && (i > 0 || what.sources.size() == 1) && chance(5);
            Operand operand{literal, anyRegister(source.width), literal ? drawLiteral(source) : 0};
            if (literal && what.divides && operand.literal == 0) operand.literal = 7;
            while (what.twoSources && i == 1 && !literal && operand.reg == instruction.sources[0].reg)
                operand.reg = anyRegister(source.width);
            instruction.sources.push_back(operand);
        }
        if (masked) instruction.sources.push_back(use(maskRegister(mask)));
        for (const Width width : what.results) instruction.results.push_back(freshResult(instruction, width, what));
        if (what.constantCount) instruction.constant = what.constantStep * random_.below(what.constantCount);
        if (!masked && chance(6) && !what.noGuard) {
            instruction.guard = anyPredicate();
            instruction.guardNegated = chance(2);
            // A line of several instructions must not change its own guard half-way.
            for (const Register& result : instruction.results)
                if (result == Register{Width::pred, static_cast<unsigned>(instruction.guard)}) instruction.guard = -1;
        }
        return instruction;
    }

    Register freshResult(const Instruction& instruction, Width width, const Operation& what) {
        for (;;) {
            const Register candidate = anyRegister(width);
            const auto& taken = instruction.results;
            if (std::find(taken.begin(), taken.end(), candidate) != taken.end()) continue;
            const bool isSource =
                what.ownResults && std::any_of(instruction.sources.begin(), instruction.sources.end(),
                                               [&](const Operand& o) { return !o.isLiteral && o.reg == candidate; });
            if (!isSource) return candidate;
        }
    }

    Instruction anyOperation(const Place& place) {
        for (;;) {
            unsigned total = 0;
            for (const Family& f : families()) total += f.weight;
            unsigned pick = below(total);
            for (const Family& f : families()) {
                if (pick >= f.weight) {
                    pick -= f.weight;
                    continue;
                }
                const Operation& what = f.operations[below(f.operations.size())];
                const bool allowed = what.evaluateWarp ? place.warp && (!what.wholeWarp || place.mask == 0)
                                                       : !(what.usesMemory && place.inFunction);
                if (allowed) return filled(what, place.mask);
                break;
            }
        }
    }

    /// A number of things one after the other.
    Body block(const Place& place, unsigned count) {
        Body body;
        const auto append = [&](Body more) {
            body.insert(body.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
        };
        for (unsigned i = 0; i < count; ++i) {
            const bool nests = place.structured && place.level < kNesting;
            switch (random_.below(24)) {
                case 0:
                    if (nests) append(choice(place, 1 + below(5)));
                    break;
                case 1:
                    if (nests) append(loop(place, 1 + below(5)));
                    break;
                case 2:
                    if (nests) append(jumps(place));
                    break;
                case 3:
                    if (place.wholeBlock && chance(2)) append(exchange());
                    break;
                case 4:
                    if (functions_ && !place.inFunction) body.push_back(call());
                    break;
                default:
                    body.push_back(anyOperation(place));
            }
        }
        return body;
    }

    /// A place one level further in, where not every thread of the block comes.
    Place inner(const Place& place, bool warp) {
        Place inside = place;
        ++inside.level;
        inside.wholeBlock = false;
        inside.warp = warp;
        if (warp) inside.mask = place.mask + 1;
        return inside;
    }

    Instruction ballot(int predicate, unsigned from, unsigned to) {
        static const Operation& what = operationNamed("warp", "vote.sync.ballot.b32 %o0, %a, %b;");
        return operation(what, {maskRegister(to)},
                         {use({Width::pred, static_cast<unsigned>(predicate)}), use(maskRegister(from))});
    }

    /// if, perhaps with an else.
    Body choice(const Place& place, unsigned count) {
        const int predicate = anyPredicate();
        const bool warp = place.warp && place.mask < kNesting && chance(2), hasElse = chance(2);
        const Place inside = inner(place, warp);
        const unsigned other = newLabel(), end = newLabel();
        Body body;
        if (warp) body.push_back(ballot(predicate, place.mask, inside.mask));
        body.push_back(branch(hasElse ? other : end, predicate, true));
        move(block(inside, count), body);
        if (hasElse) {
            body.push_back(branch(end));
            body.push_back(label(other));
            static const Operation& exclusive = operationNamed("bits", "xor.b32 %o0, %a, %b;");
            if (warp)
                body.push_back(operation(exclusive, {maskRegister(inside.mask)},
                                         {use(maskRegister(place.mask)), use(maskRegister(inside.mask))}));
            move(block(inside, count), body);
        }
        body.push_back(label(end));
        return body;
    }

    /// One to four times, the same for all threads or by a register of each; perhaps left in the middle.
    Body loop(const Place& place, unsigned count) {
        static const Operation& move32 = operationNamed("bits", "mov.b32 %o0, %a;");
        static const Operation& and32 = operationNamed("bits", "and.b32 %o0, %a, %b;");
        static const Operation& subtract = operationNamed("integer", "sub.u32 %o0, %a, %b;");
        static const Operation& differs = operationNamed("compare", "setp.ne.u32 %o0, %a, %b;");
        const bool warp = place.warp && place.mask < kNesting && chance(2);
        Place inside = inner(place, warp);
        const unsigned level = place.loops;
        inside.loops = level + 1;
        const Register counter = counterRegister(level), again = loopPredicate(level);
        const unsigned head = newLabel(), end = newLabel();
        Body body;
        const auto literal = [](std::uint64_t value) { return Operand{true, {}, value}; };
        if (chance(2))
            body.push_back(operation(move32, {counter}, {literal(random_.below(4))}));
        else
            body.push_back(operation(and32, {counter}, {use(anyRegister(Width::b32)), literal(3)}));
        if (warp) body.push_back(operation(move32, {maskRegister(inside.mask)}, {use(maskRegister(place.mask))}));
        body.push_back(label(head));
        move(block(inside, count), body);
        if (chance(3)) {
            const int out = anyPredicate();
            if (warp) {
                static const Operation& exclusive = operationNamed("bits", "xor.b32 %o0, %a, %b;");
                // Those who leave, then those who stay; the former do not look at the mask again.
                const Register spare = maskRegister(inside.mask);
                body.push_back(operation(move32, {kSpare}, {use(spare)}));
                body.push_back(ballot(out, inside.mask, inside.mask));
                body.push_back(operation(exclusive, {spare}, {use(spare), use(kSpare)}));
            }
            body.push_back(branch(end, out));
            move(block(inside, 1 + below(2)), body);
        }
        body.push_back(operation(differs, {again}, {use(counter), literal(0)}));
        body.push_back(operation(subtract, {counter}, {use(counter), literal(1)}));
        if (warp) body.push_back(ballot(static_cast<int>(again.index), inside.mask, inside.mask));
        body.push_back(branch(head, static_cast<int>(again.index)));
        body.push_back(label(end));
        return body;
    }

    /// Branches forward from anywhere to anywhere later, which no if makes.
    Body jumps(const Place& place) {
        Place inside = inner(place, false);
        inside.structured = false;
        const unsigned stops = 4 + below(3);
        std::vector<unsigned> labels(stops);
        for (unsigned& name : labels) name = newLabel();
        Body body;
        for (unsigned i = 0; i + 1 < stops; ++i) {
            if (i > 0) body.push_back(label(labels[i]));
            move(block(inside, 1 + below(2)), body);
            const auto later = [&] { return labels[i + 1 + below(stops - i - 1)]; };
            if (chance(4)) {
                Instruction indexed;
                indexed.kind = Instruction::Kind::branchIndexed;
                indexed.sources = {use(anyRegister(Width::b32))};
                indexed.labels = {later(), later(), later(), later(), newLabel()};
                body.push_back(std::move(indexed));
            } else if (chance(2)) {
                body.push_back(branch(later(), anyPredicate(), chance(2)));
            }
        }
        body.push_back(label(labels.back()));
        return body;
    }

    /// Something among threads, with barriers around it: nobody touches a slot that is another's at the same time.
    Body exchange() {
        const Family& f = family("crossThread");
        const Operation& what = f.operations[below(f.operations.size())];
        Body body;
        body.push_back(barrier());
        body.push_back(filled(what, 0));
        body.push_back(barrier());
        return body;
    }

    Instruction call() {
        Instruction instruction;
        instruction.kind = Instruction::Kind::call;
        instruction.results = {anyRegister(Width::b64)};
        instruction.sources = {use(anyRegister(Width::b32)), use(anyRegister(Width::b32)),
                               use(anyRegister(Width::b64))};
        instruction.function = below(functions_);
        return instruction;
    }

    static void move(Body from, Body& to) {
        to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
    }
    unsigned newLabel() { return labels_++; }

    static constexpr Register kSpare{Width::b32, kAllWords - 1};

    Random random_;
    unsigned labels_ = 0, functions_ = 0;
};

}  // namespace

Program generate(std::uint64_t seed, std::uint64_t index) {
    return Generator(Random(seed).next() ^ Random(index * 0x9e3779b97f4a7c15u + 1).next()).program();
}

}  // namespace bulkhead::differential
