# bulkhead_device_code(TARGET some_kernels.cu [ARCHITECTURE]): compiles CUDA C++ to PTX with Debian's clang, our headers (src/sdk/include)
# and no NVIDIA software, and gives the target a header some_kernels.ptx.h that holds the text as
# `inline constexpr char kSomeKernelsPtx[]`. PTX 6.3 (clang would write 5.0 for sm_60) has the warp instructions with masks.
# Kernels for tensor cores name the architecture they need, and take the clang that knows it.
# A machine without clang can use PTX that was compiled elsewhere: -DBULKHEAD_PTX_DIR=FOLDER with the some_kernels.ptx in it.
set(BULKHEAD_PTX_DIR "" CACHE PATH "Folder with device code compiled elsewhere")
if(NOT BULKHEAD_PTX_DIR)
    find_program(BULKHEAD_CLANG NAMES clang++-14 REQUIRED)
    find_program(BULKHEAD_TENSOR_CLANG NAMES clang++-19 REQUIRED)
endif()

function(bulkhead_device_code target source)
    get_filename_component(name ${source} NAME_WE)
    set(variable k)
    string(REPLACE "_" ";" words ${name})
    foreach(word ${words})
        string(SUBSTRING ${word} 0 1 first)
        string(SUBSTRING ${word} 1 -1 rest)
        string(TOUPPER ${first} first)
        string(APPEND variable ${first}${rest})
    endforeach()
    string(APPEND variable Ptx)

    if(ARGC GREATER 2)
        set(compiler ${BULKHEAD_TENSOR_CLANG} --cuda-gpu-arch=${ARGV2} -Xclang -target-feature -Xclang +ptx80)
    else()
        set(compiler ${BULKHEAD_CLANG} --cuda-gpu-arch=sm_60 -Xclang -target-feature -Xclang +ptx63)
    endif()
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/device)
    set(ptx ${folder}/${name}.ptx)
    set(header ${folder}/${name}.ptx.h)
    if(BULKHEAD_PTX_DIR)
        set(compile ${CMAKE_COMMAND} -E copy ${BULKHEAD_PTX_DIR}/${name}.ptx ${ptx})
        set(dependencies DEPENDS ${BULKHEAD_PTX_DIR}/${name}.ptx ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake)
    else()
        set(compile ${compiler} -x cuda --cuda-device-only -S --cuda-path=/nonexistent -nocudainc -nocudalib -O2 -std=c++17
                    -MD -MF ${ptx}.d -MT ${header}
                    -I${PROJECT_SOURCE_DIR}/src -I${PROJECT_SOURCE_DIR}/src/sdk/include ${source} -o ${ptx})
        set(dependencies DEPENDS ${source} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake DEPFILE ${ptx}.d)
    endif()
    add_custom_command(
        OUTPUT ${header}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
        COMMAND ${compile}
        COMMAND ${CMAKE_COMMAND} -DINPUT=${ptx} -DOUTPUT=${header} -DVARIABLE=${variable} -P
                ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
        ${dependencies}
        COMMENT "Compiling device code ${name}.cu"
        VERBATIM)
    bulkhead_generated(${target} ${header})
endfunction()
