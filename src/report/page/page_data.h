// Writes a comparison as the JSON object that a report's page draws. The code is in page.cpp. This header is for
// page.cpp and tests, so that page.h needs no JSON library.
//
//   {"format": 1, "title", "made", "version", "own_notes": [line],
//    "tokens_per_sample": of text; the page then shows tokens in place of samples; 1: samples below are tokens,
//    "metric": {"name", "better": "higher" or "lower"}, whose values stand wherever "accuracy" is written below,
//    "target": {"accuracy", "chosen_by"} or null, "verdict": [sentence], "notes": [sentence],
//    "left_out": [{"name", "why"}], "differing": [option],
//    "variants": [{"label", "method", "place", "ranks", "workers", "batch_per_rank", "total_batch", "lr", "chosen",
//      "why_chosen", "tuning": {"rates", "runs", "seconds"}, "edges": [text], "option_tuning": [text], "evaluations":
//      count, "within": whether a cost to the target is an upper bound, "standing": {name of an estimate: "first",
//      "tied" or "behind"}, "settings": {option: text}, "runs": [index], "finished": count, "accuracy", "validation",
//      "loss", "seconds", "samples", "samples_per_second", "bytes_per_rank", "speedup", "efficiency",
//      "seconds_to_target", "samples_to_target", "bytes_to_target": {"n", "mean", "low", "high"} or null, "shares":
//      {"computing", "exchanging", "waiting", "loading"}}],
//    "runs": [{"name", "variant": index, "seed", "state", "why",
//      "steps": {"seconds", "step", "epoch", "bytes", "loss"},
//      "evaluations": {"seconds", "step", "epoch", "bytes", "center", "mean_of_workers", "first_worker",
//        "best_worker", "validation" (if it was recorded): {"loss", "accuracy"},
//        "distance_min", "distance_mean", "distance_max"}}],      columns: one number, or null, per point
//    "notebook": [{"method", "place", "kept": "batch per rank" or "total batch", "batches": [number],
//      "rows": [{"ranks", "cells": [{"variant": index, "seconds", "speedup", "accuracy"} or null]}]}]}
#pragma once

#include "report/compare/comparison.h"
#include "report/page/page.h"
#include "report/record/json.h"

namespace eave {

Json page_data(const Comparison& comparison, const PageFacts& facts);

}  // namespace eave
