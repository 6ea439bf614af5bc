#include <bit>

#include "ptx/parse/parser.h"
#include "ptx/parse/words.h"

namespace bulkhead::ptx {

namespace {

constexpr std::uint64_t kLargestVariable = std::uint64_t{1} << 40;

}  // namespace

bool Parser::attribute() {
    bool isManaged = false;
    advance();
    expect('(');
    int depth = 1;
    while (depth > 0) {
        if (token_.kind == Token::Kind::end || token_.is(';') || token_.is('{')) failExpected("')'");
        depth += token_.is('(') ? 1 : token_.is(')') ? -1 : 0;
        isManaged |= token_.isDotWord("managed");
        advance();
    }
    return isManaged;
}

std::uint64_t Parser::alignment() {
    advance();
    Position position = token_.position();
    std::uint64_t align = count("an alignment", std::uint64_t{1} << 32);
    if (!std::has_single_bit(align)) fail(position, "an alignment is a power of two");
    return align;
}

Parser::Declarator Parser::declarator(Space space) {
    Declarator result;
    result.space = space;
    Position position = token_.position();
    while (token_.kind == Token::Kind::dotWord) {
        std::string_view word = token_.text;
        if (word == "align") {
            result.align = alignment();
        } else if (word == "attribute") {
            result.isManaged |= attribute();
        } else if (word == "v2" || word == "v4" || word == "v8") {
            result.vector = static_cast<unsigned>(word[1] - '0');
            advance();
        } else if (word == "ptr" && space == Space::param) {
            advance();
            result.isPointer = true;
            // The space and alignment of what it points to, not of the parameter.
            while (token_.kind == Token::Kind::dotWord) {
                if (token_.text == "align") {
                    alignment();
                } else if (variableSpaceNamed(token_.text)) {
                    advance();
                } else {
                    break;
                }
            }
        } else if (isTextureWord(word)) {
            fail("references to textures and surfaces are not supported: use texture and surface objects");
        } else if (auto type = typeNamed(word)) {
            if (result.type != Type::none) fail("a second type");
            result.type = *type;
            advance();
        } else {
            fail(fmt::format("unknown type or attribute '.{}'", word));
        }
    }
    if (result.type == Type::none) fail(position, "a declaration without a type");
    if (result.type == Type::pred && space != Space::reg) fail(position, "predicates live only in .reg");
    if (result.type == Type::pred && result.vector > 1) fail(position, "there are no vectors of predicates");
    return result;
}

Parser::Extents Parser::extents() {
    Extents result;
    while (token_.is('[')) {
        Position position = token_.position();
        advance();
        if (accept(']')) {
            if (!result.counts.empty()) fail(position, "only the first extent may be left open");
            result.isOpen = true;
            result.counts.push_back(0);
            continue;
        }
        if (result.counts.size() >= 16) fail(position, "more than 16 dimensions");
        result.counts.push_back(count("an array's extent", kLargestVariable));
        expect(']');
    }
    return result;
}

std::uint64_t Parser::sizeOf(const Extents& extents, std::size_t from, std::uint64_t elementBytes,
                             Position position) const {
    std::uint64_t bytes = elementBytes;
    for (std::size_t i = from; i < extents.counts.size(); ++i) {
        if (extents.counts[i] != 0 && bytes > kLargestVariable / extents.counts[i]) {
            fail(position, "variable too large");
        }
        bytes *= extents.counts[i];
    }
    return bytes;
}

Variable Parser::variable(const Declarator& declarator, std::string_view name, const Extents& extents,
                          Position position) {
    Variable result;
    result.name = name;
    result.space = declarator.space;
    result.type = declarator.type;
    result.vector = declarator.vector;
    result.isPointer = declarator.isPointer;
    result.isManaged = declarator.isManaged;
    result.isArray = !extents.counts.empty();
    result.position = position;
    std::uint64_t elementBytes = (bitsOf(declarator.type) + 7) / 8 * declarator.vector;
    result.align = declarator.align ? declarator.align : elementBytes;
    result.bytes = extents.isOpen ? 0 : sizeOf(extents, 0, elementBytes, position);
    return result;
}

void Parser::variableStatement(Space space, Linkage linkage) {
    advance();
    if (space == Space::constant && token_.is('[')) fail("banks of .const are not supported");
    Declarator common = declarator(space);
    bool isModuleScope = space == Space::global || space == Space::constant || depth_ == 0;
    do {
        Position position = token_.position();
        std::string_view name = expectWord("a variable's name");
        if (name == "_") fail(position, "a variable needs a name");
        if (token_.is('<')) fail("only registers are declared in ranges");
        Extents dimensions = extents();
        Variable result = variable(common, name, dimensions, position);
        result.isExtern = linkage.isExtern;
        result.isVisible = linkage.isVisible;
        result.isWeak = linkage.isWeak;
        if (token_.is('=')) {
            if (space != Space::global && space != Space::constant) {
                fail(fmt::format(".{} variables cannot be initialised", nameOf(space)));
            }
            if (linkage.isExtern) fail("an .extern variable cannot be initialised");
            advance();
            initialise(result, dimensions);
        } else if (dimensions.isOpen && !linkage.isExtern) {
            fail(position, "an array of open size is .extern or initialised");
        }
        if (isModuleScope) {
            declareModuleVariable(std::move(result), name);
        } else {
            int index = static_cast<int>(function_.variables.size());
            result.name = declare(name, Symbol::Kind::localVariable, index, position);
            function_.variables.push_back(std::move(result));
        }
    } while (accept(','));
    expect(';');
}

void Parser::declareModuleVariable(Variable result, std::string_view name) {
    const Symbol* known = find(name);
    if (depth_ == 0 && known && known->kind == Symbol::Kind::moduleVariable) {
        // A declaration may come before the definition, or repeat another.
        Variable& earlier = module_.variables[known->index];
        if (earlier.space == result.space && (earlier.isExtern || result.isExtern)) {
            if (earlier.isExtern) earlier = std::move(result);
            return;
        }
    }
    int index = static_cast<int>(module_.variables.size());
    Position position = result.position;
    std::string unique = declare(name, Symbol::Kind::moduleVariable, index, position);
    result.name = depth_ == 0 ? unique : fmt::format("{}#{}", function_.name, unique);
    module_.variables.push_back(std::move(result));
}

}  // namespace bulkhead::ptx
