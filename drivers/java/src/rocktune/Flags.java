package rocktune;

import java.util.LinkedHashMap;
import java.util.Map;

/** The flags of db_bench that this driver has, under the same names and with the same meaning. */
final class Flags {
    /** Name, value where it is not given, help. */
    private static final String[][] KNOWN = {
        {"benchmarks", "fillseq", "What is run, in order, separated by commas"},
        {"db", "", "The database's folder"},
        {"options_file", "", "The OPTIONS file that the database is opened with"},
        {"num", "1000000", "Keys of the database, and operations of each thread"},
        {"reads", "-1", "Reads of each thread; negative: as many as num"},
        {"duration", "0", "Seconds of each random benchmark instead of a number of operations"},
        {"threads", "1", "Threads of each benchmark"},
        {"key_size", "16", "Bytes of a key"},
        {"value_size", "100", "Bytes of a value"},
        {"compression_ratio", "0.5", "What values shrink to"},
        {"seed", "42", "Of keys and values"},
        {"cache_size", "8388608", "Bytes of the block cache"},
        {"cache_numshardbits", "-1", "Its shards, as a power of two; negative: as RocksDB likes"},
        {"use_existing_db", "false", "Whether the database stays that is there"},
        {"disable_wal", "false", "Whether writes leave the log out"},
        {"sync", "false", "Whether each write waits for the disk"},
        {"verify_checksum", "true", "Whether reads check what they read"},
        {"readwritepercent", "90", "Reads among the operations of readrandomwriterandom"},
        {"benchmark_write_rate_limit", "0", "Bytes per second of a writer beside readers"},
        {"statistics", "false", "Whether RocksDB's counters are printed at the end"},
        {"histogram", "false", "Whether latencies are printed"},
        {"progress_reports", "true", "Taken, and without effect"},
    };

    private final Map<String, String> values = new LinkedHashMap<>();

    /**
     * Reads the command line.
     *
     * @throws IllegalArgumentException an argument is no flag of this driver
     */
    Flags(String[] arguments) {
        for (String[] each : KNOWN) {
            values.put(each[0], each[1]);
        }
        for (String argument : arguments) {
            String text = argument.startsWith("--") ? argument.substring(2) : argument.substring(1);
            int equals = text.indexOf('=');
            String name = equals < 0 ? text : text.substring(0, equals);
            if (!argument.startsWith("-") || !values.containsKey(name)) {
                throw new IllegalArgumentException("unknown command line flag '" + name + "'");
            }
            values.put(name, equals < 0 ? "true" : text.substring(equals + 1));
        }
    }

    /** All flags, a line each, as db_bench lists its own. */
    static String help() {
        StringBuilder lines = new StringBuilder();
        for (String[] each : KNOWN) {
            lines.append(String.format("    -%s (%s) default: %s%n", each[0], each[2], each[1]));
        }
        return lines.toString();
    }

    String text(String name) {
        return values.get(name);
    }

    long whole(String name) {
        try {
            return Long.parseLong(text(name));
        } catch (NumberFormatException wrong) {
            throw new IllegalArgumentException(refused(name));
        }
    }

    double number(String name) {
        try {
            return Double.parseDouble(text(name));
        } catch (NumberFormatException wrong) {
            throw new IllegalArgumentException(refused(name));
        }
    }

    boolean on(String name) {
        return switch (text(name)) {
            case "true", "1" -> true;
            case "false", "0" -> false;
            default -> throw new IllegalArgumentException(refused(name));
        };
    }

    private String refused(String name) {
        return "illegal value '" + text(name) + "' specified for flag '" + name + "'";
    }
}
