# Writes OUTPUT, a header with the text of INPUT as a constant VARIABLE.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "#pragma once\n\ninline constexpr char ${VARIABLE}[] = R\"text(${text})text\";\n")
