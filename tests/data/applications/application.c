/* An application in C: opens a database with a filter set in code, writes, flushes, compacts.
   gcc application.c -lrocksdb -o application
   ./application FOLDER POLICY BITS [prefix|partitioned|families] */
#include <rocksdb/c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *error = NULL;
static void check(void) { if (error) { fprintf(stderr, "%s\n", error); exit(1); } }

static rocksdb_filterpolicy_t *policy_of(const char *kind, double bits) {
  if (!strcmp(kind, "bloom")) return rocksdb_filterpolicy_create_bloom(bits);
  if (!strcmp(kind, "bloom_full")) return rocksdb_filterpolicy_create_bloom_full(bits);
  if (!strcmp(kind, "ribbon")) return rocksdb_filterpolicy_create_ribbon(bits);
  if (!strcmp(kind, "ribbon_hybrid")) return rocksdb_filterpolicy_create_ribbon_hybrid(bits, 1);
  return NULL;
}

static rocksdb_options_t *options_of(rocksdb_cache_t *cache, const char *kind, double bits,
                                     const char *how) {
  rocksdb_options_t *options = rocksdb_options_create();
  rocksdb_options_set_create_if_missing(options, 1);
  rocksdb_options_set_create_missing_column_families(options, 1);
  rocksdb_options_set_write_buffer_size(options, 1 << 20);
  rocksdb_options_set_target_file_size_base(options, 1 << 20);
  rocksdb_options_set_max_bytes_for_level_base(options, 2 << 20);
  rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
  rocksdb_block_based_options_set_block_cache(table, cache);
  rocksdb_block_based_options_set_format_version(table, 5);
  rocksdb_filterpolicy_t *policy = policy_of(kind, bits);
  if (policy) rocksdb_block_based_options_set_filter_policy(table, policy);
  if (!strcmp(how, "prefix")) {
    rocksdb_block_based_options_set_whole_key_filtering(table, 0);
    rocksdb_options_set_prefix_extractor(options, rocksdb_slicetransform_create_fixed_prefix(8));
  }
  if (!strcmp(how, "partitioned")) {
    rocksdb_block_based_options_set_index_type(table, rocksdb_block_based_table_index_type_two_level_index_search);
    rocksdb_block_based_options_set_partition_filters(table, 1);
  }
  rocksdb_options_set_block_based_table_factory(options, table);
  return options;
}

int main(int argc, char **argv) {
  const char *how = argc > 4 ? argv[4] : "";
  double bits = atof(argv[3]);
  int families = !strcmp(how, "families") ? 3 : 1;
  const char *names[] = {"default", "users", "events"};
  rocksdb_cache_t *cache = rocksdb_cache_create_lru(64 << 20);
  rocksdb_options_t *options[3];
  rocksdb_column_family_handle_t *handles[3];
  options[0] = options_of(cache, argv[2], bits, how);
  options[1] = options_of(cache, argv[2], bits / 2, how);
  options[2] = options_of(cache, "none", 0, how);
  rocksdb_t *db = rocksdb_open_column_families(
      options[0], argv[1], families, names, (const rocksdb_options_t *const *)options, handles, &error);
  check();
  rocksdb_writeoptions_t *write = rocksdb_writeoptions_create();
  unsigned long long seed = 1;
  for (int i = 0; i < 30000 * families; i++) {
    char key[24], value[101];
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    snprintf(key, sizeof key, "%08llx%08d", (seed >> 33) % 50000, 0);
    for (int j = 0; j < 100; j++) value[j] = (char)(33 + (seed >> (j % 50)) % 90);
    rocksdb_put_cf(db, write, handles[i % families], key, 16, value, 100, &error);
    check();
  }
  rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
  for (int i = 0; i < families; i++) {
    rocksdb_flush_cf(db, flush, handles[i], &error);
    check();
    rocksdb_compact_range_cf(db, handles[i], NULL, 0, NULL, 0);
    rocksdb_column_family_handle_destroy(handles[i]);
  }
  rocksdb_close(db);
  return 0;
}
