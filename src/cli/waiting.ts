import type { Logger } from 'pino'
import type { FastifyInstance } from 'fastify'
import { buildWaitingApp } from '../api/waiting-app.ts'
import { families } from '../families/index.ts'
import type { Config } from '../config.ts'
import { systemClock } from '../kernel/clock.ts'
import { createBackoff, pause } from '../kernel/pause.ts'
import type { Addresses } from '../start/listen.ts'
import { chooseConnectionBounds } from '../start/open-files.ts'
import { listenForOperations } from '../start/operations.ts'
import { unavailableStoreOf, type StoreName } from './store-outage.ts'
import { NotMigratedError } from '../start/migration.ts'
import { messageOf } from './explain.ts'

/**
 * A start waits for unavailable stores, and for a database that another process migrates, and answers as alive and not ready meanwhile, until they
 * answer or the process is asked to stop.
 */

const RETRY_MIN_MS = 250
const RETRY_MAX_MS = 5_000
/** Stores that have not answered for this long count as unavailable while the start still asks them. */
const PATIENCE_MS = 4_000

const WAITS_FOR_MIGRATION = 'waiting for a database that is not migrated yet'

/** One attempt to start. */
interface Attempt {
  readonly config: Config
  /** To be called once the stores have answered. */
  readonly storesAnswered: () => void
  /** To be called right before the ports are listened on. */
  readonly freePorts: () => Promise<void>
}

interface WaitingOptions {
  readonly config: Config
  readonly logger: Logger
  /** Whether the process serves callers, and so has a port for them. */
  readonly listens: boolean
  readonly ended: AbortSignal
}

/**
 * Retries the start with backoff while it fails because a store is unavailable or not migrated.
 * Undefined when the process was asked to stop first. @throws what waiting does not solve
 */
export async function startWhenStoresAnswer<Started>(
  options: WaitingOptions,
  start: (attempt: Attempt) => Promise<Started>,
  stopLate: (started: Started) => Promise<void>,
): Promise<Started | undefined> {
  const { logger, ended } = options
  const interim = new InterimServer(options)
  const backoff = createBackoff(RETRY_MIN_MS, RETRY_MAX_MS)
  try {
    await interim.openForProbes()
    while (!ended.aborted) {
      const attempt = tryOnce(options, interim, start)
      const first = await untilEnded(attempt, ended)
      if (first === 'ended') {
        void attempt.then((late) => ('started' in late ? stopLate(late.started) : undefined))
        return undefined
      }
      if ('started' in first) return first.started
      const { error } = first
      const store = unavailableStoreOf(error)
      const isUnmigrated = error instanceof NotMigratedError
      if (store === undefined && !isUnmigrated) throw error
      interim.unavailable = store
      interim.hindrances = isUnmigrated ? [`waiting: ${error.message}`] : []
      await interim.open()
      const retryInMs = Math.round(backoff.nextMs())
      const fields = { store, reason: messageOf(error), retryInMs, ...interim.addresses }
      logger.warn(fields, isUnmigrated ? WAITS_FOR_MIGRATION : 'waiting for a store that is away')
      await pause(retryInMs, ended)
    }
    return undefined
  } finally {
    await interim.close()
  }
}

type StartResult<Started> = { readonly started: Started } | { readonly error: unknown }

async function tryOnce<Started>(
  { config, logger }: WaitingOptions,
  interim: InterimServer,
  start: (attempt: Attempt) => Promise<Started>,
): Promise<StartResult<Started>> {
  const timer = setTimeout(() => {
    interim
      .open()
      .then(() => logger.warn(interim.addresses, 'the stores do not answer yet'))
      .catch((error: unknown) => logger.warn({ err: error }, 'cannot listen while it waits'))
  }, PATIENCE_MS)
  const storesAnswered = (): void => clearTimeout(timer)
  try {
    const started = await start({
      config: { ...config, ...interim.ports },
      storesAnswered,
      freePorts: () => {
        storesAnswered()
        return interim.close()
      },
    })
    return { started }
  } catch (error) {
    return { error }
  } finally {
    storesAnswered()
  }
}

function untilEnded<Value>(work: Promise<Value>, ended: AbortSignal): Promise<Value | 'ended'> {
  return new Promise((resolve, reject) => {
    const end = (): void => resolve('ended')
    ended.addEventListener('abort', end, { once: true })
    work.then(resolve, reject).finally(() => ended.removeEventListener('abort', end))
  })
}

/** The interim server on the ports while the replica waits. */
class InterimServer {
  /** The store that the last attempt failed by. */
  unavailable: StoreName | undefined
  /** Why the last attempt failed although the stores answer. */
  hindrances: readonly string[] = []
  readonly #options: WaitingOptions
  readonly #dependencies = (['event_log', 'postgres'] as const).map((name) => ({
    name,
    probe: () => Promise.resolve(this.unavailable !== name),
  }))
  #ports: Partial<Pick<Config, 'port' | 'operationsPort'>> = {}
  #addresses: Partial<Addresses> = {}
  /** For callers, and for probes where they have a port. */
  #apps: { readonly callers?: FastifyInstance; readonly operations?: FastifyInstance } = {}
  /** Opening and closing go one after the other. */
  #last: Promise<void> = Promise.resolve()

  constructor(options: WaitingOptions) {
    this.#options = options
  }

  get addresses(): Partial<Addresses> {
    return this.#addresses
  }

  /** The ports it listened on once it was open: one that the system picked is kept. */
  get ports(): Partial<Pick<Config, 'port' | 'operationsPort'>> {
    return this.#ports
  }

  open(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#listenForProbes()
      await this.#listenForCallers()
    })
  }

  /** Opens the operations port alone, where there is one: probes and scrapers wait for no store. */
  openForProbes(): Promise<void> {
    return this.#inTurn(() => this.#listenForProbes())
  }

  close(): Promise<void> {
    return this.#inTurn(() => this.#leave())
  }

  async #listenForProbes(): Promise<void> {
    const { config } = this.#options
    const { operationsPort: port } = { ...config, ...this.#ports }
    if (port === undefined || this.#apps.operations !== undefined) return
    const operations = await this.#build(true)
    this.#apps = { ...this.#apps, operations }
    const operationsAddress = await listenForOperations(operations, { port, host: config.host })
    this.#addresses = { ...this.#addresses, operationsAddress }
    this.#ports = { ...this.#ports, operationsPort: portOf(operationsAddress) }
  }

  async #listenForCallers(): Promise<void> {
    const { config, listens } = this.#options
    if (!listens || this.#apps.callers !== undefined) return
    const { port, operationsPort } = { ...config, ...this.#ports }
    const callers = await this.#build(operationsPort === undefined)
    this.#apps = { ...this.#apps, callers }
    const address = await callers.listen({ port, host: config.host })
    this.#addresses = { ...this.#addresses, address }
    this.#ports = { ...this.#ports, port: portOf(address) }
  }

  #build(answersProbes: boolean): Promise<FastifyInstance> {
    const { config, logger } = this.#options
    return buildWaitingApp({
      logger,
      clock: systemClock,
      mounts: families.flatMap(({ mounts = [] }) => mounts),
      connections: chooseConnectionBounds(config).bounds,
      health: answersProbes
        ? { dependencies: this.#dependencies, hindrances: () => this.hindrances }
        : undefined,
    })
  }

  async #leave(): Promise<void> {
    const { callers, operations } = this.#apps
    const closing = [callers, operations].filter((app) => app !== undefined)
    this.#apps = {}
    for (const { server } of closing) server.closeIdleConnections()
    await Promise.all(closing.map((app) => app.close()))
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => undefined)
    return done
  }
}

function portOf(address: string): number {
  return Number(new URL(address).port)
}
