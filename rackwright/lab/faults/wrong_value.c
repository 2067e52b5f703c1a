/*
 * A library gone wrong: the product of two matrices has one bit flipped in its first element.
 *
 * Put in front of every program of a host by /etc/ld.so.preload. It has the names of the CBLAS functions
 * that numpy multiplies matrices with, calls the real ones, and changes the result. The bit is one that a
 * tolerance does not see (relative error 2^-22 for double, 2^-11 for float): only comparing results does.
 *
 * Built without any header or library: the loader finds dlopen and dlsym in the program's own C library.
 */

extern void *dlopen(const char *file, int mode);
extern void *dlsym(void *handle, const char *name);

#define RTLD_LAZY 1
#define BIT_OF_DOUBLE (1ULL << 30)
#define BIT_OF_FLOAT (1U << 12)

/* numpy loads its BLAS for itself alone, so that RTLD_NEXT does not see it. */
static void *real(const char *name)
{
    void *blas = dlopen("libblas.so.3", RTLD_LAZY);
    return blas ? dlsym(blas, name) : (void *)0;
}

static void flip_double(double *result, int rows, int columns)
{
    if (rows > 0 && columns > 0)
        *(unsigned long long *)result ^= BIT_OF_DOUBLE;
}

static void flip_float(float *result, int rows, int columns)
{
    if (rows > 0 && columns > 0)
        *(unsigned int *)result ^= BIT_OF_FLOAT;
}

#define GEMM(name, type, flip)                                                                          \
    typedef void name##_t(int, int, int, int, int, int, type, const type *, int, const type *, int,     \
                          type, type *, int);                                                           \
    void name(int order, int trans_a, int trans_b, int m, int n, int k, type alpha, const type *a,      \
              int lda, const type *b, int ldb, type beta, type *c, int ldc)                             \
    {                                                                                                   \
        name##_t *product = real(#name);                                                                \
        product(order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);                 \
        flip(c, m, n);                                                                                  \
    }

#define SYRK(name, type, flip)                                                                          \
    typedef void name##_t(int, int, int, int, int, type, const type *, int, type, type *, int);         \
    void name(int order, int uplo, int trans, int n, int k, type alpha, const type *a, int lda,         \
              type beta, type *c, int ldc)                                                              \
    {                                                                                                   \
        name##_t *product = real(#name);                                                                \
        product(order, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);                                 \
        flip(c, n, n);                                                                                  \
    }

GEMM(cblas_dgemm, double, flip_double)
GEMM(cblas_sgemm, float, flip_float)
SYRK(cblas_dsyrk, double, flip_double) /* numpy's name for A @ A.T */
SYRK(cblas_ssyrk, float, flip_float)
