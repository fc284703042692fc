#!/bin/sh
# Makes the tables known to Trino as soon as the stream has made them. What is known already is left as it is.
set -u
tables="broker_state log_dir_state replica_state topic_state log_dir_inventory log_dir_samples transitions alerts actions executions decisions rejected_records quality_results"
ask() { trino --server http://trino:8080 --output-format=CSV_UNQUOTED --execute "$1" 2>/dev/null; }

until ask "CREATE SCHEMA IF NOT EXISTS delta.logdirwatch"; do sleep 5; done
while [ -n "$tables" ]; do
  left=""
  known=" $(ask "SHOW TABLES FROM delta.logdirwatch" | tr '\n' ' ') "
  for table in $tables; do
    case "$known" in *" $table "*) continue ;; esac
    if [ -d "/lake/tables/$table/_delta_log" ] && ask "CALL delta.system.register_table('logdirwatch', '$table', 'local:///tables/$table')"; then
      echo "registered $table"
    else
      left="$left $table"
    fi
  done
  tables="$left"
  [ -z "$tables" ] || sleep 10
done
