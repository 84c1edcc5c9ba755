/* Averaging the parameters of a model among the ranks of a job, from C or any language that can call it; the loop, the
 * model and the optimizer are the caller's. The methods are those of `eave train --communicator`, with its options
 * (`eave train --help`). Build with cc job.c $(pkg-config --cflags --libs eave); start with mpirun or srun --mpi=pmix.
 *
 *     eave_start("auto");
 *     eave_open("communicator=easgd tau=10", parameters, gradients, count, &averager);
 *     for each step:
 *         eave_begin_step(averager, 0, 0, rate);
 *         ... forward and backward: gradients of the mean loss of this rank's batch ...
 *         eave_before_update(averager, 0, &updates);
 *         if (updates) ... the optimizer's step: parameters by gradients ...
 *         eave_after_update(averager);
 *     eave_consensus(averager, model);
 *     eave_close(averager);
 *     eave_stop();
 *
 * Every function is collective, but for eave_interface, eave_rank, eave_size, eave_description, eave_traits,
 * eave_look_ahead, eave_steps_left_out, eave_spent_by, eave_abort and the two of errors: all ranks call the same ones
 * in the same order. One thread calls them. They return 0, or an exit code of eave (mpi_launch/guide/faults.md)
 * with the message in eave_error(). After EAVE_USAGE or EAVE_CONFIGURATION nothing has been done: the call may be made
 * again. After another the job cannot go on: leave the process with that code, or by eave_abort, which ends the other
 * ranks.
 *
 * A rank that waits for another for as long as limit-step says ends the job with EAVE_PEER_LOST, and a message on
 * standard error names the rank that is silent or still computes. If two ranks call different functions (one has closed
 * its averager, or has left out a step), the job ends after a second, and the message says where each of them is.
 * Warnings go to standard error, one for the whole job.
 *
 * Stable: within a version of EAVE_INTERFACE functions are only added. */
#ifndef EAVE_H
#define EAVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EAVE_INTERFACE 1

enum { EAVE_USAGE = 64, EAVE_PEER_LOST = 69, EAVE_DIVERGED = 76, EAVE_CONFIGURATION = 78 };

/* What a method does, for eave_traits. */
enum {
  EAVE_AVERAGES_GRADIENTS = 1, /* in every step: gradients become the mean over all ranks */
  EAVE_HAS_CENTER = 2,         /* the consensus is a variable of its own, which values that are loaded do not reach */
  EAVE_MOVES_PARAMETERS = 4    /* by the gradients, without an optimizer: `updates` is never 1 */
};

typedef struct eave_averager eave_averager;

/* What this rank has spent on averaging so far. */
typedef struct eave_spent {
  double seconds_waiting; /* that the caller was blocked for other ranks, or for the wire */
  int64_t bytes;          /* that it has sent, as the summary of `eave train` counts them */
  int64_t calls;          /* operations among ranks */
} eave_spent;

/* EAVE_INTERFACE of the library that was loaded. */
int eave_interface(void);

/* Joins the ranks that the launcher started; once in a process. "auto": MPI where a launcher started this process, else
 * one rank by itself; or a name from `eave train --help`, --transport. Where the program has called MPI_Init itself, it
 * was with MPI_THREAD_MULTIPLE, and MPI_Finalize comes after eave_stop. Where MPI_Init fails in here, it ends the
 * process. If the launcher started more ranks than find each other (torchrun does), it returns 69 on all of them after
 * a second: each would train alone. Where MPI has begun by then, it prints that once for the job, and ends the process.
 * Ranks wait for each other as long as EAVE_LIMIT_STEP in the environment says (10min), until limit-step of eave_open
 * says otherwise. */
int eave_start(const char* transport);
int eave_rank(void); /* from 0; -1 before eave_start */
int eave_size(void); /* 0 before eave_start */
/* Takes leave of the others, with no averager open. Waits for them without a limit: they may evaluate and save. */
int eave_stop(void);
/* This rank cannot go on: ends all ranks with this exit code. Not collective, any thread. Returns only if there is no
 * other rank. */
void eave_abort(int code);

/* `options`: words "name=value" between spaces: communicator=…, with the options of that method, and what it has to
 * know of the run: lr=… (of the first step), momentum=… and nesterov=on (of the optimizer), steps=… (of the run; not
 * needed), seed=…; and plugin=FILE (without blanks), a shared object with a method of one's own, the same file on all
 * ranks. As in `eave train`:
 *     on-nonfinite=skip|abort, nonfinite-limit=10   what becomes of a step whose gradient or loss is not finite
 *     replica-hash-every=100, on-replica-fault=stop|repair   compares what the method keeps equal on all ranks
 *     limit-step=10min   how long a rank waits for another; 0s: for ever
 * Options that would do nothing are refused. `parameters` and `gradients`: `count` floats each in the host's memory,
 * where they stay until eave_close. All ranks leave with rank 0's parameters.
 *
 * With device=cuda the vectors lie in the memory of a GPU, that of the number gpu=N (0) as this process counts them;
 * also what eave_consensus writes into. eave works there in a queue of its own: before each call wait until what writes
 * them is done (cudaStreamSynchronize); when it returns, they may be used. Ranks with a GPU each exchange by NCCL. One
 * such averager may be open at a time. */
int eave_open(const char* options, float* parameters, float* gradients, size_t count, eave_averager** averager);
/* The equation in force with its numbers, then a line "warning: …" for each warning. Lives until eave_close. */
const char* eave_description(const eave_averager* averager);
/* EAVE_AVERAGES_GRADIENTS and so on, added up. */
unsigned eave_traits(const eave_averager* averager);

/* For nesterov=on, when the parameters are the point at which Nesterov's method takes the gradient: the iterate, on
 * which exchanges work, is parameters + factor * velocity. `velocity`: `count` floats beside the parameters, which are
 * read when exchanges need them, until the next call of this. The factor is that of the step that made the parameters:
 * for PyTorch's SGD (velocity: its momentum buffers) learning rate * momentum. Call it before the first step, with
 * zeros, and after each update whose factor is another. */
int eave_look_ahead(eave_averager* averager, const float* velocity, double factor);

/* Before the gradients of a step are computed: the parameters may change. `samples` of this rank in this step and of
 * all ranks together: means of gradients are weighted by them; 0, 0: as many on each rank. */
int eave_begin_step(eave_averager* averager, int64_t samples, int64_t samples_everywhere, double learning_rate);
/* The gradients are complete. They become the mean over all ranks where the method averages gradients; where it pulls
 * parameters, these have moved. `loss_sum`: over this rank's samples, for methods that weigh replicas by it; else 0.
 * `updates`: whether the optimizer is to take its step. Some methods move the parameters themselves; and a step whose
 * gradient or loss_sum is not finite is left out: on all ranks where gradients are averaged, else on this one. Ten in a
 * row return EAVE_DIVERGED. */
int eave_before_update(eave_averager* averager, double loss_sum, int* updates);
/* The same for a model of so many tensors, some of which may have no gradient: `has_gradient` is not 0 for those of
 * this rank that have one. In a step that averages gradients the flags become those of any rank: a tensor without a
 * gradient on this rank counts as 0 in the mean. In other steps they stay. Where they are 0 afterwards, the optimizer
 * is to leave the tensor alone. */
int eave_before_update_of(eave_averager* averager, double loss_sum, unsigned char* has_gradient, size_t tensors,
                          int* updates);
/* The parameters have moved. EAVE_DIVERGED: they are not finite. 70: after every hundredth step ranks are compared, and
 * differ. */
int eave_after_update(eave_averager* averager);
int64_t eave_steps_left_out(const eave_averager* averager); /* of this rank: they were not finite */

/* Between steps: the model that is to be evaluated and saved (the center, the mean, or the parameters), the same on all
 * ranks; `count` floats. 70: what the method keeps equal on all ranks differs. Warns if it is still what all began
 * with. With `communicator=none average-at-end=on` it is the mean over all ranks, weighted by their samples. */
int eave_consensus(eave_averager* averager, float* into);
/* In place: each element becomes the sum over ranks, in rank order; for counts and losses. */
int eave_sum(double* values, size_t count);
/* Rank 0's bytes go to all. */
int eave_broadcast(void* values, size_t bytes);
/* EAVE_CONFIGURATION if a rank gives another text than rank 0; the message has the first lines that differ. */
int eave_require_same(const char* text);
int eave_spent_by(eave_averager* averager, eave_spent* spent);

/* Ends the method on all ranks, and frees. */
int eave_close(eave_averager* averager);

/* What went wrong in the last call of this thread that did not return 0. */
const char* eave_error(void);
/* 1: it went wrong on all ranks alike, so one of them may speak for all: rank 0. After eave_start, another has spoken.
 */
int eave_error_is_shared(void);

#ifdef __cplusplus
}
#endif
#endif
