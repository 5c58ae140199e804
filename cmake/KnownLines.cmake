# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C++ source with the text of FOLDER/*.txt.
#   cmake -DFOLDER=src/core/nccl_log/known_lines -DOUTPUT=known_lines.cc -P cmake/KnownLines.cmake

cmake_minimum_required(VERSION 3.25)

file(GLOB files ${FOLDER}/*.txt)
set(literals "")
foreach(file IN LISTS files)
  file(READ ${file} text)
  string(APPEND literals "\n    R\"rows(${text}\n)rows\"")
endforeach()
file(WRITE ${OUTPUT} "// Made by cmake/KnownLines.cmake.
#include \"nccl_log/known_lines/text.h\"

namespace nccl_env {

const std::string_view kKnownLines =${literals};

}  // namespace nccl_env
")
