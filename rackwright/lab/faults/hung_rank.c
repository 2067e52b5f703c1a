/*
 * A rank that hangs: MPI_Allreduce never returns in any program that starts with this library in front of its own
 * (/etc/ld.so.preload). The process sleeps; a signal still ends it.
 */

extern int pause(void);

static int hang(void)
{
    for (;;)
        pause();
}

int MPI_Allreduce(void) { return hang(); }
int MPI_Allreduce_c(void) { return hang(); } /* mpi4py's choice where MPI has counts of 64 bits */
