#include <fmt/format.h>

#include <cctype>

#include "program.h"

namespace bulkhead::differential {
namespace {

std::string literalText(Literal kind, Width width, std::uint64_t value) {
    if (kind == Literal::f32) return fmt::format("0f{:08x}", value);
    if (kind == Literal::f64) return fmt::format("0d{:016x}", value);
    return std::to_string(signExtend(value, bitsOf(width)));
}

/// Puts the operands into the text of an operation, and the guard before each of its instructions.
class Filling {
  public:
    explicit Filling(const Instruction& instruction) : instruction_(instruction) {}

    std::string text() {
        const Operation& operation = *instruction_.operation;
        if (operation.divides) divisor();
        typed_ = floatResult();
        body(operation.body);
        if (!typed_.empty())
            line(fmt::format("mov.b{} {}, {}", bitsOf(operation.results[0]), nameOf(instruction_.results[0]), typed_));
        if (operation.openNan != OpenNan::none) canonical(operation.openNan);
        return std::move(text_);
    }

  private:
    void line(const std::string& instruction) { text_ += "    " + guard() + instruction + ";\n"; }
    std::string guard() const {
        if (instruction_.guard < 0) return {};
        return fmt::format("@{}%p{} ", instruction_.guardNegated ? "!" : "", instruction_.guard);
    }
    std::string source(std::size_t i) const {
        if (i == 1 && !divisor_.empty()) return divisor_;
        const Operand& operand = instruction_.sources[i];
        const Source& kind = instruction_.operation->sources[i];
        return operand.isLiteral ? literalText(kind.literal, kind.width, operand.literal) : nameOf(operand.reg);
    }
    std::string filled(std::string_view word) const {
        if (word.size() == 1 && word[0] >= 'a' && word[0] <= 'd')
            return source(static_cast<std::size_t>(word[0] - 'a'));
        if (word == "o0" && !typed_.empty()) return typed_;
        if (word.size() == 2 && word[0] == 'o')
            return nameOf(instruction_.results[static_cast<std::size_t>(word[1] - '0')]);
        if (word == "k") return std::to_string(instruction_.constant);
        return "%" + std::string(word);
    }
    void body(const std::string& text) {
        std::string current;
        for (std::size_t i = 0; i < text.size();) {
            if (text[i] == ';') {
                line(current);
                current.clear();
                i += i + 1 < text.size() ? 2 : 1;
            } else if (text[i] != '%') {
                current += text[i++];
            } else {
                std::size_t end = i + 1;
                while (end < text.size() &&
                       (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_' || text[end] == '.'))
                    ++end;
                current += filled(std::string_view(text).substr(i + 1, end - i - 1));
                i = end;
            }
        }
    }
    /// Division by zero is nobody's to define: by one instead.
    void divisor() {
        const unsigned bits = bitsOf(instruction_.operation->sources[1].width);
        if (instruction_.sources[1].isLiteral) return;  // which is not zero
        const std::string name = fmt::format("%z{}", bits);
        line(fmt::format("setp.eq.b{} %zp, {}, 0", bits, source(1)));
        line(fmt::format("selp.b{} {}, 1, {}, %zp", bits, name, source(1)));
        divisor_ = name;
    }
    void canonical(OpenNan format) {
        const std::string result = nameOf(instruction_.results[0]);
        const unsigned bits = format == OpenNan::f64 ? 64 : format == OpenNan::f32 ? 32 : 16;
        const char* nan = format == OpenNan::f64   ? "0x7ff8000000000000"
                          : format == OpenNan::f32 ? "0x7fffffff"
                                                   : "0x7fff";
        line(fmt::format("setp.nan.f{} %zp, {}, {}", bits, result, result));
        line(fmt::format("selp.b{} {}, {}, {}, %zp", bits, result, nan, result));
    }

    /// A register of the type of a result that is a float; empty if there is none. NVIDIA's assembler converts the
    /// number where an instruction gives a register of no type a float, and another takes a narrower integer from it.
    std::string floatResult() const {
        const Operation& operation = *instruction_.operation;
        if (operation.results.size() != 1 || operation.results[0] == Width::pred) return {};
        const std::string& text = operation.body;
        const std::size_t result = text.find("%o0");
        const std::size_t before = text.rfind(';', result), first = before == std::string::npos ? 0 : before + 2;
        std::size_t dot = text.find('.', first);
        while (dot < result) {
            const std::size_t end = text.find_first_of(". ", dot + 1);
            const std::string word = text.substr(dot + 1, end - dot - 1);
            if (word == "f16" || word == "f32" || word == "f64") return "%z" + word;
            const bool otherType = word.size() > 1 &&
                                   std::string_view("busf").find(word[0]) != std::string_view::npos &&
                                   (std::isdigit(static_cast<unsigned char>(word[1])) || word.starts_with("bf"));
            if (otherType || text[end] == ' ') return {};
            dot = end;
        }
        return {};
    }

    const Instruction& instruction_;
    std::string text_, divisor_, typed_;
};

std::string functionName(const std::string& kernel, unsigned function) {
    return fmt::format("{}_f{}", kernel, function);
}

std::string bodyText(const Body& body, const std::string& kernel) {
    std::string text;
    for (const Instruction& instruction : body) text += textOf(instruction, kernel);
    return text;
}

const char* const kRegisters =
    "    .reg .pred %p<{}>, %zp;\n    .reg .b16 %h<{}>, %z16;\n    .reg .b32 %r<{}>, %z32, %y<4>;\n"
    "    .reg .b64 %d<{}>, %z64;\n    .reg .f16 %zf16;\n    .reg .f32 %zf32;\n    .reg .f64 %zf64;\n";

std::string registers() {
    return fmt::format(fmt::runtime(kRegisters), kAllPredicates, kHalves, kAllWords, kDoubles);
}

std::string functionText(const Body& body, const std::string& kernel, unsigned index) {
    std::string text = fmt::format(".func (.param .b64 result) {}(.param .b32 a, .param .b32 b, .param .b64 c)\n{{\n",
                                   functionName(kernel, index));
    text += registers();
    text += "    ld.param.b32 %r0, [a];\n    ld.param.b32 %r1, [b];\n    ld.param.b64 %d0, [c];\n";
    for (unsigned i = 2; i < kAllWords; ++i) text += fmt::format("    mov.b32 %r{}, 0;\n", i);
    for (unsigned i = 1; i < kDoubles; ++i) text += fmt::format("    mov.b64 %d{}, 0;\n", i);
    for (unsigned i = 0; i < kHalves; ++i) text += fmt::format("    mov.b16 %h{}, 0;\n", i);
    for (unsigned i = 0; i < kAllPredicates; ++i) text += fmt::format("    setp.ne.b32 %p{}, %r2, 0;\n", i);
    return text + bodyText(body, kernel) + "    st.param.b64 [result], %d0;\n    ret;\n}\n";
}

/// Copies a thread's slot between global memory and a space of its own.
std::string copySlot(const std::string& from, const std::string& to) {
    std::string text;
    for (unsigned at = 0; at < kSlotBytes; at += 16)
        text +=
            fmt::format("    ld{}+{}];\n    st{}+{}], {{%y0, %y1, %y2, %y3}};\n",
                        fmt::format(".{}.v4.b32 {{%y0, %y1, %y2, %y3}}, [{}", from.substr(0, from.find(' ')),
                                    from.substr(from.find(' ') + 1)),
                        at, fmt::format(".{}.v4.b32 [{}", to.substr(0, to.find(' ')), to.substr(to.find(' ') + 1)), at);
    return text;
}

struct Use {
    bool shared, local, global, table;
};

std::string prologue(const Use& use) {
    std::string text = registers();
    text +=
        "    .reg .b32 %shared, %shared0;\n    .reg .b64 %in, %out, %local, %glocal, %global, %global0, %gshared, "
        "%table;\n";
    if (use.shared) text += fmt::format("    .shared .align 16 .b8 slots[{}];\n", kThreads * kSlotBytes);
    if (use.local) text += fmt::format("    .local .align 16 .b8 stack[{}];\n", kSlotBytes);
    text += "    ld.param.u64 %in, [in];\n    ld.param.u64 %out, [out];\n    mov.u32 %z32, %tid.x;\n";
    if (use.global)
        text += fmt::format(
            "    add.u64 %global0, %out, {};\n    mul.wide.u32 %z64, %z32, {};\n    add.u64 %global, %global0, %z64;\n",
            kGlobalAt, kSlotBytes);
    text +=
        fmt::format("    mul.wide.u32 %z64, %z32, {};\n    add.u64 %in, %in, %z64;\n    add.u64 %out, %out, %z64;\n",
                    unsigned{Record::kBytes});
    if (use.shared)
        text += fmt::format(
                    "    mov.u32 %shared0, slots;\n    mad.lo.u32 %shared, %z32, {}, %shared0;\n"
                    "    cvt.u64.u32 %z64, %shared;\n    cvta.shared.u64 %gshared, %z64;\n",
                    kSlotBytes) +
                copySlot(fmt::format("global %in+{}", unsigned{Record::kSharedAt}), "shared %shared");
    if (use.local)
        text += "    mov.u64 %local, stack;\n    cvta.local.u64 %glocal, %local;\n" +
                copySlot(fmt::format("global %in+{}", unsigned{Record::kLocalAt}), "local %local");
    if (use.table) text += "    mov.u64 %table, table;\n";
    for (unsigned i = 0; i < kDoubles; i += 2)
        text += fmt::format("    ld.global.v2.b64 {{%d{}, %d{}}}, [%in+{}];\n", i, i + 1, Record::kDoublesAt + 8 * i);
    for (unsigned i = 0; i < kWords; i += 4)
        text += fmt::format("    ld.global.v4.b32 {{%r{}, %r{}, %r{}, %r{}}}, [%in+{}];\n", i, i + 1, i + 2, i + 3,
                            Record::kWordsAt + 4 * i);
    for (unsigned i = 0; i < kHalves; i += 2)
        text += fmt::format("    ld.global.v2.b16 {{%h{}, %h{}}}, [%in+{}];\n", i, i + 1, Record::kHalvesAt + 2 * i);
    text += fmt::format("    ld.global.b32 %y0, [%in+{}];\n", unsigned{Record::kPredicatesAt});
    for (unsigned i = 0; i < kPredicates; ++i)
        text += fmt::format("    and.b32 %y1, %y0, {};\n    setp.ne.u32 %p{}, %y1, 0;\n", 1u << i, i);
    return text + fmt::format("    mov.b32 {}, -1;\n", nameOf(maskRegister(0)));
}

std::string epilogue(const Use& use) {
    std::string text;
    for (unsigned i = 0; i < kDoubles; i += 2)
        text += fmt::format("    st.global.v2.b64 [%out+{}], {{%d{}, %d{}}};\n", Record::kDoublesAt + 8 * i, i, i + 1);
    for (unsigned i = 0; i < kWords; i += 4)
        text += fmt::format("    st.global.v4.b32 [%out+{}], {{%r{}, %r{}, %r{}, %r{}}};\n", Record::kWordsAt + 4 * i,
                            i, i + 1, i + 2, i + 3);
    for (unsigned i = 0; i < kHalves; i += 2)
        text += fmt::format("    st.global.v2.b16 [%out+{}], {{%h{}, %h{}}};\n", Record::kHalvesAt + 2 * i, i, i + 1);
    text += "    mov.b32 %y0, 0;\n";
    for (unsigned i = 0; i < kPredicates; ++i)
        text += fmt::format("    selp.b32 %y1, {}, 0, %p{};\n    or.b32 %y0, %y0, %y1;\n", 1u << i, i);
    text += fmt::format("    st.global.b32 [%out+{}], %y0;\n", unsigned{Record::kPredicatesAt});
    if (use.shared) text += copySlot("shared %shared", fmt::format("global %out+{}", unsigned{Record::kSharedAt}));
    if (use.local) text += copySlot("local %local", fmt::format("global %out+{}", unsigned{Record::kLocalAt}));
    return text + "    ret;\n";
}

}  // namespace

std::string textOf(const Instruction& instruction, const std::string& kernel) {
    const std::string guard =
        instruction.guard < 0 ? "" : fmt::format("@{}%p{} ", instruction.guardNegated ? "!" : "", instruction.guard);
    const auto source = [&](std::size_t i) { return nameOf(instruction.sources[i].reg); };
    switch (instruction.kind) {
        case Instruction::Kind::operation:
            return Filling(instruction).text();
        case Instruction::Kind::label:
            return fmt::format("L{}:\n", instruction.labels[0]);
        case Instruction::Kind::branch:
            return fmt::format("    {}bra L{};\n", guard, instruction.labels[0]);
        case Instruction::Kind::branchIndexed: {
            const unsigned first = instruction.labels[0];
            // The table's name must be its own: the label that follows the branch is.
            return fmt::format(
                "    T{}: .branchtargets L{}, L{}, L{}, L{};\n    and.b32 %z32, {}, 3;\n    {}brx.idx %z32, "
                "T{};\nL{}:\n",
                instruction.labels[4], first, instruction.labels[1], instruction.labels[2], instruction.labels[3],
                source(0), guard, instruction.labels[4], instruction.labels[4]);
        }
        case Instruction::Kind::barrier:
            return "    bar.sync 0;\n";
        case Instruction::Kind::call:
            return fmt::format(
                "    {{\n    .param .b32 a; .param .b32 b; .param .b64 c; .param .b64 result;\n"
                "    st.param.b32 [a], {};\n    st.param.b32 [b], {};\n    st.param.b64 [c], {};\n"
                "    call (result), {}, (a, b, c);\n    ld.param.b64 {}, [result];\n    }}\n",
                source(0), source(1), source(2), functionName(kernel, instruction.function),
                nameOf(instruction.results[0]));
    }
    return {};
}

std::string modulePrologue() {
    return fmt::format(".version 8.3\n.target sm_90\n.address_size 64\n\n.const .align 16 .b8 table[{}] = {{{}}};\n",
                       kTableBytes, fmt::join(constantTable(), ","));
}

std::string textOf(const Program& program, const std::string& kernel) {
    std::string text;
    for (unsigned i = 0; i < program.functions.size(); ++i) text += functionText(program.functions[i], kernel, i);
    const std::string body = bodyText(program.body, kernel);
    const auto uses = [&](const char* what) { return body.find(what) != std::string::npos; };
    const Use use{uses("shared"), uses("local"), uses("%global"), uses("%table")};
    return text +
           fmt::format(".visible .entry {}(.param .u64 in, .param .u64 out)\n.reqntid {}, 1, 1\n{{\n", kernel,
                       kThreads) +
           prologue(use) + body + epilogue(use) + "}\n";
}

}  // namespace bulkhead::differential
