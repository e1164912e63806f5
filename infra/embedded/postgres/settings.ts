/** Largest number of connections to the embedded server. */
const MAX_CONNECTIONS = 50

/** Server settings by name. */
export type Settings = Readonly<Record<string, string>>

/** No acknowledged write may be lost, whichever process dies. */
const DURABLE: Settings = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
}

/** For databases that a test run throws away. */
const DISPOSABLE: Settings = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
}

/** The server listens on a socket of this name in its folder, and on no port of the network. */
export const SOCKET_NAME = '.s.PGSQL.5432'

/**
 * Settings of the embedded server.
 * @param socketFolder where it listens; closed to other accounts.
 * @param clusterName shows in the titles of its processes, by which a later start recognises orphans.
 */
export function settingsOf(
  socketFolder: string,
  clusterName: string,
  options: { readonly durable: boolean; readonly maxConnections?: number },
): Settings {
  return {
    port: SOCKET_NAME.slice(SOCKET_NAME.lastIndexOf('.') + 1),
    listen_addresses: '',
    // A list: quoted, a comma is a part of the path.
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    cluster_name: clusterName,
    update_process_title: 'on',
    password_encryption: 'scram-sha-256',
    max_connections: String(options.maxConnections ?? MAX_CONNECTIONS),
    // The superuser connects while no other role does, at the start.
    superuser_reserved_connections: '0',
    shared_buffers: '128MB',
    max_wal_size: '1GB',
    // After a crash: one call for the whole file system instead of opening every file of the cluster.
    ...(process.platform === 'linux' ? { recovery_init_sync_method: 'syncfs' } : {}),
    jit: 'off',
    // Parallel workers share memory through /dev/shm, of which containers give very little.
    max_parallel_workers_per_gather: '0',
    max_parallel_maintenance_workers: '0',
    timezone: 'UTC',
    // Statements and details carry callers' data, which no log may hold.
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
    log_checkpoints: 'off',
    log_line_prefix: '',
    log_timezone: 'UTC',
    logging_collector: 'off',
    ...(options.durable ? DURABLE : DISPOSABLE),
  }
}

/** Settings as arguments of the server program. */
export function asArguments(settings: Settings): readonly string[] {
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}
