package rocktune;

import java.util.Locale;

/** Latencies of operations in microseconds, in buckets of 3% at most. Not for several threads. */
final class Latencies {
    // 32 buckets for each power of two from 32 us up, one for each microsecond below.
    private static final int FINE_BITS = 5;
    private static final int FINE = 1 << FINE_BITS;
    private final long[] counts = new long[FINE * (64 - FINE_BITS)];
    private long count;
    private long sum;
    private long least = Long.MAX_VALUE;
    private long most;

    void add(long nanoseconds) {
        long micros = nanoseconds / 1000;
        counts[bucketOf(micros)]++;
        count++;
        sum += micros;
        least = Math.min(least, micros);
        most = Math.max(most, micros);
    }

    void add(Latencies other) {
        for (int bucket = 0; bucket < counts.length; bucket++) {
            counts[bucket] += other.counts[bucket];
        }
        count += other.count;
        sum += other.sum;
        least = Math.min(least, other.least);
        most = Math.max(most, other.most);
    }

    boolean isEmpty() {
        return count == 0;
    }

    /** The value that so many percent of the operations do not exceed, interpolated in its bucket. */
    double percentile(double percent) {
        double wanted = count * percent / 100;
        long below = 0;
        for (int bucket = 0; bucket < counts.length; bucket++) {
            if (counts[bucket] > 0 && below + counts[bucket] >= wanted) {
                double part = (wanted - below) / counts[bucket];
                double value = startOf(bucket) + part * (startOf(bucket + 1) - startOf(bucket));
                return Math.max(least, Math.min(value, most));
            }
            below += counts[bucket];
        }
        return most;
    }

    /** As db_bench prints them. */
    String printed(String kind) {
        return String.format(
                Locale.ROOT,
                "Microseconds per %s:%nCount: %d Average: %.4f%nMin: %d  Median: %.4f  Max: %d%n"
                        + "Percentiles: P50: %.2f P75: %.2f P99: %.2f P99.9: %.2f P99.99: %.2f%n",
                kind, count, (double) sum / count, least, percentile(50), most,
                percentile(50), percentile(75), percentile(99), percentile(99.9),
                percentile(99.99));
    }

    private static int bucketOf(long micros) {
        if (micros < FINE) {
            return (int) Math.max(micros, 0);
        }
        int power = 63 - Long.numberOfLeadingZeros(micros) - FINE_BITS;
        return (power + 1) * FINE + (int) ((micros >> power) - FINE);
    }

    private static double startOf(int bucket) {
        int power = bucket / FINE - 1;
        return power < 0 ? bucket : Math.scalb((double) (FINE + bucket % FINE), power);
    }
}
