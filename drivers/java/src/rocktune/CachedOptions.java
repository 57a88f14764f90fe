package rocktune;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The OPTIONS file with the block cache in it.
 *
 * <p>db_bench has a flag for the cache and sets it in the options that it read. In Java the table's
 * options that came out of a file cannot be changed without losing the others, but RocksDB reads a
 * cache from the file (block_based_table_factory.cc, "block_cache"), though it never writes one.
 */
final class CachedOptions {
    private static final String TABLE = "[TableOptions/BlockBasedTable \"default\"]";
    private static final String MINIMAL =
            "[Version]\n  rocksdb_version=5.0.0\n  options_file_version=1.1\n"
                    + "[DBOptions]\n[CFOptions \"default\"]\n";

    private CachedOptions() {}

    /**
     * Writes the file beside the given one, or beside the database where none is given.
     *
     * @return its path
     * @throws IOException the given one cannot be read, or this one not be written
     */
    static Path write(Flags flags) throws IOException {
        String given = flags.text("options_file");
        String text = given.isEmpty() ? MINIMAL : Files.readString(Path.of(given));
        Path path = Path.of((given.isEmpty() ? flags.text("db") : given) + ".java");
        return Files.writeString(path, withCache(text, cache(flags)));
    }

    private static String cache(Flags flags) {
        long bytes = flags.whole("cache_size");
        if (bytes <= 0) {
            return "  no_block_cache=true";
        }
        return "  block_cache={capacity=" + bytes + ";num_shard_bits="
                + flags.whole("cache_numshardbits") + ";high_pri_pool_ratio=0.0;}";
    }

    static String withCache(String text, String line) {
        List<String> lines = new ArrayList<>(text.lines().toList());
        int place = -1;
        for (int number = 0; number < lines.size(); number++) {
            if (lines.get(number).strip().equals(TABLE)) {
                place = number;
            }
        }
        if (place < 0) {
            place = lines.size();
            lines.add(TABLE);
        }
        lines.add(place + 1, line);
        return String.join("\n", lines) + "\n";
    }
}
