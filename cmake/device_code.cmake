# bulkhead_device_code(TARGET FILE.cu VARIABLE): compiles CUDA C++ to PTX with Debian's clang and no NVIDIA software, and
# gives the target a header FILE.ptx.h that holds the text as `inline constexpr char VARIABLE[]`.
# A machine without clang can use PTX that was compiled elsewhere: -DBULKHEAD_PTX_DIR=FOLDER with the FILE.ptx in it.
set(BULKHEAD_PTX_DIR "" CACHE PATH "Folder with device code compiled elsewhere")
if(NOT BULKHEAD_PTX_DIR)
    find_program(BULKHEAD_CLANG NAMES clang++-14 REQUIRED)
endif()

function(bulkhead_device_code target source variable)
    get_filename_component(name ${source} NAME_WE)
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/${source})
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/device)
    set(ptx ${folder}/${name}.ptx)
    set(header ${folder}/${name}.ptx.h)
    if(BULKHEAD_PTX_DIR)
        set(compile ${CMAKE_COMMAND} -E copy ${BULKHEAD_PTX_DIR}/${name}.ptx ${ptx})
    else()
        set(compile ${BULKHEAD_CLANG} -x cuda --cuda-device-only -S --cuda-path=/nonexistent -nocudainc -nocudalib
                    --cuda-gpu-arch=sm_60 -O2 -std=c++17 -I${PROJECT_SOURCE_DIR}/src ${source} -o ${ptx})
    endif()
    add_custom_command(
        OUTPUT ${header}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
        COMMAND ${compile}
        COMMAND ${CMAKE_COMMAND} -DINPUT=${ptx} -DOUTPUT=${header} -DVARIABLE=${variable} -P
                ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
        DEPENDS ${source} ${PROJECT_SOURCE_DIR}/src/kernels/device.h ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
        COMMENT "Compiling device code ${name}.cu"
        VERBATIM)
    target_sources(${target} PRIVATE ${header})
    target_include_directories(${target} PRIVATE ${folder})
endfunction()
