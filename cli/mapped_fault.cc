#include "mapped_fault.h"

#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "command.h"
#include "json.h"
#include "lathe/unfinished_files.h"

namespace lathe::cli {
namespace {

std::string sentence, json_text;

void write_all(int descriptor, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(descriptor, text.data() + done, text.size() - done);
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

// The fault is synchronous: it comes from a load of mapped bytes, never from inside the allocator or the file
// system, so that cleaning up may use both. Unwinding is not possible here, and other threads may fault as
// well: the process ends.
void on_bus_error(int) {
  remove_unfinished_files();
  write_all(STDOUT_FILENO, json_text);
  write_all(STDERR_FILENO, sentence);
  ::_exit(model_at_fault);
}

}  // namespace

void report_mapped_faults(const std::filesystem::path& model, bool json) {
  Diagnostic d;
  d.code = Code::external_truncated;
  d.stage = "read";
  d.node = model.string();
  d.expected = "a file (or external data) that keeps its length while it is used";
  d.got = "one that became shorter";
  d.remedy = "leave the file alone meanwhile, or use --untrusted to read it into memory first";
  sentence = d.message() + "\n";
  if (json)
    json_text = Json{{"error", to_json(d)}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  struct sigaction action = {};
  action.sa_handler = on_bus_error;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace lathe::cli
