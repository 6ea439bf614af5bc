# For libraries that stand in for NVIDIA's and export the same names.

# bulkhead_exported_symbols(FILE NAME VERSION): from a file that names the exported functions, a line each, makes
# NAME_symbols.inc, which hands each to BULKHEAD_REFUSED_CALL, and NAME.map, which hides all other names from the linker.
# VERSION is the node that they belong to, or empty.
function(bulkhead_exported_symbols file name version)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} names)
    list(TRANSFORM names REPLACE "(.+)" "BULKHEAD_REFUSED_CALL(\\1)\n" OUTPUT_VARIABLE calls)
    list(JOIN calls "" calls)
    file(CONFIGURE OUTPUT ${name}_symbols.inc CONTENT "${calls}")
    list(JOIN names "; " names)
    file(CONFIGURE OUTPUT ${name}.map CONTENT "${version} { global: ${names}; local: *; };\n")
endfunction()

# bulkhead_exporting(TARGET NAME [FOLDER]): a shared library with the names of NAME.map and no others, among the others
# or in a folder of its own.
function(bulkhead_exporting target name)
    set(folder ${ARGV2})
    set(map ${CMAKE_CURRENT_BINARY_DIR}/${name}.map)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden
                                               VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${map}
                                               LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/${folder})
    target_link_options(${target} PRIVATE -Wl,--version-script=${map} -Wl,-Bsymbolic-functions)
    install(TARGETS ${target} LIBRARY DESTINATION lib/bulkhead/${folder})
endfunction()
