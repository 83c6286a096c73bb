// save_plan MODEL PLAN
#include "lathe/lathe.h"

int main(int, char** argv) { lathe::Engine::build(argv[1]).save(argv[2]); }
