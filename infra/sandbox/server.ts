import { randomInt } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import pino, { type Logger } from 'pino'
import { LibraryStore } from './assets/store.ts'
import { libraryViews, type LibraryViews } from './assets/view.ts'
import { type CallFilter, CallStore, callView, type CallView } from './calls/store.ts'
import { FaultBoard } from './faults/board.ts'
import { type LoggedRequest, RequestCounters, RequestLog } from './http/traffic.ts'
import { movableClock, seededRandom } from './kit/clock.ts'
import { TaskStore } from './tasks/store.ts'
import { Callbacks } from './callbacks.ts'
import {
  type AcceptedFilter,
  acceptedPage,
  type AcceptedTask,
  addControlRoutes,
  advanceClock,
  resetAll,
  type SandboxKit,
} from './control.ts'
import type { FamilyKit, SandboxFamily } from './family.ts'
import { defaultOptions, type SandboxOptions } from './options.ts'
import { families } from './registry.ts'
import { owned } from '../../src/platform/owned.ts'

/** A running sandbox. */
export interface Sandbox extends LibraryViews {
  /** `http://host:port`, without a trailing slash. */
  readonly url: string
  readonly port: number
  readonly options: SandboxOptions
  /** Process-wide fault rules. */
  readonly faults: Pick<FaultBoard, 'add' | 'clear' | 'list'>
  /** Everything accepted, oldest first. */
  readonly accepted: (filter?: AcceptedFilter) => readonly AcceptedTask[]
  /** Every synchronous call that was accepted, oldest first. */
  readonly calls: (filter?: CallFilter) => readonly CallView[]
  readonly requests: () => ReturnType<RequestCounters['view']>
  /** The last thousand requests to the families. */
  readonly requestLog: () => readonly LoggedRequest[]
  readonly reset: () => Promise<void>
  /** Moves the clock forward by so many ms. */
  readonly advance: (byMs: number) => void
  /** Stops: no new connections, a short grace for answers under way, then all is closed. */
  readonly close: () => Promise<void>
}

const MAX_BODY_BYTES = 96 * 1024 * 1024
/** Room for a list query that names 500 ids. */
const MAX_HEADER_BYTES = 64 * 1024
const CLOSE_GRACE_MS = 300

function buildApp(): FastifyInstance {
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    http: { maxHeaderSize: MAX_HEADER_BYTES },
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 500 },
  })
  owned(app.server)
  app.removeAllContentTypeParsers()
  // Families read bodies themselves: what is not JSON gets their envelope, not the framework's.
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setNotFoundHandler((_request, reply) => reply.code(404).send())
  return app
}

async function buildKit(
  options: SandboxOptions,
  log: Logger,
  baseUrl: () => string,
): Promise<SandboxKit> {
  const clock = movableClock()
  const seed = options.seed ?? randomInt(4_294_967_295)
  const limits = {
    maxTasks: options.maxTasks,
    taskMs: options.retentionMs,
    cancelledMs: options.cancelledRetentionMs,
  }
  const store = await TaskStore.open(options.dataDirectory, limits, clock.nowMs())
  const forgets: (() => void)[] = []
  const kit: SandboxKit = {
    options,
    log,
    clock,
    store,
    baseUrl,
    nowMs: clock.nowMs,
    random: seededRandom(seed),
    board: new FaultBoard(seed),
    counters: new RequestCounters(),
    requests: new RequestLog(),
    callbacks: new Callbacks(store, clock, options, log),
    calls: new CallStore(options.maxTasks, clock.nowMs),
    assets: await LibraryStore.open(options.dataDirectory, options.maxTasks),
    onReset: (forget) => forgets.push(forget),
    forget: () => forgets.forEach((forget) => forget()),
  }
  log.info({ seed, tasks: store.size }, 'sandbox opened')
  return kit
}

async function stop(app: FastifyInstance, kit: FamilyKit): Promise<void> {
  const force = setTimeout(() => app.server.closeAllConnections(), CLOSE_GRACE_MS)
  await app.close()
  clearTimeout(force)
  kit.callbacks.close()
  await kit.assets.close()
  await kit.store.close()
}

/**
 * Starts the simulated upstreams on one port; a test may add `further` ones.
 * @throws Error when the port is taken or the data directory cannot be used.
 */
export async function startSandbox(
  given: Partial<SandboxOptions> = {},
  log: Logger = pino({ level: 'silent' }),
  further: readonly SandboxFamily[] = [],
): Promise<Sandbox> {
  const options: SandboxOptions = { ...defaultOptions, ...given }
  let url = ''
  const kit = await buildKit(options, log, () => options.publicUrl ?? url)
  const app = buildApp()
  addControlRoutes(app, kit)
  for (const family of [...families, ...further]) family.register(app, kit)
  try {
    await app.listen({ host: options.host, port: options.port })
  } catch (error) {
    await stop(app, kit)
    throw error
  }
  const { port } = app.server.address() as AddressInfo
  url = `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`
  kit.callbacks.resume()
  let closing: Promise<void> | null = null
  return {
    url,
    port,
    options,
    faults: kit.board,
    ...libraryViews(kit),
    accepted: (filter) => acceptedPage(kit, { after: 0, limit: Infinity }, filter).items,
    calls: (filter) => kit.calls.list(0, Number.MAX_SAFE_INTEGER, filter).map(callView),
    requests: () => kit.counters.view(),
    requestLog: () => kit.requests.list(0),
    reset: () => resetAll(kit),
    advance: (byMs) => advanceClock(kit, byMs),
    close: () => (closing ??= stop(app, kit)),
  }
}
