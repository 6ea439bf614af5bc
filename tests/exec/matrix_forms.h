#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace bulkhead::golden {

/// What elements of a matrix are: how their values are chosen.
enum class Element : std::uint8_t { f64, f32, tf32, f16, bf16, e4m3, e5m2, s32, bits };
unsigned bitsOf(Element);

/// Registers that a form reads: %i0_0, %i0_1 ... of the first group, and so on.
struct Group {
    unsigned registers;
    Element element;
};

/// One matrix instruction, or a few that belong together, over registers and shared memory of a block.
struct MatrixForm {
    std::string name;  ///< unique; seeds the inputs
    std::string body;
    unsigned threads = 32;
    std::vector<Group> inputs;
    Group output{0, Element::bits};  ///< %o_0, %o_1 ...
    unsigned sharedBytes = 0;        ///< at `s`, filled before the body: this many bytes of ...
    Element shared = Element::bits;
    bool givesShared = false;  ///< the answer is what shared memory holds afterwards, not the output registers
    bool isFloat = true;       ///< has cases of every kind of float
};

/// Every matrix instruction that is checked against hardware.
const std::vector<MatrixForm>& matrixForms();

/// How many blocks a form is evaluated for, each with values of its own.
unsigned casesOf(const MatrixForm&);

/// Input of a form: case after case, of each the registers (all threads' first register, then the second ...), then
/// shared memory.
std::vector<std::uint8_t> inputsOf(const MatrixForm&);
std::size_t inputBytes(const MatrixForm&);   ///< of one case
std::size_t answerBytes(const MatrixForm&);  ///< likewise

/// Of bytes, for inputs and answers.
std::uint64_t hashOf(const std::uint8_t*, std::size_t);

/// The first answer of a form is kept whole if it has no more than these.
constexpr std::size_t kWholeBytes = 2048;

/// A module with one kernel `k(in, out)`; block i evaluates case i.
std::string moduleOf(const MatrixForm&);

}  // namespace bulkhead::golden
