# Programs for the tests of the CUDA runtime: some that exec must refuse, and some in ordinary CUDA, for machines with nvcc.
set(fixtures ${CMAKE_CURRENT_BINARY_DIR}/cudart_fixtures)

# A program that needs a library of this name, which is none of NVIDIA's.
function(bulkhead_program_that_needs program library version)
    add_library(fixture_${library} SHARED cudart/fixtures/library.cpp)
    set_target_properties(fixture_${library} PROPERTIES OUTPUT_NAME ${library} SOVERSION ${version}
                                                        LIBRARY_OUTPUT_DIRECTORY ${fixtures}/${library})
    add_executable(${program} cudart/fixtures/needs_library.cpp)
    target_link_libraries(${program} PRIVATE fixture_${library})
    set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${fixtures})
    add_dependencies(test_cudart ${program})
endfunction()
bulkhead_program_that_needs(needs_cudart_12 cudart 12)
bulkhead_program_that_needs(needs_cublas cublas 13)
add_executable(nvidia_runtime_inside cudart/fixtures/nvidia_runtime_inside.cpp)
set_target_properties(nvidia_runtime_inside PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${fixtures})
add_dependencies(test_cudart nvidia_runtime_inside bulkhead cuda_driver_library cudart_static)

if(BULKHEAD_SANITIZE)
    return()  # a program that is not instrumented cannot load libraries that are
endif()
find_program(BULKHEAD_NVCC nvcc PATHS /usr/local/cuda/bin)
if(NOT BULKHEAD_NVCC)
    message(STATUS "No nvcc: tests with programs that it compiles are skipped")
    return()
endif()
execute_process(COMMAND ${BULKHEAD_NVCC} --version OUTPUT_VARIABLE version)
if(NOT version MATCHES "release 13")
    message(STATUS "nvcc is not that of CUDA 13: tests with programs that it compiles are skipped")
    return()
endif()

# bulkhead_nvcc_program(NAME SOURCE OPTIONS...): programs/SOURCE.cu as nvcc builds it with these options.
function(bulkhead_nvcc_program name source)
    set(input ${CMAKE_CURRENT_SOURCE_DIR}/cudart/programs/${source}.cu)
    add_custom_command(
        OUTPUT ${fixtures}/${name}
        COMMAND ${BULKHEAD_NVCC} -std=c++17 ${ARGN} ${input} -o ${fixtures}/${name}
        DEPENDS ${input} cudart_static
        VERBATIM)
    set_property(TARGET test_cudart APPEND PROPERTY ADDITIONAL_PROGRAMS ${fixtures}/${name})
endfunction()
bulkhead_nvcc_program(behaviour behaviour -arch=compute_75 -cudart shared)
bulkhead_nvcc_program(behaviour_per_thread behaviour -arch=compute_75 -cudart shared --default-stream per-thread)
bulkhead_nvcc_program(behaviour_static behaviour -arch=compute_75 -L${CMAKE_BINARY_DIR}/lib)
bulkhead_nvcc_program(graphs graphs -arch=compute_75 -cudart shared)
bulkhead_nvcc_program(graphs_per_thread graphs -arch=compute_75 -cudart shared --default-stream per-thread)
bulkhead_nvcc_program(errors errors -arch=compute_75 -cudart shared)
bulkhead_nvcc_program(image_sass image -gencode arch=compute_75,code=sm_75 -cudart shared)
bulkhead_nvcc_program(image_nvidia_static image -arch=compute_75)
get_target_property(programs test_cudart ADDITIONAL_PROGRAMS)
add_custom_target(test_cudart_programs DEPENDS ${programs})
add_dependencies(test_cudart test_cudart_programs)
target_compile_definitions(test_cudart PRIVATE BULKHEAD_HAS_NVCC)
