#include "cli/examples.h"

#include <map>

namespace bulkhead::cli {

const std::vector<Example>& examplesOf(std::string_view verb) {
    static const std::map<std::string_view, std::vector<Example>> all = {
        {"demo", {{"bulkhead demo", "see what Bulkhead does, with no GPU, in a minute or two"}}},
        {"dissect",
         {{"bulkhead dissect --gpu sim:gtx1080 --out gtx1080.map.json", "find the map of a simulated GTX 1080"},
          {"bulkhead dissect --gpu sim:gtx1080 --verify gtx1080.map.json", "measure how right it is"},
          {"bulkhead dissect --gpu cuda:0 --json h200.json", "the same on a real GPU, with every figure"}}},
        {"run",
         {{"bulkhead run ATAX --size test", "run a workload and check it against the CPU"},
          {"bulkhead run ATAX --scheduler ciao-c --set l1.ways=8", "under another scheduler, on another cache"},
          {"bulkhead run k.ptx --kernel add --grid 64 --block 256 --arg 'f32[16384]=iota' --timeline trace.json",
           "run a kernel of a PTX file and draw what every SM does"}}},
        {"workloads",
         {{"bulkhead workloads", "list them"},
          {"bulkhead workloads ATAX SYRK --measure --size default",
           "run two, and show them beside the paper's figures"}}},
        {"compare",
         {{"bulkhead compare --workloads ATAX,SYRK,Hotspot --size test --json compare.json",
           "seven schedulers on three workloads"},
          {"bulkhead compare --workloads LWS --schedulers gto,ciao-c --size test --html compare.html",
           "a class of them, as a page"}}},
        {"stress",
         {{"bulkhead stress --list", "name aggressors, victims and placements"},
          {"bulkhead stress --victim random --aggressors compute,evict-random --samples 2 --accesses 4096 --json "
           "stress.json",
           "a victim beside two aggressors on a simulated TX2"},
          {"bulkhead stress --victim './program \"two words\"' --aggressors evict-random --placement mps --samples 2",
           "a CUDA program of your own as the victim"},
          {"bulkhead stress --gpu cuda:0 --victim latency --aggressors all --map map.json --html stress.html",
           "every aggressor on a real GPU, as a page"}}},
        {"isolate",
         {{"bulkhead isolate plan --gpu sim:gtx1080 --partitions 2", "show how a GPU would be divided in two"},
          {"bulkhead isolate plan --gpu sim:v100 --partitions vision=50%,speech=25%,rest=25%", "or as you like"},
          {"bulkhead isolate evaluate --gpu sim:gtx1080 --applications VA --neighbours VA --size test",
           "measure how far a neighbour reaches through the walls"}}},
        {"reproduce",
         {{"bulkhead reproduce all --quick --html papers.html",
           "every table and figure of the three papers, shortened"},
          {"bulkhead reproduce interference --figures table1 --samples 1", "one table of the interference paper"},
          {"bulkhead reproduce ciao --figures 1b,overhead --limit 100000",
           "two figures of the CIAO paper, shortened"}}},
        {"report",
         {{"bulkhead report compare.json stress.json -o report.html", "one page of two runs"},
          {"bulkhead report compare.json --svg figures --png figures",
           "each chart as a picture in the folder figures, drawn and in pixels"},
          {"bulkhead report results/*.json results/h200/*.json -o papers.html", "papers, simulation and hardware"}}},
        {"cc",
         {{"bulkhead cc -O2 examples/reduction.cu -o reduction", "build a program"},
          {"./reduction", "run it, on a simulated GPU where there is no other"}}},
        {"exec",
         {{"bulkhead exec -- ./program --its-own options", "run a program on a simulated GTX 1080"},
          {"bulkhead exec --gpu sim:h200 --stats kernels.json -- ./program",
           "on another GPU, and keep what it counted"}}},
        {"gpus",
         {{"bulkhead gpus", "list them"},
          {"bulkhead gpus h200 --set dram.latency=400", "every figure of one, with a change"},
          {"bulkhead gpus h200 --sources", "where each figure comes from"},
          {"bulkhead gpus gtx1080 --html gtx1080.html",
           "the same as a page, with maps of its slices, banks and colors"}}},
        {"completion",
         {{"source <(bulkhead completion bash)", "in ~/.bashrc"},
          {"source <(bulkhead completion zsh)", "in ~/.zshrc, after compinit"},
          {"bulkhead completion fish | source", "in ~/.config/fish/config.fish"}}},
        {"man",
         {{"bulkhead man stress | man -l -", "read the manual of a verb"},
          {"bulkhead man --out man1", "write all pages into a folder"}}},
    };
    static const std::vector<Example> none;
    const auto found = all.find(verb);
    return found == all.end() ? none : found->second;
}

}  // namespace bulkhead::cli
