# What is installed beside the program, and a Debian package of it all: cpack -G DEB in the build folder.
include(GNUInstallDirs)

# The program writes its own manual pages and completions.
set(generated ${CMAKE_CURRENT_BINARY_DIR}/packaging)
add_custom_command(
    OUTPUT ${generated}/written
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${generated}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${generated}/man1 ${generated}/bash ${generated}/zsh ${generated}/fish
    COMMAND bulkhead man --out ${generated}/man1
    COMMAND bulkhead completion bash > ${generated}/bash/bulkhead
    COMMAND bulkhead completion zsh > ${generated}/zsh/_bulkhead
    COMMAND bulkhead completion fish > ${generated}/fish/bulkhead.fish
    COMMAND ${CMAKE_COMMAND} -E touch ${generated}/written
    DEPENDS bulkhead
    COMMENT "Writing manual pages and completions"
    VERBATIM)
add_custom_target(bulkhead_manual ALL DEPENDS ${generated}/written)
install(DIRECTORY ${generated}/man1/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${generated}/bash/bulkhead DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${generated}/zsh/_bulkhead DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${generated}/fish/bulkhead.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES scripts/systemd/bulkhead-keeper@.service DESTINATION lib/systemd/system)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME bulkhead)
set(CPACK_PACKAGE_VENDOR "Bulkhead")
set(CPACK_PACKAGE_CONTACT "Bulkhead maintainers <maintainers@bulkhead.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "cache interference on GPUs: see it, cause it, wall it off")
set(CPACK_PACKAGE_DESCRIPTION
    "Simulates NVIDIA GPUs cycle by cycle and runs CUDA programs on them unchanged. Finds how a GPU spreads addresses,
 measures what kernels do to each other in caches and memory, divides a GPU between applications, and compares warp
 schedulers. Needs no GPU; where there is one, it works on that as well.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The libraries that stand in for NVIDIA's are the package's own.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/lib)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "clang-19, g++")  # of bulkhead cc
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "librsvg2-2")  # of bulkhead report --png
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
include(CPack)
