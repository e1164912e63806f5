import { catalog } from '../../../../src/families/index.ts'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDemoTenant } from '../../../../src/app/accounts/demo.ts'
import { adoptDatabase } from '../../../helpers/adopted.ts'
import { createEventLog } from '../../../../src/eventlog/log/client.ts'
import { systemClock } from '../../../../src/kernel/clock.ts'
import { newNamespace } from '../../../helpers/eventstore.ts'
import { acquireDatabase } from '../../../helpers/postgres.ts'
import { callsOf, type LoggedCall, type LoggedEvent, readLog } from '../../driver/log-reader.ts'
import { Machine } from '../../driver/machine.ts'
import { type Dice, dice, seedOfTests } from '../../driver/random.ts'
import { startSandbox } from '../../driver/sandbox.ts'
import { follow, type Upstream } from '../../driver/upstream-record.ts'
import {
  account,
  type Account,
  type Allowed,
  ledgerDifferences,
  type LedgerLine,
} from './account.ts'
import { priceBook, writeTextChannels } from './prices.ts'
import { ask, type Asking, type Heard } from './caller.ts'
import { builtProduct } from '../../../helpers/product.ts'
import { startStore, type Store } from './store.ts'

/** Gateways as processes of their own on stores that outlive them, and an upstream that never dies. */

const CATCH_UP_MS = 120_000
const LEDGER_PAGE = 500
const HTTP_TIMEOUT_MS = 60_000

interface TextWorld<S extends EventStore = Store> {
  /** Of the seed and of this file. */
  readonly dice: Dice
  readonly seed: string
  readonly tenant: { readonly modelToken: string; readonly queryToken: string }
  readonly directory: string
  readonly upstream: Upstream
  readonly store: S
  /** A gateway, not started yet, with a data directory of its own. */
  readonly machine: (name: string, env?: Readonly<Record<string, string>>) => Machine
  readonly spoolOf: (name: string) => string
  readonly logFileOf: (name: string) => string
  /** Calls a gateway; what is heard is kept for the account. */
  readonly call: (machine: Machine, asking: Asking) => Promise<Heard>
  readonly heard: readonly Heard[]
  readonly logged: () => Promise<readonly LoggedCall[]>
  /** Everything its gateways have written down. */
  readonly events: () => Promise<readonly LoggedEvent[]>
  /** Compares upstream, log and callers; differences that a fault explains are `allowed`. */
  readonly account: (allowed?: Allowed) => Promise<Account>
  /** Compares the ledger, once it has caught up, with the log. */
  readonly ledgerFaults: (machine: Machine) => Promise<readonly string[]>
  readonly close: () => Promise<void>
}

/** Where the log of a world is kept. */
interface EventStore {
  readonly url: string
  readonly stop: () => Promise<void>
}

/** Starts everything but the gateways. */
export function startTextWorld(name: string): Promise<TextWorld> {
  return startTextWorldOn(name, startStore)
}

/** The same with the log kept somewhere else. */
export async function startTextWorldOn<S extends EventStore>(
  name: string,
  startEventStore: (directory: string) => Promise<S>,
): Promise<TextWorld<S>> {
  const seed = seedOfTests()
  const closers: (() => Promise<unknown>)[] = []
  const close = async (): Promise<void> => {
    for (const one of closers.splice(0)) await one()
  }
  try {
    return await start(name, seed, closers, close, startEventStore)
  } catch (error) {
    await close()
    throw error
  }
}

async function start<S extends EventStore>(
  name: string,
  seed: string,
  closers: (() => Promise<unknown>)[],
  close: () => Promise<void>,
  startEventStore: (directory: string) => Promise<S>,
): Promise<TextWorld<S>> {
  const build = await builtProduct()
  const directory = await mkdtemp(join(tmpdir(), `tollgate-faults-${name}-`))
  closers.push(() => rm(directory, { recursive: true, force: true }))
  const [database, store, sandbox] = await Promise.all([
    acquireDatabase(),
    startEventStore(directory),
    startSandbox(build, directory, { queuedMs: 100, runningMs: 100, seed: 1 }),
  ])
  const upstream = follow(sandbox)
  closers.unshift(() => database.drop(), store.stop, upstream.stop)
  const namespace = newNamespace()
  const tenant = await openTenant(store.url, namespace, database.url)
  const environment = {
    EVENTSTORE_URL: store.url,
    DATABASE_URL: database.url,
    EVENTSTORE_NAMESPACE: namespace,
    ...(await writeSettings(directory, sandbox.url)),
  }
  const heard: Heard[] = []
  const dataDirOf = (machine: string): string => join(directory, machine)
  const logFileOf = (machine: string): string => join(directory, `${machine}.log`)
  const events = () => readLog(store.url, namespace)
  const logged = async () => callsOf(await events())
  return {
    dice: dice(`${seed}/${name}`),
    seed,
    tenant,
    directory,
    upstream,
    store,
    heard,
    logFileOf,
    logged,
    events,
    close,
    spoolOf: (machine) => join(dataDirOf(machine), 'spool'),
    machine: (machineName, env = {}) => {
      const machine = new Machine({
        build,
        dataDir: dataDirOf(machineName),
        logFile: logFileOf(machineName),
        environment: { ...environment, ...env },
      })
      closers.unshift(() => machine.clear())
      return machine
    },
    call: async (machine, asking) => {
      const one = await ask(machine.address ?? 'http://127.0.0.1:9', tenant.modelToken, asking)
      heard.push(one)
      return one
    },
    account: async (allowed) => {
      const [events, calls] = [await logged(), await upstream.calls()]
      return account({ calls, markers: await upstream.markers(), logged: events, heard }, allowed)
    },
    ledgerFaults: async ({ address = '' }) =>
      lastingFaults(address, tenant.queryToken, await logged()),
  }
}

/** Prices and channels, and what is the same for every gateway. */
async function writeSettings(
  directory: string,
  sandboxUrl: string,
): Promise<Readonly<Record<string, string>>> {
  const priceBookFile = join(directory, 'prices.json')
  await writeFile(priceBookFile, priceBook())
  return {
    MARKER_SECRET: 'a marker secret of the tests alone',
    DATABASE_POOL_SIZE: '8',
    CHANNELS_FILE: await writeTextChannels(directory, sandboxUrl),
    PRICEBOOK_FILE: priceBookFile,
    FAULTS_UPSTREAM_KEY: 'upstream-key',
  }
}

async function openTenant(
  url: string,
  namespace: string,
  databaseUrl: string,
): Promise<{ readonly modelToken: string; readonly queryToken: string }> {
  const log = createEventLog({ url, namespace })
  try {
    await adoptDatabase(databaseUrl, log)
    return await openDemoTenant({
      log,
      catalog,
      clock: systemClock,
      correlationId: 'test',
      actor: 'tests',
    })
  } finally {
    await log.close()
  }
}

async function readLedger(address: string, token: string): Promise<readonly LedgerLine[]> {
  const lines: LedgerLine[] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const query: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const url = `${address}/api/query/v1/ledger/lines?limit=${LEDGER_PAGE}${query}`
    const response = await fetch(url, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(HTTP_TIMEOUT_MS),
    })
    if (!response.ok) throw new Error(`the ledger answered ${response.status}`)
    const { data } = (await response.json()) as {
      readonly data: { readonly items: readonly LedgerLine[]; readonly next_cursor: string | null }
    }
    lines.push(...data.items)
    cursor = data.next_cursor
  }
  return lines
}

/** What differs between ledger and log once nothing does any more, or time is up. */
async function lastingFaults(
  address: string,
  token: string,
  events: readonly LoggedCall[],
): Promise<readonly string[]> {
  const untilMs = Date.now() + CATCH_UP_MS
  for (;;) {
    const faults = ledgerDifferences(await readLedger(address, token), events)
    if (faults.length === 0 || Date.now() > untilMs) return faults
    await sleep(50)
  }
}
