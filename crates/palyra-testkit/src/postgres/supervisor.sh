# Brings a Postgres up in the current directory and takes it and the directory away when nobody
# uses them any more. It outlives the test that started it, so the end of a test, SIGKILL included,
# needs no cooperation from that test.
#
#   $1 directory of the Postgres programs   $2 port   $3 seconds to stay without users   $4 superuser
#
# Every user holds a shared lock on users.lock. Standard input is the lock that makes this the only
# supervisor of the directory; a child that kept it would look like a living supervisor, so
# whatever runs for long gets another standard input.

bin=$1 port=$2 linger=$3 superuser=$4
dir=$(pwd)
echo $$ >supervisor.pid

pg_ctl() {
    "$bin/pg_ctl" -D data "$@" </dev/null >>start.log 2>&1
}

start() {
    if ! command -v flock >/dev/null; then
        echo 'flock is not on the search path: install util-linux' >start.log
        return 1
    fi
    # A predecessor that was killed may have left a running server, with users. Exit code 2 means
    # that nobody answers; 1 is a server busy starting.
    if [ -f data/postmaster.pid ]; then
        running=$(sed -n 4p data/postmaster.pid)
        "$bin/pg_isready" -q -h "$dir" -p "$running" </dev/null
        [ $? -lt 2 ] && port=$running && return
    fi
    rm -rf data "$dir".gone.*
    "$bin/initdb" -D data -U "$superuser" --auth=trust --encoding=UTF8 --locale=C \
        --locale-provider=libc --no-sync --no-instructions </dev/null >>start.log 2>&1 || return 1
    # A server that a test may kill keeps its commits on the disk, and so does one that is measured.
    # The one that stays, shared by all tests, is killed by none: what its disk does costs time and
    # shows nothing.
    fsync=on
    [ "$linger" = 0 ] || fsync=off
    # Shared memory lives in the data directory, so that a killed server leaves nothing elsewhere.
    # Tests that make deadlocks do not wait a second for each to be noticed.
    cat >>data/postgresql.conf <<SETTINGS
listen_addresses = ''
unix_socket_directories = '$dir'
port = $port
max_connections = 200
shared_buffers = 32MB
dynamic_shared_memory_type = mmap
fsync = $fsync
synchronous_commit = on
full_page_writes = on
deadlock_timeout = 100ms
max_wal_size = 256MB
log_line_prefix = '%m [%p] %d '
SETTINGS
    pg_ctl start -w -t 90 -l server.log
}

# Returns with the users' lock held exclusively.
wait_until_unused() {
    exec 9<users.lock || exit 1
    while :; do
        if ! flock -x 9 </dev/null; then
            sleep 1 </dev/null
        elif [ "$linger" = 0 ]; then
            return
        else
            flock -u 9
            sleep "$linger" </dev/null
            flock -n -x 9 </dev/null && return
        fi
    done
}

remove() {
    # A killed server may stay a zombie for seconds, which pg_ctl takes for a living one.
    if ! grep -q '^State:.*Z' "/proc/$(sed -n 1p data/postmaster.pid)/status"; then
        pg_ctl stop -m immediate -t 30
    fi
    # A server that was killed leaves its pid file, whose seventh line names a System V segment.
    if [ -f data/postmaster.pid ]; then
        set -- $(sed -n 7p data/postmaster.pid)
        [ $# = 2 ] && ipcrm -m "$2"
    fi
    # In one step, so that a newcomer finds the whole directory or none of it.
    gone=$dir.gone.$$
    mv "$dir" "$gone" || exit 1
    cd /
    tries=0
    until rm -rf "$gone" 2>/dev/null || [ "$tries" = 20 ]; do
        tries=$((tries + 1))
        sleep 0.5
    done
}

if start; then
    echo "$port" >ready.new && mv ready.new ready
else
    cat start.log server.log >failed.new 2>/dev/null
    mv failed.new failed
    linger=0
fi
wait_until_unused
remove
