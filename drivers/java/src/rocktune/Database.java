package rocktune;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.ConfigOptions;
import org.rocksdb.DBOptions;
import org.rocksdb.FlushOptions;
import org.rocksdb.Options;
import org.rocksdb.OptionsUtil;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.Statistics;

/** The database under test, opened with the OPTIONS file, and what RocksDB says of it. */
final class Database implements AutoCloseable {
    private static final String[] WORK = {
        "rocksdb.num-running-flushes", "rocksdb.num-running-compactions",
        "rocksdb.mem-table-flush-pending", "rocksdb.compaction-pending",
    };
    private static final long LOOK_MILLIS = 100;
    private static final int QUIET_LOOKS = 10;

    private final String folder;
    private final Path options;
    private final Statistics statistics;
    private DBOptions opened;
    private final List<ColumnFamilyHandle> handles = new ArrayList<>();
    private RocksDB db;

    /** Opens it; an earlier one goes, unless it was asked for. */
    Database(Flags flags) throws RocksDBException, IOException {
        folder = flags.text("db");
        options = CachedOptions.write(flags);
        statistics = flags.on("statistics") ? new Statistics() : null;
        if (flags.on("use_existing_db")) {
            open();
        } else {
            again();
        }
    }

    RocksDB db() {
        return db;
    }

    /** Empties it. */
    void again() throws RocksDBException {
        closeDatabase();
        try (Options none = new Options()) {
            RocksDB.destroyDB(folder, none);
        }
        open();
    }

    private void open() throws RocksDBException {
        opened = new DBOptions();
        List<ColumnFamilyDescriptor> families = new ArrayList<>();
        try (ConfigOptions reading = new ConfigOptions()) {
            OptionsUtil.loadOptionsFromFile(reading, options.toString(), opened, families);
        }
        opened.setCreateIfMissing(true);
        if (statistics != null) {
            opened.setStatistics(statistics);
        }
        db = RocksDB.open(opened, folder, families, handles);
    }

    void flush() throws RocksDBException {
        try (FlushOptions waiting = new FlushOptions().setWaitForFlush(true)) {
            db.flush(waiting);
        }
    }

    /** Waits until no flush or compaction was seen for a second: one's end may begin another. */
    void waitForCompaction() throws RocksDBException, InterruptedException {
        for (int quiet = 0; quiet < QUIET_LOOKS; quiet++) {
            Thread.sleep(LOOK_MILLIS);
            for (String work : WORK) {
                if (!"0".equals(db.getProperty(work))) {
                    quiet = -1;
                }
            }
        }
    }

    String property(String name) throws RocksDBException {
        return db.getProperty(name);
    }

    /** RocksDB's counters since the start, or nothing. */
    String counters() {
        return statistics == null ? "" : "STATISTICS:\n" + statistics;
    }

    @Override
    public void close() {
        closeDatabase();
        if (statistics != null) {
            statistics.close();
        }
    }

    private void closeDatabase() {
        if (db != null) {
            handles.forEach(ColumnFamilyHandle::close);
            handles.clear();
            db.close();
            opened.close();
            db = null;
        }
    }
}
