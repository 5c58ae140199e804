# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C++ source with the page of `nccl-env report`: FOLDER/page.html with style and scripts in
# their places and their hashes in its Content-Security-Policy; @text@ and @data@ are left to the program.
#   cmake -DFOLDER=src/cli/report -DOUTPUT=report_page.cc -P cmake/ReportPage.cmake

cmake_minimum_required(VERSION 3.25)

# The digest as the policy wants it: base64 of its bytes.
function(hash_source text result)
  string(SHA256 hex "${text}")
  string(APPEND hex "00")  # 33 bytes, whole groups of three; the last digit becomes the padding
  set(alphabet "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
  set(base64 "")
  foreach(at RANGE 0 60 6)
    string(SUBSTRING "${hex}" ${at} 6 group)
    foreach(shift IN ITEMS 18 12 6 0)
      math(EXPR digit "(0x${group} >> ${shift}) & 63")
      string(SUBSTRING "${alphabet}" ${digit} 1 letter)
      string(APPEND base64 "${letter}")
    endforeach()
  endforeach()
  string(SUBSTRING "${base64}" 0 43 base64)
  set(${result} "'sha256-${base64}='" PARENT_SCOPE)
endfunction()

file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/style.css style)
set(script "\"use strict\";\n(() => {\n")
foreach(part IN ITEMS data words search grid share details page)  # each uses what stands before it
  file(READ ${FOLDER}/${part}.js text)
  string(APPEND script "${text}")
endforeach()
string(APPEND script "})();\n")

hash_source("${script}" script_source)
hash_source("${style}" style_source)
set(policy "default-src 'none'; script-src ${script_source}; style-src ${style_source}; img-src data:")
string(APPEND policy "; base-uri 'none'; form-action 'none'")
string(REPLACE "@csp@" "${policy}" page "${page}")
string(REPLACE "@style@" "${style}" page "${page}")
string(REPLACE "@script@" "${script}" page "${page}")

string(REGEX MATCHALL "@(text|data)@|\\)page\"" places "${page}")
if(NOT places STREQUAL "@text@;@data@")
  message(FATAL_ERROR "${FOLDER}: the page has to hold @text@ and @data@ once, and no )page\"")
endif()
file(WRITE ${OUTPUT} "// Made by cmake/ReportPage.cmake.
#include \"report/report_page.h\"

namespace nccl_env::cli {

const std::string_view kReportPage = R\"page(${page})page\";

}  // namespace nccl_env::cli
")
