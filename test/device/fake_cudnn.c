/* Stands in for libcudnn.so.9 (by the name libcudnn.so.99), and, without OF_TODAY, for an older one that lacks a
 * function. */
int cudnnFunctionOfOld(void);
int cudnnFunctionOfOld(void) { return 0; }
#ifdef OF_TODAY
int cudnnFunctionOfToday(void);
int cudnnFunctionOfToday(void) { return 0; }
#endif
