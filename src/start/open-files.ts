import { readFileSync } from 'node:fs'
import { allProjections } from '../../projections/registry.ts'
import type { ConnectionBounds } from '../api/kit/bounds/connections.ts'
import { OPERATIONS_CONNECTIONS } from '../api/operations-app.ts'
import type { Config } from '../config.ts'
import { SPARE_CONNECTIONS } from './projector.ts'

/**
 * Open files other than connections to callers, providers and Postgres: the event log, the spool,
 * the program's own files, name lookups, and those of Node itself.
 */
const RESERVED_FILES = 64
/** A call has the connection of its caller, and one to its provider or a file of an object. */
const FILES_PER_CONNECTION = 2
/** Connections cost memory as well: by default there are never more. */
const MOST_BY_DEFAULT = 10_000
/** The number that is taken even where the limit leaves no room; the operator is warned. */
const FEWEST = 16
/** The default for one address: four of them use up all connections, not one. */
const ADDRESS_SHARE = 0.25

/** How many files the process may open; undefined: it is not known, or there is no limit. */
export function openFilesLimit(): number | undefined {
  const limit = Number(softLimit())
  return Number.isSafeInteger(limit) && limit > 0 ? limit : undefined
}

function softLimit(): unknown {
  try {
    const text = readFileSync('/proc/self/limits', 'utf8')
    return /^Max open files +(\d+)/m.exec(text)?.[1]
  } catch {
    // Not on Linux. The report would otherwise look up the names of all peers.
    Reflect.set(process.report, 'excludeNetwork', true)
    const { userLimits } = process.report.getReport() as {
      readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } }
    }
    return userLimits?.open_files?.soft
  }
}

interface ChosenBounds {
  readonly bounds: ConnectionBounds
  /** What the operator must look at. */
  readonly warning: string | undefined
}

/** The most connections to Postgres that a process opens which updates read models, or whose child does, or neither. */
export function databaseConnections(
  { databasePoolSize, queries }: Pick<Config, 'databasePoolSize' | 'queries'>,
  projects: boolean,
): number {
  const ofProjector = projects ? allProjections.length + SPARE_CONNECTIONS : 0
  return databasePoolSize + queries.poolSize + ofProjector
}

/**
 * The bounds on callers' connections: as configured, but never more than leave room below the limit
 * on open files for Postgres, providers, the spool and the operations port.
 */
export function chooseConnectionBounds(
  config: Pick<Config, 'connections' | 'databasePoolSize' | 'queries'>,
  limit: number | undefined = openFilesLimit(),
): ChosenBounds {
  const { all: wanted, perAddress: wantedPerAddress } = config.connections
  const reserved = RESERVED_FILES + OPERATIONS_CONNECTIONS + databaseConnections(config, true)
  const room =
    limit === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(FEWEST, Math.floor((limit - reserved) / FILES_PER_CONNECTION))
  const all = Math.min(wanted ?? MOST_BY_DEFAULT, room)
  const perAddress = Math.min(wantedPerAddress ?? Math.ceil(all * ADDRESS_SHARE), all)
  const isShort = room === FEWEST || (wanted !== undefined && wanted > room)
  return {
    bounds: { all, perAddress },
    warning: isShort
      ? `the process may open ${limit} files, ${reserved} of which are reserved: it takes ${all} connections of callers; raise the limit (ulimit -n)`
      : undefined,
  }
}
