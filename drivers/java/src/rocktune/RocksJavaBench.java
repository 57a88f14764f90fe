package rocktune;

import java.io.IOException;
import java.util.Arrays;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;

/** db_bench over RocksJava: the flags, benchmarks and output that Rocktune uses of it. */
public final class RocksJavaBench {
    private RocksJavaBench() {}

    /** Runs the benchmarks that the flags name; ends with 1 and a reason where one fails. */
    public static void main(String[] arguments) {
        if (Arrays.stream(arguments).anyMatch(each -> each.matches("--?(help|version)"))) {
            System.out.print("rocksjava-bench version " + version() + "\n" + Flags.help());
            return;
        }
        try {
            run(new Flags(arguments));
        } catch (IllegalArgumentException wrong) {
            System.err.println("ERROR: " + wrong.getMessage());
            System.exit(1);
        } catch (RocksDBException | IOException failed) {
            System.err.println(failed.getMessage());
            System.exit(1);
        } catch (Exception failed) {
            System.err.println(failed);
            System.exit(1);
        }
    }

    private static void run(Flags flags) throws Exception {
        String[] benchmarks = flags.text("benchmarks").split(",");
        if (flags.text("db").isEmpty()) {
            throw new IllegalArgumentException("name the database's folder: --db");
        }
        System.out.println("RocksDB:    version " + version());
        System.out.println("Engine:     RocksJava, Java " + Runtime.version());
        try (Database database = new Database(flags)) {
            boolean empty = !flags.on("use_existing_db");
            for (String name : benchmarks) {
                Benchmark benchmark = new Benchmark(name, flags);
                switch (name) {
                    case "flush" -> database.flush();
                    case "waitforcompaction" -> database.waitForCompaction();
                    case "stats", "levelstats", "sstables" ->
                            print(database.property("rocksdb." + name));
                    default -> {
                        if (benchmark.isFresh() && !empty && !flags.on("use_existing_db")) {
                            database.again();
                        }
                        empty = false;
                        print(benchmark.run(database));
                    }
                }
            }
            print(database.counters());
        }
    }

    /** At once: whoever reads this waits for it. */
    private static void print(String text) {
        System.out.println(text);
        System.out.flush();
    }

    private static String version() {
        RocksDB.loadLibrary();
        return RocksDB.rocksdbVersion().toString();
    }
}
