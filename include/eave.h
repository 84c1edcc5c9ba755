/* Averages the parameters of a model among the ranks of a job, from C or any language that can call C. The caller
 * brings the training loop, the model and the optimizer. The methods and their options are those of `eave train`
 * (`eave train --help`, --communicator). Build with cc job.c $(pkg-config --cflags --libs eave). Start with mpirun or
 * srun --mpi=pmix.
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
 * Functions are collective: all ranks call the same functions in the same order. These are not collective:
 * eave_interface, eave_rank, eave_size, eave_local_rank, eave_description, eave_traits, eave_look_ahead,
 * eave_gradient_ready, eave_gradients_ready, eave_steps_left_out, eave_steps, eave_spent_by, eave_shuffle,
 * eave_run_loss, eave_run_fail, eave_abort, eave_error, eave_error_is_shared and eave_ranks_meet_by_mpi, and those that
 * say so. One thread makes all calls.
 *
 * A function returns 0, or an exit code of eave (mpi_launch/guide/faults.md); then eave_error() gives the message.
 * After EAVE_USAGE or EAVE_CONFIGURATION nothing has been done, and the call may be made again. After another code the
 * job cannot go on. Then end the process with that code, or call eave_abort, which ends the other ranks too.
 *
 * If a rank waits for another for longer than limit-step, the job ends with EAVE_PEER_LOST. A message on standard error
 * names the rank that is silent or still computes. If two ranks call different functions, because one has closed its
 * averager or left out a step, the job ends after a second. The message says where each of them is. Each warning is
 * printed to standard error once for the whole job.
 *
 * Stability: while EAVE_INTERFACE stays the same, functions are only added. */
#ifndef EAVE_H
#define EAVE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EAVE_INTERFACE 1

enum { EAVE_USAGE = 64, EAVE_PEER_LOST = 69, EAVE_LEFT = 75, EAVE_DIVERGED = 76, EAVE_CONFIGURATION = 78 };

/* Traits of a method; eave_traits returns their sum. */
enum {
  EAVE_AVERAGES_GRADIENTS = 1, /* in every step the gradients become the mean over all ranks */
  EAVE_HAS_CENTER = 2,         /* the consensus is a variable of its own: loading a model does not change it */
  EAVE_MOVES_PARAMETERS = 4,   /* the method itself moves the parameters by the gradients: `updates` is never 1 */
  EAVE_EXCHANGES_TOGETHER = 8, /* every exchange has all ranks, after the same steps; so equal replicas stay equal */
  EAVE_WANTS_LOSS = 16         /* with these options the method follows the loss, as with adaptive-tau=on */
};

typedef struct eave_averager eave_averager;
typedef struct eave_run eave_run;

/* The costs of averaging on this rank so far. */
typedef struct eave_spent {
  double seconds_waiting; /* seconds for which the caller was blocked on other ranks or on the network */
  int64_t bytes;          /* bytes that this rank sent, counted as in the summary of `eave train` */
  int64_t calls;          /* operations among ranks */
} eave_spent;

/* EAVE_INTERFACE of the library that was loaded. */
int eave_interface(void);

/* Joins the ranks that the launcher started. May be called once in a process. `transport` is "auto" (MPI if a launcher
 * started this process, tcp if EAVE_MEET is set, otherwise a single rank), or a name of --transport in `eave train
 * --help`. If the program calls MPI_Init itself, it must ask for MPI_THREAD_MULTIPLE and call MPI_Finalize after
 * eave_stop. If eave_start calls MPI_Init and that fails, MPI ends the process. If the launcher started more ranks than
 * find each other (as torchrun does without EAVE_MEET), each of them would train alone. Then eave_start returns 69 on
 * all of them after a second. If MPI has begun by then, it prints the message once for the job and ends the process
 * instead. It does the same if the program has already called MPI_Finalize. If the ranks fail to meet over TCP,
 * eave_start also prints the message that it returns. Ranks wait for each other for at most EAVE_LIMIT_STEP in the
 * environment (default 10min), until limit-step of eave_open sets another limit. */
int eave_start(const char* transport);
int eave_rank(void); /* from 0; -1 before eave_start */
int eave_size(void); /* number of ranks; 0 before eave_start */
/* The number of ranks of this rank's host before it: from 0 on each host; -1 before eave_start. If each rank of a host
 * sees all of its GPUs, it is the number of the GPU for this rank. */
int eave_local_rank(void);
/* Leaves the job. Returns EAVE_USAGE if an averager is open: close it first. Waits for the other ranks without a limit,
 * as they may still evaluate and save. */
int eave_stop(void);
/* Ends all ranks with this exit code, because this rank cannot go on. A code that is not from 1 to 255 becomes 70. Not
 * collective; any thread may call it. Returns only if there is no other rank. */
void eave_abort(int code);

/* Opens an averager over the parameters and gradients of a model. `options` are words "name=value" with spaces between:
 *     communicator=…   the method; its options follow as further words
 *     lr=…   the learning rate of the first step
 *     momentum=…, nesterov=on   those of the optimizer
 *     steps=…   steps of the run; may be left out
 *     seed=…   seed of the run
 *     plugin=FILE   a shared object with a method of one's own, the same file on all ranks; no blanks in its name
 *     allow-changed-plugin=on   restore and load states that another FILE saved: the same method, compiled again
 * These have the meaning that they have in `eave train`:
 *     on-nonfinite=skip|abort, nonfinite-limit=10   what happens in a step whose gradient or loss is not finite
 *     replica-hash-every=100, on-replica-fault=stop|repair   comparison of what the method keeps equal on all ranks
 *     limit-step=10min   how long a rank waits for another; 0s = forever
 * An option that would have no effect is refused. `parameters` and `gradients` are `count` floats each, in host memory,
 * and must stay at their addresses until eave_close. When it returns, all ranks have rank 0's parameters.
 *
 * With device=cuda, the two vectors and `into` of eave_consensus lie in the memory of a GPU. gpu=N (default 0) is its
 * number as this process counts GPUs. eave works in a queue of its own. So before each call, wait until the kernels
 * that write the vectors are done (cudaStreamSynchronize); when the call returns, the vectors may be used. If each rank
 * has its own GPU (eave_local_rank) and eave_start was given "auto", they exchange by NCCL, otherwise by the transport.
 * Rank 0 prints a warning if ranks share a GPU, or cannot use NCCL. The default of bucket-bytes is 64MiB: if you call
 * eave_gradient_ready during backward, give less. Only one averager with device=cuda may be open at a time. */
int eave_open(const char* options, float* parameters, float* gradients, size_t count, eave_averager** averager);
/* The method's equation with the numbers of this run, then a line "warning: …" for each warning. The text lives until
 * eave_close. */
const char* eave_description(const eave_averager* averager);
/* The sum of EAVE_AVERAGES_GRADIENTS and so on. */
unsigned eave_traits(const eave_averager* averager);

/* Use it with nesterov=on if the parameters are the point at which Nesterov's method takes the gradient. Then exchanges
 * work on the iterate, which is parameters + factor * velocity. `velocity` is `count` floats in the same memory as the
 * parameters. Exchanges read it when they need it, so keep it until the next call of this function, or eave_close.
 * `factor` is that of the step in which they do. For PyTorch's SGD, `velocity` holds its momentum buffers, and the
 * factor is learning rate * momentum. Call it before the first step, with zeros, and before each step whose factor
 * differs from that of the step before. Returns EAVE_USAGE without nesterov=on, or if the factor is not finite. If
 * `velocity` is not finite, eave_after_update returns EAVE_DIVERGED where it does so for parameters. */
int eave_look_ahead(eave_averager* averager, const float* velocity, double factor);

/* Call it before the gradients of a step are computed; it may change the parameters. `samples` are those of this rank
 * in this step, `samples_everywhere` those of all ranks together. They are the weights in means of gradients, and in
 * means of parameters (local-sgd, bmuf, slowmo, diloco, and none with average-at-end=on), over the steps since the last
 * one. If both are 0, all ranks have the same weight. If the samples of all ranks do not add up to samples_everywhere,
 * the function that would make the mean returns EAVE_USAGE on all ranks: eave_before_update for gradients, otherwise
 * eave_after_update, eave_consensus, eave_state or eave_save. Then the averager can only be closed. If ranks take steps
 * independently (easgd-async), a rank that takes none takes part in the first step of the other ranks with weight 0, in
 * its next collective call that is no step. That call may move the parameters, and sets the gradients to 0. */
int eave_begin_step(eave_averager* averager, int64_t samples, int64_t samples_everywhere, double learning_rate);
/* Optional; call it between eave_begin_step and eave_after_update if the optimizer takes this step at another learning
 * rate, the same on all ranks. Not collective. */
int eave_change_rate(eave_averager* averager, double learning_rate);
/* Begins a step in place of eave_begin_step if ranks may have unequal numbers of batches. `samples` are those of this
 * rank, above 0, or 0 once its data has ended. A rank whose data has ended goes on calling, in each step with gradients
 * of any value, and takes part with weight 0. When the data of all ranks has ended, `begins` becomes 0 on all of them,
 * and no step has begun. Otherwise it becomes 1, and the step goes on as after eave_begin_step. All ranks begin all
 * their steps by this function until then. If ranks take steps independently (easgd-async), a rank without data waits
 * for the other ranks. If that rank has taken no step since the last consensus, it first takes one step with weight 0,
 * which eave_steps does not count. `numbers` are `count` numbers, the same on all ranks with samples; the first one
 * is the learning rate. A rank without samples gets those of the ranks with samples, because its own schedule does not
 * go on. */
int eave_begin_joined_step(eave_averager* averager, int64_t samples, double* numbers, size_t count, int* begins);
/* Call it when the gradients are complete. If the method averages gradients, it replaces them by the mean over all
 * ranks. If the method pulls parameters, it moves them. `loss_sum` is the loss summed over this rank's samples. Without
 * EAVE_WANTS_LOSS it may be 0. Sets `updates` to whether the optimizer must take its step. It is 0 if the method moves
 * the parameters itself, or if the step is left out because its gradient or loss_sum is not finite. If gradients are
 * averaged, such a step is left out on all ranks, otherwise on this rank only. After nonfinite-limit of them in a row
 * it returns EAVE_DIVERGED. */
int eave_before_update(eave_averager* averager, double loss_sum, int* updates);
/* As eave_before_update, for a model of `tensors` tensors, some of which may have no gradient. `has_gradient` has a
 * flag per tensor, not 0 if the tensor has a gradient on this rank. In a step that averages gradients, each flag is set
 * to whether any rank has a gradient; a rank without one counts as 0 in the mean. In other steps the flags do not
 * change. If a tensor's flag is 0 afterwards, the optimizer must not change that tensor. */
int eave_before_update_of(eave_averager* averager, double loss_sum, unsigned char* has_gradient, size_t tensors,
                          int* updates);
/* Optional; call it between eave_begin_step and eave_before_update. The gradients from index `first` on, `count` of
 * them, are complete; the caller neither changes nor reads them until eave_before_update returns. If the method
 * averages gradients in this step, their exchange begins while the caller computes the other ones; otherwise nothing
 * happens. Parts come from the end of the vector to its beginning, without gaps. Each rank may cut them differently,
 * and may leave out calls; eave_before_update hands over all that is left. The calls do not change a bit of
 * the result, with one exception: if a step is left out, the residuals of compression may differ. Not collective. */
int eave_gradient_ready(eave_averager* averager, size_t first, size_t count);
/* As eave_before_update_of, for gradients in host memory that lie apart: gradients[k] points to the counts[k] gradients
 * of tensor k, or is null if it has none. The vector given to eave_open has the tensors in this order, without gaps. If
 * the method averages gradients, it gets their mean. Otherwise neither the vector nor the gradients change. The first
 * `tensors` of the `flags` flags are those of the tensors. In a step that averages gradients, each further flag becomes
 * 1 on all ranks if any rank has set it. *exchanges becomes how often gradients have been exchanged in this step: 0, 1
 * or 2. 2 means that a gradient was changed on any rank after eave_gradients_ready had handed it over: then all
 * gradients were exchanged again, with the changed values. */
int eave_before_update_from(eave_averager* averager, double loss_sum, const float* const* gradients,
                            const size_t* counts, size_t tensors, unsigned char* has_gradient, size_t flags,
                            int* exchanges, int* updates);
/* As eave_gradient_ready, before eave_before_update_from: the gradients of the tensors from index `first` on are
 * complete. They are copied, so the caller may read and change them. Not collective. These functions start sums. So
 * before another collective function within the step, every rank must hand over all gradients (first = 0), complete or
 * not. Then collective operations keep the same order on all ranks. If gradients are compressed, the call does nothing,
 * and eave_before_update_from exchanges all of them: an exchange of gradients that change afterwards would leave wrong
 * residuals. eave_gradient_ready overlaps also then. */
int eave_gradients_ready(eave_averager* averager, const float* const* gradients, const size_t* counts, size_t tensors,
                         size_t first);
/* Call it when the parameters have been updated. In steps in which the method exchanges the parameters, and in every
 * hundredth step, it returns EAVE_DIVERGED if they are not finite. In other steps it does not check. The next call of
 * eave_consensus, eave_state, eave_save or eave_close checks, and so does eave_before_update if the gradient or loss is
 * not finite either. After every hundredth step (replica-hash-every) it compares the ranks and returns 70 if they
 * differ.
 */
int eave_after_update(eave_averager* averager);
/* How many steps this rank has left out because gradient or loss was not finite. */
int64_t eave_steps_left_out(const eave_averager* averager);

/* Call it between steps. Writes the model to evaluate and save (the center, the mean, or the parameters) to the `count`
 * floats of `into`. It is the same on all ranks. Returns 70 if values differ that the method keeps equal on all ranks.
 * Warns if it is still the model with which all ranks began. With `communicator=none average-at-end=on` it is the mean
 * over all ranks, weighted by their samples. */
int eave_consensus(eave_averager* averager, float* into);
/* In place: each element becomes the sum over ranks, in rank order. For counts and losses. */
int eave_sum(double* values, size_t count);
/* Gives all ranks rank 0's bytes. If `bytes` differs between ranks, it returns EAVE_CONFIGURATION. */
int eave_broadcast(void* values, size_t bytes);
/* Returns EAVE_CONFIGURATION if a rank's text differs from rank 0's; the message has the first lines that differ. */
int eave_require_same(const char* text);
/* Not collective. Writes what this averager has cost on this rank so far. */
int eave_spent_by(eave_averager* averager, eave_spent* spent);
/* Between eave_consensus and the next step. Writes the mean of all ranks' parameters to the `count` floats of `into`.
 */
int eave_mean_of_workers(eave_averager* averager, float* into);

/* Not collective; may be called before eave_start. Writes 0 to count - 1 in the order in which `eave train` takes the
 * samples of this epoch with this seed (--sampling shard). Step t takes the next ranks * batch of them, rank i the i-th
 * part. */
int eave_shuffle(int64_t* order, size_t count, uint64_t seed, int64_t epoch);
/* eave_state and eave_save save what a job needs to continue; eave_restore and eave_load restore it. A state is what
 * this rank needs of the parameters, the method (center, outer momentum, residuals of compression, values not sent yet)
 * and the averager's counts. The optimizer's state and everything else of the caller may go along as `caller`,
 * `caller_bytes` bytes. If a job goes on from a state, it takes the same steps, bit by bit, as without the
 * interruption, unless its method depends on timing.
 *
 * Save between steps, after the first one. Restore before the first step of an averager that was opened with the same
 * options; lr may differ unless rho is given, and steps and the options of checks may. Other options, another method or
 * model, or states that were not saved together are refused with EAVE_CONFIGURATION, the same on all ranks.
 *
 * With another number of ranks, `former` of eave_restore says what becomes of this rank. If it is the rank's own
 * number, this rank goes on where that former rank was, with the optimizer's state from `caller`. If it is 0 on another
 * rank, this rank begins with what all ranks had in common. If it is EAVE_NOBODY, this rank begins where the method
 * begins a new rank, and the optimizer begins anew. In the last two cases `caller` is rank 0's. `adownpour` refuses
 * another number of ranks with EAVE_CONFIGURATION, because its average depends on the number of pushes of all ranks.
 *
 * Bytes that are handed out stay valid until the next of these functions or eave_close. */
enum { EAVE_NOBODY = -1, EAVE_NO_CHECKPOINT = -2 };

/* Steps done, over all jobs that this one goes on from. */
int64_t eave_steps(const eave_averager* averager);
/* Hands out this rank's state, to be saved by the caller. */
int eave_state(eave_averager* averager, const void* caller, size_t caller_bytes, const void** state, size_t* bytes);
/* With the same number of ranks, pass this rank's own state; `count` is 1. With another number of ranks, pass each rank
 * the states of all ranks that saved, in any order. EAVE_USAGE names a rank whose state is missing. */
int eave_restore(eave_averager* averager, const void* const* states, const size_t* bytes, size_t count, int* former,
                 const void** caller, size_t* caller_bytes);
/* Writes the states of all ranks as a checkpoint, `directory`/step-N, and keeps the newest `kept`. A checkpoint has its
 * name only when it is complete and on the disk (src/checkpoint/CHECKPOINTS.md). Ranks that do not share rank 0's file
 * system send their files to rank 0. Checkpoints of later steps are removed: the job has passed them over when it
 * loaded. If this process has neither loaded from `directory` nor saved there, and a checkpoint of this or a later step
 * is there, it returns EAVE_USAGE and changes nothing. If an earlier averager of this process has, it warns. */
int eave_save(eave_averager* averager, const char* directory, const void* caller, size_t caller_bytes, int64_t kept);
/* Restores the newest checkpoint in `directory` that is whole; warns of damaged ones. If there is none, it sets
 * `former` to EAVE_NO_CHECKPOINT and does nothing. */
int eave_load(eave_averager* averager, const char* directory, int* former, const void** caller, size_t* caller_bytes);

/* Ends the method on all ranks, and frees the averager. Functions that get it afterwards return EAVE_USAGE. */
int eave_close(eave_averager* averager);
/* Not collective. Leaves the averager alone, after an error that keeps this rank from closing it together with the
 * other ranks. Its memory is not freed, and its vectors must stay, because an exchange may be under way. */
int eave_abandon(eave_averager* averager);

/* Asks all ranks to leave the job together. Not collective: any rank, any thread and any signal handler may call it. In
 * the next milliseconds the ranks agree on a step that none of them has ended yet. When eave_after_update has ended
 * that step, eave_is_leaving returns 1, on every rank after the same step. Then save what is needed, and end with
 * EAVE_LEFT as exit code. If ranks take steps independently (easgd-async), each leaves after its next step. */
void eave_ask_to_leave(void);
/* Calls eave_ask_to_leave when this process gets the signal, such as SIGUSR1, unless the program handles or ignores it.
 * If a signal other than SIGUSR1 comes again more than 2 s after the first (SIGINT: 0.3 s), it has its usual effect;
 * launchers, wrappers and closed terminals may send one twice within that time. Not collective. */
int eave_leave_on(int signal);
int eave_is_leaving(void); /* not collective */

/* Records the steps of an averager in a directory, in the formats of `eave train` (src/report/FORMATS.md), so that
 * `eave watch`, `summary`, `report` and `plan` read it. Rank 0 writes. A step costs no communication; evaluations send
 * what the ranks have recorded to rank 0. `settings` are lines "name=value", the same on all ranks. config.json has
 * them, and the averager's options. These have a meaning of their own:
 *     metric=accuracy, better=higher|lower   the number that models are judged by, and which of its values are better
 *     batch=…   samples of a rank in a step for which eave_begin_step is told no samples
 *     train-samples=…, test-samples=…   sizes of the data sets
 *     model=…, data=…, optimizer=…, program=…   texts for people
 *     optimizer-settings=…, schedule=…   the same, with the learning rate; for the header of metrics.jsonl
 *     log-every=1   steps for each line of metrics.jsonl; before an evaluation there is a line in any case
 *     overwrite=on   replaces the run that is in the directory; otherwise the directory must be new or empty
 *     resume=on   goes on with the run in the directory, if the averager goes on from a state that was saved while that
 *                 run was recorded. Later steps are cut from the record, so each step is there once. If nothing has
 *                 been saved, a run that was cut short begins anew
 * The last two may also be off. No setting may be named format: config.json has a format of its own.
 * Returns 73 if the directory cannot be used, or another run writes there. Close the run before its averager. */
int eave_run_open(const char* directory, const char* settings, eave_averager* averager, eave_run** run);
/* Records the mean loss of this rank's samples. It belongs to the step under way; between steps, to the last one.
 * Without this call, the loss is that of eave_before_update's loss_sum. */
int eave_run_loss(eave_run* run, double loss);
/* Call it between eave_consensus and the next step. Rank 0's numbers count: `loss` and `score`, the value of the
 * metric, are those of the consensus on the test set, and `validation` is a loss and a score on other samples, or null.
 * A loss may be NaN if it is not known. An accuracy is from 0 to 1. Returns EAVE_DIVERGED if a score is not finite or
 * beyond 1e39. */
int eave_run_evaluate(eave_run* run, double loss, double score, const double* validation);
/* Writes the end of the run and frees it. Returns EAVE_USAGE if the last step has not been evaluated. */
int eave_run_close(eave_run* run);
/* Not collective. Writes that the run has failed with this exit code, from 1 to 255, and frees it. With EAVE_LEFT it
 * writes no failure: the run may go on later. On another rank than 0 it is written if this rank calls eave_abort later:
 * rank 0 then records this message before it ends. */
int eave_run_fail(eave_run* run, int code, const char* message);
/* Not collective, and needs no eave_start. Reads the record of a run as eave's own commands do. Returns 66 if no run is
 * in the directory, 65 if they would refuse it. */
int eave_run_check(const char* directory);
/* In place of eave_run_evaluate, with the scores of the workers too: `mean` is a loss and a score of the mean of all
 * ranks' parameters (eave_mean_of_workers), of which rank 0's count, and `own` those of this rank's parameters. */
int eave_run_evaluate_workers(eave_run* run, double loss, double score, const double* validation, const double* mean,
                              const double* own);

/* The message of the last call of this thread that did not return 0. */
const char* eave_error(void);
/* Returns 1 if the last error is the same on all ranks; then only rank 0 needs to print it. If eave_start failed, 1
 * means that another rank reports the error. */
int eave_error_is_shared(void);
/* Returns 1 if the ranks find each other by MPI: a launcher of MPI has started this process, or it has called MPI_Init.
 * Otherwise ranks can meet by TCP (src/transport/tcp/tcp_job.h says which environment variables name the place). May be
 * called before eave_start. */
int eave_ranks_meet_by_mpi(void);

#ifdef __cplusplus
}
#endif
#endif
