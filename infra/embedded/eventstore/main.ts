/**
 * Entry point of the embedded event store, run as a child process.
 *
 * `main.ts --data DIR [--port N] [--server-version 23.10|24.10|25.0] [--stop-on-stdin-end] [--check-tables]`
 *
 * It listens on a socket that no other account can reach. With `--port` it stands in for a server elsewhere, in tests:
 * it listens on that port of the loopback (0: any free one) and serves every caller.
 *
 * Prints one JSON line `{"event":"ready","url":"unix:…"}` on stdout once it serves (with a port,
 * `"url":"esdb://…","port":N`); logs JSON lines on stderr. Stops in order (refuse new calls, write what is queued, close) and exits 0
 * on SIGTERM, SIGINT, loss of its IPC channel, or the end of stdin if asked to. Exits 1 with a reason when
 * the data directory or the port cannot be used.
 *
 * With `--check-tables` every block of the tables is read first: a process that meets a damaged one may abort.
 */

import { runEventStore } from './process.ts'

runEventStore(process.argv.slice(2))
