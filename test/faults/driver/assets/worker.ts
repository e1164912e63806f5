import type { Tenant } from '../caller.ts'
import type { Dice } from '../random.ts'
import type { Witness } from '../witness.ts'
import type { Region } from './regions.ts'
import type { SeenSession } from './witness.ts'

/** One of those who use the library, as several tenants in turn. */
export interface LibraryWorker {
  readonly dice: Dice
  readonly tenants: readonly Tenant[]
  readonly witness: Witness
  readonly name: string
  /** The crash point the gateway waits for, if any: what is done then tends towards it. */
  readonly focus: () => string | undefined
  /** Verifications whose result is still to be asked for. */
  readonly open: OpenSession[]
  made: number
}

/** A verification that was begun, and what its caller keeps of it. */
export interface OpenSession {
  readonly session: SeenSession
  readonly tenant: Tenant
  readonly region: Region
  readonly credential: string
  /** Whether a person who passes at the page is verified. */
  readonly mayPass: boolean
  /** Of the process's own clock. */
  readonly begunMs: number
}

/** What nothing else of a run is called. */
export function nextMarker(worker: LibraryWorker): string {
  worker.made += 1
  return `${worker.name}-${worker.made}`
}
