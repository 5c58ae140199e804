// SPDX-License-Identifier: Apache-2.0
// nccl-env verify
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "commands.h"
#include "inputs.h"
#include "nccl_env/core/nccl_log.h"
#include "pod_templates.h"

namespace nccl_env::app {
namespace {

// Of any length: what stays in memory is one line, and of that no more than the reader takes.
bool read_lines(std::istream& in, NcclLogReader& reader) {
  char block[64 << 10];
  std::string line;
  bool cut = false;
  const auto add = [&](std::string_view part) {
    const std::size_t room = NcclLogReader::kMaxLine - line.size();
    cut = cut || part.size() > room;
    line.append(part.substr(0, room));
  };
  while (in.read(block, sizeof block) || in.gcount() > 0) {
    std::string_view rest(block, static_cast<std::size_t>(in.gcount()));
    for (std::size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n')) {
      add(rest.substr(0, end));
      reader.read_line(line, cut);
      line.clear();
      cut = false;
      rest.remove_prefix(end + 1);
    }
    add(rest);
  }
  if (!line.empty()) reader.read_line(line, true);  // without its end it may be cut
  return !in.bad();
}

Status read_log(const std::string& file, std::istream& in, NcclLogReader& reader) {
  if (file == "-") {
    if (!read_lines(in, reader)) return Error{"standard input: cannot be read"};
    return done();
  }
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return Error{file + ": " + (errno ? std::strerror(errno) : "cannot be opened")};
  if (!read_lines(stream, reader)) return Error{file + ": cannot be read"};
  return done();
}

Result<std::vector<InjectedValue>> read_values(const VerifyArguments& arguments, std::istream& in) {
  if (arguments.pod.empty()) return std::vector<InjectedValue>();
  const auto documents = read_documents(arguments.pod, in);
  if (!documents) return documents.error();
  std::vector<PodTemplate> found;
  for (const nlohmann::json& document : *documents) {
    for (PodTemplate& pod : find_pod_templates(document)) found.push_back(std::move(pod));
  }
  if (found.size() != 1)
    return Error{arguments.pod + ": must hold one pod, as kubectl get pod NAME -o json prints it; it holds " +
                 std::to_string(found.size())};
  ReviewParser parser;
  const std::string text = found.front().pod->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const Result<Pod> pod = parser.parse_pod(text);
  if (!pod) return Error{arguments.pod + ": " + pod.error().message};
  auto values = injected_values(*pod, arguments.container);
  if (!values) return Error{arguments.pod + ": " + values.error().message};
  return values;
}

}  // namespace

int verify_nccl_log(const VerifyArguments& arguments, const Terminal& terminal) {
  if (arguments.log == "-" && arguments.pod == "-")
    return stop(terminal, kUsage, "LOG and --pod: only one of them can be the standard input");
  if (!arguments.container.empty() && arguments.pod.empty())
    return stop(terminal, kUsage, "--container: only with --pod");
  const auto values = read_values(arguments, terminal.in);
  if (!values) return stop(terminal, kRefused, values.error().message);
  NcclLogReader reader;
  if (const Status read = read_log(arguments.log, terminal.in, reader); !read)
    return stop(terminal, kRefused, read.error().message);
  const NcclLog& log = reader.log();
  if (log.nccl_lines == 0)
    return stop(terminal, kRefused,
                arguments.log + ": none of " + std::to_string(log.lines) +
                    " lines is NCCL's; the job needs NCCL_DEBUG=INFO, and NCCL_DEBUG_FILE writes elsewhere");
  const LogVerification verification = verify_log(log, *values);
  if (arguments.output == "json") {
    terminal.out
        << to_json(verification, log).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
        << '\n';
  } else {
    terminal.out << render_text(verification, log);
  }
  return is_good(verification) ? kDone : kRefused;
}

}  // namespace nccl_env::app
