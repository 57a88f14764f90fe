package rocktune;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** One benchmark: its threads from a common start to the last one's end, and its line. */
final class Benchmark {
    private static final String BESIDE = "readwhilewriting";
    private final String name;
    private final Flags flags;

    Benchmark(String name, Flags flags) {
        this.name = name;
        this.flags = flags;
    }

    /** Whether it begins with an empty database. */
    boolean isFresh() {
        return name.equals("fillseq") || name.equals("fillrandom");
    }

    /**
     * Runs it and returns what is printed of it.
     *
     * @throws Exception what the first thread that failed has thrown
     */
    String run(Database database) throws Exception {
        Operations.Operation operation = Operations.of(name);
        int threads = (int) flags.whole("threads");
        boolean reads = name.startsWith("read");
        long most = reads && flags.whole("reads") >= 0 ? flags.whole("reads") : flags.whole("num");
        List<Turn> turns = new ArrayList<>();
        List<Thread> running = new ArrayList<>();
        CountDownLatch start = new CountDownLatch(1);
        AtomicInteger busy = new AtomicInteger(threads);
        AtomicReference<Exception> failed = new AtomicReference<>();
        for (int number = 0; number < threads + (name.equals(BESIDE) ? 1 : 0); number++) {
            boolean writer = number == threads;
            Turn turn = new Turn(database.db(), flags, number, writer ? -1 : most);
            turn.othersDone = () -> busy.get() == 0;
            turns.add(turn);
            Operations.Operation mine = writer ? Operations::writeBeside : operation;
            running.add(new Thread(() -> {
                try {
                    start.await();
                    turn.begin();
                    mine.run(turn);
                } catch (Exception error) {
                    failed.compareAndSet(null, error);
                } finally {
                    if (!writer) {
                        busy.decrementAndGet();
                    }
                }
            }, name + "-" + number));
        }
        running.forEach(Thread::start);
        start.countDown();
        for (Thread each : running) {
            each.join();
        }
        turns.forEach(Turn::close);
        if (failed.get() != null) {
            throw failed.get();
        }
        return line(turns.subList(0, threads));
    }

    /** As db_bench's, of the threads that are measured: those of a writer beside them are not. */
    private String line(List<Turn> turns) {
        long began = turns.stream().mapToLong(turn -> turn.began).min().orElseThrow();
        long ended = turns.stream().mapToLong(turn -> turn.last).max().orElseThrow();
        double seconds = Math.max((ended - began) / 1e9, 1e-6);
        double busy = turns.stream().mapToLong(turn -> turn.last - turn.began).sum() / 1e9;
        long done = Math.max(1, turns.stream().mapToLong(turn -> turn.done).sum());
        long bytes = turns.stream().mapToLong(turn -> turn.bytes).sum();
        long hits = turns.stream().mapToLong(turn -> turn.hits).sum();
        String found = name.startsWith("readrandom") || name.equals(BESIDE)
                ? String.format(" (%d of %d found)", hits, done) : "";
        String line = String.format(
                Locale.ROOT, "%-12s : %11.3f micros/op %d ops/sec %.3f seconds %d operations;"
                        + " %6.1f MB/s%s%n",
                name, busy * 1e6 / done, (long) (done / seconds), seconds, done,
                bytes / 1048576.0 / seconds, found);
        return flags.on("histogram") ? line + latencies(turns) : line;
    }

    private static String latencies(List<Turn> turns) {
        Latencies reads = new Latencies();
        Latencies writes = new Latencies();
        for (Turn turn : turns) {
            reads.add(turn.reads);
            writes.add(turn.writes);
        }
        return (reads.isEmpty() ? "" : reads.printed("read") + "\n")
                + (writes.isEmpty() ? "" : writes.printed("write") + "\n");
    }
}
