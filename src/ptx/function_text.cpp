#include "ptx/function_text.h"

#include <algorithm>

#include "ptx/parse/lexer.h"

namespace bulkhead::ptx {

std::vector<FunctionText> functionTexts(const Module& module) {
    std::vector<FunctionText> functions;
    FunctionText current;
    bool inFunction = false;  // from .entry or .func to the end of the body
    int braces = 0, parentheses = 0;
    Lexer lexer(*module.source, module.name);
    Token token;
    for (lexer.next(token); token.kind != Token::Kind::end; lexer.next(token)) {
        if (braces == 0 && (token.isDotWord("entry") || token.isDotWord("func"))) {
            current = {};
            inFunction = true;
        } else if (inFunction && braces == 0 && token.is('(')) {
            ++parentheses;
        } else if (inFunction && braces == 0 && token.is(')')) {
            --parentheses;
            if (!current.name.empty()) current.parametersEnd = token.start;  // else the results of a function
        } else if (inFunction && braces == 0 && parentheses == 0 && current.name.empty() && token.isWord()) {
            current.name = token.text;
        } else if (inFunction && braces == 0 && token.is(';')) {
            inFunction = false;  // declared only
        } else if (token.is('{')) {
            if (braces++ == 0 && inFunction) current.bodyBegin = token.start + 1;
        } else if (token.is('}')) {
            if (--braces == 0 && inFunction) {
                current.bodyEnd = token.start;
                functions.push_back(current);
                inFunction = false;
            }
        }
    }
    return functions;
}

const char* firstDeclaration(const Module& module) {
    Lexer lexer(*module.source, module.name);
    Token token;
    do {
        lexer.next(token);
    } while (token.kind != Token::Kind::end && (token.kind != Token::Kind::dotWord || token.text == "version" ||
                                                token.text == "target" || token.text == "address_size"));
    return token.start;
}

const FunctionText* find(const std::vector<FunctionText>& functions, std::string_view name) {
    const auto at =
        std::find_if(functions.begin(), functions.end(), [&](const FunctionText& f) { return f.name == name; });
    return at == functions.end() ? nullptr : &*at;
}

}  // namespace bulkhead::ptx
