#include <bit>
#include <cmath>

#include "support.h"

namespace bulkhead::ptx {
namespace {

using Kind = Operand::Kind;

Operand onlyOperand(const std::string& text) {
    return parseBody("mov.b64 %rd1, " + text + ";").body.at(0).operands.at(1);
}

TEST(Parser, ReadsTheHeader) {
    Module module = parse(".version 7.5\n.target sm_86, debug\n.address_size 32\n", "a.ptx");
    EXPECT_EQ(module.name, "a.ptx");
    EXPECT_EQ(module.versionMajor, 7);
    EXPECT_EQ(module.versionMinor, 5);
    EXPECT_EQ(module.target, "sm_86");
    EXPECT_EQ(module.addressBits, 32u);
}

TEST(Parser, AcceptsCrLfTabsAndNoLastNewline) {
    Module module = parse(".version 7.0\r\n.target\tsm_75\r\n.visible .entry k()\r\n{\r\n\tret;\r\n}", "a.ptx");
    ASSERT_EQ(module.functions.size(), 1u);
    EXPECT_EQ(module.functions[0].body.at(0).position.line, 5);
    EXPECT_EQ(module.functions[0].body.at(0).position.column, 2);
}

TEST(Parser, IgnoresZeroBytesAfterTheEnd) {
    std::string text = ".version 7.0\n.target sm_75\n";
    text.append(5, '\0');
    EXPECT_NO_THROW(parse(text, "a.ptx"));
}

TEST(Parser, IgnoresComments) {
    Body f = parseBody("/* add.s32\n %r1 */ ret; // ret;\n// ret;");
    EXPECT_EQ(f.body.size(), 1u);
}

TEST(Parser, IgnoresDebugDirectives) {
    Module module = parseModule(
        ".file 1 \"a.cu\", 1234, 99\n.file\t2 \"b.cu\"\n"
        ".entry k() {\n.loc 1 5 2\nret;\n.loc 2 7 3, function_name $L__info_string0+12, inlined_at 1 5 2\n}\n"
        "@@DWARF .byte 0x01, { ) (\n"
        ".section .debug_str { $L__info_string0: .b8 95,90,0\n.b64 $L__tmp1-$L__tmp0\n.b32 .debug_abbrev+4 }\n"
        ".section .debug_loc { }");
    EXPECT_EQ(module.functions.at(0).body.size(), 1u);
}

TEST(Parser, SeparatesOpcodeFromModifiers) {
    Body f = parseBody("ld.global.nc.L2::cache_hint.v4.f32 {%f1, %f2, %f3, _}, [%rd1+-16], %rd2;");
    const Instruction& ld = f.body.at(0);
    EXPECT_EQ(ld.opcode, "ld");
    EXPECT_EQ(ld.modifiers, (std::vector<std::string>{"global", "nc", "L2::cache_hint", "v4", "f32"}));
    EXPECT_TRUE(ld.has("v4"));
    EXPECT_FALSE(ld.has("v2"));
    ASSERT_EQ(ld.operands.size(), 3u);
    EXPECT_EQ(ld.operands[0].kind, Kind::vector);
    EXPECT_EQ(ld.operands[0].parts.at(3).kind, Kind::sink);
    EXPECT_EQ(ld.text, "ld.global.nc.L2::cache_hint.v4.f32 {%f1, %f2, %f3, _}, [%rd1+-16], %rd2;");
}

TEST(Parser, KeepsTheGuardAndItsSense) {
    Body f = parseBody("@%p1 ret; @!%p2 bra A; A: add.s32 %r1, %r2, %r3;");
    EXPECT_EQ(f.registers.at(f.body[0].guard).name, "%p1");
    EXPECT_FALSE(f.body[0].guardNegated);
    EXPECT_EQ(f.registers.at(f.body[1].guard).name, "%p2");
    EXPECT_TRUE(f.body[1].guardNegated);
    EXPECT_EQ(f.body[1].text, "@!%p2 bra A;");
    EXPECT_EQ(f.body[2].guard, -1);
}

TEST(Parser, PositionsAndTextCoverAnInstructionOverSeveralLines) {
    Body f = parseBody("  @%p1\n   add.s32\n %r1,\n %r2, 3\n;");
    EXPECT_EQ(f.body[0].position.line, 7);
    EXPECT_EQ(f.body[0].position.column, 3);
    EXPECT_EQ(f.body[0].text, "@%p1\n   add.s32\n %r1,\n %r2, 3\n;");
}

TEST(Parser, ReadsIntegersOfEveryBase) {
    EXPECT_EQ(onlyOperand("42").integer, 42);
    EXPECT_EQ(onlyOperand("-42").integer, -42);
    EXPECT_EQ(onlyOperand("0x2aU").integer, 42);
    EXPECT_EQ(onlyOperand("0XFF").integer, 255);
    EXPECT_EQ(onlyOperand("052").integer, 42);
    EXPECT_EQ(onlyOperand("0b101010").integer, 42);
    EXPECT_EQ(onlyOperand("0").integer, 0);
    EXPECT_EQ(onlyOperand("18446744073709551615").integer, -1);
    EXPECT_EQ(onlyOperand("0x8000000000000000").integer, INT64_MIN);
    EXPECT_EQ(onlyOperand("WARP_SZ").integer, 32);
    EXPECT_EQ(onlyOperand("7").kind, Kind::integer);
}

TEST(Parser, ReadsRealsOfEveryForm) {
    Operand one = onlyOperand("0f3F800000");
    EXPECT_EQ(one.kind, Kind::real);
    EXPECT_EQ(one.type, Type::f32);
    EXPECT_EQ(one.real, 1.0);
    EXPECT_EQ(one.integer, 0x3f800000);
    Operand wide = onlyOperand("0d4000000000000000");
    EXPECT_EQ(wide.type, Type::f64);
    EXPECT_EQ(wide.real, 2.0);
    EXPECT_EQ(onlyOperand("1.5").real, 1.5);
    EXPECT_EQ(onlyOperand("-2.5e-3").real, -2.5e-3);
    EXPECT_EQ(onlyOperand("1e10").real, 1e10);
    EXPECT_EQ(onlyOperand("3.").real, 3.0);
    EXPECT_EQ(onlyOperand(".5").real, 0.5);
}

TEST(Parser, KeepsTheBitsOfASignallingNan) {
    EXPECT_EQ(onlyOperand("0f7F800001").integer, 0x7f800001);
    EXPECT_EQ(onlyOperand("0d7FF0000000000001").integer, 0x7ff0000000000001);
    EXPECT_EQ(onlyOperand("-0f7F800001").integer, 0xff800001);
}

TEST(Parser, FoldsConstantExpressions) {
    EXPECT_EQ(onlyOperand("1 + 2 * 3").integer, 7);
    EXPECT_EQ(onlyOperand("(1 + 2) * 3").integer, 9);
    EXPECT_EQ(onlyOperand("10 - 4 - 3").integer, 3);
    EXPECT_EQ(onlyOperand("7 / 2 + 7 % 4").integer, 6);
    EXPECT_EQ(onlyOperand("-7 / 2").integer, -3);
    EXPECT_EQ(onlyOperand("-1 >> 1").integer, -1);
    EXPECT_EQ(onlyOperand("(.u64)-1 >> 63").integer, 1);
    EXPECT_EQ(onlyOperand("0xFFFFFFFFFFFFFFFF / 2").integer, INT64_MAX);
    EXPECT_EQ(onlyOperand("(.s64)0xFFFFFFFFFFFFFFFF / 2").integer, 0);
    EXPECT_EQ(onlyOperand("1 << 4 | 3 & 2 ^ 1").integer, 0x10 | ((3 & 2) ^ 1));
    EXPECT_EQ(onlyOperand("~0").integer, -1);
    EXPECT_EQ(onlyOperand("!0 + !5").integer, 1);
    EXPECT_EQ(onlyOperand("3 < 4 && 4 <= 4 && 5 > 4 && 5 >= 5 && 1 == 1 && 1 != 2").integer, 1);
    EXPECT_EQ(onlyOperand("0 || 2").integer, 1);
    EXPECT_EQ(onlyOperand("-1 < 1").integer, 1);
    EXPECT_EQ(onlyOperand("-1 < 1U").integer, 0);
    EXPECT_EQ(onlyOperand("0 ? 1 : 2 ? 3 : 4").integer, 3);
    EXPECT_EQ(onlyOperand("1 << 65").integer, 2) << "distances count modulo 64, as ptxas has it";
    EXPECT_EQ(onlyOperand("0x8000000000000000 / -1").integer, 0) << "unsigned, since the literal does not fit .s64";
    EXPECT_EQ(onlyOperand("(.s64)0x8000000000000000 / -1").integer, INT64_MIN);
    EXPECT_EQ(onlyOperand("(.s64)0x8000000000000000 % -1").integer, 0);
    EXPECT_EQ(onlyOperand("1.5 + 2 * 0f3F800000").real, 3.5);
    EXPECT_EQ(onlyOperand("1.5 < 2").integer, 1);
}

TEST(Parser, ReadsAddresses) {
    Body f = parseBody(
        "ld.u32 %r1, [%rd1]; ld.u32 %r1, [%rd1+4]; ld.u32 %r1, [%rd1+-4]; ld.u32 %r1, [%rd1-8];"
        "ld.u32 %r1, [table+4]; ld.u32 %r1, [table-4]; ld.u32 %r1, [4096]; ld.param.u64 %rd1, [kernel_param_0];"
        "ld.u32 %r1, [ %rd1 + 2 * 8 - 1 ];");
    auto address = [&](int i) { return f.body.at(i).operands.at(1); };
    for (int i = 0; i < 9; ++i) EXPECT_EQ(address(i).kind, Kind::address) << i;
    EXPECT_TRUE(address(0).baseIsReg);
    EXPECT_EQ(address(0).name, "%rd1");
    EXPECT_EQ(f.registers.at(address(0).reg).name, "%rd1");
    EXPECT_EQ(address(0).integer, 0);
    EXPECT_EQ(address(1).integer, 4);
    EXPECT_EQ(address(2).integer, -4);
    EXPECT_EQ(address(3).integer, -8);
    EXPECT_FALSE(address(4).baseIsReg);
    EXPECT_EQ(address(4).name, "table");
    EXPECT_EQ(address(4).reg, -1);
    EXPECT_EQ(address(4).integer, 4);
    EXPECT_EQ(address(5).integer, -4);
    EXPECT_EQ(address(6).name, "");
    EXPECT_EQ(address(6).integer, 4096);
    EXPECT_EQ(address(7).name, "kernel_param_0");
    EXPECT_EQ(address(8).integer, 15);
}

TEST(Parser, ReadsSymbolsWithAddends) {
    Operand symbol = onlyOperand("table+8");
    EXPECT_EQ(symbol.kind, Kind::symbol);
    EXPECT_EQ(symbol.name, "table");
    EXPECT_EQ(symbol.integer, 8);
    EXPECT_EQ(onlyOperand("table[3]").integer, 12) << "element 3 of .u32";
    EXPECT_EQ(onlyOperand("table[3]").kind, Kind::symbol);
}

TEST(Parser, ReadsPairsAndNegatedPredicates) {
    Body f = parseBody(
        "setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3; shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;"
        "match.all.sync.b32 %r1|_, %r2, -1;");
    const Operand& pair = f.body[0].operands[0];
    EXPECT_EQ(pair.kind, Kind::pair);
    EXPECT_EQ(pair.parts.at(0).name, "%p1");
    EXPECT_EQ(pair.parts.at(1).name, "%p2");
    EXPECT_TRUE(f.body[0].operands[3].negated);
    EXPECT_EQ(f.body[0].operands[3].type, Type::pred);
    EXPECT_EQ(f.body[1].operands[0].parts.at(1).type, Type::pred);
    EXPECT_EQ(f.body[2].operands[0].parts.at(1).kind, Kind::sink);
}

TEST(Parser, ReadsANegatedRegister) {
    Operand operand = onlyOperand("-%rd2");
    EXPECT_EQ(operand.kind, Kind::reg);
    EXPECT_TRUE(operand.negated);
}

TEST(Parser, KnowsTheSpecialRegisters) {
    for (std::string name : {"tid.x",
                             "tid.y",
                             "tid.z",
                             "tid.w",
                             "ntid.x",
                             "ctaid.y",
                             "nctaid.z",
                             "tid",
                             "laneid",
                             "warpid",
                             "nwarpid",
                             "smid",
                             "nsmid",
                             "gridid",
                             "lanemask_eq",
                             "lanemask_le",
                             "lanemask_lt",
                             "lanemask_ge",
                             "lanemask_gt",
                             "clock",
                             "clock_hi",
                             "clock64",
                             "globaltimer",
                             "globaltimer_lo",
                             "globaltimer_hi",
                             "pm0",
                             "pm7",
                             "pm3_64",
                             "envreg0",
                             "envreg31",
                             "dynamic_smem_size",
                             "total_smem_size",
                             "aggr_smem_size",
                             "current_graph_exec",
                             "clusterid.x",
                             "nclusterid.y",
                             "cluster_ctaid.z",
                             "cluster_nctaid.x",
                             "cluster_ctarank",
                             "cluster_nctarank",
                             "is_explicit_cluster"}) {
        Operand operand = onlyOperand("%" + name);
        EXPECT_EQ(operand.kind, Kind::sreg) << name;
        EXPECT_EQ(operand.name, name);
    }
    EXPECT_NE(errorOf([] { onlyOperand("%envreg32"); }), "");
    EXPECT_NE(errorOf([] { onlyOperand("%pm8"); }), "");
}

TEST(Parser, ADeclaredRegisterHidesASpecialOne) {
    Body f = parseBody("{ .reg .u32 %clock; mov.u32 %clock, 3; } mov.u32 %r1, %clock;");
    EXPECT_EQ(f.body[0].operands[0].kind, Kind::reg);
    EXPECT_EQ(f.body[1].operands[1].kind, Kind::sreg);
}

TEST(Parser, ExpandsRegisterRanges) {
    Function f = parseModule(".func f() { .reg .b32 %r<3>, %x; .reg .v4 .f32 %v<2>; ret; }").functions.at(0);
    ASSERT_EQ(f.registers.size(), 6u);
    EXPECT_EQ(f.registers[0].name, "%r0");
    EXPECT_EQ(f.registers[2].name, "%r2");
    EXPECT_EQ(f.registers[3].name, "%x");
    EXPECT_EQ(f.registers[5].name, "%v1");
    EXPECT_EQ(f.registers[5].vector, 4u);
    EXPECT_EQ(f.registers[5].type, Type::f32);
}

TEST(Parser, ReadsComponentsOfVectorRegisters) {
    Function f =
        parseBody(".reg .v4 .f32 %v; mov.f32 %f1, %v.z; mov.f32 %v.a, %f1; mov.v4.f32 %v, {%f1, %f2, %f3, %f4};");
    EXPECT_EQ(f.body[0].operands[1].element, 2);
    EXPECT_EQ(f.body[1].operands[0].element, 3);
    EXPECT_EQ(f.body[2].operands[0].element, -1);
}

TEST(Parser, ScopesHideAndAreFlattenedWithUniqueNames) {
    Body f = parseBody(
        ".reg .b32 x; mov.u32 x, 0; { .reg .b64 x; mov.u64 x, 1; { .reg .f32 x; mov.f32 x, 0f00000000; } mov.u64 x, 2; "
        "}"
        "{ .reg .b16 x; mov.u16 x, 3; } mov.u32 x, 4;");
    auto type = [&](int i) { return f.registers.at(f.body.at(i).operands[0].reg).type; };
    EXPECT_EQ(type(0), Type::b32);
    EXPECT_EQ(type(1), Type::b64);
    EXPECT_EQ(type(2), Type::f32);
    EXPECT_EQ(type(3), Type::b64);
    EXPECT_EQ(type(4), Type::b16);
    EXPECT_EQ(type(5), Type::b32);
    std::vector<std::string> names;
    for (const Register& reg : f.registers) names.push_back(reg.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
    EXPECT_EQ(f.body[1].operands[0].name, f.registers[f.body[1].operands[0].reg].name);
}

TEST(Parser, LabelsOfDifferentScopesAreDifferent) {
    Function f =
        parseBody("{ L: add.s32 %r1, %r1, 1; bra L; } { bra L; sub.s32 %r1, %r1, 1; L: ret; } bra L; L: exit;");
    auto target = [&](int i) { return f.labels.at(f.body.at(i).operands[0].name); };
    EXPECT_EQ(target(1), 0);
    EXPECT_EQ(target(2), 4);
    EXPECT_EQ(target(5), 6);
    EXPECT_EQ(f.labels.size(), 3u);
}

TEST(Parser, AnInnerLabelFurtherOnHidesAnOuterOne) {
    Body f = parseBody("L: { bra L; L: ret; } bra L;");
    EXPECT_EQ(f.labels.at(f.body[0].operands[0].name), 1);
    EXPECT_EQ(f.labels.at(f.body[2].operands[0].name), 0);
}

TEST(Parser, BranchesReachLabelsOfEnclosingScopes) {
    Body f = parseBody("{ { bra OUT; } } $L__BB0_1: ret; OUT: ret;");
    EXPECT_EQ(f.labels.at(f.body[0].operands[0].name), 2);
    EXPECT_EQ(f.body[0].operands[0].kind, Kind::label);
}

TEST(Parser, ALabelMayEndTheBody) {
    Body f = parseBody("bra END; END:");
    EXPECT_EQ(f.labels.at("END"), 1);
}

TEST(Parser, VariablesOfScopesHaveUniqueNames) {
    Body f = parseBody(
        "{ .param .b64 param0; st.param.b64 [param0+0], %rd1; } { .param .b32 param0; st.param.b32 [param0], %r1; }"
        ".local .align 8 .b8 depot[24]; .shared .align 4 .b8 table[64]; mov.u64 %rd1, table; mov.u64 %rd1, depot;");
    ASSERT_EQ(f.variables.size(), 4u);
    EXPECT_EQ(f.body[0].operands[0].name, f.variables[0].name);
    EXPECT_EQ(f.body[1].operands[0].name, f.variables[1].name);
    EXPECT_NE(f.variables[0].name, f.variables[1].name);
    EXPECT_EQ(f.variables[1].bytes, 4u);
    EXPECT_EQ(f.variables[2].align, 8u);
    EXPECT_EQ(f.variables[2].bytes, 24u);
    EXPECT_EQ(f.variables[2].space, Space::local);
    // Hides the module's variable of the same name.
    EXPECT_EQ(f.body[2].operands[1].name, f.variables[3].name);
    EXPECT_NE(f.variables[3].name, "table");
}

TEST(Parser, ReadsParameters) {
    Function f = parseModule(
                     ".visible .entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 s[72],\n"
                     ".param .u8 c, .param .v2 .f32 v, .param .u64 .ptr .align 1 _) { ret; }")
                     .functions.at(0);
    EXPECT_TRUE(f.isKernel);
    EXPECT_TRUE(f.isVisible);
    EXPECT_FALSE(f.isExtern);
    ASSERT_EQ(f.params.size(), 5u);
    EXPECT_EQ(f.params[0].name, "a");
    EXPECT_TRUE(f.params[0].isPointer);
    EXPECT_EQ(f.params[0].bytes, 8u);
    EXPECT_EQ(f.params[0].align, 8u) << "the .align of .ptr is that of what it points to";
    EXPECT_EQ(f.params[1].bytes, 72u);
    EXPECT_EQ(f.params[1].align, 8u);
    EXPECT_TRUE(f.params[1].isArray);
    EXPECT_EQ(f.params[2].bytes, 1u);
    EXPECT_EQ(f.params[3].bytes, 8u);
    EXPECT_EQ(f.params[3].align, 8u);
    EXPECT_EQ(f.params[4].name, "_");
    EXPECT_EQ(f.params[4].space, Space::param);
}

TEST(Parser, ReadsPerformanceDirectives) {
    Function f =
        parseModule(
            ".entry k() .maxntid 256, 2 .reqntid 32 .minnctapersm 3 .maxnreg 64 .maxnctapersm 4\n"
            ".pragma \"nounroll\"; .reqnctapercluster 1, 1, 1 .maxclusterrank 8 { .pragma \"nounroll\"; ret; }")
            .functions.at(0);
    EXPECT_EQ(f.maxThreads[0], 256u);
    EXPECT_EQ(f.maxThreads[1], 2u);
    EXPECT_EQ(f.maxThreads[2], 1u);
    EXPECT_EQ(f.requiredThreads[0], 32u);
    EXPECT_EQ(f.requiredThreads[1], 1u);
    EXPECT_EQ(f.minBlocksPerSm, 3u);
    EXPECT_EQ(f.maxRegisters, 64u);
}

TEST(Parser, JoinsADeclarationWithItsDefinition) {
    Module module = parseModule(
        ".func (.param .b32 r) f(.param .b32 a);\n"
        ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
        ".extern .func trapper(.param .b64 _) .noreturn;\n"
        ".visible .func (.param .b32 r) f(.param .b32 a) { ret; }\n");
    ASSERT_EQ(module.functions.size(), 3u);
    const Function* f = module.find("f");
    ASSERT_NE(f, nullptr);
    EXPECT_FALSE(f->isExtern);
    EXPECT_TRUE(f->isVisible);
    EXPECT_EQ(f->results.at(0).name, "r");
    EXPECT_TRUE(module.find("vprintf")->isExtern);
    EXPECT_TRUE(module.find("trapper")->noReturn);
    EXPECT_EQ(module.find("nobody"), nullptr);
}

TEST(Parser, ReadsCallsOfEveryForm) {
    Module module = parseModule(
        ".func none; .func one(.param .b32 a); .func (.param .b32 r) both(.param .b32 a, .param .b32 b);\n"
        ".func caller(.param .b32 p) {\n.reg .b64 %rd<2>; .reg .b32 %r<4>; .param .b32 result; .param .b32 argument;\n"
        "call none; call.uni one, (argument); call.uni (result), both, (argument, %r1); call caller, (5);\n"
        "proto: .callprototype (.param .align 8 .b8 _[16]) _ (.param .b32 _, .param .b64 _) .noreturn;\n"
        "call (result), %rd1, (argument, %rd1), proto;\n"
        "targets: .calltargets one, caller; call %rd1, (argument), targets; ret; }");
    const Function& f = *module.find("caller");
    EXPECT_EQ(f.body[0].operands.at(0).kind, Kind::symbol);
    EXPECT_EQ(f.body[0].operands.at(0).name, "none");
    EXPECT_EQ(f.body[1].operands.at(1).kind, Kind::list);
    EXPECT_EQ(f.body[1].operands.at(1).parts.at(0).name, "argument");
    EXPECT_EQ(f.body[2].operands.at(0).kind, Kind::list);
    EXPECT_EQ(f.body[2].operands.at(2).parts.at(1).kind, Kind::reg);
    EXPECT_EQ(f.body[3].operands.at(1).parts.at(0).integer, 5);
    EXPECT_EQ(f.body[4].operands.at(1).kind, Kind::reg);
    EXPECT_EQ(f.body[4].operands.at(3).kind, Kind::label);
    EXPECT_EQ(f.body[4].operands.at(3).name, "proto");
    ASSERT_EQ(f.prototypes.size(), 1u);
    EXPECT_EQ(f.prototypes[0].results.at(0).bytes, 16u);
    EXPECT_EQ(f.prototypes[0].params.size(), 2u);
    EXPECT_TRUE(f.prototypes[0].noReturn);
    ASSERT_EQ(f.callTargets.size(), 1u);
    EXPECT_EQ(f.callTargets[0].labels, (std::vector<std::string>{"one", "caller"}));
}

TEST(Parser, ReadsBranchTargets) {
    Body f = parseBody("$L_brx_0: .branchtargets\n A, B,\n A;\n @%p1 brx.idx %r1, $L_brx_0; A: ret; B: ret;");
    ASSERT_EQ(f.branchTargets.size(), 1u);
    EXPECT_EQ(f.branchTargets[0].name, "$L_brx_0");
    EXPECT_EQ(f.branchTargets[0].labels, (std::vector<std::string>{"A", "B", "A"}));
    EXPECT_EQ(f.body[0].operands.at(1).kind, Kind::label);
    EXPECT_EQ(f.body[0].operands.at(1).name, "$L_brx_0");
}

TEST(Parser, FollowsAliases) {
    Module module = parseModule(
        ".visible .func real() { ret; }\n.visible .func other();\n.alias other, real;\n"
        ".entry k() { call other; ret; }");
    EXPECT_EQ(module.find("k")->body.at(0).operands.at(0).name, "real");
}

TEST(Parser, ParsesTexturesAndTensorCoresForTheLoweringToRefuse) {
    Body f = parseBody(
        "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd1, {%r1, %r2}];\n"
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, "
        "{%f1, "
        "%f2, %f3, %f4};\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], "
        "[%r4];");
    EXPECT_EQ(f.body[0].modifiers.at(0), "2d");
    EXPECT_EQ(f.body[0].operands.at(1).parts.at(0).kind, Kind::vector);
    EXPECT_EQ(f.body[2].modifiers.back(), "mbarrier::complete_tx::bytes");
}

TEST(Parser, AModuleVariableAfterAFunctionKeepsItsName) {
    Module module =
        parseModule(".func f() { .local .b32 x; ret; }\n.global .u32 x;\n.func g() { .local .b32 x; ret; }");
    EXPECT_EQ(module.variables.at(0).name, "x");
    EXPECT_EQ(module.functions.at(0).variables.at(0).name, "x");
    EXPECT_NE(module.functions.at(1).variables.at(0).name, "x");
}

TEST(PtxError, SaysWhereAndQuotesTheLine) {
    EXPECT_EQ(
        errorOf([] { parse(".version 7.0\n.target sm_75\n.entry k()\n{\n\tadd.s32 \t%r1, %r2;\n}\n", "file.ptx"); }),
        "file.ptx:5:11: undefined register '%r1': `add.s32 %r1, %r2;`");
}

TEST(PtxError, IsOneLineWhateverIsQuoted) {
    PtxError error("f.ptx", {3, 4}, "bad", std::string("  add.s32\n\t%r1,\r\n\x01 %r2;\n", 24));
    EXPECT_STREQ(error.what(), "f.ptx:3:4: bad: `add.s32 %r1, ? %r2;`");
    EXPECT_EQ(error.position.line, 3);
    EXPECT_EQ(error.position.column, 4);
}

TEST(Types, HaveNamesAndSizes) {
    EXPECT_EQ(nameOf(Type::u32), "u32");
    EXPECT_EQ(nameOf(Type::bf16x2), "bf16x2");
    EXPECT_EQ(nameOf(Space::constant), "const");
    EXPECT_EQ(bitsOf(Type::pred), 1u);
    EXPECT_EQ(bitsOf(Type::b128), 128u);
    EXPECT_EQ(bitsOf(Type::f16x2), 32u);
    EXPECT_TRUE(isFloat(Type::bf16));
    EXPECT_FALSE(isFloat(Type::b32));
    EXPECT_TRUE(isSigned(Type::s8));
    EXPECT_FALSE(isSigned(Type::u64));
}

}  // namespace
}  // namespace bulkhead::ptx
