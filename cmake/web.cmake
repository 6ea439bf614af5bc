# Bundles the scripts and styles of HTML reports and of the page of bulkhead serve (web/) with esbuild, and gives
# bulkhead_report and bulkhead_serve headers with their text, such as report_js.h, so that whoever runs the program needs
# no Node.js. A machine without npm can use a bundle that was made elsewhere: -DBULKHEAD_WEB_DIR=FOLDER with report.js,
# report.css, serve.js and serve.css, which a build leaves in web/bundle.
set(BULKHEAD_WEB_DIR "" CACHE PATH "Folder with the bundle of reports made elsewhere")
set(web ${CMAKE_CURRENT_SOURCE_DIR}/web)
set(web_build ${CMAKE_CURRENT_BINARY_DIR}/web)
if(BULKHEAD_WEB_DIR)
    set(bundle ${BULKHEAD_WEB_DIR})
else()
    find_program(BULKHEAD_NPM npm)
    find_program(BULKHEAD_NODE NAMES node nodejs)
    if(NOT BULKHEAD_NPM OR NOT BULKHEAD_NODE)
        message(FATAL_ERROR "npm is missing, which bundles the scripts of HTML reports: install npm, or pass "
                            "-DBULKHEAD_WEB_DIR=FOLDER with a bundle made elsewhere")
    endif()
    set(bundle ${web_build}/bundle)
    file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web}/src/*)
    add_custom_command(
        OUTPUT ${web_build}/installed
        COMMAND ${CMAKE_COMMAND} -E make_directory ${web_build}
        COMMAND ${CMAKE_COMMAND} -E copy ${web}/package.json ${web}/package-lock.json ${web_build}
        COMMAND ${BULKHEAD_NPM} ci --prefix ${web_build} --ignore-scripts --no-audit --no-fund --loglevel=error
        COMMAND ${CMAKE_COMMAND} -E touch ${web_build}/installed
        DEPENDS ${web}/package.json ${web}/package-lock.json
        COMMENT "Installing what bundles reports"
        VERBATIM)
    add_custom_command(
        OUTPUT ${bundle}/report.js ${bundle}/report.css ${bundle}/serve.js ${bundle}/serve.css
        COMMAND ${CMAKE_COMMAND} -E rm -rf ${web_build}/src
        COMMAND ${CMAKE_COMMAND} -E copy_directory ${web}/src ${web_build}/src
        COMMAND ${BULKHEAD_NODE} ${web_build}/node_modules/esbuild/bin/esbuild ${web_build}/src/report.js
                serve=${web_build}/src/serve/serve.js --bundle
                --minify --format=iife --target=es2020 --charset=utf8 --log-level=warning --outdir=${bundle}
        DEPENDS ${web_build}/installed ${web_sources}
        COMMENT "Bundling reports"
        VERBATIM)
endif()

foreach(page Report Serve)
    foreach(part Js Css)
        string(TOLOWER ${page} name)
        string(TOLOWER ${part} extension)
        set(header ${web_build}/${name}_${extension}.h)
        add_custom_command(
            OUTPUT ${header}
            COMMAND ${CMAKE_COMMAND} -DINPUT=${bundle}/${name}.${extension} -DOUTPUT=${header}
                    -DVARIABLE=k${page}${part} -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_text.cmake
            DEPENDS ${bundle}/${name}.${extension} cmake/embed_text.cmake
            COMMENT "Embedding ${name}.${extension}"
            VERBATIM)
        bulkhead_generated(bulkhead_${name} ${header})
    endforeach()
endforeach()
