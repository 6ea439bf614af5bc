#include <cstring>
#include <map>
#include <set>

#include "support.h"

namespace bulkhead::ptx {
namespace {

const std::filesystem::path kFixtures = kTestFolder / "fixtures";

Module parseFixture(const std::string& name) {
    return parse(readFile(kFixtures / name), name);
}

/// Both compilers' output of one source for the same chip.
std::vector<Module> bothOf(const std::string& source) {
    std::vector<Module> modules;
    modules.push_back(parseFixture("clang/" + source + ".sm_75.ptx"));
    modules.push_back(parseFixture("nvcc/" + source + ".sm_75.ptx"));
    return modules;
}

const Variable& variableNamed(const Module& module, const std::string& name) {
    for (const Variable& variable : module.variables) {
        if (variable.name == name) return variable;
    }
    throw Error("no variable {}", name);
}

/// What a count by hand would give: the text without comments and sections, cut at every ';' inside a body; a piece
/// that does not begin with a dot is an instruction. Shares nothing with the parser.
struct Counted {
    std::map<std::string, int> opcodes;
    std::set<std::string> functions;
    int registers = 0, entries = 0, guards = 0;
};

std::string wordAt(const std::string& text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || std::strchr("_$%", text[end])))
        ++end;
    return text.substr(at, end - at);
}

std::size_t skipBlanks(const std::string& text, std::size_t at) {
    at = text.find_first_not_of(" \t\r\n", at);
    return at == std::string::npos ? text.size() : at;
}

std::string withoutDebugData(const std::string& source) {
    std::istringstream lines(source);
    std::string text;
    for (std::string line; std::getline(lines, line);) {
        std::string first = line.substr(skipBlanks(line, 0), 5);
        if (first == ".file" || first.substr(0, 4) == ".loc") continue;
        text += line.substr(0, line.find("//")) + "\n";
    }
    for (std::size_t at; (at = text.find(".section")) != std::string::npos;)
        text.erase(at, text.find('}', at) + 1 - at);
    return text;
}

void countHeaders(const std::string& text, Counted& counted) {
    for (std::string keyword : {".entry", ".func"}) {
        for (std::size_t at = 0; (at = text.find(keyword, at)) != std::string::npos; ++at) {
            std::size_t name = skipBlanks(text, at + keyword.size());
            if (text[name] == '(') name = skipBlanks(text, text.find(')', name) + 1);
            bool isNew = counted.functions.insert(wordAt(text, name)).second;
            counted.entries += isNew && keyword == ".entry";
        }
    }
    for (std::size_t at = 0; (at = text.find(".reg", at)) != std::string::npos; ++at) {
        if (!std::strchr(" \t.", text[at + 4])) continue;
        std::string declaration = text.substr(at, text.find(';', at) - at);
        std::size_t range = declaration.find('<');
        counted.registers += range != std::string::npos
                                 ? std::stoi(declaration.substr(range + 1))
                                 : 1 + static_cast<int>(std::count(declaration.begin(), declaration.end(), ','));
    }
}

void countInstruction(std::string piece, Counted& counted) {
    // Labels may precede it; "::" belongs to modifiers.
    for (std::size_t at; (at = piece.find("::")) != std::string::npos;) piece.replace(at, 2, "__");
    std::size_t at = piece.rfind(':');
    at = skipBlanks(piece, at == std::string::npos ? 0 : at + 1);
    if (at < piece.size() && piece[at] == '@') {
        ++counted.guards;
        at = skipBlanks(piece, piece.find_first_of(" \t\n", at));
    }
    std::string opcode = wordAt(piece, at);
    if (!opcode.empty()) ++counted.opcodes[opcode];
}

Counted countByHand(const std::string& source) {
    Counted counted;
    const std::string text = withoutDebugData(source);
    countHeaders(text, counted);
    std::string piece;
    int depth = 0, vectors = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        // A brace in the middle of an instruction is a vector's.
        const bool isInside = depth > 0 && skipBlanks(piece, 0) < piece.size() && piece.find(':') == std::string::npos;
        if (c == '{' && isInside) {
            ++vectors;
        } else if (c == '}' && vectors > 0) {
            --vectors;
        } else if (c == '{' && depth == 0 && piece.find('=') != std::string::npos) {
            i = text.find('}', i);  // an initialiser
        } else if (c == '{' || c == '}') {
            depth += c == '{' ? 1 : -1;
            piece.clear();
        } else if (c == ';') {
            if (depth > 0) countInstruction(piece, counted);
            piece.clear();
        } else {
            piece += c;
        }
    }
    return counted;
}

class EveryFixture : public testing::TestWithParam<std::filesystem::path> {};

TEST_P(EveryFixture, HoldsWhatACountOfItsTextSays) {
    std::string text = readFile(GetParam());
    Module module = parse(text, GetParam().filename().string());
    Counted counted = countByHand(text);
    std::map<std::string, int> opcodes;
    int registers = 0, entries = 0, guards = 0;
    std::set<std::string> functions;
    for (const Function& function : module.functions) {
        functions.insert(function.name);
        registers += static_cast<int>(function.registers.size());
        entries += function.isKernel;
        for (const Instruction& instruction : function.body) {
            ++opcodes[instruction.opcode];
            guards += instruction.guard >= 0;
        }
    }
    EXPECT_EQ(opcodes, counted.opcodes);
    EXPECT_EQ(functions, counted.functions);
    EXPECT_EQ(registers, counted.registers);
    EXPECT_EQ(entries, counted.entries);
    EXPECT_EQ(guards, counted.guards);
}

TEST_P(EveryFixture, QuotesEachInstructionAtItsPosition) {
    std::string text = readFile(GetParam());
    Module module = parse(text, GetParam().filename().string());
    std::vector<std::size_t> lineStarts{0};
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\n') lineStarts.push_back(i + 1);
    }
    for (const Function& function : module.functions) {
        for (const Instruction& instruction : function.body) {
            std::size_t offset = lineStarts.at(instruction.position.line - 1) + instruction.position.column - 1;
            ASSERT_EQ(text.substr(offset, instruction.text.size()), instruction.text);
            ASSERT_EQ(instruction.text.back(), ';');
            ASSERT_NE(instruction.text.find(instruction.opcode), std::string_view::npos);
        }
    }
}

TEST_P(EveryFixture, HasEveryNameResolved) {
    Module module = parse(readFile(GetParam()), GetParam().filename().string());
    std::set<std::string> names;
    for (const Variable& variable : module.variables) EXPECT_TRUE(names.insert(variable.name).second) << variable.name;
    for (const Function& function : module.functions) EXPECT_TRUE(names.insert(function.name).second) << function.name;
    for (const Variable& variable : module.variables) {
        for (const Relocation& relocation : variable.relocations) EXPECT_TRUE(names.count(relocation.symbol));
        EXPECT_TRUE(variable.initial.empty() || variable.initial.size() == variable.bytes) << variable.name;
    }
    for (const Function& function : module.functions) {
        std::set<std::string> known = names;
        for (auto* list : {&function.params, &function.results, &function.variables}) {
            for (const Variable& variable : *list) EXPECT_TRUE(known.insert(variable.name).second) << variable.name;
        }
        std::set<std::string> tables;
        for (const auto& [label, index] : function.labels) {
            tables.insert(label);
            EXPECT_LE(index, static_cast<int>(function.body.size()));
        }
        for (const auto& table : function.branchTargets) tables.insert(table.name);
        for (const auto& prototype : function.prototypes) tables.insert(prototype.name);
        auto check = [&](auto&& self, const Operand& operand) -> void {
            if (operand.kind == Operand::Kind::reg || (operand.kind == Operand::Kind::address && operand.baseIsReg)) {
                ASSERT_LT(static_cast<std::size_t>(operand.reg), function.registers.size());
                EXPECT_EQ(function.registers[operand.reg].name, operand.name);
            } else if (operand.kind == Operand::Kind::symbol || operand.kind == Operand::Kind::address) {
                EXPECT_TRUE(operand.name.empty() || known.count(operand.name)) << operand.name;
            } else if (operand.kind == Operand::Kind::label) {
                EXPECT_TRUE(tables.count(operand.name)) << operand.name;
                EXPECT_EQ(operand.reg, -1);
            }
            for (const Operand& part : operand.parts) self(self, part);
        };
        for (const Instruction& instruction : function.body) {
            for (const Operand& operand : instruction.operands) check(check, operand);
        }
    }
}

TEST_P(EveryFixture, HasSaneControlFlowAndLiveness) {
    Module module = parse(readFile(GetParam()), GetParam().filename().string());
    for (const Function& function : module.functions) {
        if (function.isExtern) continue;
        SCOPED_TRACE(function.name);
        ControlFlow flow = analyseControlFlow(function);
        Liveness liveness = analyseLiveness(function, flow);
        EXPECT_GT(flow.blocks.size(), 0u);
        // Compilers define every register before they use it: nothing but a guarded first write may be live at entry.
        for (std::size_t i = 0; i < function.body.size(); ++i) {
            Effects effects = effectsOf(function, function.body[i]);
            for (auto* list : {&effects.reads, &effects.writes}) {
                for (int reg : *list) {
                    EXPECT_LE(liveness.intervals[reg].first, static_cast<int>(i));
                    EXPECT_GE(liveness.intervals[reg].last, static_cast<int>(i));
                }
            }
        }
        EXPECT_LT(liveness.maxLive32, 256);
        for (std::size_t r = 0; r < function.registers.size(); ++r) {
            if (liveness.intervals[r].first != 0) continue;
            Effects first = effectsOf(function, function.body[0]);
            bool isWritten =
                std::find(first.writes.begin(), first.writes.end(), static_cast<int>(r)) != first.writes.end();
            EXPECT_TRUE(isWritten) << function.registers[r].name << " is live at entry";
        }
    }
}

std::string fixtureName(const testing::TestParamInfo<std::filesystem::path>& info) {
    std::string name = info.param.parent_path().filename().string() + "_" + info.param.stem().string();
    for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return name;
}
INSTANTIATE_TEST_SUITE_P(Fixtures, EveryFixture, testing::ValuesIn(ptxFilesIn(kFixtures)), fixtureName);

TEST(Fixtures, VersionsAndTargetsAreTheCompilers) {
    struct Expected {
        const char* file;
        int major, minor;
        const char* target;
    };
    for (const Expected& expected : {Expected{"clang/reduce.sm_35.ptx", 3, 2, "sm_35"},
                                     {"clang/reduce.sm_60.ptx", 5, 0, "sm_60"},
                                     {"clang/reduce.sm_75.ptx", 6, 3, "sm_75"},
                                     {"clang/reduce.sm_80.ptx", 7, 0, "sm_80"},
                                     {"clang/reduce.sm_80.ptx75.ptx", 7, 5, "sm_80"},
                                     {"nvcc/reduce.sm_90.debug.ptx", 9, 0, "sm_90"}}) {
        Module module = parseFixture(expected.file);
        EXPECT_EQ(module.versionMajor, expected.major) << expected.file;
        EXPECT_EQ(module.versionMinor, expected.minor) << expected.file;
        EXPECT_EQ(module.target, expected.target) << expected.file;
    }
}

TEST(Fixtures, LaunchBoundsAreRead) {
    for (const Module& module : bothOf("vector_add")) {
        const Function* axpy = module.find("_Z4axpyIfEvT_PKS0_PS0_m");
        ASSERT_NE(axpy, nullptr);
        EXPECT_EQ(axpy->maxThreads[0], 256u);
        EXPECT_EQ(axpy->maxThreads[1], 1u);
        EXPECT_EQ(axpy->minBlocksPerSm, 2u);
        EXPECT_EQ(axpy->params.size(), 4u);
        EXPECT_EQ(module.find("vectorAdd")->maxThreads[0], 0u);
        EXPECT_EQ(module.find("nothing")->params.size(), 0u);
    }
}

TEST(Fixtures, SharedArraysHaveTheSizesOfTheSource) {
    for (const Module& module : bothOf("gemm")) {
        const Function* gemm = module.find("gemmTiled");
        std::map<std::string, std::uint64_t> bytes;
        for (const Variable& variable : gemm->variables) {
            if (variable.space == Space::shared) bytes[variable.name] = variable.bytes;
        }
        EXPECT_EQ(bytes, (std::map<std::string, std::uint64_t>{{"_ZZ9gemmTiledE5tileA", 16 * 16 * 4},
                                                               {"_ZZ9gemmTiledE5tileB", 16 * 17 * 4}}));
        const Variable& dynamic = variableNamed(module, "dynamic");
        EXPECT_TRUE(dynamic.isExtern);
        EXPECT_EQ(dynamic.bytes, 0u);
    }
}

TEST(Fixtures, StructuresByValueHaveTheSizesOfTheSource) {
    for (const Module& module : bothOf("structs")) {
        const Function* kernel = module.find("byValue");
        ASSERT_EQ(kernel->params.size(), 5u);
        EXPECT_EQ(kernel->params[0].bytes, 4u);                  // char, padding, short
        EXPECT_EQ(kernel->params[1].bytes, 36u + 4u + 8u + 8u);  // 3x3 floats, padding, double, pointer
        EXPECT_EQ(kernel->params[1].align, 8u);
        EXPECT_EQ(kernel->params[2].bytes, 1u);
        EXPECT_EQ(kernel->params[3].bytes, 8u);
        EXPECT_EQ(kernel->params[4].bytes, 1u);
    }
}

TEST(Fixtures, ConstantTablesHoldTheSourcesValues) {
    for (const Module& module : bothOf("constants")) {
        const float weights[8] = {1.0f, -2.5f, 3.25f};
        const double table[2][3] = {{1.0, 2.0}, {-4.0, 0.1, 1e300}};
        const short shorts[3] = {-1, 2, -3};
        const long long big = -5;
        const char text[] = "hello, \"device\"\n";
        auto holds = [&](const char* name, const void* data, std::size_t bytes) {
            const Variable& variable = variableNamed(module, name);
            ASSERT_EQ(variable.initial.size(), bytes) << name;
            EXPECT_EQ(std::memcmp(variable.initial.data(), data, bytes), 0) << name;
        };
        holds("weights", weights, sizeof weights);
        holds("table", table, sizeof table);
        holds("shorts", shorts, sizeof shorts);
        holds("big", &big, sizeof big);
        holds("text", text, sizeof text);
        EXPECT_EQ(variableNamed(module, "weights").space, Space::constant);
        const Variable& pointer = variableNamed(module, "pointer");
        ASSERT_EQ(pointer.relocations.size(), 1u);
        EXPECT_EQ(pointer.relocations[0].symbol, "counter");
        EXPECT_TRUE(pointer.relocations[0].generic);
        const Variable& entries = variableNamed(module, "entries");
        EXPECT_EQ(entries.bytes, 64u);
        EXPECT_EQ(entries.relocations.size(), 3u);  // two names and one function; the other function is null
        EXPECT_EQ(entries.initial[0], 'a');
    }
}

TEST(Fixtures, PackedPointersAreWholeRelocations) {
    Module module = parseFixture("nvcc/constants.sm_75.ptx");
    const Variable& packed = variableNamed(module, "packed");
    EXPECT_EQ(packed.bytes, 2 * (1 + 8 + 2 + 8u));
    ASSERT_EQ(packed.relocations.size(), 3u);
    EXPECT_EQ(packed.relocations[0].offset, 1u);
    EXPECT_EQ(packed.relocations[0].symbol, "text");
    EXPECT_EQ(packed.relocations[0].addend, 2);
    EXPECT_EQ(packed.relocations[1].offset, 11u);
    EXPECT_EQ(packed.relocations[2].offset, 30u);
    for (const Relocation& relocation : packed.relocations) EXPECT_EQ(relocation.bytes, 8u);
    EXPECT_EQ(variableNamed(module, "row").relocations.at(0).addend, 4 * 8);
}

TEST(Fixtures, VirtualTablesNameTheirFunctions) {
    for (const Module& module : bothOf("calls")) {
        const Variable& table = variableNamed(module, "_ZTV6Circle");
        ASSERT_EQ(table.relocations.size(), 2u);
        EXPECT_EQ(table.relocations[0].symbol, "_ZNK6Circle4areaEv");
        EXPECT_EQ(table.relocations[0].offset, 16u);
        EXPECT_EQ(module.find("callAll")->prototypes.size(), 3u);
    }
}

TEST(Fixtures, TheRuntimesFunctionsAreExtern) {
    for (const Module& module : bothOf("output")) {
        ASSERT_NE(module.find("vprintf"), nullptr);
        EXPECT_TRUE(module.find("vprintf")->isExtern);
        EXPECT_EQ(module.find("vprintf")->params.size(), 2u);
        EXPECT_TRUE(module.find("__assertfail")->isExtern);
        EXPECT_EQ(module.find("__assertfail")->params.size(), 5u);
    }
}

}  // namespace
}  // namespace bulkhead::ptx
