"""Prints the scalars of a run directory as TensorBoard's own reader finds them, in JSON: {tag: [[step, value],
...]}."""
import json
import sys

from tensorboard.backend.event_processing import event_accumulator

reader = event_accumulator.EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
reader.Reload()
print(json.dumps({tag: [[event.step, event.value] for event in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}))
