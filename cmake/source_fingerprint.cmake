# Writes OUTPUT, a header with a constant that stands for the names and the content of FILES, which lie below ROOT.
list(SORT FILES)
set(all "")
foreach(file ${FILES})
    file(SHA256 ${file} content)
    file(RELATIVE_PATH name ${ROOT} ${file})
    string(APPEND all "${name} ${content}\n")
endforeach()
string(SHA256 fingerprint "${all}")
string(SUBSTRING ${fingerprint} 0 16 fingerprint)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT
     "#pragma once\n\ninline constexpr char kSourceFingerprint[] = \"${fingerprint}\";\n")
