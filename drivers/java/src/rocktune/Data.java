package rocktune;

import java.util.Arrays;
import java.util.SplittableRandom;

/** Keys and values as db_bench makes them (db_bench_tool.cc, 7.8: GenerateKeyFromInt, RandomGenerator). */
final class Data {
    private static final int PIECE = 100;
    private static final int POOL = 1 << 20;
    private final byte[] pool;
    private final int valueSize;
    private int position;

    /**
     * Makes the bytes that values are cut from.
     *
     * @param ratio what a compressor may shrink them to
     */
    Data(int valueSize, double ratio, long seed) {
        this.valueSize = valueSize;
        pool = new byte[Math.max(POOL, valueSize) + PIECE];
        SplittableRandom random = new SplittableRandom(seed);
        int raw = Math.min(PIECE, Math.max(1, (int) (PIECE * ratio)));
        for (int start = 0; start + PIECE <= pool.length; start += PIECE) {
            for (int place = 0; place < PIECE; place++) {
                boolean fresh = place < raw;
                pool[start + place] =
                        fresh ? (byte) (' ' + random.nextInt(95)) : pool[start + place - raw];
            }
        }
    }

    /** Where in {@link #bytes} the next value begins. */
    int next() {
        if (position + valueSize > pool.length - PIECE) {
            position = 0;
        }
        int start = position;
        position += valueSize;
        return start;
    }

    byte[] bytes() {
        return pool;
    }

    /** Writes a number as a key: eight bytes, the highest first, then zeros as text. */
    static void key(long number, byte[] key) {
        int digits = Math.min(key.length, Long.BYTES);
        for (int place = 0; place < digits; place++) {
            key[place] = (byte) (number >>> (8 * (digits - place - 1)));
        }
        Arrays.fill(key, digits, key.length, (byte) '0');
    }
}
