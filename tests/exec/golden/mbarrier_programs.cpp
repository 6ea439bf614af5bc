#include "mbarrier_programs.h"

#include <sstream>

namespace bulkhead::golden {
namespace {

bool waits(const MbarrierStep& step) {
    return step.operation.find("_wait") != std::string::npos;
}

bool arrives(const MbarrierStep& step) {
    return step.operation.rfind("arrive", 0) == 0;
}

}  // namespace

std::string textOf(const std::vector<MbarrierStep>& program) {
    std::string text;
    for (const MbarrierStep& step : program) {
        if (!text.empty()) text += "; ";
        text += step.operation + " " + std::to_string(step.operand);
        if (waits(step) || arrives(step)) text += " = " + std::to_string(step.answer);
    }
    return text;
}

std::vector<MbarrierStep> programOf(const std::string& text) {
    std::vector<MbarrierStep> program;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ';');) {
        MbarrierStep step;
        std::istringstream words(part);
        std::string equals;
        words >> step.operation >> step.operand >> equals >> step.answer;
        program.push_back(step);
    }
    return program;
}

std::string moduleOf(const std::vector<MbarrierStep>& program) {
    const std::string last = std::to_string(program.size());
    std::string text = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %out; .reg .b64 %token<)" +
                       last + R"(>;
    .shared .align 8 .b64 object;
    ld.param.u64 %out, [out]; mov.u32 %r1, object;
)";
    for (std::size_t n = 0; n < program.size(); ++n) {
        const MbarrierStep& step = program[n];
        const std::string token = "%token" + std::to_string(n), operand = std::to_string(step.operand);
        text += "    mov.u32 %r2, 0;\n    ";
        if (waits(step)) {
            const bool byParity = step.operation.find("parity") != std::string::npos;
            text += "mbarrier." + step.operation + ".shared::cta.b64 %p, [%r1], " +
                    (byParity ? operand : "%token" + operand) + "; selp.u32 %r2, 1, 0, %p;";
        } else if (arrives(step)) {
            text += "mbarrier." + step.operation + ".shared::cta.b64 " + token + ", [%r1], " + operand +
                    "; mbarrier.pending_count.b64 %r2, " + token + ";";
        } else {
            const bool counts = step.operation != "init";
            text += "mbarrier." + step.operation + (counts ? ".relaxed.cta" : "") + ".shared::cta.b64 [%r1], " +
                    operand + ";";
        }
        text += " st.global.u32 [%out+" + std::to_string(4 * n) + "], %r2;\n";
    }
    return text + "    ret;\n}\n";
}

}  // namespace bulkhead::golden
