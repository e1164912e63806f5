import type { FastifyInstance } from 'fastify'
import type { LibraryStore } from './assets/store.ts'
import type { CallStore } from './calls/store.ts'
import type { ExchangeKit } from './http/exchange.ts'
import type { MovableClock, Random } from './kit/clock.ts'
import type { TaskStore } from './tasks/store.ts'
import type { Callbacks } from './callbacks.ts'
import type { SandboxOptions } from './options.ts'

/** What the frame lends every family. */
export interface FamilyKit extends ExchangeKit {
  readonly options: SandboxOptions
  readonly clock: MovableClock
  readonly random: Random
  readonly store: TaskStore
  readonly callbacks: Callbacks
  /** Synchronous calls that were accepted. */
  readonly calls: CallStore
  /** What asset libraries accepted. */
  readonly assets: LibraryStore
  /** Registers a function that clears a family's own state on a reset. */
  readonly onReset: (forget: () => void) => void
  /** Where result URLs point, without a trailing slash. */
  readonly baseUrl: () => string
}

/** A simulated upstream: a folder here and a line in `registry.ts`. */
export interface SandboxFamily {
  readonly name: string
  /** Adds its routes and says how its tasks are rendered. */
  readonly register: (app: FastifyInstance, kit: FamilyKit) => void
}
