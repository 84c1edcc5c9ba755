/* Stands in for the module for GPUs: it opens where its cuDNN is found, and is of no version that eave knows. */
int cudnnFunctionOfToday(void);
const void* eave_cuda_module(void);
const void* eave_cuda_module(void) { return cudnnFunctionOfToday() == 0 ? (const void*)0 : (const void*)1; }
