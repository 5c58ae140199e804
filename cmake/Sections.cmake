# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C++ source with what src/cli/commands/sections.h says: the sections of the pages that people read, the
# words of docs/start/concepts.md, and the metrics of docs/reference.
#   cmake -DROOT=. -DOUTPUT=sections.cc -P cmake/Sections.cmake

cmake_minimum_required(VERSION 3.25)

# Without the marks of Markdown, in one line.
function(plain text result)
  string(REGEX REPLACE "\\[([^]]*)\\]\\([^)]*\\)" "\\1" text "${text}")
  string(REGEX REPLACE "\\*\\*|`" "" text "${text}")
  string(REGEX REPLACE "\\\\([*|])" "\\1" text "${text}")
  string(REGEX REPLACE "[\n\t]" " " text "${text}")
  string(STRIP "${text}" text)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

file(GLOB pages RELATIVE ${ROOT} ${ROOT}/docs/start/*.md ${ROOT}/docs/use/*.md ${ROOT}/docs/operate/*.md
     ${ROOT}/docs/reference/agent.md ${ROOT}/docs/reference/cli.md ${ROOT}/docs/reference/webhook.md)
list(REMOVE_ITEM pages docs/use/reasons.md)
set(sections "")
foreach(page IN LISTS pages)
  file(READ ${ROOT}/${page} text)
  file(STRINGS ${ROOT}/${page} headings REGEX "^#+ [^ ]")
  foreach(line IN LISTS headings)
    string(REGEX REPLACE "^#+ |`" "" heading "${line}")
    string(TOLOWER "${heading}" anchor)
    string(REGEX REPLACE "[^a-z0-9 _-]" "" anchor "${anchor}")  # as GitHub makes it
    string(REPLACE " " "-" anchor "${anchor}")
    string(FIND "\n${text}" "\n${line}\n" begin)
    if(line MATCHES "^# " AND NOT begin EQUAL 0)
      continue()  # a comment in a block of commands
    endif()
    string(LENGTH "${line}" length)
    math(EXPR begin "${begin} + ${length} + 1")
    string(SUBSTRING "${text}" ${begin} -1 body)
    string(REGEX REPLACE "\n#.*" "" body "${body}\n")
    string(REGEX REPLACE "^\n+" "" says "${body}")
    if(says MATCHES "^\\| cause ")  # each with its remedy
      string(REGEX REPLACE "^\\| cause [^\n]*\n[^\n]*\n" "" says "${says}")
      string(REGEX REPLACE "\\| ([^|]+) \\|[^\n]*\\| ([^|]+) \\|\n" "If \\1: \\2. " says "${says}")
    else()  # without marks and commands before the first sentence
      string(REGEX REPLACE "^(\n|<!--[^\n]*\n|```[^`]*```\n)+" "" says "${says}")
    endif()
    string(REGEX REPLACE "\n\n.*" "" says "${says}")
    if(NOT says MATCHES "^(\\*\\*|`)?[A-Za-z]")
      set(says "")
    endif()
    string(REGEX REPLACE "([.]) [^.]*:\n*$" "\\1" says "${says}")  # what stands below a colon is not told
    string(REGEX REPLACE ":\n*$" "." says "${says}")
    plain("${says}" says)
    string(REGEX REPLACE "```[^`]*```" "" quoting "${body}")
    string(REGEX MATCHALL "grep [^\n]*'" looked_for "${body}")  # lines of our own log
    string(REPLACE "'" "`" looked_for "${looked_for}")
    string(REGEX REPLACE "[][]" "" quoting "${quoting} ${looked_for}")
    string(REGEX REPLACE "[;|\n]" " " quoting "${quoting}")
    string(REGEX MATCHALL "`[^`]+`" terms "${quoting}")
    string(REGEX REPLACE ";|``" "|" terms "${terms}")
    string(REPLACE "`" "" terms "${terms}")
    if(line MATCHES "^# ")
      set(terms "")  # its sections have them
    endif()
    # The rows of a table whose last cell names the section: a symptom, or what an alert watches.
    set(symptoms "")
    foreach(table IN ITEMS ${page} docs/operate/operations.md)
      file(STRINGS ${ROOT}/${table} rows REGEX "(\\(#${anchor}\\)| NcclEnv[A-Za-z, ]*) \\|$" ENCODING UTF-8)
      foreach(row IN LISTS rows)
        if(row MATCHES "\\(#${anchor}\\) \\|$" AND table STREQUAL page OR row MATCHES "\\| ${heading}[^|]* \\|$")
          string(REGEX REPLACE "^\\| ([^|]+) \\|.*" "\\1" row "${row}")
          string(REPLACE "`" "" row "${row}")
          string(APPEND symptoms "${row}|")
        endif()
      endforeach()
    endforeach()
    string(APPEND sections "section\t${page}#${anchor}\t${heading}\t${says}\t${terms}\t${symptoms}\n")
  endforeach()
endforeach()

set(words "\n")
function(add_words kind place row)
  string(REGEX REPLACE "#.*" "" page "${place}")
  file(STRINGS ${ROOT}/${page} lines REGEX "${row}" ENCODING UTF-8)
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "${row}" "\\1" names "${line}")
    string(REGEX REPLACE "${row}" "\\2" says "${line}")
    plain("${names}" names)
    plain("${says}" says)
    if(NOT words MATCHES "\n${kind}\t[^\t]*\t${names}\t")  # of linkLayer, the fabric's
      string(APPEND words "${kind}\t${place}\t${names}\t${says}\n")
    endif()
  endforeach()
  set(words "${words}" PARENT_SCOPE)
endfunction()
add_words(word "docs/start/concepts.md#words" "^\\| \\*\\*([^|]*)\\*\\* \\| ([^|]*) \\|$")
add_words(word "docs/start/concepts.md#words" "^- `([A-Za-z]+)`: (.*)$")
foreach(page webhook agent)
  add_words(word "docs/reference/${page}.md#metrics" "^\\| `([a-z_]+_[a-z_]+)` \\| [^|]*\\| ([^|]*) \\|$")
endforeach()
add_words(answer "docs/use/explain.md#a-pod" "^\\| \\*\\*([^|]*)\\*\\* \\| ([^|]*) \\|$")
add_words(field "docs/reference/policy-reference.md" "^\\| [*]*`([A-Za-z]+)`[*]* \\| .* \\| ([^|]*) \\|$")
file(WRITE ${OUTPUT} "// Made by cmake/Sections.cmake.
#include \"commands/sections.h\"

namespace nccl_env::cli {

const std::string_view kPages = R\"pages(${words}${sections})pages\";

}  // namespace nccl_env::cli
")
