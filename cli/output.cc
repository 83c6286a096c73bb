#include "output.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "command.h"
#include "text.h"

namespace lathe::cli {

OutputFile::OutputFile(const std::filesystem::path& given) : path_(given), name_(given.string()) {
  if (name_ != "-" && name_ != "/dev/stdout" && name_ != "/dev/fd/1" && name_ != "/proc/self/fd/1") return;
  name_ = "standard output";
  std::fflush(stdout);
  // A copy for the model; then everything that is said goes the other way.
  const int copy = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (copy < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
    throw Error(Code::file_write_failed, "write", "standard output to write to", std::strerror(errno));
  path_ = "/dev/fd/" + std::to_string(copy);
}

void check_name_of_model(const std::filesystem::path& output) {
  struct Format {
    const char *ending, *name;
  };
  constexpr Format others[] = {{".tflite", "TensorFlow Lite"},
                               {".lite", "TensorFlow Lite"},
                               {".h5", "Keras"},
                               {".hdf5", "Keras"},
                               {".keras", "Keras"},
                               {".pt", "PyTorch"},
                               {".pth", "PyTorch"},
                               {".pt2", "PyTorch"},
                               {".pte", "ExecuTorch"},
                               {".ptl", "PyTorch"},
                               {".torchscript", "PyTorch"},
                               {".ckpt", "a checkpoint"},
                               {".safetensors", "safetensors"},
                               {".gguf", "GGUF"},
                               {".ggml", "GGML"},
                               {".npz", "NumPy"},
                               {".npy", "NumPy"},
                               {".ort", "ONNX Runtime's own format"},
                               {".engine", "TensorRT"},
                               {".plan", "TensorRT"},
                               {".trt", "TensorRT"},
                               {".uff", "TensorRT"},
                               {".xml", "OpenVINO"},
                               {".bin", "OpenVINO or PyTorch"},
                               {".blob", "OpenVINO"},
                               {".mlmodel", "Core ML"},
                               {".mlpackage", "Core ML"},
                               {".mlmodelc", "Core ML"},
                               {".caffemodel", "Caffe"},
                               {".prototxt", "Caffe"},
                               {".pdmodel", "PaddlePaddle"},
                               {".pdiparams", "PaddlePaddle"},
                               {".params", "MXNet"},
                               {".param", "ncnn"},
                               {".ncnn", "ncnn"},
                               {".mnn", "MNN"},
                               {".rknn", "RKNN"},
                               {".dlc", "SNPE"},
                               {".om", "CANN"},
                               {".nnef", "NNEF"},
                               {".mlir", "MLIR"},
                               {".pkl", "pickle"},
                               {".joblib", "joblib"},
                               {".json", "JSON"},
                               {".pmml", "PMML"},
                               {".zip", "zip"},
                               {".html", "HTML"},
                               {".svg", "SVG"},
                               {".dot", "Graphviz"}};
  std::string ending = output.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto of_others = std::ranges::find(others, ending, &Format::ending);
  if (of_others != std::end(others))
    throw Error(Code::bad_argument, "write", "a file that ends in .onnx, .onnxtxt, .txt or .lathe",
                "'" + output.string() + "', which is a name for " + of_others->name,
                "Lathe writes ONNX, its text, and plans: name the output as one of these");
}

std::optional<uint64_t> OutputFile::bytes() const {
  struct stat s;
  if (::stat(path_.c_str(), &s) != 0 || !S_ISREG(s.st_mode)) return std::nullopt;
  return static_cast<uint64_t>(s.st_size);
}

std::string OutputFile::report() const {
  const auto size = bytes();
  return name_ + ": " + (size ? bytes_text(*size) : "written");
}

void keep_standard_streams() {
  ::signal(SIGPIPE, SIG_IGN);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free descriptor, which is this one; the wrong way round, so that using it fails as before.
    [[maybe_unused]] const int held = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

int with_output_written(int exit_code) {
  errno = 0;
  std::cout.flush();
  const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout) && std::cout.good();
  if (written) return exit_code;
  const std::string why = errno ? std::strerror(errno) : "a write that failed";
  tell(std::string(Error(Code::file_write_failed, "write", "standard output that takes what is printed", why,
                         "not all of it was")
                       .what()) +
       "\n");
  return exit_code == success ? static_cast<int>(command_line_at_fault) : exit_code;
}

void tell(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace lathe::cli
