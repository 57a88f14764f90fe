package rocktune;

import java.util.SplittableRandom;
import java.util.function.BooleanSupplier;
import org.rocksdb.ReadOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.WriteOptions;

/** One thread's share of a benchmark: what it works with, and what it has done. */
final class Turn implements AutoCloseable {
    final RocksDB db;
    final Flags flags;
    final byte[] key;
    final byte[] found;
    final Data data;
    final SplittableRandom random;
    final WriteOptions writing;
    final ReadOptions reading;
    final Latencies reads = new Latencies();
    final Latencies writes = new Latencies();
    final long keys;
    private final long most;
    private long until;
    /** Whether the readers that a writer runs beside are done. */
    BooleanSupplier othersDone = () -> false;
    long done;
    long hits;
    long bytes;
    long began;
    long last;

    /**
     * Makes one thread ready.
     *
     * @param operations how many, where the flags give no duration; negative: as many as it wants
     */
    Turn(RocksDB db, Flags flags, int number, long operations) {
        this.db = db;
        this.flags = flags;
        keys = flags.whole("num");
        key = new byte[(int) flags.whole("key_size")];
        found = new byte[(int) flags.whole("value_size")];
        long seed = flags.whole("seed") + 1000L * number;
        data = new Data(found.length, flags.number("compression_ratio"), seed);
        random = new SplittableRandom(seed);
        writing = new WriteOptions().setDisableWAL(flags.on("disable_wal")).setSync(flags.on("sync"));
        reading = new ReadOptions().setVerifyChecksums(flags.on("verify_checksum"));
        most = operations;
    }

    /** Starts its clock. */
    void begin() {
        began = last = System.nanoTime();
        long seconds = flags.whole("duration");
        until = seconds > 0 && most >= 0 ? began + seconds * 1_000_000_000L : 0;
    }

    /** Whether there is more to do. */
    boolean goesOn() {
        if (until != 0) {
            return last < until;
        }
        return most < 0 ? !othersDone.getAsBoolean() : done < most;
    }

    void write(long number) throws RocksDBException {
        Data.key(number, key);
        db.put(writing, key, 0, key.length, data.bytes(), data.next(), found.length);
        bytes += key.length + found.length;
        finished(writes);
    }

    void read(long number) throws RocksDBException {
        Data.key(number, key);
        int length = db.get(reading, key, found);
        if (length != RocksDB.NOT_FOUND) {
            hits++;
            bytes += key.length + length;
        }
        finished(reads);
    }

    long anyKey() {
        return random.nextLong(keys);
    }

    /** Counts an operation; from the end of the last to the end of this, as db_bench does. */
    void finished(Latencies kind) {
        long now = System.nanoTime();
        kind.add(now - last);
        last = now;
        done++;
    }

    @Override
    public void close() {
        writing.close();
        reading.close();
    }
}
