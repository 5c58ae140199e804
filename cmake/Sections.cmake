# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C++ source with the headings of the pages that people read: a line
# "docs/use/troubleshooting.md#error-12 Error 12" for each, of an alert with a tab and what its section says first, and
# with the words of docs/start/concepts.md: "rail", a tab, its meaning. Reasons, findings and variables are told by name.
#   cmake -DROOT=. -DOUTPUT=sections.cc -P cmake/Sections.cmake

cmake_minimum_required(VERSION 3.25)

file(GLOB pages RELATIVE ${ROOT} ${ROOT}/docs/start/*.md ${ROOT}/docs/use/*.md ${ROOT}/docs/operate/*.md)
list(REMOVE_ITEM pages docs/use/reasons.md)
set(sections "")
foreach(page IN LISTS pages)
  file(READ ${ROOT}/${page} text)
  file(STRINGS ${ROOT}/${page} headings REGEX "^##+ ")
  foreach(heading IN LISTS headings)
    string(REGEX REPLACE "^#+ |`" "" heading "${heading}")
    string(TOLOWER "${heading}" anchor)
    string(REGEX REPLACE "[^a-z0-9 _-]" "" anchor "${anchor}")  # as GitHub makes it
    string(REPLACE " " "-" anchor "${anchor}")
    if(heading MATCHES "^NcclEnv")
      string(REGEX REPLACE ".*\n## ${heading}\n" "" says "${text}")
      string(REGEX REPLACE "\n\n.*" "" says "${says}")
      string(REGEX REPLACE "\\[([^]]*)\\]\\([^)]*\\)" "\\1" says "${says}")
      string(REGEX REPLACE "\n" " " says "${says}")
      string(REGEX REPLACE "`" "" says "${says}")
      string(APPEND heading "\t${says}")
    endif()
    string(APPEND sections "${page}#${anchor} ${heading}\n")
  endforeach()
endforeach()
set(words "")
set(row "^\\| \\*\\*([^|]*)\\*\\* \\| ([^|]*) \\|$")
set(item "^- `([A-Za-z]+)`: (.*)$")
file(STRINGS ${ROOT}/docs/start/concepts.md lines REGEX "${row}|${item}")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "\\[([^]]*)\\]\\([^)]*\\)" "\\1" line "${line}")
  string(REGEX REPLACE "${item}" "| **\\1** | \\2 |" line "${line}")
  string(REGEX REPLACE "${row}" "\\1\t\\2\n" line "${line}")
  string(REGEX REPLACE "\\*\\*|`" "" line "${line}")
  string(APPEND words "${line}")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/Sections.cmake.
#include \"commands/sections.h\"

namespace nccl_env::cli {

const std::string_view kSections = R\"section(${sections})section\";
const std::string_view kWords = R\"section(${words})section\";

}  // namespace nccl_env::cli
")
