"""All kinds of trials: maps a name to its weight and to the function that draws a trial."""
import kind_data
import kind_image
import kind_index
import kind_model
import kind_name
import kind_option
import kind_place
import kind_run
import kind_stage
import kind_start
import kind_text

KINDS = {
    "idx": (12, kind_data.make_idx),
    "cifar": (1, kind_data.make_cifar),
    "text": (4, kind_text.make_text),
    "tokens": (4, kind_text.make_tokens),
    "vocabulary": (3, kind_text.make_vocabulary),
    "image": (10, kind_image.make_image),
    "model": (10, kind_model.make_model),
    "index": (6, kind_index.make_index),
    "run": (14, kind_run.make_run),
    "resume": (8, kind_run.make_resume),
    "checkpoint": (6, kind_run.make_checkpoint),
    "option": (8, kind_option.make_option),
    "quantity": (6, kind_option.make_quantity),
    "list": (3, kind_option.make_list),
    "config": (6, kind_option.make_config),
    "number": (8, kind_option.make_number),
    "name": (6, kind_name.make_name),
    "environment": (4, kind_option.make_environment),
    "tilde": (2, kind_option.make_tilde),
    "link": (8, kind_place.make_link),
    "output": (4, kind_place.make_output),
    "disk": (3, kind_place.make_disk),
    "limit": (6, kind_place.make_limit),
    "signal": (4, kind_start.make_signal),
    "launcher": (4, kind_start.make_launcher),
    "stage": (3, kind_stage.make_stage),
    "doctor": (3, kind_stage.make_doctor),
    "compare": (3, kind_stage.make_compare),
    "watch": (4, kind_stage.make_watch),
    "mpirun": (1, kind_start.make_mpirun),
}
