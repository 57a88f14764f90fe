package rocktune;

import java.util.concurrent.locks.LockSupport;
import org.rocksdb.RocksDBException;
import org.rocksdb.RocksIterator;

/** What the threads of each benchmark do, as in db_bench. */
final class Operations {
    /** What one thread does until its turn is over. */
    interface Operation {
        void run(Turn turn) throws RocksDBException;
    }

    private static final int PERIODS = 10;
    private static final long PERIOD = 1_000_000_000L / PERIODS;
    private static final long LOOK = 10_000_000;

    private Operations() {}

    /**
     * What a benchmark's threads do.
     *
     * @throws IllegalArgumentException there is no such benchmark here
     */
    static Operation of(String benchmark) {
        return switch (benchmark) {
            case "fillseq" -> Operations::writeInOrder;
            case "fillrandom", "overwrite" -> Operations::writeAnywhere;
            case "readrandom", "readwhilewriting" -> Operations::readAnywhere;
            case "readseq" -> Operations::readInOrder;
            case "readrandomwriterandom" -> Operations::readAndWrite;
            default -> throw new IllegalArgumentException("unknown benchmark '" + benchmark + "'");
        };
    }

    private static void writeInOrder(Turn turn) throws RocksDBException {
        while (turn.goesOn()) {
            turn.write(turn.done);
        }
    }

    private static void writeAnywhere(Turn turn) throws RocksDBException {
        while (turn.goesOn()) {
            turn.write(turn.anyKey());
        }
    }

    private static void readAnywhere(Turn turn) throws RocksDBException {
        while (turn.goesOn()) {
            turn.read(turn.anyKey());
        }
    }

    /** Four calls into RocksDB for each pair, which is what this benchmark shows of Java. */
    private static void readInOrder(Turn turn) throws RocksDBException {
        try (RocksIterator iterator = turn.db.newIterator(turn.reading)) {
            for (iterator.seekToFirst(); iterator.isValid() && turn.goesOn(); iterator.next()) {
                turn.bytes += iterator.key().length + iterator.value().length;
                turn.hits++;
                turn.finished(turn.reads);
            }
            iterator.status();
        }
    }

    private static void readAndWrite(Turn turn) throws RocksDBException {
        long percent = turn.flags.whole("readwritepercent");
        long reads = 0;
        long writes = 0;
        while (turn.goesOn()) {
            if (reads == 0 && writes == 0) {
                reads = percent;
                writes = 100 - percent;
            }
            if (reads > 0) {
                reads--;
                turn.read(turn.anyKey());
            } else {
                writes--;
                turn.write(turn.anyKey());
            }
        }
    }

    /**
     * Writes beside readers until they are done, no faster than it may.
     *
     * <p>As RocksDB's own limiter, which db_bench asks: so many bytes every tenth of a second, as
     * fast as they go, then nothing until the next. To wait after each write would cost the readers
     * more than the writes do.
     */
    static void writeBeside(Turn turn) throws RocksDBException {
        long each = turn.flags.whole("benchmark_write_rate_limit") / PERIODS;
        long spent = 0;
        long next = turn.began;
        while (turn.goesOn()) {
            long before = turn.bytes;
            turn.write(turn.anyKey());
            spent += turn.bytes - before;
            if (each > 0 && spent >= each) {
                spent = 0;
                next = Math.max(next + PERIOD, System.nanoTime() - PERIOD);
                waitUntil(next, turn);
            }
        }
    }

    private static void waitUntil(long moment, Turn turn) {
        for (long left; (left = moment - System.nanoTime()) > 0 && turn.goesOn(); ) {
            LockSupport.parkNanos(Math.min(left, LOOK));
        }
    }
}
