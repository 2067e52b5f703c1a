/*
 * A clock that is 60 s ahead, for each program that starts with this library in front of its own (/etc/ld.so.preload).
 *
 * Only the time of day is: intervals are measured by other clocks. Who waits until a time of day has computed it
 * from this clock, so it is taken back there; times since boot are smaller than any time of day.
 *
 * Built without any header: the loader finds dlsym in the program's own C library.
 */

extern void *dlsym(void *handle, const char *name);

#define RTLD_NEXT ((void *)-1L)
#define AHEAD_S 60
#define REALTIME 0
#define REALTIME_COARSE 5
#define TIME_OF_DAY 1000000000L /* September 2001; no machine has been up for so long */

struct timespec {
    long seconds, nanoseconds;
};
struct timeval {
    long seconds, microseconds;
};

int clock_gettime(int clock, struct timespec *now)
{
    int (*real)(int, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && (clock == REALTIME || clock == REALTIME_COARSE))
        now->seconds += AHEAD_S;
    return failed;
}

int gettimeofday(struct timeval *now, void *zone)
{
    struct timespec precise;
    (void)zone;
    int failed = clock_gettime(REALTIME, &precise);
    if (!failed) {
        now->seconds = precise.seconds;
        now->microseconds = precise.nanoseconds / 1000;
    }
    return failed;
}

long time(long *kept)
{
    struct timespec now;
    clock_gettime(REALTIME, &now);
    if (kept)
        *kept = now.seconds;
    return now.seconds;
}

int pthread_cond_timedwait(void *condition, void *mutex, const struct timespec *until)
{
    int (*real)(void *, void *, const struct timespec *) = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
    struct timespec right = *until;
    if (right.seconds > TIME_OF_DAY)
        right.seconds -= AHEAD_S;
    return real(condition, mutex, &right);
}
